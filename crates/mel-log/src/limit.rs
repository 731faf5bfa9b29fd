//! The size that a log may have, where the user has set one.

use std::fmt;
use std::io;

/// Chunks that a log has room for however small its limit is: definitions, calls, and events of one thread.
pub(super) const FEWEST_CHUNKS: u32 = 4;

/// The log has reached the size that it may have.
#[derive(Debug)]
pub(super) struct Limit;

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log has the size that it may have")
    }
}

impl std::error::Error for Limit {}

/// Whether a log has taken nothing more because of its limit, and not for lack of space.
pub fn is_limit(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Limit>())
}
