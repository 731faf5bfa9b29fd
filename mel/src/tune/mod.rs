//! Settings of an MPI tried in paired runs of a program, each without and with one.
//!
//! - [`command`]: where in the command of a job the program stands.
//! - [`candidates`]: what is tried. - [`job`]: a run, of which nothing is left behind.
//! - [`statistics`]: whether a difference is one. - [`text`], [`json`]: what came of it.
//!
//! Runs that are compared are without MEL: their time is that of the whole job, from the start of the launcher to its end.

pub mod advice;
pub mod candidates;
pub mod command;
pub mod job;
pub mod json;
pub mod progress;
pub mod statistics;
pub mod text;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::bail;

use candidates::Candidate;
use job::{Check, Jobs, Outcome};
use progress::Progress;
use statistics::{Difference, LOOKS, Pair, Verdict, difference, judge, statements};

/// What has come of a candidate.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What was tried.
    pub candidate: Candidate,
    /// The times of its pairs.
    pub pairs: Vec<Pair>,
    /// How it was judged; [`Verdict::Open`] where the time was over before.
    pub verdict: Verdict,
    /// Why it was dropped: the program fails with it.
    pub failed: Option<String>,
}

/// Why trying ended before each candidate was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The budget is used up.
    Budget,
    /// This process was told to end.
    Interrupted,
}

/// All that was found.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The command of the job.
    pub command: Vec<OsString>,
    /// In the order of the candidates.
    pub trials: Vec<Trial>,
    /// Candidates for which there was no time.
    pub left_out: Vec<Candidate>,
    /// The number of runs, without that under the profile.
    pub runs: usize,
    /// How long all of it took.
    pub took: Duration,
    /// Why it ended early, if it did.
    pub stopped: Option<Stopped>,
}

impl Trial {
    /// The difference that it makes, with the confidence that holds for all trials together.
    pub fn difference(&self, trials: usize) -> Option<Difference> {
        difference(&self.pairs, statements(trials))
    }
}

impl Tuning {
    /// The trial that is significantly faster, and by the most: of those that are about as good the first, which is the better guess.
    pub fn best(&self) -> Option<&Trial> {
        const ABOUT: f64 = 1.02;
        let ratio = |trial: &Trial| trial.difference(self.trials.len()).map_or(1.0, |found| found.ratio);
        let faster = || self.trials.iter().filter(|trial| trial.verdict == Verdict::Faster);
        let least = faster().map(ratio).reduce(f64::min)?;
        faster().find(|trial| ratio(trial) <= least * ABOUT)
    }

    /// Whether something is not known yet.
    pub fn is_open(&self) -> bool {
        let open = |trial: &Trial| trial.verdict == Verdict::Open && trial.failed.is_none();
        self.trials.iter().any(open) || !self.left_out.is_empty()
    }
}

/// How to try.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The command of the job.
    pub command: &'a [OsString],
    /// When all of it began.
    pub begin: Instant,
    /// How long all of it may take.
    pub budget: Duration,
    /// What judges the results of each run.
    pub check: Option<&'a Check>,
}

/// So many pairs are usually needed for one setting: no more are tried than the budget has time for.
const USUAL: usize = LOOKS[1];

/// Tries candidates in paired runs, until each is judged or the time is over.
///
/// # Errors
/// The program fails without any setting, or the budget is too small for three pairs.
pub fn try_all(jobs: &Jobs, plan: &Plan<'_>, candidates: Vec<Candidate>) -> anyhow::Result<Tuning> {
    let mut tuning = Tuning {
        command: plan.command.to_vec(),
        trials: Vec::new(),
        left_out: Vec::new(),
        runs: 0,
        took: Duration::ZERO,
        stopped: None,
    };
    let progress = Progress::new(plan);
    progress.says("a run without a setting");
    let left = || plan.budget.saturating_sub(plan.begin.elapsed());
    // It is not counted: files are read for the first time.
    let Some(usual) = without(jobs, plan, &mut tuning, left().max(Duration::from_secs(60)))? else {
        tuning.stopped = Some(Stopped::Interrupted);
        tuning.took = plan.begin.elapsed();
        return Ok(tuning);
    };
    let pairs = left().as_secs_f64() / (2.0 * usual);
    let (least, wanted) = (LOOKS[0], candidates.len());
    if pairs < least as f64 {
        let needed = plan.begin.elapsed().as_secs_f64() + 2.2 * usual * least as f64;
        bail!(
            "a run takes {usual:.1} s, so that the budget of {:.0} s is over before {least} pairs of runs: give --budget {:.0}s or more",
            plan.budget.as_secs_f64(),
            needed.ceil()
        );
    }
    let mut candidates = candidates;
    tuning.left_out = candidates.split_off((pairs as usize / USUAL).clamp(1, wanted));
    let trial = |candidate| Trial { candidate, pairs: Vec::new(), verdict: Verdict::Open, failed: None };
    tuning.trials = candidates.into_iter().map(trial).collect();
    tuning.stopped = rounds(jobs, plan, &mut tuning, usual, &progress)?;
    tuning.took = plan.begin.elapsed();
    Ok(tuning)
}

/// A run without a setting: its time; none where it was interrupted.
fn without(
    jobs: &Jobs,
    plan: &Plan<'_>,
    tuning: &mut Tuning,
    limit: Duration,
) -> anyhow::Result<Option<f64>> {
    tuning.runs += 1;
    match jobs.run(plan.command, &[], limit, plan.check)? {
        Outcome::Ran(seconds) => Ok(Some(seconds)),
        Outcome::Interrupted => Ok(None),
        Outcome::Failed(why) => bail!("the program fails without any setting: {why}"),
    }
}

/// A pair of runs for each candidate that is not judged, again and again.
fn rounds(
    jobs: &Jobs,
    plan: &Plan<'_>,
    tuning: &mut Tuning,
    usual: f64,
    progress: &Progress,
) -> anyhow::Result<Option<Stopped>> {
    let number = tuning.trials.len();
    let limit = Duration::from_secs_f64(usual * 4.0 + 10.0);
    let is_open = |trial: &Trial| trial.verdict == Verdict::Open && trial.failed.is_none();
    while tuning.trials.iter().any(is_open) {
        for place in 0..number {
            if !is_open(&tuning.trials[place]) {
                continue;
            }
            if plan.begin.elapsed().as_secs_f64() + 2.0 * usual > plan.budget.as_secs_f64() {
                return Ok(Some(Stopped::Budget));
            }
            let pair = tuning.trials[place].pairs.len();
            let environment = tuning.trials[place].candidate.environment();
            progress.says(&format!("setting {} of {number}, pair {}", place + 1, pair + 1));
            // Each of the two comes first as often as the other.
            let mut times = [0.0; 2];
            let even = pair.is_multiple_of(2);
            for with in [!even, even] {
                if !with {
                    let Some(seconds) = without(jobs, plan, tuning, limit * 4)? else {
                        return Ok(Some(Stopped::Interrupted));
                    };
                    times[0] = seconds;
                    continue;
                }
                tuning.runs += 1;
                match jobs.run(plan.command, &environment, limit, plan.check)? {
                    Outcome::Ran(seconds) => times[1] = seconds,
                    Outcome::Interrupted => return Ok(Some(Stopped::Interrupted)),
                    Outcome::Failed(why) => {
                        tuning.trials[place].failed = Some(why);
                        break;
                    }
                }
            }
            let trial = &mut tuning.trials[place];
            if trial.failed.is_none() {
                trial.pairs.push((times[0], times[1]));
                trial.verdict = judge(&trial.pairs, number);
            }
        }
    }
    Ok(None)
}
