//! The calls into libotf2: the only place of this crate with `unsafe` code.
//!
//! Three rules of libotf2 are upheld here, by types: a handle is used by one thread at a time (they
//! hold an `Rc`, so they stay on the thread that made them), an event writer does not outlive its
//! archive (it shares the ownership), and a location has at most one event writer (the callers in
//! `archive` see to it, because libotf2 would hand out the same pointer twice).

mod archive;
mod definitions;
mod errors;
mod events;
mod memory;
mod processes;

pub(crate) use archive::{ArchiveSettings, RawArchive};
pub(crate) use definitions::write_definitions;
pub(crate) use events::RawEventWriter;
