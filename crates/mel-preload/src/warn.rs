//! A line for the user.

use mpi_intercept::standard_error;

use mel_log::printable;

/// Writes a line on standard error; names in it do not end it, nor does a terminal obey them. From any thread; not from a signal handler, as it allocates.
pub fn warn(line: &str) {
    standard_error::write(&format!("mel: {}\n", printable::name(line)));
}
