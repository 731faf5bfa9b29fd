//! `mel analyze`: what costs time in a run, from each call of its trace.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use mel_analyze::{Analysis, Options, analyze};
use mel_convert::Run;
use mel_convert::run::RunError;
use mel_log::StreamKind;
use mel_log::number::duration;
use mel_log::profile::verdict::Finding;
use serde::Serialize;

use super::incomplete::complain;
use super::output::to_stdout;
use crate::progress_bar::ProgressBar;
use mel_log::profile::text::layout::wrapped;
use mel_verdict::findings::LEAST_SHARE;

/// Tells what costs time in a traced run, at which line, and which rank is the cause
///
/// Looks at each call of a trace (`mel run --trace`), with the other side of each message and all processes of each collective
/// operation: nothing is estimated. A wait is followed back: a rank that was late because it waited itself is not the cause.
/// docs/verdict.md has the rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel analyze mel-app-1
      what costs most time, worst first, in plain words
  mel analyze mel-app-1 --top 20 --epsilon 1us
      more findings, and shorter waits counted
  mel analyze mel-app-1 --json | jq '.verdict[0] | .rule, .cause_rank, .site'
      the worst finding for a program (docs/verdict.md explains all fields)

Exit code: 0; 1 if it failed; 3 if logs of the run are cut off, damaged or missing: the rest is analysed")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print all findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Times lost in one call count from here on, like 50us. Default: 10us, or what the clocks may be apart
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub epsilon: Option<Duration>,
    /// A send and a receive are close if less is between them. Default: the same as --epsilon
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub delta_sr: Option<Duration>,
    /// Show so many findings
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
}

/// Analyses.
///
/// # Errors
/// There is no trace in the directory.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = args.directory.display();
    let run = match Run::open(&args.directory) {
        Err(RunError::Empty(_)) => bail!("{path} holds no trace: run the program with `mel run --trace`"),
        run => run?,
    };
    let code = complain(&run.incomplete());
    let has_calls = run
        .ranks
        .iter()
        .any(|log| log.definitions.streams.values().any(|stream| stream.kind == StreamKind::Calls));
    ensure!(has_calls, "the log in {path} has events but no calls: run the program with `mel run --trace`");
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let options = Options { epsilon: args.epsilon.map(nanos), delta_sr: args.delta_sr.map(nanos) };
    let progress = ProgressBar::new("analysing the trace", run.records_at_most());
    let analysis = analyze(&run, options, &|records| progress.advance(records));
    drop(progress);
    if args.json {
        #[derive(Serialize)]
        struct Verdict<'a> {
            verdict: &'a [Finding],
        }
        let mut text = serde_json::to_string_pretty(&Verdict { verdict: &analysis.verdict })?;
        text.push('\n');
        to_stdout(|out| out.write_all(text.as_bytes()))?;
        return Ok(code);
    }
    let mut text = told(&analysis, args.top);
    for (count, what) in [
        (run.ended_early() as u64, "ranks ended before MPI_Finalize: everything until then counts"),
        (run.lost(), "records are missing in the logs: what they would show is not found"),
    ] {
        if count > 0 {
            text += &format!("{count} {what}\n");
        }
    }
    for filter in run.filters() {
        text += &format!("recorded: {filter}\n");
    }
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(code)
}

/// A time with its unit.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
    let scale = match &text[digits.len()..] {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err("a time has a unit: ns, us, ms or s, as in 50us".into()),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{digits}` is not a number"))?;
    Duration::try_from_secs_f64(number * scale).map_err(|_| format!("{text} is no time to wait for"))
}

/// The worst findings for people.
fn told(analysis: &Analysis, top: usize) -> String {
    let Analysis { verdict, all_ranks_s, ranks, run_s, mpi_s } = analysis;
    let mut text = format!(
        "{ranks} ranks, {} between MPI_Init and MPI_Finalize; {} of all ranks together, {:.0} % in MPI\n",
        duration(*run_s),
        duration(*all_ranks_s),
        100.0 * mpi_s / all_ranks_s.max(1e-9),
    );
    let worth = verdict.iter().filter(|finding| finding.share >= LEAST_SHARE);
    let shown: Vec<&Finding> = worth.clone().take(top).collect();
    if shown.is_empty() {
        text +=
            &wrapped("", "No wait and no queue costs 1 % of that: MPI is not what holds this program back.");
        return text;
    }
    for (place, finding) in (1..).zip(&shown) {
        let cause = finding.cause_rank.map_or(String::new(), |rank| format!(", cause rank {rank}"));
        let patterns: Vec<&str> = finding.patterns.iter().map(|pattern| pattern.name.as_str()).collect();
        let patterns = match patterns.is_empty() {
            true => String::new(),
            false => format!(" ({})", patterns.join(", ")),
        };
        text += &format!("\n{place}. {}{patterns}{cause}\n", finding.rule);
        let indented = |what: &str| wrapped("- ", what);
        text += &indented(&format!("{}.", finding.text));
        let lost = finding.victims.iter().zip(&finding.lost_by_rank_s).take(4);
        let by_rank: Vec<String> =
            lost.map(|(rank, lost)| format!("rank {rank} {}", duration(*lost))).collect();
        let more = finding.victims.len().saturating_sub(4);
        let more = if more > 0 { format!(", and {more} more ranks") } else { String::new() };
        let on = finding.communicator.as_ref().filter(|name| *name != "MPI_COMM_WORLD");
        let on = on.map_or(String::new(), |name| format!(" on {name}"));
        text += &indented(&format!("Lost in {} calls{on}: {}{more}.", finding.count, by_rank.join(", ")));
        if let Some(worst) = finding.worst.first() {
            let at = format!(
                "Worst: {} on rank {} from {:.6} s on.",
                duration(worst.lost_s),
                worst.rank,
                worst.begin_s
            );
            text += &indented(&at);
        }
        text += &indented(&format!("To do: {}.", finding.advice));
    }
    let more = worth.count() - shown.len();
    if more > 0 {
        text += &format!("\n{more} more cost 1 % or more: --top shows them, --json all\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("50us"), Ok(Duration::from_micros(50)));
        assert_eq!(time("1.5ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(time("2µs"), Ok(Duration::from_micros(2)));
        assert!(time("5").is_err() && time("us").is_err() && time("-1s").is_err());
    }

    #[test]
    fn what_is_small_is_not_told() {
        let finding = Finding { rule: "late_sender".into(), share: 0.009, ..Finding::default() };
        let mut analysis =
            Analysis { verdict: vec![finding], all_ranks_s: 4.0, ranks: 4, run_s: 1.0, mpi_s: 2.0 };
        assert!(told(&analysis, 5).contains("MPI is not what holds"));
        analysis.verdict[0].share = 0.5;
        analysis.verdict[0].cause_rank = Some(3);
        let text = told(&analysis, 5);
        assert!(text.contains("1. late_sender, ") && text.contains("cause rank 3"), "{text}");
    }
}
