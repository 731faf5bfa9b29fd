//! What is tried in a process of its own: opening an MPI library, sharing memory with another process.

use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use mpi_abi::Family;
use mpit_sources::transport::memory;
use mpit_sources::transport::segment::{Address, Segment};
use serde::{Deserialize, Serialize};

use crate::cli::of_mpi;

/// What comes before an answer: an MPI library may print lines of its own.
pub(super) const MARK: &str = "mel-probe ";

/// Bytes of the memory that is shared for a try.
const BYTES: usize = 4096;

/// What an MPI library says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its name and version.
    pub name: String,
    /// The standard that it follows, and whose binary interface it has.
    pub interface: String,
    /// Whether it is Open MPI, by its binary interface.
    pub open_mpi: bool,
    /// How many event types it has itself.
    pub events: usize,
    /// Whether its `ob1` itself reports on its queues.
    pub peruse: bool,
    /// Why, or why not.
    pub why: String,
}

/// Asks an MPI library, and prints the answer.
///
/// # Errors
/// The file is no MPI library that is known here, or MPI does not start.
pub fn library(path: &Path) -> anyhow::Result<()> {
    let offer = of_mpi::ask_library(path)?;
    let answer = Answer {
        open_mpi: offer.family == Family::OpenMpi,
        events: offer.types.len(),
        peruse: offer.peruse == mpit_sources::Offer::Usable,
        why: offer.peruse.to_string(),
        name: offer.library,
        interface: offer.interface,
    };
    print(&serde_json::to_string(&answer)?)
}

/// Has memory to share, prints where, and stays until the end of standard input.
///
/// # Errors
/// The system has no such memory.
pub fn hold() -> anyhow::Result<()> {
    let segment = Segment::create(BYTES).context("memfd_create")?;
    let Some(address) = segment.address() else { bail!("memory without an address") };
    print(&address.words().map(|word| word.to_string()).join(" "))?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Tries to reach what another process [holds](hold): prints whether it could share that memory, and whether it may read any.
///
/// # Errors
/// Those of standard output; this is no address.
pub fn reach(address: &[i32]) -> anyhow::Result<()> {
    let address = Address::of_words(address.try_into().context("an address has other numbers")?);
    let shared = match Segment::open(address, BYTES) {
        Ok(_) => "yes".to_owned(),
        Err(error) => error.to_string(),
    };
    let read = if memory::system_allows(address.pid) { "yes" } else { "no" };
    print(&format!("{read} {shared}"))
}

/// Prints an answer.
///
/// # Errors
/// Those of standard output.
pub fn print(answer: &str) -> anyhow::Result<()> {
    // What an MPI library has printed may lack the end of its line.
    println!("\n{MARK}{answer}");
    Ok(io::stdout().flush()?)
}

/// The answer in what a process has printed.
pub(super) fn answer(printed: &str) -> Option<&str> {
    answers(printed).next()
}

/// All answers, in order.
pub fn answers(printed: &str) -> impl Iterator<Item = &str> {
    printed.lines().filter_map(|line| line.strip_prefix(MARK))
}
