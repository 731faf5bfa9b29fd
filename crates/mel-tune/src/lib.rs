//! Settings of an MPI tried in paired runs of a program, each without and with one.
//!
//! - [`command`]: where in the command of a job the program stands.
//! - [`candidates`]: what is tried. - [`job`]: a run, of which nothing is left behind. - [`measure`]: what of it is compared.
//! - [`rounds`]: pairs of runs, until all is judged. - [`statistics`]: whether a difference is one.
//! - [`combination`]: those that are faster each, tried together.
//! - [`text`], [`json`]: what came of it.

pub mod advice;
pub mod candidates;
pub mod combination;
pub mod command;
pub mod job;
pub mod json;
pub mod measure;
pub mod progress;
pub mod rounds;
pub mod statistics;
pub mod text;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::bail;

use candidates::Candidate;
use combination::Together;
use measure::{Measure, Runs, Timed};
use progress::Progress;
use rounds::{End, Rounds};
use statistics::{Difference, LOOKS, Pair, Verdict, difference, statements};

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
    /// What its times are.
    pub measure: Measure,
    /// In the order of the candidates.
    pub trials: Vec<Trial>,
    /// Those that are faster each at once, where there are two or more of them.
    pub together: Option<Together>,
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
    /// Nothing is known of it yet.
    pub fn new(candidate: Candidate) -> Trial {
        Trial { candidate, pairs: Vec::new(), verdict: Verdict::Open, failed: None }
    }

    /// Whether more pairs may tell more.
    pub fn is_open(&self) -> bool {
        self.verdict == Verdict::Open && self.failed.is_none()
    }

    /// The difference that it makes, with the confidence that holds for so many settings at once.
    pub fn difference(&self, settings: usize) -> Option<Difference> {
        difference(&self.pairs, statements(settings))
    }

    /// Whether it is faster for certain.
    pub fn is_faster(&self) -> bool {
        self.verdict == Verdict::Faster && self.failed.is_none()
    }
}

impl Tuning {
    /// How many settings the confidence holds for at once: the trials, and what they may be together.
    pub fn settings(&self) -> usize {
        self.trials.len() + usize::from(combination::is_possible(&self.trials))
    }

    /// The place of the trial that is significantly faster, and by the most: of those that are about as good the first, which is the
    /// better guess.
    pub fn best(&self) -> Option<usize> {
        best_of(&self.trials, self.settings(), |_| true)
    }

    /// What to use: several settings at once only where they are significantly faster than the best one alone.
    pub fn chosen(&self) -> Option<&Candidate> {
        let best = &self.trials[self.best()?];
        let together = self.together.as_ref().map(|together| &together.trial);
        Some(&together.filter(|trial| trial.is_faster()).unwrap_or(best).candidate)
    }

    /// Whether something is not known yet.
    pub fn is_open(&self) -> bool {
        self.trials.iter().any(Trial::is_open) || !self.left_out.is_empty()
    }
}

/// The best of the trials at some places: see [`Tuning::best`].
fn best_of(trials: &[Trial], settings: usize, among: impl Fn(usize) -> bool) -> Option<usize> {
    const ABOUT: f64 = 1.02;
    let ratio = |place: usize| trials[place].difference(settings).map_or(1.0, |found| found.ratio);
    let faster = || (0..trials.len()).filter(|place| among(*place) && trials[*place].is_faster());
    let least = faster().map(ratio).reduce(f64::min)?;
    faster().find(|place| ratio(*place) <= least * ABOUT)
}

/// How to try.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The command of the job.
    pub command: &'a [OsString],
    /// What is measured.
    pub measure: Measure,
    /// When all of it began.
    pub begin: Instant,
    /// How long all of it may take.
    pub budget: Duration,
}

/// So many pairs are usually needed for one setting: no more are tried than the budget has time for.
const USUAL: usize = LOOKS[1];

/// Tries candidates in paired runs, until each is judged or the time is over; then those at once that are faster.
///
/// # Errors
/// The program fails without any setting, or the budget is too small for three pairs.
pub fn try_all(runs: &dyn Runs, plan: &Plan<'_>, candidates: Vec<Candidate>) -> anyhow::Result<Tuning> {
    let mut tuning = Tuning {
        command: plan.command.to_vec(),
        measure: plan.measure,
        trials: Vec::new(),
        together: None,
        left_out: Vec::new(),
        runs: 1,
        took: Duration::ZERO,
        stopped: None,
    };
    let progress = Progress::new(plan);
    progress.says("a run without a setting");
    let left = || plan.budget.saturating_sub(plan.begin.elapsed());
    // It is not counted: files are read for the first time.
    let usual = match runs.run(&[], left().max(Duration::from_secs(60)))? {
        Timed::Ran { job_s, .. } => job_s,
        Timed::Failed(why) => bail!("{FAILS}: {why}"),
        Timed::Interrupted => {
            (tuning.stopped, tuning.took) = (Some(Stopped::Interrupted), plan.begin.elapsed());
            return Ok(tuning);
        }
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
    tuning.trials = candidates.into_iter().map(Trial::new).collect();
    let settings = tuning.settings();
    let mut rounds = Rounds { runs, plan, progress: &progress, usual, settings, made: 1 };
    let number = tuning.trials.len();
    let name = |place| format!("setting {} of {number}", place + 1);
    tuning.stopped = match rounds.judge_all(&mut tuning.trials, &[], &name)? {
        End::Judged => None,
        End::Stopped(why) => Some(why),
        End::FailsWithout(why) => bail!("{FAILS}: {why}"),
    };
    tuning.together = combination::choose(&tuning.trials, settings);
    if tuning.stopped.is_none() {
        try_together(&mut rounds, &mut tuning)?;
    }
    (tuning.runs, tuning.took) = (rounds.made, plan.begin.elapsed());
    Ok(tuning)
}

/// Pairs of the best setting alone and several at once.
fn try_together(rounds: &mut Rounds<'_>, tuning: &mut Tuning) -> anyhow::Result<()> {
    let Some(together) = &mut tuning.together else { return Ok(()) };
    let best = &mut tuning.trials[together.best()];
    let called = together.names() + " together";
    let alone = best.candidate.environment();
    match rounds.judge_all(std::slice::from_mut(&mut together.trial), &alone, &|_| called.clone())? {
        End::Judged => {}
        End::Stopped(why) => tuning.stopped = Some(why),
        // It is in both, and nobody wants it.
        End::FailsWithout(why) => {
            together.trial.failed = Some(format!("setting {} fails without the others", together.of[0] + 1));
            best.failed = Some(why);
        }
    }
    Ok(())
}

const FAILS: &str = "the program fails without any setting";
