//! `mel diff`: two runs side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::of_run::missing;
use super::output::{to_stdout, warn};
use crate::diff::condition::Condition;
use crate::diff::terminal::terminal;
use crate::diff::{Change, compare};
use mel_run::profile as run_profile;

/// Shows two runs side by side: what takes longer in the second, and what less
///
/// Compares run time, time in MPI by function and call site, wait states and queues; the largest change
/// comes first. Times are sums over all ranks; run_time is the time of the slowest rank. Call
/// sites are matched by file, line and function, and where a line has moved by file and function.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel diff mel-app-1 mel-app-2
      what has changed from the first run to the second
  mel diff baseline mel-app-2 --fail-if 'mpi_time>+5%' --fail-if 'run_time>+10%'
      for continuous integration: exit code 1, and a line for each that is true
  mel diff baseline mel-app-2 --fail-if 'lost_time>2%' --fail-if 'MPI_Waitall>+100ms'
      where waiting takes over 2 % of the second run, or MPI_Waitall 100 ms longer than before
  mel diff baseline mel-app-2 --fail-if 'halo.c:42>1.5s'
      where the calls from a line take more than so long
  mel diff baseline mel-app-2 --fail-if 'parallel_efficiency<0.8'
      where the ranks compute less than 80 % of their time (docs/efficiency.md)
  mel diff mel-app-1 mel-app-2 --json | jq '.changes[] | select(.section == \"call_site\")'
      all numbers

A condition is a quantity, < or >, and a limit:
  mpi_time>+5%    more than 5 % above that of the first run
  mpi_time>+0.1s  more than 0.1 s above it; also ms, us, ns
  mpi_time>30%    more than 30 % of the time of all ranks of the second run
  mpi_time>2s     more than 2 s
  load_balance<0.9    below 0.9; efficiencies are from 0 to 1
Quantities are run_time, mpi_time, lost_time, search_time, calls, bytes_sent, bytes_received,
messages, unexpected_messages, parallel_efficiency, load_balance, communication_efficiency,
serialisation, transfer (where they are known), the time of an MPI function (MPI_Recv) or of a line (halo.c:42).")]
pub struct Args {
    /// The directory of the first run: what the second is held against
    #[arg(value_name = "A", value_parser = super::of_run::directory)]
    pub a: PathBuf,
    /// The directory of the second run
    #[arg(value_name = "B", value_parser = super::of_run::directory)]
    pub b: PathBuf,
    /// Print all numbers as JSON
    #[arg(long)]
    pub json: bool,
    /// End with exit code 1 where this is true of the second run; may be given several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,
}

/// Compares. The exit code is 1 if a condition is true.
///
/// # Errors
/// One of the directories holds no profile, or it cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let [a, b] = [&args.a, &args.b].map(|directory| {
        run_profile::read(directory).with_context(|| format!("cannot compare {}", directory.display()))
    });
    let (a, b) = (a?, b?);
    for (directory, profile) in [(&args.a, &a), (&args.b, &b)] {
        for sentence in missing(profile) {
            warn(&format!("{}: {sentence}", directory.display()));
        }
    }
    let diff = compare(&a, &b);
    let failed: Vec<String> = args.fail_if.iter().filter_map(|condition| condition.failed(&diff)).collect();
    let text = match args.json {
        true => json(args, &diff.changes, &failed)?,
        false => terminal([(&args.a, &a), (&args.b, &b)], &diff),
    };
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    for sentence in &failed {
        warn(&format!("failed: {sentence}"));
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn json(args: &Args, changes: &[Change], failed: &[String]) -> anyhow::Result<String> {
    let json = serde_json::json!({
        "a": args.a.display().to_string(),
        "b": args.b.display().to_string(),
        "changes": changes,
        "failed": failed,
    });
    Ok(serde_json::to_string_pretty(&json)? + "\n")
}

#[cfg(test)]
mod tests {
    use mel_log::profile::file;

    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use mel_log::profile::sample;

    fn args(line: &str) -> Option<Args> {
        match Cli::try_parse_from(line.split(' ')).ok()?.command {
            Command::Diff(args) => Some(args),
            _ => None,
        }
    }

    #[test]
    fn a_condition_that_is_true_fails() {
        let directory = tempfile::tempdir().unwrap();
        for (name, profile) in [("a", sample::healthy(4)), ("b", sample::late_rank(4, 1))] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
            file::write(&directory.path().join(name).join(file::FILE_NAME), &profile).unwrap();
        }
        let ends = |first: &str, second: &str, conditions: &str| {
            let [first, second] =
                [first, second].map(|name| directory.path().join(name).display().to_string());
            run(&args(&format!("mel diff {first} {second}{conditions}")).unwrap()).unwrap()
        };
        assert_eq!(ends("a", "b", ""), ExitCode::SUCCESS);
        assert_eq!(ends("a", "b", " --fail-if mpi_time>+5%"), ExitCode::FAILURE);
        assert_eq!(ends("b", "a", " --fail-if mpi_time>+5% --json"), ExitCode::SUCCESS);
        assert_eq!(ends("a", "b", " --fail-if run_time>+5% --fail-if lost_time>0"), ExitCode::FAILURE);
    }

    #[test]
    fn conditions_are_checked_before_anything_is_read() {
        assert!(args("mel diff a b --fail-if mpi_tme>+5%").is_none());
        assert_eq!(args("mel diff a b --fail-if mpi_time>+5% --fail-if calls>7").unwrap().fail_if.len(), 2);
        let missing = run(&args("mel diff /nowhere/a /nowhere/b").unwrap()).unwrap_err();
        assert!(format!("{missing:#}").contains("/nowhere/a"), "{missing:#}");
    }

    #[test]
    fn json_has_all_numbers() {
        let (a, b) = (sample::healthy(4), sample::late_rank(4, 1));
        let text =
            json(&args("mel diff x y").unwrap(), &compare(&a, &b).changes, &["sentence".into()]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["a"], &value["failed"][0]), (&"x".into(), &"sentence".into()));
        let changes = value["changes"].as_array().unwrap();
        let of = |name: &str| changes.iter().find(|change| change["name"] == name).unwrap();
        assert_eq!(of("mpi_time")["section"], "run");
        assert_eq!(of("MPI_Waitall")["unit"], "s");
        assert!((of("lost_time")["b"].as_f64().unwrap() - 1.8).abs() < 1e-9);
    }
}
