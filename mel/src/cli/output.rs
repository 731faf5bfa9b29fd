//! Where the command writes: standard output, standard error, files. Text has nothing in it that a terminal obeys.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use mel_log::printable::{self, Printable};
use mel_log::settings::MARK;

/// Lets `write` write text to standard output. A reader that has seen enough (`mel report DIR | head`)
/// is no error.
///
/// # Errors
/// Any other error of standard output, such as a full disk behind it.
pub fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, Printable::new(io::stdout().lock()));
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

/// Begins a line on standard error that somebody else goes on with.
pub fn mark() {
    let _ = io::stderr().write_all(MARK.as_bytes());
}

/// Warns with a line on standard error.
pub fn warn(line: &str) {
    // One write, so that lines of several ranks do not mix; a closed standard error is no error.
    let _ = io::stderr().write_all(format!("{MARK}{}\n", printable::lines(line)).as_bytes());
}

/// Lets `write` write a file of text, which may be shown in a terminal.
///
/// # Errors
/// Those of the file system, with the file's name.
pub fn write_text(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<Printable<File>>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let file = File::create(path).with_context(|| cannot_write(path))?;
    let mut out = BufWriter::new(Printable::new(file));
    write(&mut out).and_then(|()| out.flush()).with_context(|| cannot_write(path))
}

/// Lets `write` write a file of another kind.
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
