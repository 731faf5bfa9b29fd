//! Events that come before anybody listens: those of the initialisation itself. They are kept, with when they
//! were observed, until there is somebody.

use crossbeam_queue::ArrayQueue;
use mpit_events::Ticks;

use super::{Heard, LARGEST_EVENT};

/// So many are kept; of an MPI's initialisation there are a handful.
const MOST: usize = 128;

/// An event that waits.
pub(super) struct Held {
    pub(super) heard: &'static Heard,
    /// The MPI's number of the source.
    pub(super) source: i32,
    /// The MPI's safety level.
    pub(super) level: i32,
    pub(super) observed: Ticks,
    pub(super) payload: [u8; LARGEST_EVENT],
}

/// What waits. Putting is thread-safe and signal-safe: no lock, no allocation.
pub(super) struct Waiting(ArrayQueue<Held>);

impl Waiting {
    pub(super) fn new() -> Self {
        Waiting(ArrayQueue::new(MOST))
    }

    /// Keeps an event; whether there was room.
    pub(super) fn put(&self, held: Held) -> bool {
        self.0.push(held).is_ok()
    }

    /// The oldest, if there is one.
    pub(super) fn take(&self) -> Option<Held> {
        self.0.pop()
    }
}
