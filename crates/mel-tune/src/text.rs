//! What came of trying, for people.

use mel_log::number::duration;
use mel_log::profile::text::layout::{table, wrapped};

use super::advice::capital;
use super::combination::Together;
use super::command::typed;
use super::statistics::{CONFIDENCE, Difference, Verdict};
use super::{Stopped, Trial, Tuning};

/// A table of what was tried, and what follows.
pub fn text(tuning: &Tuning) -> String {
    let settings = tuning.settings();
    let mut text = String::new();
    for (place, trial) in (1..).zip(&tuning.trials) {
        let rule = trial.candidate.rule.as_ref().map_or(String::new(), |rule| format!(" ({rule})"));
        text += &wrapped(&format!(" {place}. "), &format!("{}{rule}", trial.candidate.words()));
    }
    if !tuning.trials.is_empty() {
        let rows = (1..).zip(&tuning.trials).map(|(place, trial)| row(place.to_string(), trial, settings));
        text += "\n";
        text += &compared(["setting", "without", "with"], rows.collect());
    }
    if let Some(together) = &tuning.together {
        text += &of_together(together, settings);
    }
    if !tuning.trials.is_empty() {
        let percent = CONFIDENCE * 100.0;
        text += &wrapped(
            "",
            &format!(
                "Times are observed: medians of runs, {}. Differences are means of paired runs; from and to hold with {percent:.0} %, all at \
                 once.",
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

/// A table of pairs of runs, with these names of what is compared.
fn compared([what, without, with]: [&str; 3], rows: Vec<Vec<String>>) -> String {
    let header = [what, "pairs", without, with, "difference", "from", "to", ""].map(str::to_owned).to_vec();
    table(&[vec![header], rows].concat(), &[7])
}

fn row(name: String, trial: &Trial, settings: usize) -> Vec<String> {
    let found = trial.difference(settings);
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
        name,
        trial.pairs.len().to_string(),
        time(false).map_or("-".into(), duration),
        time(true).map_or("-".into(), duration),
        of(|found| found.ratio),
        of(|found| found.low),
        of(|found| found.high),
        what.into(),
    ]
}

/// What was tried at once, and what came of it beside the best alone.
fn of_together(together: &Together, settings: usize) -> String {
    let best = together.best() + 1;
    let mut text = format!(
        "\n{}",
        wrapped(" ", &format!("{}: {}", capital(&together.names()), together.trial.candidate.words()))
    );
    for place in &together.conflicting {
        text += &wrapped(
            " ",
            &format!(
                "Setting {} is not among them: it sets one of these variables to another value.",
                place + 1
            ),
        );
    }
    if !together.trial.pairs.is_empty() {
        let numbers: Vec<String> = together.of.iter().map(|place| (place + 1).to_string()).collect();
        let names = ["settings", &format!("{best} alone"), "together"];
        text += &compared(names, vec![row(numbers.join("+"), &together.trial, settings)]);
    }
    text
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

/// What to use, and why.
fn conclusion(tuning: &Tuning) -> String {
    let settings = tuning.settings();
    let best = tuning.best().map(|best| &tuning.trials[best]);
    if let (Some(best), Some(chosen)) = (best, tuning.chosen()) {
        let Some(found) = best.difference(settings) else { return String::new() };
        let gain = match tuning
            .together
            .as_ref()
            .map(|together| (together, together.trial.difference(settings)))
        {
            Some((together, Some(more))) if together.trial.is_faster() => {
                // Both statements hold at once, so that this does.
                let all = Difference {
                    ratio: found.ratio * more.ratio,
                    low: found.low * more.low,
                    high: found.high * more.high,
                };
                format!(
                    "Faster with {}, {}: {} against setting {} alone, which is {} against none. From both is estimated {} against none. Use it:",
                    together.names(),
                    chosen.words(),
                    within(&more),
                    together.best() + 1,
                    within(&found),
                    within(&all)
                )
            }
            together => {
                let more =
                    together.map_or(String::new(), |(together, more)| no_gain(together, more.as_ref()));
                format!("{more}Faster with {}: {}. Use it:", chosen.words(), within(&found))
            }
        };
        return wrapped("", &gain) + &format!("  {}\n", typed(&chosen.environment(), &tuning.command));
    }
    let found: Vec<Difference> =
        tuning.trials.iter().filter_map(|trial| trial.difference(settings)).collect();
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

/// Why several settings at once are not what to use: a sentence.
fn no_gain(together: &Together, found: Option<&Difference>) -> String {
    let (names, best) = (together.names(), together.best() + 1);
    match (&together.trial.failed, found) {
        (Some(why), _) => format!("{} together were dropped: {why}. ", capital(&names)),
        (None, None) => format!("There was no time to try {names} together. "),
        (None, Some(found)) if together.trial.verdict == Verdict::Slower => {
            format!("{} together are slower than setting {best} alone: {}. ", capital(&names), within(found))
        }
        (None, Some(found)) => format!(
            "{} together are not known to be faster than setting {best} alone: {}. ",
            capital(&names),
            within(found)
        ),
    }
}

/// `-12.3 % (between -15.0 % and -9.1 %)`.
fn within(found: &Difference) -> String {
    format!("{} (between {} and {})", change(found.ratio), change(found.low), change(found.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::Candidate;
    use crate::combination::choose;
    use crate::measure::Measure;
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
            together: None,
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

    /// Two that are faster, and what came of both: pairs with this ratio.
    fn with_both(ratio: f64, verdict: Verdict, pairs: usize) -> Tuning {
        let mut tuning = tuning(&[
            ("a=1", 0.8, Verdict::Faster),
            ("b=2", 0.7, Verdict::Faster),
            ("b=3", 0.9, Verdict::Faster),
        ]);
        tuning.together = choose(&tuning.trials, tuning.settings());
        let trial = &mut tuning.together.as_mut().unwrap().trial;
        trial.pairs = (1..).map(|place| (0.7, 0.7 * ratio + f64::from(place) * 0.001)).take(pairs).collect();
        trial.verdict = verdict;
        tuning
    }

    fn plain(tuning: &Tuning) -> String {
        text(tuning).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn several_at_once_are_used_where_they_are_faster_than_the_best_alone() {
        let tuning = with_both(0.5, Verdict::Faster, 4);
        let text = plain(&tuning);
        assert!(text.contains("Settings 1 and 2: b=2 a=1"), "{text}");
        assert!(text.contains("settings pairs 2 alone together difference"), "{text}");
        assert!(text.contains("2+1 4 700 ms 352 ms -49.6 %"), "{text}");
        assert!(
            text.contains("Setting 3 is not among them: it sets one of these variables to another value."),
            "{text}"
        );
        assert!(text.contains("Faster with settings 1 and 2, b=2 a=1: -49.6 % (between "), "{text}");
        assert!(text.contains("against setting 2 alone, which is -29.8 % (between "), "{text}");
        // 0.7025 times 0.5036.
        assert!(text.contains("From both is estimated -64.6 % (between "), "{text}");
        assert!(text.ends_with("Use it: OMPI_MCA_b=2 OMPI_MCA_a=1 mpirun -n 4 ./app"), "{text}");
    }

    #[test]
    fn else_the_best_alone_is_used_and_it_is_told_why() {
        for (ratio, verdict, pairs, told) in [
            (
                1.0,
                Verdict::NoBetter,
                4,
                "Settings 1 and 2 together are not known to be faster than setting 2 alone: +0.4 %",
            ),
            (1.5, Verdict::Slower, 4, "Settings 1 and 2 together are slower than setting 2 alone: +50.4 %"),
            (1.0, Verdict::Open, 0, "There was no time to try settings 1 and 2 together."),
        ] {
            let text = plain(&with_both(ratio, verdict, pairs));
            assert!(text.contains(told), "{text}");
            assert!(text.contains("Faster with b=2: -29.8 %"), "{text}");
            assert!(text.ends_with("Use it: OMPI_MCA_b=2 mpirun -n 4 ./app"), "{text}");
        }
        let mut fails = with_both(1.0, Verdict::Open, 0);
        fails.together.as_mut().unwrap().trial.failed = Some("it hangs".into());
        assert!(plain(&fails).contains("Settings 1 and 2 together were dropped: it hangs."));
    }

    #[test]
    fn what_was_measured_is_told() {
        let mut tuning = tuning(&[("a=1", 1.0, Verdict::NoBetter)]);
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
