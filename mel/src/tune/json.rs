//! What came of trying, for scripts.

use serde_json::{Value, json};

use super::command::typed;
use super::statistics::{CONFIDENCE, Verdict};
use super::{Stopped, Trial, Tuning};

/// All of it.
pub fn json(tuning: &Tuning) -> Value {
    let number = tuning.trials.len();
    let words: Vec<String> = tuning.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let best = tuning.best();
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
        "trials": tuning.trials.iter().map(|trial| of_trial(trial, number)).collect::<Vec<_>>(),
        "no_time_for": tuning.left_out.iter().map(super::candidates::Candidate::words).collect::<Vec<_>>(),
        "best": best.and_then(|best| tuning.trials.iter().position(|trial| std::ptr::eq(trial, best))),
        "use": best.map(|best| typed(&best.candidate.environment(), &tuning.command)),
    })
}

fn of_trial(trial: &Trial, trials: usize) -> Value {
    let found = trial.difference(trials);
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
