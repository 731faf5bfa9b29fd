//! What came of trying, for people.

use mel_log::number::duration;
use mel_log::profile::text::layout::{table, wrapped};

use super::command::typed;
use super::statistics::{CONFIDENCE, Difference, Verdict};
use super::{Stopped, Trial, Tuning};

/// A table of what was tried, and what follows.
pub fn text(tuning: &Tuning) -> String {
    let number = tuning.trials.len();
    let mut text = String::new();
    for (place, trial) in (1..).zip(&tuning.trials) {
        let rule = trial.candidate.rule.as_ref().map_or(String::new(), |rule| format!(" ({rule})"));
        text += &wrapped(&format!(" {place}. "), &format!("{}{rule}", trial.candidate.words()));
    }
    let mut rows = vec![
        ["setting", "pairs", "without", "with", "difference", "from", "to", ""].map(str::to_owned).to_vec(),
    ];
    rows.extend((1..).zip(&tuning.trials).map(|(place, trial)| row(place, trial, number)));
    if number > 0 {
        text += "\n";
        text += &table(&rows, &[7]);
        let percent = CONFIDENCE * 100.0;
        text += &wrapped(
            "",
            &format!(
                "Times are observed: medians of runs, {}. Differences are means of paired runs; from and to hold with {percent:.0} % for \
                 all settings together.",
                tuning.measure.words()
            ),
        );
    }
    for (place, trial) in (1..).zip(&tuning.trials) {
        if let Some(why) = &trial.failed {
            text += &format!("Setting {place} was dropped: {why}\n");
        }
    }
    if !tuning.left_out.is_empty() {
        text += &wrapped(
            "",
            &format!("There was no time for {} more: a longer --budget tries them.", tuning.left_out.len()),
        );
    }
    match tuning.stopped {
        Some(Stopped::Interrupted) => text += "Interrupted: this is what was known until then.\n",
        Some(Stopped::Budget) => {
            text += "The budget is used up: what is open may become clear with a longer --budget.\n"
        }
        None => {}
    }
    text + &conclusion(tuning)
}

fn row(place: usize, trial: &Trial, trials: usize) -> Vec<String> {
    let found = trial.difference(trials);
    let of = |part: fn(&Difference) -> f64| found.as_ref().map_or("-".into(), |found| change(part(found)));
    let what = match (trial.verdict, &trial.failed) {
        (_, Some(_)) => "fails",
        (Verdict::Faster, _) => "faster",
        (Verdict::Slower, _) => "slower",
        (Verdict::NoBetter, _) => "no better",
        (Verdict::Open, _) => "open",
    };
    let time =
        |with: bool| median(trial.pairs.iter().map(|pair| if with { pair.1 } else { pair.0 }).collect());
    vec![
        place.to_string(),
        trial.pairs.len().to_string(),
        time(false).map_or("-".into(), duration),
        time(true).map_or("-".into(), duration),
        of(|found| found.ratio),
        of(|found| found.low),
        of(|found| found.high),
        what.into(),
    ]
}

/// The median; none of nothing.
pub fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() {
        0 => None,
        length if length % 2 == 1 => Some(times[middle]),
        _ => Some((times[middle - 1] + times[middle]) / 2.0),
    }
}

/// A quotient of times as a difference: `-12.3 %`. What is several times as long is that.
fn change(ratio: f64) -> String {
    if ratio >= 10.0 { "> 10 times".into() } else { format!("{:+.1} %", (ratio - 1.0) * 100.0) }
}

fn conclusion(tuning: &Tuning) -> String {
    let number = tuning.trials.len();
    if let Some((best, found)) = tuning.best().and_then(|best| Some((best, best.difference(number)?))) {
        let gain = format!(
            "Faster with {}: {} (between {} and {}). Use it:",
            best.candidate.words(),
            change(found.ratio),
            change(found.low),
            change(found.high)
        );
        return wrapped("", &gain)
            + &format!("  {}\n", typed(&best.candidate.environment(), &tuning.command));
    }
    let found: Vec<Difference> = tuning.trials.iter().filter_map(|trial| trial.difference(number)).collect();
    let bound = |of: fn(&Difference) -> f64, pick: fn(f64, f64) -> f64| found.iter().map(of).reduce(pick);
    match (bound(|found| found.low, f64::min), bound(|found| found.high, f64::max)) {
        (Some(low), Some(high)) => wrapped(
            "",
            &format!(
                "{} makes it faster: the differences are within {} and {}.",
                if tuning.is_open() { "So far nothing is known that" } else { "Nothing that was tried" },
                change(low),
                change(high)
            ),
        ),
        _ if tuning.trials.iter().any(|trial| trial.failed.is_some()) => {
            "Nothing that was tried makes it faster.\n".into()
        }
        _ => "Nothing was compared.\n".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::candidates::Candidate;
    use crate::tune::measure::Measure;
    use std::time::Duration;

    fn tuning(trials: &[(&str, f64, Verdict)]) -> Tuning {
        let trial = |&(setting, ratio, verdict): &(&str, f64, Verdict)| Trial {
            candidate: Candidate::of_words(setting).unwrap(),
            pairs: (1..5).map(|place| (1.0, ratio + f64::from(place) * 0.001)).collect(),
            verdict,
            failed: None,
        };
        Tuning {
            command: ["mpirun", "-n", "4", "./app"].map(Into::into).into(),
            measure: Measure::Job,
            trials: trials.iter().map(trial).collect(),
            left_out: Vec::new(),
            runs: 9,
            took: Duration::from_secs(9),
            stopped: None,
        }
    }

    #[test]
    fn the_best_is_told_with_the_command_to_use() {
        let tuning = tuning(&[
            ("a=1", 1.0, Verdict::NoBetter),
            ("b=2", 0.7, Verdict::Faster),
            ("UCX_RNDV_THRESH=9 c=1", 0.5, Verdict::Faster),
        ]);
        let text = text(&tuning);
        assert!(text.contains("Faster with UCX_RNDV_THRESH=9 c=1: -49."), "{text}");
        assert!(text.contains("\n  UCX_RNDV_THRESH=9 OMPI_MCA_c=1 mpirun -n 4 ./app\n"), "{text}");
        assert!(text.contains("no better") && text.contains("without"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn what_was_measured_is_told() {
        let mut tuning = tuning(&[("a=1", 1.0, Verdict::NoBetter)]);
        let plain = |tuning: &Tuning| text(tuning).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain(&tuning).contains("observed: medians of runs, of the whole job, without MEL"));
        tuning.measure = Measure::Program;
        let text = plain(&tuning);
        assert!(text.contains("between MPI_Init and MPI_Finalize, under MEL on both sides"), "{text}");
        assert!(!text.contains("without MEL"), "{text}");
    }

    #[test]
    fn nothing_faster_is_told_with_what_the_differences_are_within() {
        let text = text(&tuning(&[("a=1", 1.0, Verdict::NoBetter), ("b=2", 1.5, Verdict::Slower)]));
        assert!(
            text.contains("Nothing that was tried makes it faster: the differences are within"),
            "{text}"
        );
        assert!(!text.contains("Use it"), "{text}");
    }

    #[test]
    fn a_setting_with_which_the_program_fails_is_told() {
        let mut tuning = tuning(&[("a=1", 1.0, Verdict::Open)]);
        tuning.trials[0].pairs.clear();
        tuning.trials[0].failed = Some("it ended with exit code 3".into());
        let text = text(&tuning);
        assert!(text.contains("Setting 1 was dropped: it ended with exit code 3"), "{text}");
    }
}
