//! Trying, with runs whose times are planted.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::candidates::Candidate;
use super::measure::{Measure, Runs, Timed};
use super::statistics::Verdict;
use super::{Plan, Tuning, try_all};

/// Runs that take no time at all, and say that they did.
struct Planted<F> {
    /// What a run takes where these variables are set, without noise: none where it fails.
    seconds: F,
    state: Cell<u64>,
    made: Cell<usize>,
}

impl<F> Planted<F> {
    fn normal(&self) -> f64 {
        let random = |_| {
            let next = self
                .state
                .get()
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            self.state.set(next);
            (next >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(random).sum::<f64>() - 6.0
    }
}

impl<F: Fn(&[&str], usize) -> Option<f64>> Runs for Planted<F> {
    fn run(&self, environment: &[(String, String)], _: Duration) -> anyhow::Result<Timed> {
        let names: Vec<&str> =
            environment.iter().map(|(name, _)| name.trim_start_matches("OMPI_MCA_")).collect();
        self.made.set(self.made.get() + 1);
        Ok(match (self.seconds)(&names, self.made.get()) {
            Some(seconds) => Timed::Ran { job_s: 1e-6, measured_s: seconds * (0.02 * self.normal()).exp() },
            None => Timed::Failed("it fails".into()),
        })
    }
}

/// What comes of trying these settings.
fn tuned(settings: &[&str], seed: u64, seconds: impl Fn(&[&str], usize) -> Option<f64>) -> Tuning {
    let plan = Plan {
        command: &["a".into()],
        measure: Measure::Job,
        begin: Instant::now(),
        budget: Duration::from_secs(3600),
    };
    let runs = Planted { seconds, state: Cell::new(seed), made: Cell::new(0) };
    let candidates = settings.iter().map(|words| Candidate::of_words(words).unwrap()).collect();
    let tuning = try_all(&runs, &plan, candidates).unwrap();
    assert_eq!(tuning.runs, runs.made.get());
    tuning
}

fn chosen(tuning: &Tuning) -> Option<String> {
    tuning.chosen().map(Candidate::words)
}

fn factor(names: &[&str], name: &str, factor: f64) -> f64 {
    if names.contains(&name) { factor } else { 1.0 }
}

#[test]
fn settings_whose_gains_add_up_are_used_together() {
    let tuning = tuned(&["a=1", "b=1", "c=1"], 1, |names, _| {
        Some(factor(names, "a", 0.8) * factor(names, "b", 0.6) * factor(names, "c", 1.2))
    });
    let together = tuning.together.as_ref().unwrap();
    assert_eq!((tuning.best(), &together.of[..]), (Some(1), &[1, 0][..]));
    assert_eq!(together.trial.verdict, Verdict::Faster);
    // The times are those beside the best alone.
    assert!(together.trial.pairs.iter().all(|(alone, both)| (0.5..0.7).contains(alone) && *both < 0.55));
    assert_eq!(chosen(&tuning).as_deref(), Some("b=1 a=1"));
}

#[test]
fn settings_that_do_the_same_are_not() {
    let tuning =
        tuned(&["a=1", "b=1"], 2, |names, _| Some(factor(names, "a", 0.7).min(factor(names, "b", 0.6))));
    let together = tuning.together.as_ref().unwrap();
    assert_eq!(together.trial.verdict, Verdict::NoBetter);
    assert_eq!(chosen(&tuning).as_deref(), Some("b=1"));
    let harm = tuned(&["a=1", "b=1"], 2, |names, _| {
        Some(if names.len() == 2 { 0.9 } else { factor(names, "a", 0.5) * factor(names, "b", 0.6) })
    });
    assert!(harm.together.is_some());
    assert_eq!(chosen(&harm).as_deref(), Some("a=1"));
}

#[test]
fn one_that_is_faster_is_not_tried_twice() {
    let tuning = tuned(&["a=1", "b=1"], 3, |names, _| Some(factor(names, "a", 0.7)));
    assert!(tuning.together.is_none());
    assert_eq!(chosen(&tuning).as_deref(), Some("a=1"));
    let nothing = tuned(&["a=1", "b=1"], 3, |_, _| Some(1.0));
    assert!(nothing.together.is_none() && nothing.chosen().is_none());
}

#[test]
fn settings_with_which_the_program_fails_together_are_dropped() {
    let tuning = tuned(&["a=1", "b=1"], 4, |names, _| {
        (names.len() < 2).then(|| factor(names, "a", 0.7) * factor(names, "b", 0.6))
    });
    assert_eq!(tuning.together.as_ref().unwrap().trial.failed.as_deref(), Some("it fails"));
    assert_eq!(chosen(&tuning).as_deref(), Some("b=1"));
}

#[test]
fn a_best_setting_that_fails_later_is_not_used() {
    let singles = 1 + 2 * 2 * 3;
    let tuning = tuned(&["a=1", "b=1"], 5, |names, run| {
        let fails = run > singles && names == ["b"];
        (!fails).then(|| factor(names, "a", 0.5) * factor(names, "b", 0.3))
    });
    assert_eq!(tuning.trials[1].failed.as_deref(), Some("it fails"));
    assert!(tuning.together.as_ref().unwrap().trial.failed.is_some());
    assert_eq!(chosen(&tuning).as_deref(), Some("a=1"));
}

#[test]
fn what_two_can_be_together_widens_the_confidence_of_each() {
    let two = |settings: &[&str]| tuned(settings, 6, |_, _| Some(1.0)).settings();
    assert_eq!((two(&["a=1", "b=1"]), two(&["a=1", "a=2"]), two(&["a=1"])), (3, 2, 1));
}

#[test]
fn noise_alone_hardly_ever_makes_two_better_than_one() {
    let (mut compared, mut wrong) = (0, 0);
    for seed in 1..1000 {
        let tuning = tuned(&["a=1", "b=1"], seed, |names, _| {
            Some(factor(names, "a", 0.8).min(factor(names, "b", 0.8)))
        });
        compared += u32::from(tuning.together.is_some());
        wrong += u32::from(tuning.together.is_some_and(|together| together.trial.is_faster()));
    }
    assert!(compared > 900 && wrong <= 50, "{wrong} of {compared}");
}
