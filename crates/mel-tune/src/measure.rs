//! What is measured of each run that is compared: the time of the whole job, or that of the program between `MPI_Init` and `MPI_Finalize`.
//!
//! The latter is known inside the program alone, so these runs are under `mel run` with the profile that costs least of those that have
//! it: who sends what to whom, which reads no clock in calls. What MEL itself sends and writes it does in `MPI_Finalize`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use mel_log::profile::columns::{RUN, TIME};
use mel_log::profile::{Ended, Profile};
use mel_run::own_folder;
use tempfile::TempDir;

use super::command::under_mel;
use super::job::{Check, Jobs, Outcome};
use mel_run::profile as run_profile;

/// The profile of runs whose program is measured.
pub const CHEAPEST: &str = "matrix";

/// What is measured of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Measure {
    /// The whole job, from the start of its launcher to its end, without MEL.
    #[default]
    Job,
    /// The program between MPI_Init and MPI_Finalize, under MEL in all runs.
    Program,
}

impl Measure {
    /// What times are, behind "times are".
    pub fn words(self) -> &'static str {
        match self {
            Measure::Job => "of the whole job, without MEL",
            Measure::Program => {
                "of the rank that takes longest, measured between MPI_Init and MPI_Finalize, under MEL on both sides"
            }
        }
    }
}

/// How a run went.
#[derive(Clone, Debug, PartialEq)]
pub enum Timed {
    /// It ended well.
    Ran {
        /// How long all of it took, in seconds.
        job_s: f64,
        /// What is compared, in seconds.
        measured_s: f64,
    },
    /// It did not, and why.
    Failed(String),
    /// This process was told to end.
    Interrupted,
}

/// Runs a job again and again, and measures.
pub trait Runs {
    /// Runs it, with some environment variables more, for at most so long.
    ///
    /// # Errors
    /// It cannot be started.
    fn run(&self, environment: &[(String, String)], limit: Duration) -> anyhow::Result<Timed>;
}

/// Runs of a command.
#[derive(Debug)]
pub struct Runner<'a> {
    jobs: &'a Jobs,
    check: Option<&'a Check>,
    command: Vec<OsString>,
    /// Where each run leaves its profile, if it does.
    profile: Option<PathBuf>,
    /// Has the profile in it.
    _scratch: Option<TempDir>,
}

impl<'a> Runner<'a> {
    /// Runs of this command, of which that is measured, and which a check judges.
    ///
    /// # Errors
    /// Where the program is measured: it is not found in the command, or there is no place for its profile.
    pub fn new(
        jobs: &'a Jobs,
        command: &[OsString],
        measure: Measure,
        check: Option<&'a Check>,
    ) -> anyhow::Result<Runner<'a>> {
        let mut runner = Runner { jobs, check, command: command.to_vec(), profile: None, _scratch: None };
        if measure == Measure::Program {
            let scratch = scratch()?;
            let directory = scratch.path().join("run");
            runner.command = under_mel(command, CHEAPEST, &directory)?.context(
                "cannot tell which word of the command is the program: write it with its path, such as ./app, or measure the whole \
                 job (--measure job)",
            )?;
            (runner.profile, runner._scratch) = (Some(directory), Some(scratch));
        }
        Ok(runner)
    }

    /// The command as it is run.
    pub fn command(&self) -> &[OsString] {
        &self.command
    }
}

impl Runs for Runner<'_> {
    fn run(&self, environment: &[(String, String)], limit: Duration) -> anyhow::Result<Timed> {
        let job_s = match self.jobs.run(&self.command, environment, limit, self.check)? {
            Outcome::Ran(seconds) => seconds,
            Outcome::Failed(why) => return Ok(Timed::Failed(why)),
            Outcome::Interrupted => return Ok(Timed::Interrupted),
        };
        let Some(directory) = &self.profile else { return Ok(Timed::Ran { job_s, measured_s: job_s }) };
        let measured = of_directory(directory);
        // The next run finds none.
        if directory.exists() {
            std::fs::remove_dir_all(directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        Ok(match measured {
            Ok(measured_s) => Timed::Ran { job_s, measured_s },
            Err(why) => Timed::Failed(format!(
                "the time between MPI_Init and MPI_Finalize is not known: {why} (--measure job needs no profile)"
            )),
        })
    }
}

/// A directory for what runs under MEL leave. It is where the job is started, which all hosts of a job see in most places; where nothing
/// can be written there, it is among temporary files. It goes when it is dropped.
///
/// # Errors
/// There is no place to write to.
pub fn scratch() -> anyhow::Result<TempDir> {
    let here = std::env::current_dir().and_then(|here| own_folder(".mel-tune-", &here));
    here.or_else(|_| own_folder("mel-tune-", &std::env::temp_dir()))
        .context("cannot make a directory for runs under MEL")
}

fn of_directory(directory: &Path) -> Result<f64, String> {
    if !directory.exists() {
        return Err("MEL has left no profile; `mel run` before the program tells why".into());
    }
    of_profile(&run_profile::read(directory).map_err(|error| error.to_string())?)
}

/// The time between `MPI_Init` and `MPI_Finalize` in seconds, of the rank for which it is longest.
fn of_profile(profile: &Profile) -> Result<f64, String> {
    if !profile.is_whole() {
        let who = profile.missing_ranks().in_words().unwrap_or_else(|| "a part of the ranks".into());
        return Err(profile.incomplete.first().cloned().unwrap_or(format!("{who} left no profile")));
    }
    let early = |ended: Ended| ended != Ended::Finalised;
    let longest = match &profile.reduced {
        Some(reduced) if reduced.ended.iter().any(|some| early(some.ended)) => None,
        Some(reduced) => reduced.over(TIME, RUN).and_then(|over| over.max()).map(|(_, seconds)| seconds),
        None if profile.ranks.iter().any(|rank| early(rank.ended)) => None,
        None => profile.ranks.iter().map(|rank| rank.run_s).reduce(f64::max),
    };
    longest.filter(|seconds| *seconds > 0.0).ok_or_else(|| "not all ranks have called MPI_Finalize".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::RankProfile;

    fn of(ranks: &[(f64, Ended)], world_size: u32) -> Result<f64, String> {
        let rank = |(rank, &(run_s, ended)): (u32, &(f64, Ended))| RankProfile {
            rank,
            run_s,
            ended,
            ..RankProfile::default()
        };
        let ranks = (0..).zip(ranks).map(rank).collect();
        of_profile(&Profile { ranks, world_size, ..Profile::default() })
    }

    #[test]
    fn a_program_takes_as_long_as_its_slowest_rank() {
        assert_eq!(of(&[(1.0, Ended::Finalised), (3.0, Ended::Finalised)], 2), Ok(3.0));
    }

    #[test]
    fn a_run_of_which_a_rank_is_not_known_to_its_end_has_no_time() {
        let finalised = (1.0, Ended::Finalised);
        assert!(of(&[finalised, (1.0, Ended::Exited)], 2).unwrap_err().contains("MPI_Finalize"));
        assert!(of(&[finalised], 2).unwrap_err().contains("rank 1 left no profile"));
        assert!(of(&[(0.0, Ended::Finalised)], 1).is_err());
        assert!(of(&[], 0).is_err());
    }

    #[test]
    fn where_the_program_is_not_found_the_remedy_is_told() {
        let jobs = Jobs::new().unwrap();
        let command = ["mpirun", "-n", "4", "no-such-program"].map(OsString::from);
        let error = Runner::new(&jobs, &command, Measure::Program, None).unwrap_err().to_string();
        assert!(error.contains("--measure job"), "{error}");
        assert_eq!(Runner::new(&jobs, &command, Measure::Job, None).unwrap().command(), command);
        let command = ["mpirun", "-n", "4", "/bin/sh"].map(OsString::from);
        let runner = Runner::new(&jobs, &command, Measure::Program, None).unwrap();
        let words: Vec<_> = runner.command().iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(words[4..7], ["run", "--profile", "matrix"], "{words:?}");
        assert_eq!(words.last(), Some(&"/bin/sh"));
    }
}
