//! `mel watch`: a run that goes on.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::ensure;

use super::analyze::time;
use super::output::{to_stdout, warn};
use mel_log::choice::Choice;
use mel_log::printable;
use mel_log::setting::Setting;
use mel_watch::elsewhere::Elsewhere;
use mel_watch::feed::{Feed, Frames};
use mel_watch::frame::Frame;
use mel_watch::gather::supervisor::{Gathering, Node, words};
use mel_watch::reading::Stage;
use mel_watch::setting::{self, Setter};
use mel_watch::{terminal, text, web};

/// Shows a run while it goes on
///
/// Each rank in a line: whether it runs, its share of time in MPI and waiting, the lengths of its message queues, and more; the call sites where the
/// chosen rank spends its time; and a curve of the chosen number. It reads the profile that each process of `mel run` counts in a mapped file, again and
/// again: whatever becomes of it, the run does not notice. In a run that was started with `mel run --settable` it can set control variables.
///
/// The directory need not be there yet, and the run may have ended. The directory must be on a file system that this machine sees.
/// docs/watch.md says what the numbers mean.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel watch mel-app-1
      in the terminal; arrows choose rank and column, s sorts, p pauses, ? explains, q quits
  mel watch mel-app-1 --every 200ms
      five times a second
  mel watch mel-app-1 --vars 'mel_unexpected_*'
      of a run of mel run --vars all, these variables: columns right of the others
  mel watch mel-app-1 --web
      also as a page for a browser on this machine, at an address that it prints
  mel watch mel-app-1 --once
      one snapshot as text, over an interval of a second; also where the output is no terminal
  mel watch /scratch/run --node node-a --node node-b
      also what is in that directory on these nodes, which ssh reaches
  mel watch run --node node-b:/local/run --gather 'srun --overlap -n 1 -w {host} {mel} gather {dir}'
      asked through Slurm, in the job
  mel watch mel-app-1 --json | jq -r '[.at_unix_s, .over.mpi_now.median] | @tsv'
      a line of JSON each second, until the run has ended

  mel watch mel-app-1 --set mel_recording=off@2
      rank 2 counts and records nothing from now on, if the run was started with mel run --settable

Exit code: 0; 1 if it failed, if there was nothing to show with --once, or if something was not set with --set")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// How often it is read, such as 1s or 200ms; less often where reading takes longer than a third of that
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    pub every: Duration,
    /// Of the performance variables that the run samples (mel run --vars), show these only: names with wildcards, such as 'mel_*'. Default: all
    #[arg(long, value_name = "LIST", default_value = "all", hide_default_value = true, value_parser = variables)]
    pub vars: Choice,
    /// Where the run's directory is on a disk of each node: a node, and the directory there if it has another name. May be given several
    /// times. What this machine sees itself needs no --node
    ///
    /// On each of these nodes `mel gather` is started, which reads the directory there and reports it through the launcher's own
    /// connection; no port is opened. docs/watch.md has more.
    #[arg(long, value_name = "HOST[:DIR]")]
    pub node: Vec<String>,
    /// How it is started: words with {host}, {dir}, {every} (--every) and {mel} (the path of this command) in them
    #[arg(long, value_name = "COMMAND", default_value = GATHER)]
    pub gather: String,
    /// Print one snapshot as text and end
    #[arg(long, conflicts_with_all = ["json", "web"])]
    pub once: bool,
    /// Print a line of JSON for each interval, until the run has ended
    #[arg(long, conflicts_with = "web")]
    pub json: bool,
    /// Serve a page for the browser, too: to this machine only, at an address that nobody can guess, until this command ends
    #[arg(long)]
    pub web: bool,
    /// Set a control variable of the MPI or of MEL (mel vars lists them) on all ranks or on some, say what came of it, and end:
    /// NAME=VALUE, NAME=VALUE@0,4-7
    ///
    /// The run must have been started with `mel run --settable`. A rank sets it in its next MPI call, and reads it back. With --node, those
    /// on these nodes, too. May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE", conflicts_with_all = ["json", "web", "once"])]
    pub set: Vec<Setting>,
    /// Who has the address of the page may set control variables there, too
    #[arg(long, requires = "web")]
    pub allow_set: bool,
    /// The port of that page. Default: any that is free
    #[arg(long, value_name = "PORT", requires = "web")]
    pub port: Option<u16>,
}

/// How a node is asked, unless the user knows better.
const GATHER: &str = "ssh -o BatchMode=yes {host} mel gather {dir} --every {every}";

/// A node is waited for so long by a snapshot.
const FIRST: Duration = Duration::from_secs(10);

fn nodes(args: &Args) -> anyhow::Result<Vec<Node>> {
    let nodes = args.node.iter().map(|text| Node::parse(text, &args.directory));
    nodes.collect::<Result<_, _>>().map_err(|how| anyhow::anyhow!("--node: {how}"))
}

/// The nodes whose ranks are asked there.
fn elsewhere(args: &Args) -> anyhow::Result<Vec<Elsewhere>> {
    let asks = |node: Node| {
        let words = words(&args.gather, &node, args.every).map_err(anyhow::Error::msg)?;
        Ok(Elsewhere { words, host: node.host })
    };
    nodes(args)?.into_iter().map(asks).collect()
}

/// What follows the nodes, where there are some.
fn gathering(args: &Args) -> anyhow::Result<Option<Gathering>> {
    let nodes = nodes(args)?;
    if nodes.is_empty() {
        return Ok(None);
    }
    Ok(Some(Gathering::start(&args.directory, nodes, |node| words(&args.gather, node, args.every))?))
}

/// The variables of a list of patterns; of `all`, all.
fn variables(text: &str) -> Result<Choice, String> {
    Choice::new(if text == "all" { "" } else { text }, "")
}

/// What is shown in one go: of this machine's directory, and of those of nodes.
fn frames(args: &Args) -> anyhow::Result<Frames> {
    Ok(match gathering(args)? {
        None => Frames::new(&args.directory),
        Some(gathering) => {
            gathering.wait_for_first(FIRST);
            Frames::gathered(gathering)
        }
    }
    .showing(args.vars.clone()))
}

/// A time between readings.
pub(super) fn every(text: &str) -> Result<Duration, String> {
    let every = time(text)?;
    if every < Duration::from_millis(50) || every > Duration::from_secs(3600) {
        return Err("at least 50ms, and at most 3600s".into());
    }
    Ok(every)
}

/// Shows the run.
///
/// # Errors
/// There is nothing to show with `--once`; the terminal, or the port, cannot be used.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.set.is_empty() {
        let told = setting::set(&args.directory, &elsewhere(args)?, &args.set)?;
        to_stdout(|out| told.iter().try_for_each(|told| writeln!(out, "{told}")))?;
        return Ok(if setting::all_set(&told) { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let is_terminal = std::io::stdout().is_terminal();
    if args.json {
        lines(args)?;
    } else if args.once || !(is_terminal || args.web) {
        once(args)?;
    } else {
        let (gathering, directory) = (gathering(args)?, args.directory.clone());
        let shown = args.vars.clone();
        let make = move || gathering.map_or_else(|| Frames::new(&directory), Frames::gathered).showing(shown);
        let feed = Feed::of(make, args.every)?;
        let setter = Setter::new(&args.directory, elsewhere(args)?);
        let page = match args.web {
            true => {
                let allowed = args.allow_set.then(|| setter.clone());
                Some(web::Server::start(feed.view(), &args.directory, args.every, args.port, allowed)?)
            }
            false => None,
        };
        let address = page.as_ref().map(web::Server::address);
        if is_terminal {
            terminal::run(&feed.view(), &args.directory, address, &setter)?;
        } else if let Some(address) = address {
            terminal::wait_for_signal(|| to_stdout(|out| writeln!(out, "{address}")))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One snapshot: of a run that goes on, over one interval.
fn once(args: &Args) -> anyhow::Result<()> {
    let mut frames = frames(args)?;
    let mut frame = frames.read();
    if frame.stage == Stage::Running {
        std::thread::sleep(args.every);
        frame = frames.read();
    }
    ensure!(frame.stage != Stage::Waiting, "nothing to show: {}", frame.remarks.join("; "));
    let text = text::text(&frame, &args.directory);
    to_stdout(|out| out.write_all(text.as_bytes()))
}

/// A line of JSON for each interval.
fn lines(args: &Args) -> anyhow::Result<()> {
    let mut frames = frames(args)?;
    let mut told = String::new();
    loop {
        let frame = frames.read();
        match frame.stage {
            Stage::Waiting => tell(&frame, &args.directory, &mut told),
            _ if !line(&frame)? => return Ok(()),
            Stage::Ended => return Ok(()),
            Stage::Running => {}
        }
        std::thread::sleep(args.every);
    }
}

/// Says on standard error what is waited for: each thing once.
fn tell(frame: &Frame, directory: &Path, told: &mut String) {
    let what = frame.remarks.first().cloned().unwrap_or_else(|| directory.display().to_string());
    if *told != what {
        warn(&what);
        *told = what;
    }
}

/// Prints a line; whether anybody reads it.
fn line(frame: &Frame) -> anyhow::Result<bool> {
    let line = serde_json::to_string(frame)? + "\n";
    let mut out = std::io::stdout().lock();
    match out.write_all(printable::lines(&line).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(anyhow::anyhow!("cannot write to standard output: {error}")),
        Ok(()) => Ok(true),
    }
}
