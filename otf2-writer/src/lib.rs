//! OTF2 archives in safe Rust: locations, regions, attributes, messages.
//!
//! An archive is a set of *definitions* (what exists: processes, regions, communicators) and, for
//! each *location* (a thread, or another stream of events), its *events* in the order of time.
//!
//! This crate knows the trace format and nothing else: no MPI library, no `MPI_T`, nobody's queues.
//! All `unsafe` code is in the module `ffi`.
//!
//! # Life of an archive
//!
//! 1. [`Archive::create`] makes `traces.otf2` and the directory `traces/` in a given directory.
//! 2. [`Archive::definitions_mut`] hands out references ([`RegionRef`], [`LocationRef`], …). The
//!    definitions stay in memory until the end, so they may be made in any order, at any time.
//! 3. [`Archive::event_writer`] opens a location; each is written by one [`EventWriter`], several
//!    may be open at a time. Closing one frees its buffer.
//! 4. [`Archive::finish`] writes the definitions, with the number of events of each location.
//!
//! [`ArchiveOptions::processes`]: several processes, or threads, write one archive together, each its own locations.
//!
//! Errors never end the process: whatever libotf2 complains of comes back as an [`Error`] with its
//! own words. An archive that is dropped unfinished closes what it has, quietly.
//!
//! # Example
//!
//! ```
//! use otf2_writer::*;
//!
//! # fn main() -> Result<(), Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! let mut archive = Archive::create(directory.path())?;
//!
//! let defs = archive.definitions_mut();
//! defs.set_clock(Clock::new(1_000_000_000)); // ticks are nanoseconds
//! let machine = defs.system_tree_node(SystemTreeNode { name: "cluster", class: "machine", parent: None });
//! let host = defs.system_tree_node(SystemTreeNode { name: "n1", class: "node", parent: Some(machine) });
//! let process = defs.location_group(LocationGroup::process("MPI Rank 0", host));
//! let thread = defs.location(Location::thread("Master thread", process));
//! let send = defs.region(Region { name: "MPI_Send", role: RegionRole::PointToPoint, paradigm: Paradigm::Mpi, ..Region::default() });
//! let queue_length = defs.attribute("queue length", "posted receives at the time of the call", Type::U64);
//!
//! let mut events = archive.event_writer(thread)?;
//! events.enter(Ticks(10), send, &[(queue_length, AttributeValue::U64(3))])?;
//! events.leave(Ticks(25), send, &[])?;
//! assert!(events.leave(Ticks(24), send, &[]).is_err(), "time never goes backwards");
//! events.close()?;
//!
//! archive.finish()?;
//! assert!(directory.path().join("traces.otf2").is_file());
//! # Ok(())
//! # }
//! ```

mod archive;
mod clock;
mod definitions;
mod error;
mod event;
mod event_writer;
mod ffi;
mod parts;
mod refs;
mod value;

pub use archive::{Archive, ArchiveOptions};
pub use clock::{Clock, ClockOffset, Ticks};
pub use definitions::*;
pub use error::Error;
pub use event::{
    CollectiveOp, CollectiveRoot, Event, LockTarget, LockType, MetricValue, RmaAtomicType, RmaSyncLevel,
};
pub use event_writer::EventWriter;
pub use ranks::{Alone, CommunicationError, Processes, ThreadAsProcess};
pub use refs::{
    AttributeRef, CommRef, GroupRef, LocationGroupRef, LocationRef, MarkerRef, MetricMemberRef, MetricRef,
    RegionRef, RmaWinRef, StringRef, SystemTreeNodeRef,
};
pub use value::{AttributeValue, Type};
