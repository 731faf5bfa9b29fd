//! A line for the user.

/// Writes a line on standard error. From any thread; not from a signal handler, as it allocates.
pub fn warn(line: &str) {
    mpi_abi::standard_error::write(&format!("mel: {line}\n"));
}
