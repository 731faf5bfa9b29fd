//! Communicators that the user does not want to see, and the windows that were made on them: what concerns them is kept from
//! the tracer.
//!
//! Only where there is such a choice is anything here in the way of a message.

use std::sync::atomic::{AtomicBool, Ordering};

use mpi_abi::{Handle, HandlePtr};
use mpi_intercept::Call;
use mpit_events::{BulkListener, Record, SourceIndex, Ticks, Token};
use mpit_sources::calls::{During, Message, Observer};
use mpit_sources::rma::{self, Created, Operation, Synchronised};

use super::calls::Tracer;
use super::collectives::Handles;
use mel_log::format::NO_OBJECT;

/// Communicators that are left out, by their places in the model, and windows, by their numbers; both also by their handles.
#[derive(Default)]
pub(super) struct Hidden {
    communicators: LeftOut,
    windows: LeftOut,
}

/// Which objects of a kind are left out.
struct LeftOut {
    places: Box<[AtomicBool]>,
    handles: Handles,
}

/// Places that are known; communicators and windows beyond are seen.
const MAX_PLACES: usize = 4096;

impl Default for LeftOut {
    fn default() -> Self {
        let places = (0..MAX_PLACES).map(|_| AtomicBool::new(false)).collect();
        LeftOut { places, handles: Handles::default() }
    }
}

impl LeftOut {
    /// The object at this place, with this handle, is left out from now on, or is not.
    fn set(&self, place: u32, handle: u64, hidden: bool) {
        if let Some(slot) = self.places.get(place as usize) {
            slot.store(hidden, Ordering::Relaxed);
        }
        self.handles.set(handle, if hidden { 0 } else { NO_OBJECT });
    }

    /// Whether the object at this place is left out.
    #[inline]
    fn place(&self, place: u32) -> bool {
        self.places.get(place as usize).is_some_and(|hidden| hidden.load(Ordering::Relaxed))
    }

    /// Whether the object with this handle is left out.
    fn handle(&self, handle: u64) -> bool {
        self.handles.number(handle) != NO_OBJECT
    }

    /// Whether the object is left out whose handle the application wants to be freed.
    fn has<H: Handle>(&self, freed: HandlePtr<H>) -> bool {
        // SAFETY: the application's in-out argument: one handle, which MPI reads, too.
        !freed.is_null() && self.handle(unsafe { freed.read() }.word() as u64)
    }
}

impl Hidden {
    /// The communicator at this place, with this handle, is left out from now on, or is not.
    pub(super) fn set_communicator(&self, place: u32, handle: u64, hidden: bool) {
        self.communicators.set(place, handle, hidden);
    }

    /// The window of this number, with this handle, is left out from now on, or is not.
    pub(super) fn set_window(&self, window: u32, handle: u64, hidden: bool) {
        self.windows.set(window, handle, hidden);
    }

    /// Whether a call is about a communicator or a window that is left out.
    pub(super) fn has(&self, call: &Call<'_>) -> bool {
        match call {
            Call::Comm_free(a) => self.communicators.has(a.comm),
            Call::Comm_disconnect(a) => self.communicators.has(a.comm),
            Call::Win_free(a) => self.windows.has(a.win),
            call => {
                let comm = || call.comm().is_some_and(|comm| self.communicators.handle(comm.0 as u64));
                comm() || call.win().is_some_and(|win| self.windows.handle(win.0 as u64))
            }
        }
    }
}

/// A tracer that is notified only of some communicators, and of the windows on them.
pub(super) struct Chosen {
    pub(super) tracer: &'static Tracer,
    pub(super) hidden: &'static Hidden,
}

impl Chosen {
    fn wanted(&self, comm: u32) -> Option<&'static Tracer> {
        (!self.hidden.communicators.place(comm)).then_some(self.tracer)
    }

    fn wanted_window(&self, window: u32) -> Option<&'static Tracer> {
        (!self.hidden.windows.place(window)).then_some(self.tracer)
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

    fn received(&self, message: &Message, returns: Option<Ticks>) {
        if let Some(tracer) = self.wanted(message.comm) {
            tracer.received(message, returns);
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

    fn collective_requested(&self, comm: u32, request: u64, during: During) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.collective_requested(comm, request, during);
        }
    }

    fn collective_completed(&self, comm: u32, request: u64, during: During) {
        if let Some(tracer) = self.wanted(comm) {
            tracer.collective_completed(comm, request, during);
        }
    }
}

impl rma::Observer for Chosen {
    fn wants_operations(&self) -> bool {
        true
    }

    fn window_created(&self, created: &Created<'_>) {
        if let Some(tracer) = self.wanted_window(created.window) {
            tracer.window_created(created);
        }
    }

    fn window_freed(&self, window: u32, token: Token) {
        if let Some(tracer) = self.wanted_window(window) {
            tracer.window_freed(window, token);
        }
    }

    fn started(&self, window: u32, operation: &Operation) {
        if let Some(tracer) = self.wanted_window(window) {
            tracer.started(window, operation);
        }
    }

    fn completed(&self, window: u32, thread: u32, operation: &Operation, at: Ticks) {
        if let Some(tracer) = self.wanted_window(window) {
            tracer.completed(window, thread, operation, at);
        }
    }

    fn synchronises(&self, window: u32, call: rma::Call) {
        if let Some(tracer) = self.wanted_window(window) {
            tracer.synchronises(window, call);
        }
    }

    fn synchronised(&self, window: u32, thread: u32, what: &Synchronised<'_>) {
        if let Some(tracer) = self.wanted_window(window) {
            tracer.synchronised(window, thread, what);
        }
    }
}

impl BulkListener for Chosen {
    fn events(&self, source: SourceIndex, records: &[Record]) {
        let hidden = |record: &Record| self.hidden.communicators.place(record.object);
        for run in records.chunk_by(|a, b| hidden(a) == hidden(b)) {
            if !run.first().is_some_and(hidden) {
                self.tracer.events(source, run);
            }
        }
    }
}
