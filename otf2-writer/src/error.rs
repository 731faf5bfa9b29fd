//! What can go wrong when an archive is written.

use std::path::PathBuf;

use crate::{
    clock::Ticks,
    refs::{AttributeRef, LocationRef},
    value::Type,
};

/// The archive could not be written as asked. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// libotf2 is not installed, or not the one expected.
    #[error(transparent)]
    Load(#[from] otf2_sys::LoadError),

    /// An archive of that name is there already.
    #[error("an OTF2 archive exists already: {}. Remedy: choose another directory or remove it", .0.display())]
    Exists(PathBuf),

    /// The path cannot be given to libotf2.
    #[error("the path of the archive contains a NUL byte: {}", .0.display())]
    Path(PathBuf),

    /// A chunk size out of range.
    #[error("a chunk of an archive has {0} bytes, but must have 4194304 to 16777216")]
    ChunkSize(u64),

    /// An event is older than the one before it on the same location; it was not written.
    #[error("time goes backwards on location {}: {time} after {previous}", location.raw())]
    TimeBackwards {
        /// Where.
        location: LocationRef,
        /// The time of the event before.
        previous: Ticks,
        /// The time of the event that was refused.
        time: Ticks,
    },

    /// An attribute's value has another type than the attribute; the event was not written.
    #[error("attribute {} has the type {:?}, its value the type {value:?}", attribute.raw(), attribute.value_type())]
    AttributeType {
        /// The attribute.
        attribute: AttributeRef,
        /// The type of the value.
        value: Type,
    },

    /// An attribute is given twice; the event was not written.
    #[error("attribute {} is given twice for one event", .0.raw())]
    AttributeTwice(AttributeRef),

    /// A metric event or a metric class without numbers, or with more than 255; not written.
    #[error("a metric has {0} numbers, but must have 1 to 255")]
    MetricSize(usize),

    /// A location is opened a second time.
    #[error("location {} has, or had, an event writer: each location is written once", .0.raw())]
    LocationTaken(LocationRef),

    /// The archive is to be finished while events are still being written.
    #[error("location {} is still open: close its event writer before the archive is finished", .0.raw())]
    LocationOpen(LocationRef),

    /// An earlier write to this location failed, so what follows would have no place.
    #[error("location {} takes no more events, because an earlier write failed", .0.raw())]
    LocationFailed(LocationRef),

    /// The archive is to be finished without a clock.
    #[error("the archive has no clock: call Definitions::set_clock before it is finished")]
    NoClock,

    /// The processes that write the archive together could not communicate.
    #[error(transparent)]
    Communication(#[from] ranks::CommunicationError),

    /// Another one of the processes that write the archive together could not go on, so nobody did.
    #[error("{0}")]
    Elsewhere(String),

    /// libotf2 refused, or the file system did.
    #[error("{doing}: {description}{}{detail}", if detail.is_empty() { "" } else { ": " })]
    Library {
        /// What was to be done.
        doing: &'static str,
        /// libotf2's number of the error.
        code: i32,
        /// libotf2's description of the error.
        description: String,
        /// What libotf2 said where the error arose; often the file.
        detail: String,
    },
}

impl Error {
    /// Whether there is no space left for the archive.
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::Library { code: otf2_sys::OTF2_ERROR_ENOSPC, .. })
    }
}
