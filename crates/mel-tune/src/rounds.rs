//! Pairs of runs, one without a setting and one with it, until each setting is judged or the time is over.

use std::time::Duration;

use super::measure::{Runs, Timed};
use super::progress::Progress;
use super::statistics::{Pair, judge};
use super::{Plan, Stopped, Trial};

/// How a row of pairs ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All is judged.
    Judged,
    /// Before that.
    Stopped(Stopped),
    /// The program fails without what is tried.
    FailsWithout(String),
}

/// Makes pairs.
pub struct Rounds<'a> {
    /// Runs the job.
    pub runs: &'a dyn Runs,
    /// The time that there is.
    pub plan: &'a Plan<'a>,
    /// Is told what runs.
    pub progress: &'a Progress,
    /// How long a run usually takes, in seconds.
    pub usual: f64,
    /// How many settings are judged in all: the confidence holds for all of them at once.
    pub settings: usize,
    /// How many runs there were.
    pub made: usize,
}

/// What came of a pair.
enum Paired {
    Pair(Pair),
    FailsWith(String),
    FailsWithout(String),
    Interrupted,
}

impl Rounds<'_> {
    /// A pair for each trial that is not judged, again and again: one run with the environment variables of `without`, and one with the
    /// trial's. `name` says what the trial at a place is called.
    ///
    /// # Errors
    /// The job cannot be started.
    pub fn judge_all(
        &mut self,
        trials: &mut [Trial],
        without: &[(String, String)],
        name: &dyn Fn(usize) -> String,
    ) -> anyhow::Result<End> {
        while trials.iter().any(Trial::is_open) {
            for (place, trial) in (0..).zip(trials.iter_mut()).filter(|(_, trial)| trial.is_open()) {
                if self.plan.begin.elapsed().as_secs_f64() + 2.0 * self.usual > self.plan.budget.as_secs_f64()
                {
                    return Ok(End::Stopped(Stopped::Budget));
                }
                let pair = trial.pairs.len();
                self.progress.says(&format!("{}, pair {}", name(place), pair + 1));
                // Each of the two comes first as often as the other.
                let without_first = pair.is_multiple_of(2);
                match self.pair(without, &trial.candidate.environment(), without_first)? {
                    Paired::Pair(pair) => {
                        trial.pairs.push(pair);
                        trial.verdict = judge(&trial.pairs, self.settings);
                    }
                    Paired::FailsWith(why) => trial.failed = Some(why),
                    Paired::FailsWithout(why) => return Ok(End::FailsWithout(why)),
                    Paired::Interrupted => return Ok(End::Stopped(Stopped::Interrupted)),
                }
            }
        }
        Ok(End::Judged)
    }

    fn pair(
        &mut self,
        without: &[(String, String)],
        setting: &[(String, String)],
        without_first: bool,
    ) -> anyhow::Result<Paired> {
        let limit = Duration::from_secs_f64(self.usual * 4.0 + 10.0);
        let mut times = [0.0; 2];
        for with in [!without_first, without_first] {
            self.made += 1;
            // It is slow without a setting where the machine is: it gets more time.
            let (environment, limit) = if with { (setting, limit) } else { (without, limit * 4) };
            match self.runs.run(environment, limit)? {
                Timed::Ran { measured_s, .. } => times[usize::from(with)] = measured_s,
                Timed::Interrupted => return Ok(Paired::Interrupted),
                Timed::Failed(why) if with => return Ok(Paired::FailsWith(why)),
                Timed::Failed(why) => return Ok(Paired::FailsWithout(why)),
            }
        }
        Ok(Paired::Pair((times[0], times[1])))
    }
}
