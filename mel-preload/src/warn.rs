//! A line for the user.

use std::io::Write;

use mel_log::printable;

/// Writes a line on standard error; names in it do not end it, nor does a terminal obey them. From any thread; not from a signal handler, as it allocates.
pub fn warn(line: &str) {
    // One write, so that lines of several ranks do not mix; a closed standard error is no error.
    let _ = std::io::stderr().write_all(format!("mel: {}\n", printable::name(line)).as_bytes());
}
