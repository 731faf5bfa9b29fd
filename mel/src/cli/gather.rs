//! `mel gather`: tells a watcher elsewhere what is in the directory of a run on this node.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;

use mel_log::setting::Setting;

use super::output::to_stdout;
use super::watch::every;
use mel_watch::elsewhere::{Report, decoded};
use mel_watch::gather::message::{self, Message};
use mel_watch::gather::sender::Sender;
use mel_watch::gather::word::decoded as decoded_bytes;

/// Of the time at most this part goes into reading.
const PART_FOR_READING: u32 = 3;

/// Tells `mel watch` on another machine what a run counts on this node
///
/// For runs whose directory is on a disk of each node: `mel watch DIR --node HOST` starts this on HOST, over ssh or as --gather says. It
/// reads the tables that the processes of the run count in, and writes what has changed in them to standard output, in a form of its own.
/// It opens no connection and writes no file, and ends with its standard input or output.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel watch /scratch/run --node node-a --node node-b
      starts, over ssh, on each of them: mel gather /scratch/run --every 1000ms

Exit code: 0; 1 if it failed")]
pub struct Args {
    /// The run's directory on this node, which need not be there yet
    ///
    /// As `mel watch` writes it, so that no shell on the way changes it: %20 is a blank, %25 a percent sign.
    #[arg(value_name = "DIR", value_parser = directory)]
    pub directory: PathBuf,
    /// How often it is read, such as 1s or 200ms; less often where reading takes longer than a third of that
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    pub every: Duration,
    /// Has the ranks there set a control variable, and says what came of it; `mel watch --set` gives it
    #[arg(long = "ask", value_name = "WORD", hide = true, value_parser = decoded)]
    pub ask: Vec<Setting>,
}

fn directory(word: &str) -> Result<PathBuf, &'static str> {
    decoded_bytes(word).map(|bytes| OsString::from_vec(bytes).into())
}

/// Tells, until nobody listens any more.
///
/// # Errors
/// Standard output is a terminal, or cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure!(
        !io::stdout().is_terminal(),
        "what this writes is for `mel watch DIR --node HOST`, which starts it"
    );
    if !args.ask.is_empty() {
        let report = serde_json::to_string(&Report::of(&args.directory, &args.ask)?)?;
        to_stdout(|out| writeln!(out, "{report}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let ended = input_ends()?;
    match tell(args, &ended) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn tell(args: &Args, ended: &Receiver<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    message::begin(&mut out)?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    message::write(&mut out, &Message::Hello { host: host.trim().to_owned() })?;
    let mut sender = Sender::new(&args.directory);
    loop {
        let began = Instant::now();
        sender.tell(&mut out)?;
        out.flush()?;
        let took = began.elapsed();
        let rest = args.every.saturating_sub(took).max(took * (PART_FOR_READING - 1));
        match ended.recv_timeout(rest) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return Ok(()),
        }
    }
}

/// Hears when standard input has ended: the watcher is gone. Where the watcher's first word has not come through, because the launcher does
/// not pass it on, nothing is heard, and it ends when nobody reads.
fn input_ends() -> io::Result<Receiver<()>> {
    let (ends, ended) = channel();
    thread::Builder::new().name("input".into()).spawn(move || {
        let (mut bytes, mut has_come) = ([0; 64], false);
        let mut input = io::stdin().lock();
        loop {
            match input.read(&mut bytes) {
                Ok(1..) => has_come = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) if has_come => {
                    let _ = ends.send(());
                    return;
                }
                Ok(0) | Err(_) => loop {
                    thread::park();
                },
            }
        }
    })?;
    Ok(ended)
}
