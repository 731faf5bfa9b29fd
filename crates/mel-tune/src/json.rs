//! What came of trying, for scripts.

use serde_json::{Value, json};

use super::combination::Together;
use super::command::typed;
use super::statistics::{CONFIDENCE, Verdict};
use super::{Stopped, Trial, Tuning};

/// All of it.
pub fn json(tuning: &Tuning) -> Value {
    let settings = tuning.settings();
    let words: Vec<String> = tuning.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    json!({
        "command": words,
        "measured": format!("time {}, in seconds", tuning.measure.words()),
        "confidence": CONFIDENCE,
        "runs": tuning.runs,
        "took_s": tuning.took.as_secs_f64(),
        "stopped": tuning.stopped.map(|stopped| match stopped {
            Stopped::Budget => "budget",
            Stopped::Interrupted => "interrupted",
        }),
        "trials": tuning.trials.iter().map(|trial| of_trial(trial, settings)).collect::<Vec<_>>(),
        "no_time_for": tuning.left_out.iter().map(super::candidates::Candidate::words).collect::<Vec<_>>(),
        "best": tuning.best(),
        "together": tuning.together.as_ref().map(|together| of_together(together, settings)),
        "use": tuning.chosen().map(|chosen| typed(&chosen.environment(), &tuning.command)),
    })
}

/// Settings at once: as a trial, with the places of those that it is made of, of that which it is compared with, and of those left out.
fn of_together(together: &Together, settings: usize) -> Value {
    let mut value = of_trial(&together.trial, settings);
    value["of"] = json!(together.of);
    value["compared_with"] = json!(together.best());
    value["conflicting"] = json!(together.conflicting);
    value
}

fn of_trial(trial: &Trial, settings: usize) -> Value {
    let found = trial.difference(settings);
    let setting: serde_json::Map<String, Value> =
        trial.candidate.setting.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let environment: serde_json::Map<String, Value> =
        trial.candidate.environment().into_iter().map(|(name, value)| (name, value.into())).collect();
    json!({
        "setting": setting,
        "environment": environment,
        "rule": trial.candidate.rule,
        "because": trial.candidate.because,
        "verdict": match (trial.verdict, &trial.failed) {
            (_, Some(_)) => "fails",
            (Verdict::Faster, _) => "faster",
            (Verdict::Slower, _) => "slower",
            (Verdict::NoBetter, _) => "no_better",
            (Verdict::Open, _) => "open",
        },
        "failed": trial.failed,
        "pairs": trial.pairs,
        "ratio": found.map(|found| found.ratio),
        "ratio_low": found.map(|found| found.low),
        "ratio_high": found.map(|found| found.high),
    })
}
