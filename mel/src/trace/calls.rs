//! MPI calls, messages and searches as records: what a trace shows.

use std::ffi::c_int;

use mpi_intercept::{Call, FunctionId, Hook};
use mpit_events::{BulkListener, Core, MAX_EVENT_TYPES, Record, SourceIndex};
use mpit_sources::p2p::{Message, Observer};

use super::recorder::{Objects, Recorder};
use crate::log::format::NO_OBJECT;
use crate::log::{self, kind};

/// The types whose pairs are regions in a trace.
pub const TRACED: [&str; 4] = [
    "pml_ob1_search_posted_begin",
    "pml_ob1_search_posted_end",
    "pml_ob1_search_unexpected_begin",
    "pml_ob1_search_unexpected_end",
];

/// Records each MPI call of the application, each message, and each search of a queue.
pub struct Tracer {
    recorder: &'static Recorder,
    /// The kind of the record of each event type; none for those that are not recorded here.
    kinds: [u16; MAX_EVENT_TYPES],
    objects: Objects,
}

impl Tracer {
    /// A tracer into this recorder, listening from now on. `logged` are event types that somebody
    /// else records already.
    ///
    /// # Errors
    /// Those of the events core.
    pub fn listen(
        recorder: &'static Recorder,
        core: &'static Core,
        logged: &[mpit_events::EventIndex],
    ) -> Result<&'static Tracer, mpit_events::Error> {
        let mut kinds = [kind::NONE; MAX_EVENT_TYPES];
        let mut events = Vec::new();
        for event in TRACED.iter().filter_map(|name| core.type_by_name(name).ok()) {
            if !logged.contains(&event) {
                kinds[event.get()] = kind::EVENT + event.get() as u16;
                events.push(event);
            }
        }
        let tracer = &*Box::leak(Box::new(Tracer { recorder, kinds, objects: Objects::default() }));
        core.listen_in_bulk(&events, tracer)?;
        Ok(tracer)
    }

    /// The communicator at this place of the twin has this number in the log.
    pub fn set_number(&self, place: u32, number: u16) {
        self.objects.set(place, number);
    }
}

impl BulkListener for Tracer {
    fn events(&self, source: SourceIndex, records: &[Record]) {
        self.recorder.events(source, records, &self.kinds, &self.objects);
    }
}

impl Hook for Tracer {
    #[inline]
    fn enter(&self, function: FunctionId, _: &mut Call<'_>) {
        self.recorder.enter(function as u16);
    }

    #[inline]
    fn leave(&self, function: FunctionId, _: &mut Call<'_>, _: c_int) {
        self.recorder.leave(function as u16);
    }
}

impl Tracer {
    #[inline]
    fn message(&self, message: &Message) -> (u16, [u8; log::format::PAYLOAD_BYTES]) {
        let payload = log::Message {
            peer: message.peer,
            tag: message.tag,
            bytes: message.bytes,
            request: message.request.unwrap_or(0) as u32,
        };
        (self.objects.number(message.comm), payload.to_payload())
    }

    #[inline]
    fn request(&self, kind: u16, request: u64) {
        let payload = log::Completion { request: request as u32 }.to_payload();
        self.recorder.at_exit(kind, NO_OBJECT, &payload);
    }
}

impl Observer for Tracer {
    fn wants_messages(&self) -> bool {
        true
    }

    fn sent(&self, message: &Message) {
        let (object, payload) = self.message(message);
        let kind = if message.request.is_some() { kind::MPI_ISEND } else { kind::MPI_SEND };
        self.recorder.at_entry(kind, object, &payload);
    }

    fn send_completed(&self, request: u64) {
        self.request(kind::MPI_ISEND_COMPLETE, request);
    }

    fn receive_posted(&self, request: u64) {
        self.request(kind::MPI_IRECV_REQUEST, request);
    }

    fn received(&self, message: &Message) {
        let (object, payload) = self.message(message);
        let kind = if message.request.is_some() { kind::MPI_IRECV } else { kind::MPI_RECV };
        self.recorder.at_exit(kind, object, &payload);
    }

    fn cancelled(&self, request: u64) {
        self.request(kind::REQUEST_CANCELLED, request);
    }
}
