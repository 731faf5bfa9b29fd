//! `mel convert`: event logs as text or as an OTF2 archive.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use super::output::to_stdout;
use crate::convert::{Run, text};

/// Converts the event logs of a run to text
///
/// The logs of a run that was killed are converted as far as they go.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel convert mel-app-1 --text
      each event, one line each, rank by rank
  mel convert mel-app-1 --text --calls -o app.txt
      MPI calls and messages too, to a file")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// One line per event (this is what happens without any option)
    #[arg(long)]
    pub text: bool,
    /// With --text: MPI calls and messages too
    #[arg(long)]
    pub calls: bool,
    /// Where to write. Default: standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Converts.
///
/// # Errors
/// There is nothing to convert, or the result cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let run = Run::open(&args.directory)?;
    for error in &run.left_out {
        eprintln!("mel: {error}; left out");
    }
    let options = text::Options { calls: args.calls };
    match &args.output {
        Some(path) => {
            let progress = progress(run.records_at_most());
            write_file(path, |out| text::write_run(out, &run, options, |records| progress.inc(records)))?;
            progress.finish_and_clear();
        }
        None => to_stdout(|mut out| text::write_run(&mut out, &run, options, |_| {}))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = File::create(path).map(BufWriter::new).with_context(|| cannot_write(path))?;
    write(&mut out).and_then(|()| out.flush()).with_context(|| cannot_write(path))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// A bar on standard error, if that is a terminal and the work is long enough to wait for.
fn progress(records: usize) -> ProgressBar {
    const LONG: usize = 2_000_000;
    if records < LONG || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(records as u64);
    match ProgressStyle::with_template("{wide_bar} {percent} % of the log, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
