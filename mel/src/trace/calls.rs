//! MPI calls, messages and searches as records: what a trace shows.

use std::ffi::c_int;

use mpi_intercept::{Call, FunctionId, Hook};
use mpit_events::{BulkListener, Core, MAX_EVENT_TYPES, Record, SourceIndex};
use mpit_sources::p2p::{Message, Observer};

use super::recorder::{Kind, Objects, Recorder};
use crate::log::format::NO_OBJECT;
use crate::log::{self, kind};

/// The types whose pairs are regions in a trace.
pub const TRACED: [(&str, &str); 2] = [
    ("pml_ob1_search_posted_begin", "pml_ob1_search_posted_end"),
    ("pml_ob1_search_unexpected_begin", "pml_ob1_search_unexpected_end"),
];

/// Records each MPI call of the application, each message, and each search of a queue.
pub struct Tracer {
    pub(super) recorder: &'static Recorder,
    /// How the events of each type are recorded here.
    kinds: [Kind; MAX_EVENT_TYPES],
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
        let mut kinds = [Kind::None; MAX_EVENT_TYPES];
        let mut events = Vec::new();
        for (begin, end) in TRACED {
            let (Ok(begin), Ok(end)) = (core.type_by_name(begin), core.type_by_name(end)) else { continue };
            let (first, second) = (begin.get() as u16, end.get() as u16);
            if logged.contains(&begin) || logged.contains(&end) {
                // What is left of the pair.
                for event in [begin, end].into_iter().filter(|event| !logged.contains(event)) {
                    kinds[event.get()] = Kind::Event(kind::EVENT + event.get() as u16);
                    events.push(event);
                }
            } else {
                recorder.define(&log::Definition::Pair { begin: first, end: second });
                kinds[end.get()] = Kind::Pair(first, second);
                events.push(end);
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
        self.recorder.send_completed(request as u32);
    }

    fn receive_posted(&self, request: u64) {
        self.recorder.posted(request as u32);
    }

    fn received(&self, message: &Message) {
        let (object, payload) = self.message(message);
        let kind = if message.request.is_some() { kind::MPI_IRECV } else { kind::MPI_RECV };
        self.recorder.at_exit(kind, object, &payload);
    }

    fn cancelled(&self, request: u64) {
        let payload = log::Completion { request: request as u32 }.to_payload();
        self.recorder.at_exit(kind::REQUEST_CANCELLED, NO_OBJECT, &payload);
    }
}
