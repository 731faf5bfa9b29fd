//! Two processes try to share memory, as ranks of one node do.

use std::io::{self, Read as _};

use mel_log::offers::Reached;
use mpit_sources::transport::memory;
use mpit_sources::transport::segment::{Address, Segment};

use super::Answers;

/// Bytes of the memory that is shared for a try.
const BYTES: usize = 4096;

/// Has memory to share, says where, and stays until the end of standard input.
///
/// # Errors
/// The system has no such memory.
pub(super) fn hold(answers: &Answers) -> Result<(), String> {
    let segment = Segment::create(BYTES).map_err(|error| format!("memfd_create: {error}"))?;
    let address = segment.address().ok_or("memory without an address")?;
    answers.give(&address.words())?;
    let read = io::stdin().read_to_end(&mut Vec::new());
    read.map(|_| ()).map_err(|error| error.to_string())
}

/// Tries to reach what another process [holds](hold).
///
/// # Errors
/// This is no address.
pub(super) fn reach(words: &[&str], answers: &Answers) -> Result<(), String> {
    let words: Vec<i32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let words = words.try_into().map_err(|_| "an address has other numbers")?;
    let address = Address::of_words(words);
    let why_not_shared = Segment::open(address, BYTES).err().map(|error| error.to_string());
    answers.give(&Reached { why_not_shared, may_be_read: memory::system_allows(address.pid) })
}
