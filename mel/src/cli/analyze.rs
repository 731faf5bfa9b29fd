//! `mel analyze`: what costs time in a run, from each call of its trace.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use mel_analyze::rendezvous::{LONGER_THAN, Lost, PROTOCOLS, Protocol};
use mel_analyze::{Analysis, ByHand, HIDDEN, Options, Overlap, PathInWords, Rendezvous, analyze};
use mel_convert::Run;
use mel_convert::run::RunError;
use mel_log::StreamKind;
use mel_log::number::duration;
use mel_log::profile::remarks::Remark;
use mel_log::profile::text::efficiency::in_words;
use mel_log::profile::verdict::Finding;
use mel_log::profile::{Efficiencies, Efficiency, LeftOut, left_out, why};
use mel_run::profile as run_profile;
use serde::Serialize;

use super::of_run::complain;
use super::output::to_stdout;
use crate::progress_bar::ProgressBar;
use mel_log::profile::efficiency::{OfPhase, OfRegion};
use mel_log::profile::text::efficiency::{Parts, parts};
use mel_log::profile::text::layout::{percent, table, wrapped};
use mel_log::profile::text::verdict::sentence;
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
  mel analyze mel-app-1 --overlap
      which nonblocking messages are hidden behind work, and which are waited for all the same
  mel analyze mel-app-1 --rendezvous --longer-than 1MiB
      which protocol would suit messages of more than 1 MiB: read by the receiver, or written by the sender
  mel analyze mel-app-1 --json | jq '.verdict[0] | .rule, .cause_rank, .site'
      the worst finding for a program (docs/verdict.md explains all fields)

Exit code: 0; 1 if it failed; 3 if logs of the run are cut off, damaged or missing: the rest is analysed")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR", value_parser = super::of_run::directory)]
    pub directory: PathBuf,
    /// Print all findings as JSON
    #[arg(long, group = "has_protocols")]
    pub json: bool,
    /// Times lost in one call count from here on, like 50us. Default: 10us, or what the clocks may be apart
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub epsilon: Option<Duration>,
    /// A send and a receive are close if less is between them. Default: 5 % of the transfer, and at least --epsilon
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub delta_sr: Option<Duration>,
    /// How much of nonblocking messages was hidden behind work, by the lines that start them and that wait for them
    #[arg(long, conflicts_with = "json")]
    pub overlap: bool,
    /// How long messages would wait with each rendezvous protocol, by the lines that send and receive them (estimated)
    #[arg(long, conflicts_with_all = ["json", "overlap"], group = "has_protocols")]
    pub rendezvous: bool,
    /// With --rendezvous or --json: messages of more bytes than this are long. Default: 64KiB
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "has_protocols")]
    pub longer_than: Option<u64>,
    /// How many findings to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
}

/// Analyses.
///
/// # Errors
/// There is no trace in the directory.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = args.directory.display();
    let mut run = match Run::open(&args.directory) {
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
    let options = Options {
        epsilon: args.epsilon.map(nanos),
        delta_sr: args.delta_sr.map(nanos),
        longer_than: args.longer_than,
    };
    // What the tables had no space for, and names; nothing where there is none.
    let profile = run_profile::read(&args.directory).ok();
    let left_out = profile.as_ref().map(left_out::of).unwrap_or_default();
    run.name_communicators(profile.as_ref().map_or(&[], |profile| &profile.communicators));
    let progress = ProgressBar::new("analysing the trace", run.records_at_most());
    let mut analysis = analyze(&run, options, &|records| progress.advance(records));
    drop(progress);
    if let Some(profile) = &profile {
        why::explain(&mut analysis.verdict, &profile.ranks, &profile.ranks, &profile.sites);
    }
    if args.json {
        #[derive(Serialize)]
        struct Exact<'a> {
            #[serde(flatten)]
            whole: &'a Efficiency,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            phases: Vec<InPhase<'a>>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            regions: Vec<InRegion<'a>>,
        }
        #[derive(Serialize)]
        struct InPhase<'a> {
            phase: &'a str,
            #[serde(flatten)]
            of: &'a Efficiency,
        }
        #[derive(Serialize)]
        struct InRegion<'a> {
            region: &'a str,
            #[serde(flatten)]
            of: &'a Efficiency,
        }
        #[derive(Serialize)]
        struct Verdict<'a> {
            verdict: &'a [Finding],
            #[serde(skip_serializing_if = "<[Remark]>::is_empty")]
            remarks: &'a [Remark],
            #[serde(skip_serializing_if = "Option::is_none")]
            efficiency: Option<Exact<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            critical_path: &'a Option<PathInWords>,
            #[serde(skip_serializing_if = "<[Overlap]>::is_empty")]
            overlap: &'a [Overlap],
            #[serde(skip_serializing_if = "<[Rendezvous]>::is_empty")]
            rendezvous: &'a [Rendezvous],
            #[serde(skip_serializing_if = "<[ByHand]>::is_empty")]
            by_hand: &'a [ByHand],
            #[serde(skip_serializing_if = "LeftOut::is_none")]
            left_out: LeftOut,
        }
        let mut text = serde_json::to_string_pretty(&Verdict {
            verdict: &analysis.verdict,
            remarks: &analysis.remarks,
            efficiency: analysis.efficiency.as_ref().map(|whole| Exact {
                whole,
                phases: analysis.phases.iter().map(|(phase, of)| InPhase { phase, of }).collect(),
                regions: analysis.regions.iter().map(|(region, of)| InRegion { region, of }).collect(),
            }),
            critical_path: &analysis.critical_path,
            overlap: &analysis.overlap,
            rendezvous: &analysis.rendezvous,
            by_hand: &analysis.by_hand,
            left_out,
        })?;
        text.push('\n');
        to_stdout(|out| out.write_all(text.as_bytes()))?;
        return Ok(code);
    }
    let mut text = if !run.has_all() && (args.overlap || args.rendezvous) {
        wrapped(
            "",
            "Not known: the trace lacks calls. Record all of them: mel run --trace without --only-calls and --no-calls.",
        )
    } else if args.overlap {
        overlaps(&analysis, args.top)
    } else if args.rendezvous {
        protocols(&analysis.rendezvous, args.longer_than.unwrap_or(LONGER_THAN), args.top)
    } else {
        told(&analysis, args.top)
    };
    let is_whole = !(args.overlap || args.rendezvous);
    for sentence in analysis.worth_an_operation().filter(|_| is_whole) {
        text += &wrapped("", &format!("{sentence}."));
    }
    for remark in analysis.remarks.iter().filter(|_| is_whole) {
        text += &wrapped("", &sentence(&remark.sentence()));
    }
    for (count, what) in [
        (run.ended_early() as u64, "ranks ended before MPI_Finalize: everything until then counts"),
        (run.lost(), "records are missing in the logs: what they would show is not found"),
    ] {
        if count > 0 {
            text += &format!("{count} {what}\n");
        }
    }
    if let Some(sentence) = left_out.sentence() {
        text += &format!("{sentence}\n");
    }
    for filter in run.filters() {
        text += &format!("recorded: {filter}\n");
    }
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(code)
}

/// A number of bytes.
fn size(text: &str) -> Result<u64, String> {
    mel_log::number::bytes(text)
        .ok_or_else(|| format!("`{text}` is not a size: a number above zero, with K, M, G or T, as in 64KiB"))
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

/// How much of nonblocking messages was hidden, for people.
fn overlaps(analysis: &Analysis, top: usize) -> String {
    let all = &analysis.overlap;
    if all.is_empty() {
        return wrapped(
            "",
            "No call has waited for messages that were started before: nothing could overlap.",
        );
    }
    let header = ["started by", "waited for by", "operations", "work meanwhile", "waited", "overlap"];
    let row = |of: &Overlap| {
        let numbers =
            [of.operations.to_string(), duration(of.work_s), duration(of.waited_s), percent(of.overlap)];
        [of.started.clone(), of.completed.clone()].into_iter().chain(numbers).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(header.map(str::to_owned).to_vec()).chain(all.iter().take(top).map(row)).collect();
    let mut text = wrapped("", &format!("{HIDDEN}:"));
    text += &table(&rows, &[0, 1]);
    let more = all.len().saturating_sub(top);
    if more > 0 {
        text += &format!("{more} more pairs of lines: --top shows them, --json all\n");
    }
    text
}

/// Which protocol would suit long messages, for people.
fn protocols(all: &[Rendezvous], longer_than: u64, top: usize) -> String {
    let than = mel_log::number::size(longer_than as f64);
    if all.is_empty() {
        return wrapped("", &format!("No message of more than {than} has both of its sides in the trace."));
    }
    let name = |lost: &Lost| match lost.best {
        Some(Protocol::Read) => "read",
        Some(Protocol::Asked) => "asked",
        None => "any",
    };
    let header = ["sent by", "received by", "messages", "sent first", "read", "write", "asked", "best"];
    // There is no space for the functions of both calls.
    let line = |call: &str| {
        let line = call.split_once(" at ").map_or(call, |(_, line)| line);
        line.split_once(" (").map_or(line, |(line, _)| line).to_owned()
    };
    let differs = |of: &Rendezvous| of.pairs.iter().any(|pair| pair.lost.best != of.lost.best);
    let row = |of: &Rendezvous| {
        let lost = &of.lost;
        let best = format!("{}{}", name(lost), if differs(of) { " *" } else { "" });
        let seconds = [lost.read_s, lost.write_s, lost.asked_s].map(duration);
        let first = percent(lost.sent_first as f64 / lost.messages.max(1) as f64);
        let words = [line(&of.sent), line(&of.received), lost.messages.to_string(), first];
        words.into_iter().chain(seconds).chain([best]).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(header.map(str::to_owned).to_vec()).chain(all.iter().take(top).map(row)).collect();
    let mut text = wrapped("", &format!("{PROTOCOLS}; messages of more than {than}:"));
    text += &table(&rows, &[0, 1, 7]);
    text += &wrapped(
        "",
        "read: the receiver reads what was announced; write: the sender writes after an answer; asked: the sender writes when the receiver \
         has asked. MVAPICH2 (MV2_RNDV_PROTOCOL) and UCX (UCX_RNDV_SCHEME) can be told to read or to write; none of them to ask: an \
         MPI_Test now and then does the same, or a send that comes first.",
    );
    if all.iter().take(top).any(differs) {
        text += "* of some pairs of ranks another: --json has each pair\n";
    }
    let more = all.len().saturating_sub(top);
    if more > 0 {
        text += &format!("{more} more pairs of lines: --top shows them, --json all, by pair of ranks\n");
    }
    text
}

/// A line for each phase.
fn of_parts(phases: &[(String, Efficiency)], regions: &[(String, Efficiency)]) -> String {
    let (names, of): (Vec<String>, Vec<Efficiency>) = phases.iter().cloned().unzip();
    let phases = (0..).zip(of).map(|(phase, of)| OfPhase { phase, of }).collect();
    let regions = regions.iter().map(|(region, of)| OfRegion { region: region.clone(), of: of.clone() });
    let all = Efficiencies { phases, regions: regions.collect(), ..Efficiencies::default() };
    parts(&all, &names).iter().map(Parts::table).collect()
}

/// The worst findings for people.
fn told(analysis: &Analysis, top: usize) -> String {
    let Analysis { verdict, all_ranks_s, ranks, run_s, mpi_s, efficiency, critical_path, .. } = analysis;
    let mut text = format!(
        "{ranks} ranks, {} between MPI_Init and MPI_Finalize; {} of all ranks together, {:.0} % in MPI\n",
        duration(*run_s),
        duration(*all_ranks_s),
        100.0 * mpi_s / all_ranks_s.max(1e-9),
    );
    text.extend(efficiency.as_ref().map(|of| wrapped("", &sentence(&in_words(of)))));
    text.extend(critical_path.as_ref().map(|path| wrapped("", &path.sentence())));
    if efficiency.is_some() {
        text += &of_parts(&analysis.phases, &analysis.regions);
    }
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
        let article = |name: &str| if name.starts_with("communicator made") { "the " } else { "" };
        let on = on.map_or(String::new(), |name| format!(" on {}{name}", article(name)));
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
        if let Some(why) = &finding.why {
            text += &indented(&format!("Why: {why}."));
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
    use mel_analyze::PlaceOnPath;
    use mel_log::profile::Basis;

    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("50us"), Ok(Duration::from_micros(50)));
        assert_eq!(time("1.5ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(time("2µs"), Ok(Duration::from_micros(2)));
        assert!(time("5").is_err() && time("us").is_err() && time("-1s").is_err());
    }

    #[test]
    fn the_path_is_told_with_its_places() {
        let place = |rank, seconds, share| PlaceOnPath {
            rank,
            before: "MPI_Send at a.c:7 (main)".into(),
            seconds,
            share,
        };
        let places = vec![place(1, 0.75, 0.75), place(0, 0.2, 0.2), place(2, 0.01, 0.01)];
        let path = PathInWords { computing_s: 1.0, turns: 8, ranks: Vec::new(), places };
        let efficiency =
            Efficiency::of([(0, 0.5), (1, 0.8)], 1.25).map(|of| of.with_ideal(1.0, Basis::Exact));
        let analysis = Analysis { efficiency, critical_path: Some(path), ..Analysis::default() };
        let text = told(&analysis, 5).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("(serialisation 80.0 % x transfer 80.0 %); rank 1 computes longest"), "{text}");
        assert!(
            text.contains(
                "computes for 1.00 s, going 8 times from one rank to another: 750 ms (75 %) on rank 1 before \
                 MPI_Send at a.c:7 (main); 200 ms (20 %) on rank 0 before MPI_Send at a.c:7 (main)."
            ),
            "{text}"
        );
    }

    #[test]
    fn what_is_small_is_not_told() {
        let finding = Finding { rule: "late_sender".into(), share: 0.009, ..Finding::default() };
        let mut analysis = Analysis {
            verdict: vec![finding],
            all_ranks_s: 4.0,
            ranks: 4,
            run_s: 1.0,
            mpi_s: 2.0,
            ..Analysis::default()
        };
        assert!(told(&analysis, 5).contains("MPI is not what holds"));
        analysis.verdict[0].share = 0.5;
        analysis.verdict[0].cause_rank = Some(3);
        let text = told(&analysis, 5);
        assert!(text.contains("1. late_sender, ") && text.contains("cause rank 3"), "{text}");
    }
}
