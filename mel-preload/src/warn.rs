//! A line for the user.

use std::io::Write;

/// Writes a line on standard error. From any thread; not from a signal handler, as it allocates.
pub fn warn(line: &str) {
    // One write, so that lines of several ranks do not mix; a closed standard error is no error.
    let _ = std::io::stderr().write_all(format!("mel: {line}\n").as_bytes());
}
