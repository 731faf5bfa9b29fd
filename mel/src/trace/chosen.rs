//! Communicators that the user does not want to see: what concerns them is kept from the tracer.
//!
//! Only where there is such a choice is anything here in the way of a message.

use std::sync::atomic::{AtomicBool, Ordering};

use mpit_events::{BulkListener, Record, SourceIndex, Ticks};
use mpit_sources::p2p::{Message, Observer};

use super::calls::Tracer;
use super::handles::Handles;
use crate::log::format::NO_OBJECT;

/// Communicators that are left out, by their places in the twin, and by their handles.
pub(super) struct Hidden {
    places: Box<[AtomicBool]>,
    handles: Handles,
}

/// Places that are known; communicators beyond are seen.
const MAX_PLACES: usize = 4096;

impl Default for Hidden {
    fn default() -> Self {
        let places = (0..MAX_PLACES).map(|_| AtomicBool::new(false)).collect();
        Hidden { places, handles: Handles::default() }
    }
}

impl Hidden {
    /// The communicator at this place, with this handle, is left out from now on, or is not.
    pub(super) fn set(&self, place: u32, handle: u64, hidden: bool) {
        if let Some(known) = self.places.get(place as usize) {
            known.store(hidden, Ordering::Relaxed);
        }
        self.handles.set(handle, if hidden { 0 } else { NO_OBJECT });
    }

    /// Whether the communicator at this place is left out.
    #[inline]
    pub(super) fn place(&self, place: u32) -> bool {
        self.places.get(place as usize).is_some_and(|hidden| hidden.load(Ordering::Relaxed))
    }

    /// Whether the communicator with this handle is left out.
    pub(super) fn handle(&self, handle: u64) -> bool {
        self.handles.number(handle) != NO_OBJECT
    }
}

/// A tracer that hears only of some communicators.
pub(super) struct Chosen {
    pub(super) tracer: &'static Tracer,
    pub(super) hidden: &'static Hidden,
}

impl Chosen {
    fn wanted(&self, comm: u32) -> Option<&'static Tracer> {
        (!self.hidden.place(comm)).then_some(self.tracer)
    }
}

impl Observer for Chosen {
    fn wants_messages(&self) -> bool {
        true
    }

    fn sent(&self, message: &Message) -> Option<Ticks> {
        self.wanted(message.comm)?.sent(message)
    }

    fn send_completed(&self, comm: u32, request: u64) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.send_completed(comm, request);
        }
    }

    fn receive_posted(&self, comm: u32, request: u64, returns: Option<Ticks>) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.receive_posted(comm, request, returns);
        }
    }

    fn received(&self, message: &Message) {
        if let Some(tracer) = self.wanted(message.comm) {
            tracer.received(message);
        }
    }

    fn cancelled(&self, comm: u32, request: u64) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.cancelled(comm, request);
        }
    }

    fn tested(&self, comm: u32, request: u64) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.tested(comm, request);
        }
    }

    fn collective_requested(&self, comm: u32, request: u64) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.collective_requested(comm, request);
        }
    }

    fn collective_completed(&self, comm: u32, request: u64) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.collective_completed(comm, request);
        }
    }
}

impl BulkListener for Chosen {
    fn events(&self, source: SourceIndex, records: &[Record]) {
        let hidden = |record: &Record| self.hidden.place(record.object);
        for run in records.chunk_by(|a, b| hidden(a) == hidden(b)) {
            if !run.first().is_some_and(hidden) {
                self.tracer.events(source, run);
            }
        }
    }
}
