//! Where the command writes: standard output, files; and how far it is.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

/// Lets `write` write to standard output. A reader that has seen enough (`mel report DIR | head`)
/// is no error.
///
/// # Errors
/// Any other error of standard output, such as a full disk behind it.
pub fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = write(&mut out).and_then(|()| out.flush());
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // What is still in the buffer would be tried once more when it is dropped.
            std::mem::forget(out);
            Ok(())
        }
        Err(error) => Err(anyhow::anyhow!("cannot write to standard output: {error}")),
        Ok(()) => Ok(()),
    }
}

/// Lets `write` write a file.
///
/// # Errors
/// Those of the file system, with the file's name.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = File::create(path).map(BufWriter::new).with_context(|| cannot_write(path))?;
    write(&mut out).and_then(|()| out.flush()).with_context(|| cannot_write(path))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// A bar on standard error, if that is a terminal and the work is long enough to wait for.
pub fn progress(records: usize) -> ProgressBar {
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
