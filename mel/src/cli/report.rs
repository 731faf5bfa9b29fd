//! `mel report`: what a finished run has found, as tables or as a page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::ArgGroup;
use comfy_table::{CellAlignment, Table, presets};

use super::advise::read_rules;
use super::of_run::{code, complain, missing};
use super::output::{to_stdout, write_file};
use super::{matrix, stuck};
use crate::progress_bar::ProgressBar;
use crate::tables::terminal::terminal;
use crate::tables::{csv, csv_of_many};
use mel_analyze::PathInWords;
use mel_convert::Run;
use mel_convert::run::RunError;
use mel_log::profile::columns::Columns;
use mel_log::profile::file::ProfileError;
use mel_log::profile::text::layout::wrapped;
use mel_log::profile::text::report::lines;
use mel_log::profile::{Profile, ends};
use mel_log::{RankLog, State};
use mel_page::view::traffic::traffic;
use mel_page::view::{View, Window, exact, view};
use mel_page::{html, png};
use mel_rules::advice::advise;
use mel_run::profile as run_profile;
use mel_tune::advice::pointer;

/// Shows what a finished run has found
///
/// Prints what costs time and which rank and line is the cause, time in MPI by rank, function and call
/// site, who waits for whom, and the message queues; or a page for the browser, pictures, or all numbers.
/// A run that was killed is shown as far as it went: each process counts in a file that outlives it. The report says how each rank ended,
/// and in which call those were last seen that were killed. So it may be read while the program runs.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("looks").multiple(true).args(["html", "png"]))]
#[command(after_help = "Examples:
  mel report mel-app-1
      verdict, time in MPI, call sites, wait states and queues, in 100 columns
  mel report mel-app-1 --estimated
      the same without reading the trace, if there is one, for an exact verdict
  mel report mel-app-1 --lines
      before it the statistics of each rank's queues, a line each
  mel report mel-app-1 --json | jq -r '.verdict[] | [.rule, .lost_s, .cause_rank, .site] | @tsv'
      what costs time, for scripts (docs/profile.md explains all)
  mel report mel-app-1 --json | jq '.ranks[] | [.rank, .unexpected.max_length]'
      one number of each rank
  mel report mel-app-1 --csv > app.csv
      all numbers, one per line: rank, host, section, quantity, unit, value, and of which call
  mel report mel-app-1 --phase solve
      what the program did in the phase that it calls so (docs/phases.md)
  mel report mel-app-1 --html app.html
      a page for the browser: plots per rank; after `mel run --trace` a timeline, too
  mel report mel-app-1 --html part.html --from 1.5 --to 1.6
      a tenth of a second of a long trace in full
  mel report mel-app-1 --png figures
      the same plots as pictures, for papers: figures/lifetimes.png and others
  mel report mel-app-1 --matrix --kind p2p,put
      who sends what to whom, after `mel run --profile matrix`; also by host, of a phase, as files

Exit code: 0; 1 if it failed; 3 if files of the run are cut off, damaged or missing: the rest is shown")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR", value_parser = super::of_run::directory)]
    pub directory: PathBuf,
    /// More directories, of which nothing is shown: there is another command for them
    #[arg(hide = true)]
    pub others: Vec<PathBuf>,
    /// Print the profile of all ranks as JSON
    #[arg(long)]
    pub json: bool,
    /// Print all numbers as comma-separated values, one per line: what pandas calls long format
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print the statistics of each rank's queues and windows, too: a line for each
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub lines: bool,
    /// Show the numbers of one phase that the program has named; without a verdict, and of the pictures --matrix alone
    #[arg(long, value_name = "NAME", conflicts_with = "html")]
    pub phase: Option<String>,
    /// Take the verdict from the profile even where there is a trace: quicker, and estimated
    #[arg(long, conflicts_with_all = ["csv", "html", "png"])]
    pub estimated: bool,
    /// Write a page that needs nothing but a browser
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "csv", "lines"])]
    pub html: Option<PathBuf>,
    /// Draw the plots of that page as pictures into a directory; with --matrix one picture into this file
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "csv", "lines"])]
    pub png: Option<PathBuf>,
    /// Show the timeline of page or pictures from here on, in seconds since its beginning
    #[arg(long, value_name = "SECONDS", requires = "looks")]
    pub from: Option<f64>,
    /// Show the timeline up to here
    #[arg(long, value_name = "SECONDS", requires = "looks")]
    pub to: Option<f64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub matrix: matrix::Args,
}

/// Prints the report.
///
/// # Errors
/// The directory holds neither a profile nor an event log, or they cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let [other, ..] = &args.others[..] {
        let (this, other) = (args.directory.display(), other.display());
        bail!("a report is of one run: `mel diff {this} {other}` shows two side by side");
    }
    if args.matrix.matrix {
        let out = (args.csv, args.png.as_deref());
        return matrix::run(&args.directory, &args.matrix, args.phase.as_deref(), out);
    }
    if args.html.is_some() || args.png.is_some() {
        anyhow::ensure!(
            args.phase.is_none(),
            "--phase with --png needs --matrix: other pictures show the whole run"
        );
        let (view, code) = look(args)?;
        if let Some(path) = &args.html {
            write_file(path, |out| html::write(out, &view))?;
        }
        if let Some(directory) = &args.png {
            let files = png::write(directory, &view)?;
            to_stdout(|out| files.iter().try_for_each(|file| writeln!(out, "{}", file.display())))?;
        }
        return Ok(code);
    }
    let mut profile = match run_profile::read(&args.directory) {
        Ok(profile) => profile,
        Err(ProfileError::Absent(_)) if !args.json && !args.csv && Run::open(&args.directory).is_ok() => {
            let run = Run::open(&args.directory)?;
            let text = logs(&run, &args.directory);
            to_stdout(|out| out.write_all(text.as_bytes()))?;
            return Ok(code(run.incomplete().is_empty()));
        }
        Err(error) => return Err(error.into()),
    };
    let mut of_trace = Vec::new();
    match &args.phase {
        Some(name) => profile = profile.of_phase(name).map_err(anyhow::Error::msg)?,
        None => of_trace = improve(&mut profile, args),
    }
    if args.json {
        let text = serde_json::to_string_pretty(&profile)? + "\n";
        to_stdout(|out| out.write_all(text.as_bytes()))?;
    } else if args.csv && profile.reduced.is_some() {
        let columns = Columns::read(&args.directory)?;
        to_stdout(|out| csv_of_many(out, &profile, &columns))?;
        profile.incomplete.extend(columns.incomplete());
    } else if args.csv {
        to_stdout(|out| csv(out, &profile))?;
    } else {
        // What is missing is among its last lines.
        let lines = if args.lines { lines(&profile) } else { String::new() };
        // A run that has ended well does not hang: nothing is read once more.
        let may_hang = args.phase.is_none() && !ends::sentences(&profile).is_empty();
        let hangs = if may_hang { stuck::first_words(&args.directory) } else { String::new() };
        let of_trace: String = of_trace.iter().map(|sentence| wrapped("", sentence)).collect();
        let text =
            hangs + &lines + &terminal(&profile, &args.directory) + &of_trace + &advised(&profile, args)?;
        to_stdout(|out| out.write_all(text.as_bytes()))?;
    }
    Ok(if args.json || args.csv { complain(&missing(&profile)) } else { code(profile.is_whole()) })
}

/// Where `mel advise` has something to say of the run, as far as its profile alone tells: a line.
fn advised(profile: &Profile, args: &Args) -> anyhow::Result<String> {
    if args.phase.is_some() {
        return Ok(String::new());
    }
    Ok(pointer(&advise(&read_rules(&[])?, profile), &args.directory))
}

/// Where the run has a whole trace the verdict is exact. What its logs lack is added to what the profile lacks. Gives, in sentences, what the
/// trace alone has.
fn improve(profile: &mut Profile, args: &Args) -> Vec<String> {
    let Ok(run) = Run::open(&args.directory) else { return Vec::new() };
    profile.incomplete.extend(run.incomplete());
    if args.estimated || args.csv {
        return Vec::new();
    }
    let progress = ProgressBar::new("analyzing the trace", run.records_at_most());
    let Some(analysis) = exact::analysis(&run, &|records| progress.advance(records)) else {
        return Vec::new();
    };
    profile.verdict = exact::verdict(&run, Some(&analysis.verdict), profile.verdict.as_deref());
    let (known, of) = (profile.efficiency.take(), (&profile.phases[..], &profile.ranks[..]));
    profile.efficiency = exact::efficiency(&run, Some(&analysis), known, of);
    let path = analysis.critical_path.iter().map(PathInWords::sentence);
    let sentences =
        path.chain(analysis.worth_an_operation().map(|sentence| format!("{sentence}."))).collect();
    profile.remarks.extend(analysis.remarks);
    sentences
}

/// What a page or a picture shows of the run, from whatever it has left.
fn look(args: &Args) -> anyhow::Result<(View, ExitCode)> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        bail!("--from {from} is not before --to {to}");
    }
    let profile = match run_profile::read(&args.directory) {
        Err(ProfileError::Absent(_)) => None,
        read => Some(read?),
    };
    let mut logs = match Run::open(&args.directory) {
        Err(RunError::Empty(_)) if profile.is_some() => None,
        opened => Some(opened?),
    };
    if let (Some(logs), Some(profile)) = (&mut logs, &profile) {
        logs.name_communicators(&profile.communicators);
    }
    let mut incomplete = profile.as_ref().map_or(Vec::new(), missing);
    incomplete.extend(logs.as_ref().map(Run::incomplete).unwrap_or_default());
    let code = complain(&incomplete);
    let window = Window { from: args.from, to: args.to };
    let progress = ProgressBar::new(
        "reading the logs",
        if args.html.is_some() && !args.estimated { 2 } else { 1 }
            * logs.as_ref().map_or(0, Run::records_at_most),
    );
    let tick = |records| progress.advance(records);
    let mut view = view(profile.as_ref(), logs.as_ref(), window, &tick);
    if profile.as_ref().is_some_and(|profile| profile.reduced.is_some()) {
        match Columns::read(&args.directory) {
            Ok(columns) => {
                columns.incomplete().iter().for_each(|sentence| super::output::warn(sentence));
                view.add_ranks(&columns, args.png.is_some());
            }
            Err(error) => super::output::warn(&format!("{error}; single ranks are left out")),
        }
        // Who sends to whom has no sums: it is in the tables that the ranks have left.
        view.traffic = run_profile::read_with_traffic(&args.directory).ok().as_ref().and_then(traffic);
    }
    if let Some(run) = logs.as_ref().filter(|_| args.html.is_some() && !args.estimated) {
        view.analyze(run, profile.as_ref().map_or(&[], |profile| &profile.ranks), &tick);
    }
    drop(progress);
    Ok((view, code))
}

/// What there is to say about a run that left only event logs.
fn logs(run: &Run, directory: &Path) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["rank", "host", "ended", "records", "lost"]);
    for log in &run.ranks {
        table.add_row([
            log.info.rank.to_string(),
            log.info.host.clone(),
            ended(log).to_owned(),
            log.streams().into_iter().map(|stream| log.records(stream).count()).sum::<usize>().to_string(),
            log.dropped_total().to_string(),
        ]);
    }
    for column in table.column_iter_mut().filter(|column| [0, 3, 4].contains(&column.index)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text: String = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    for sentence in run.incomplete() {
        text += &wrapped("", &sentence);
    }
    let directory = directory.display();
    text += &wrapped(
        "",
        &format!(
            "no profile, only event logs: `mel convert {directory} --text` shows their events, `mel report \
             --html FILE {directory}` makes a page of them, `mel convert {directory} --otf2` a trace"
        ),
    );
    text
}

fn ended(log: &RankLog) -> &'static str {
    match log.state {
        State::Finalised => "finalised",
        State::Aborted => "before MPI_Finalize",
        State::Running => "early (killed, crashed, or still running)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use mel_log::{HeaderInfo, LogFile, StreamKind, kind};

    #[test]
    fn a_part_is_one_of_page_or_pictures_and_begins_before_its_end() {
        let parse = |line: &str| match Cli::try_parse_from(line.split(' ')).map(|cli| cli.command) {
            Ok(Command::Report(args)) => Some(args),
            _ => None,
        };
        assert!(parse("mel report d --from 1").is_none() && parse("mel report d --csv --to 1").is_none());
        let args = parse("mel report d --html p --png q --from 2 --to 1.5").unwrap();
        assert_eq!(look(&args).unwrap_err().to_string(), "--from 2 is not before --to 1.5");
    }

    #[test]
    fn logs_alone_are_told_by_rank() {
        let directory = tempfile::tempdir().unwrap();
        for rank in [10, 2] {
            let info = HeaderInfo {
                rank,
                world_size: 16,
                pid: 1,
                ticks_per_second: 1,
                origin_ticks: 0,
                origin_realtime_nanos: 0,
                host: "node".into(),
            };
            let path = directory.path().join(mel_log::file_name(rank));
            let log = LogFile::create(&path, &info).unwrap();
            let mut stream = log.stream(StreamKind::Events, 0, None);
            for time in 0..u64::from(rank) {
                stream.append(time, kind::EVENT, 0, &[]);
            }
            if rank == 2 {
                log.finish(State::Finalised, 1);
            }
        }
        std::fs::write(directory.path().join("rank-3.mlog"), "cut").unwrap();
        let text = logs(&Run::open(directory.path()).unwrap(), Path::new("d"));
        let lines: Vec<String> =
            text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[0], "rank host ended records lost");
        assert_eq!(lines[1], "2 node finalised 2 0");
        assert_eq!(lines[2], "10 node early (killed, crashed, or still running) 10 0");
        let last = lines[3..].join(" ");
        assert!(last.contains("rank-3.mlog is not an event log") && last.contains("left out"), "{text}");
        assert!(last.contains("ranks 0, 1, 3 to 9, 11 to 15 have no event log here"), "{text}");
        assert!(last.contains("`mel convert d --text`"), "{text}");
    }
}
