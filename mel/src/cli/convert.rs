//! `mel convert`: event logs as text, as an OTF2 archive, as a Perfetto trace, or as tables; the profile as a Cube profile.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::of_run::{complain, missing};
use super::output::{to_stdout, warn, write_file, write_text};
use crate::progress_bar::ProgressBar;
use crate::{cubex, parquet, perfetto, speedscope};
use mel_convert::{Run, otf2, text};
use mel_log::launcher::Place;
use mel_log::number;
use mel_log::profile::{Finding, Instance};
use mel_log::settings::EXACT_RANKS;
use mel_page::view::exact;
use mel_run::profile as run_profile;

/// Findings whose worst instances are marked.
const MOST_REMARKED: usize = 10;

/// Converts the event logs of a run to text, an OTF2 trace, a Perfetto trace, or tables; its profile to a Cube profile
///
/// The logs of a run that was killed are converted as far as they go; standard error says which are cut off or missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel convert mel-app-1
      each event, one line each, rank by rank
  mel convert mel-app-1 --text --calls -o app.txt
      MPI calls and messages too, to a file
  mel convert mel-app-1 --otf2
      mel-app-1/traces.otf2, for Vampir, otf2-print and the like
  mel convert --perfetto app.perfetto mel-app-1
      a trace that ui.perfetto.dev opens in the browser
  mel convert --parquet tables/ mel-app-1
      tables/calls.parquet, messages.parquet and others, for pandas, polars, DuckDB and R
  mel convert --cubex app.cubex mel-app-1
      the profile of calls for the Cube GUI, pycubexr and what else reads Cube profiles
  mel convert --speedscope app.json mel-app-1
      sampled stacks for speedscope.app, after mel run --sample

Exit code: 0; 1 if it failed; 3 if logs of the run are cut off, damaged or missing: the rest is converted")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR", value_parser = super::of_run::directory)]
    pub directory: PathBuf,
    /// One line per event; this is what happens without any option
    #[arg(long, conflicts_with = "otf2")]
    pub text: bool,
    /// An OTF2 archive: MPI calls, messages, and the searches of the message queues
    #[arg(long)]
    pub otf2: bool,
    /// A Perfetto trace: ranks as processes, calls and searches, queue lengths, messages as arrows
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "otf2", "output"])]
    pub perfetto: Option<PathBuf>,
    /// Tables as Parquet files: calls, messages, collectives, searches of the queues and samples of variables, with a row for each.
    /// What is there is replaced
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["text", "otf2", "perfetto", "output"])]
    pub parquet: Option<PathBuf>,
    /// A Cube profile: time, calls, bytes and waiting, by call site and thread. Needs the profile, and no log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "otf2", "perfetto", "parquet", "output"])]
    pub cubex: Option<PathBuf>,
    /// A speedscope profile: sampled stacks of each rank (mel run --sample). Needs the profile, and no log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "otf2", "perfetto", "parquet", "cubex", "output"])]
    pub speedscope: Option<PathBuf>,
    /// As text: MPI calls and messages too
    #[arg(long, conflicts_with_all = ["otf2", "perfetto", "parquet", "cubex", "speedscope"])]
    pub calls: bool,
    /// Where to write. Default: text to standard output, traces.otf2 into the run's directory
    #[arg(short = 'o', long = "output", value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Replace a trace that is there already
    #[arg(long, requires = "otf2")]
    pub force: bool,
    /// Do not mark the worst instances of what costs time. To find them, all logs are read once more
    #[arg(long, requires = "otf2")]
    pub no_markers: bool,
    /// Convert although a launcher has started this process as one of several, of which the first one converts else
    #[arg(long, requires = "otf2")]
    pub alone: bool,
}

/// Converts.
///
/// # Errors
/// There is nothing to convert, or the result cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.cubex {
        return for_cube(path, &args.directory);
    }
    if let Some(path) = &args.speedscope {
        return for_speedscope(path, &args.directory);
    }
    if args.otf2 && !args.alone && is_of_many() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut run = Run::open(&args.directory)?;
    let code = complain(&run.incomplete());
    if args.otf2 {
        trace(args, &run)?;
        return Ok(code);
    }
    if let Some(path) = &args.perfetto {
        for_perfetto(path, &run)?;
        return Ok(code);
    }
    if let Some(path) = &args.parquet {
        for_tables(path, &mut run, &args.directory)?;
        return Ok(code);
    }
    let options = text::Options { calls: args.calls };
    match &args.output {
        Some(path) => {
            let progress = ProgressBar::new("writing the text", run.records_at_most());
            write_text(path, |out| text::write_run(out, &run, options, |records| progress.advance(records)))?;
            drop(progress);
        }
        None => to_stdout(|mut out| text::write_run(&mut out, &run, options, |_| {}))?,
    }
    Ok(code)
}

/// Whether a launcher has started this process beside another one that writes the same archive.
fn is_of_many() -> bool {
    let rank = Place::here().map_or(0, |place| place.rank);
    if rank == 1 {
        warn("a launcher has started several processes: the first one converts, with all its processors");
    }
    rank > 0
}

fn trace(args: &Args, run: &Run) -> anyhow::Result<()> {
    make_room(args)?;
    let progress = ProgressBar::new("writing the trace", run.records_at_most());
    let remarks = if args.no_markers { Vec::new() } else { remarks(run) };
    let summary = otf2::write_with(run, args.place(), &remarks, &|records| progress.advance(records))?;
    drop(progress);
    to_stdout(|out| write!(out, "{}", summarised(args, run, &summary)))
}

impl Args {
    /// The directory of the trace.
    fn place(&self) -> &Path {
        self.output.as_ref().unwrap_or(&self.directory)
    }
}

/// There is no trace in the way afterwards.
fn make_room(args: &Args) -> anyhow::Result<()> {
    let path = args.place().join(otf2::FILE_NAME);
    if path.exists() && !args.force {
        bail!("{} exists already; replace it with --force, or choose another place with -o", path.display());
    }
    if args.force {
        otf2::remove(args.place())?;
    }
    Ok(())
}

/// The worst instances of what costs time.
fn remarks(run: &Run) -> Vec<otf2::Remark> {
    let findings = exact::analysis(run, &|_| {}).unwrap_or_default().verdict;
    let of_finding = |finding: &Finding| {
        let (subject, text) = (finding.rule.replace('_', " "), finding.text.clone());
        let remark = move |worst: &Instance| otf2::Remark {
            rank: worst.rank,
            nanos: (worst.begin_s * 1e9).max(0.0) as u64,
            subject: subject.clone(),
            text: format!("{} lost: {text}", number::duration(worst.lost_s)),
        };
        finding.worst.iter().map(remark).collect::<Vec<_>>()
    };
    findings.iter().take(MOST_REMARKED).flat_map(of_finding).collect()
}

fn for_perfetto(path: &Path, run: &Run) -> anyhow::Result<()> {
    let progress = ProgressBar::new("writing the trace", run.records_at_most());
    let mut summary = perfetto::Summary::default();
    write_file(path, |out| {
        summary = perfetto::write(out, run, &|records| progress.advance(records))?;
        Ok(())
    })?;
    drop(progress);
    let perfetto::Summary { calls, searches, messages, operations, events, changes, samples } = summary;
    let (path, ranks) = (path.display(), run.ranks.len());
    let mut text = format!(
        "{path}: {ranks} ranks, {calls} MPI calls, {searches} queue searches, {messages} messages, \
         {changes} changes of queue lengths, {operations} operations on windows, {events} other events{}\n",
        of_samples(samples)
    );
    text += &of_logs(run, "what is missing is not marked");
    to_stdout(|out| out.write_all(text.as_bytes()))
}

fn for_tables(path: &Path, run: &mut Run, directory: &Path) -> anyhow::Result<()> {
    // Communicators and call sites have the names that `mel report` gives them.
    let profile = run_profile::read(directory).ok();
    run.name_communicators(profile.as_ref().map_or(&[], |profile| &profile.communicators));
    let progress = ProgressBar::new("writing the tables", run.records_at_most());
    let summary = parquet::write(path, run, &|records| progress.advance(records))
        .with_context(|| format!("cannot write tables into {}", path.display()))?;
    drop(progress);
    let parquet::Summary { calls, messages, collectives, searches, samples } = summary;
    let mut text = format!(
        "{}: {} ranks, {calls} MPI calls, {messages} sides of messages, {collectives} calls of collective operations, \
         {searches} queue searches{}\n",
        path.display(),
        run.ranks.len(),
        of_samples(samples)
    );
    text += &of_logs(run, "what is missing is not marked");
    to_stdout(|out| out.write_all(text.as_bytes()))
}

fn for_cube(path: &Path, directory: &Path) -> anyhow::Result<ExitCode> {
    let profile = run_profile::read(directory)?;
    if !profile.has_calls() {
        bail!(
            "the profile in {} has no calls; run the program with `mel run --profile calls`",
            directory.display()
        );
    }
    if profile.reduced.is_some() {
        bail!(
            "the profile in {} has sums over all ranks, and Cube shows each: measure again with {EXACT_RANKS}={}",
            directory.display(),
            profile.world_size
        );
    }
    write_file(path, |out| cubex::write(out, &profile))?;
    Ok(complain(&missing(&profile)))
}

fn for_speedscope(path: &Path, directory: &Path) -> anyhow::Result<ExitCode> {
    let profile = run_profile::read(directory)?;
    if profile.ranks.iter().all(|rank| rank.stacks.is_empty()) {
        bail!(
            "the profile in {} has no stacks; run the program with `mel run --sample`",
            directory.display()
        );
    }
    write_file(path, |out| speedscope::write(out, &profile))?;
    Ok(complain(&missing(&profile)))
}

/// What is said of samples, where there are any.
fn of_samples(samples: u64) -> String {
    if samples == 0 { String::new() } else { format!(", {samples} samples of variables") }
}

/// What the logs lack of the run; `missing` says what has become of lost records.
fn of_logs(run: &Run, missing: &str) -> String {
    let mut text: String = run.filters().iter().map(|filter| format!("  recorded: {filter}\n")).collect();
    for (count, what) in [
        (run.ended_early() as u64, "ranks ended before MPI_Finalize: everything until then is in the trace"),
        (
            run.lost(),
            &format!("records are missing in the logs, the disk was full or --limit reached: {missing}"),
        ),
    ] {
        if count > 0 {
            text += &format!("  {count} {what}\n");
        }
    }
    text
}

/// What is in a trace, and what is not.
fn summarised(args: &Args, run: &Run, summary: &otf2::Summary) -> String {
    let path = args.place().join(otf2::FILE_NAME);
    let mut text = format!(
        "{}: {} ranks, {} MPI calls, {} message records, {} queue searches and other regions\n",
        path.display(),
        run.ranks.len(),
        summary.calls,
        summary.messages,
        summary.regions,
    );
    text += &of_logs(run, "markers show where");
    let left_out: u64 = summary.left_out.values().sum();
    for (count, what) in [
        (summary.unfinished, "regions had no end: they end where the next one around them does"),
        (summary.unbegun, "ends had no beginning: left out"),
        (summary.moved, "times went back: moved forward"),
        (summary.unknown_messages, "messages had no known communicator or peer: left out"),
        (
            summary.one_sided,
            "messages were sent or received while recording was off (MPI_Pcontrol): their other sides are left out",
        ),
        (left_out, "events are no regions: only `mel convert --text` shows them"),
    ] {
        if count > 0 {
            text += &format!("  {count} {what}\n");
        }
    }
    text
}
