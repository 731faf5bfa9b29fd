//! `mel tune`: tries settings of the MPI in paired runs of a program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use mel_rules::advice::{Advices, advise};
use mel_rules::rule::Rule;

use super::advise::read_rules;
use super::output::{to_stdout, warn};
use mel_run::profile as run_profile;
use mel_tune::candidates::{Candidate, of_advice};
use mel_tune::job::{Check, Jobs, Outcome};
use mel_tune::json::json;
use mel_tune::measure::{CHEAPEST, Measure, Runner, scratch};
use mel_tune::text::text;
use mel_tune::{Plan, Stopped, Tuning, advice, command, try_all};

/// Tries settings of the MPI in paired runs, and reports which make the program faster
///
/// Runs the program once under the profile, asks rules which control variables of the MPI are worth a try, and runs the whole job
/// without and with each of them in turn, without MEL (--measure program: the time of the program alone, under MEL). It reports the
/// difference with its confidence, and the command to use; or that nothing that was tried makes the program faster. A setting that is
/// clearly no better is left early, one with which the program fails is dropped. Give a run that is short and like the long ones: what is tried is started many times.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel tune -- mpirun -n 4 ./app in.txt
      what rules find in one run under the profile, tried for up to ten minutes
  mel tune --budget 1h --check 'grep -q converged' -- srun -n 64 ./app
      an hour; runs whose output does not pass the command count as failed
  mel tune --measure program -- mpirun -n 4 ./app short.txt
      a job that takes longer to start than to run: the time between MPI_Init and MPI_Finalize
  mel tune --from mel-app-1 --dry-run -- mpirun -n 4 ./app
      what would be tried after this run: nothing is started
  mel tune --rules mine.toml -- mpirun -n 4 ./app
      also what the rules of a file advise (docs/tuning.md has the syntax)
  mel tune --try btl_vader_eager_limit=8192 --try 'coll_tuned_use_dynamic_rules=1 coll_tuned_bcast_algorithm=7' \\
           -- mpirun -n 4 ./app
      these two settings alone
  mel tune --json -- mpirun -n 4 ./app | jq -r .use
      the command to use, or null

How it measures: the time of the whole job, from the start of the launcher to its end, without MEL; with --measure program the time between
MPI_Init and MPI_Finalize of the rank that takes longest, under `mel run --profile matrix` on both sides. Pairs of one run without and one with a setting, in
alternating order; the mean difference of the pairs with a Student interval that holds with 95 % for all settings and looks
together. Those that are faster each are then tried at once, in pairs with the best one alone. Settings are environment variables of the
job: OMPI_MCA_NAME, MPIR_CVAR_..., UCX_... as they are.

Exit code: 0, whether something is faster or not; 1 if it failed; 130 after Ctrl-C, which ends the run that is going on")]
pub struct Args {
    /// How long all of it may take, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = budget)]
    pub budget: Duration,
    /// What is compared: the time of the job, or of the program alone
    #[arg(long, value_enum, default_value_t)]
    pub measure: Measure,
    /// Take what this run has counted, instead of a run under the profile
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Rules of this file, too
    #[arg(long, value_name = "FILE.toml")]
    pub rules: Vec<PathBuf>,
    /// Try this setting, of which several variables are separated by blanks; may be given several times. Without --from and --rules: only these
    #[arg(long = "try", value_name = "NAME=VALUE", value_parser = Candidate::of_words)]
    pub tries: Vec<Candidate>,
    /// A shell command that gets the output of each run as its input: where its exit code is not 0, the run counts as failed
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
    /// Show what would be tried, and try nothing; without --from the program runs once, under the profile
    #[arg(long)]
    pub dry_run: bool,
    /// Keep the run under the profile in this directory
    #[arg(short, long, value_name = "DIR", conflicts_with = "from")]
    pub output: Option<PathBuf>,
    /// Print all numbers as JSON
    #[arg(long)]
    pub json: bool,
    /// The command of the job, with its launcher
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<OsString>,
}

pub(super) fn budget(text: &str) -> Result<Duration, String> {
    let hours =
        text.strip_suffix('h').and_then(|hours| hours.parse::<f64>().ok()).filter(|hours| *hours < 1e6);
    let time = hours
        .map(|hours| Duration::from_secs_f64(hours.max(0.0) * 3600.0))
        .or_else(|| mel_log::number::interval(text));
    time.filter(|time| !time.is_zero()).ok_or_else(|| "give a time such as 90s, 10m or 1h".into())
}

/// Tries, and tells what came of it.
///
/// # Errors
/// The program cannot be started or fails without a setting, there is no profile, or the budget is too small.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    let rules = read_rules(&args.rules)?;
    if args.command.iter().any(|word| Path::new(word).file_name().is_some_and(|name| name == "mel")) {
        bail!(
            "leave `mel run` out of the command: it is put before the program where it is needed (--measure program)"
        );
    }
    let jobs = Jobs::new()?;
    let check = args.check.clone().map(Check);
    // What cannot be measured is told before anything runs.
    let runner = Runner::new(&jobs, &args.command, args.measure, check.as_ref())?;
    let mut candidates = args.tries.clone();
    let mut advices = Advices::default();
    if args.tries.is_empty() || args.from.is_some() || !args.rules.is_empty() {
        let Some(found) = advised(args, &rules, &jobs, check.as_ref(), begin)? else {
            return Ok(ExitCode::from(INTERRUPTED));
        };
        advices = found;
        candidates.extend(of_advice(&advices.said));
    }
    if !args.json {
        let mut said = advice::text(&advices);
        if candidates.is_empty() {
            said += "There is nothing to try: no rule has a setting for what was seen.\n";
        }
        to_stdout(|out| out.write_all(said.as_bytes()))?;
    }
    if args.dry_run || candidates.is_empty() {
        return dry(args, &candidates);
    }
    let plan = Plan { command: &args.command, measure: args.measure, begin, budget: args.budget };
    let tuning = try_all(&runner, &plan, candidates)?;
    show(args, &tuning)?;
    Ok(if tuning.stopped == Some(Stopped::Interrupted) {
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
}

/// The exit code of a command that Ctrl-C has ended.
pub(super) const INTERRUPTED: u8 = 130;

/// What would be tried; nothing was.
fn dry(args: &Args, candidates: &[Candidate]) -> anyhow::Result<ExitCode> {
    if args.json {
        let tries: Vec<_> = candidates
            .iter()
            .map(|candidate| serde_json::json!({ "rule": candidate.rule, "setting": candidate.words(), "because": candidate.because }))
            .collect();
        let text =
            serde_json::to_string_pretty(&serde_json::json!({ "would_try": tries, "use": null }))? + "\n";
        to_stdout(|out| out.write_all(text.as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let line =
        |candidate: &Candidate| format!("  {}\n", command::typed(&candidate.environment(), &args.command));
    let under = match args.measure {
        Measure::Job => String::new(),
        Measure::Program => format!(", both under `mel run --profile {CHEAPEST}`"),
    };
    if !candidates.is_empty() {
        let lines: String = candidates.iter().map(line).collect();
        to_stdout(|out| {
            write!(out, "Each of these would be run in turn with the command as it is{under}:\n{lines}")
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(args: &Args, tuning: &Tuning) -> anyhow::Result<()> {
    let text = match args.json {
        true => serde_json::to_string_pretty(&json(tuning))? + "\n",
        false => text(tuning),
    };
    to_stdout(|out| out.write_all(text.as_bytes()))
}

/// What rules say of the run that was given, or of one under the profile; none where that was interrupted.
fn advised(
    args: &Args,
    rules: &[Rule],
    jobs: &Jobs,
    check: Option<&Check>,
    begin: Instant,
) -> anyhow::Result<Option<Advices>> {
    let read = |directory: &Path| {
        run_profile::read_with_traffic(directory)
            .with_context(|| format!("cannot tune after {}", directory.display()))
    };
    if let Some(directory) = &args.from {
        return Ok(Some(advise(rules, &read(directory)?)));
    }
    let scratch = scratch()?;
    let directory = args.output.clone().unwrap_or_else(|| scratch.path().join("profile"));
    let Some(profiled) = command::under_mel(&args.command, "calls,queues,matrix", &directory)? else {
        bail!(
            "cannot tell which word of the command is the program: run it with `mel run` where it belongs, and give the directory \
             of that run with --from"
        );
    };
    warn(&format!("a run under the profile: {}", command::typed(&[], &profiled)));
    let limit = args.budget.saturating_sub(begin.elapsed());
    match jobs.run(&profiled, &[], limit, check)? {
        Outcome::Ran(_) => Ok(Some(advise(rules, &read(&directory)?))),
        Outcome::Interrupted => Ok(None),
        Outcome::Failed(why) => bail!("the program fails under the profile: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn parse(words: &[&str]) -> Option<Args> {
        match Cli::try_parse_from(["mel", "tune"].iter().chain(words)).ok()?.command {
            Command::Tune(args) => Some(args),
            _ => None,
        }
    }

    #[test]
    fn a_budget_is_a_time() {
        let of = |text: &str| parse(&["--budget", text, "--", "a"]).map(|args| args.budget.as_secs());
        assert_eq!(
            (of("90s"), of("10m"), of("1h"), of("1.5h")),
            (Some(90), Some(600), Some(3600), Some(5400))
        );
        assert_eq!((of("0"), of("x"), of("-1h")), (None, None, None));
        assert_eq!(parse(&["--", "a"]).unwrap().budget.as_secs(), 600);
        assert!(parse(&[]).is_none() && parse(&["a"]).is_none(), "a command stands after --");
    }

    #[test]
    fn a_command_with_mel_in_it_is_refused() {
        let error = run(&parse(&["--", "mpirun", "mel", "run", "./app"]).unwrap()).unwrap_err().to_string();
        assert!(error.contains("leave `mel run` out"), "{error}");
    }

    #[test]
    fn what_would_be_tried_can_be_asked_without_a_run() {
        let args = parse(&["--dry-run", "--try", "a=1 b=2", "--try", "c=3", "--", "false"]).unwrap();
        assert_eq!(args.tries.len(), 2);
        assert_eq!(run(&args).unwrap(), ExitCode::SUCCESS);
        assert!(parse(&["--try", "a", "--", "false"]).is_none());
    }
}
