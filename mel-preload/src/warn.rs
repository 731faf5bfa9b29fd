//! A line for the user.

use mpi_intercept::standard_error;

/// Writes a line on standard error. From any thread; not from a signal handler, as it allocates.
pub fn warn(line: &str) {
    standard_error::write(&format!("mel: {line}\n"));
}
