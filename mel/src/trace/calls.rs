//! MPI calls, messages and searches as records: what a trace shows.

use std::ffi::c_int;

use mpi_abi::Abi;
use mpi_intercept::{Call, FunctionId, Hook};
use mpit_events::{BulkListener, Core, MAX_EVENT_TYPES, Record, SourceIndex, Ticks};
use mpit_sources::p2p::{Message, Observer};

use super::collectives;
use super::handles::Handles;
use super::recorder::{Kind, Objects, Place, Queue, Recorder};
use crate::log::format::NO_OBJECT;
use crate::log::{self, kind};

/// The types whose pairs are regions in a trace.
pub const TRACED: [(&str, &str); 2] = [
    ("pml_ob1_search_posted_begin", "pml_ob1_search_posted_end"),
    ("pml_ob1_search_unexpected_begin", "pml_ob1_search_unexpected_end"),
];

/// How a queue changes as a search ends: the type that begins the search, the type that tells of the change, and how
/// that is stored.
const CHANGES: [(&str, &str, Place); 4] = [
    ("pml_ob1_search_unexpected_begin", "pml_ob1_posted_insert", Place::After(kind::PAIR_INSERTING)),
    ("pml_ob1_search_posted_begin", "pml_ob1_posted_remove", Place::Before(kind::PAIR_REMOVING)),
    ("pml_ob1_search_posted_begin", "pml_ob1_unex_insert", Place::Before(kind::PAIR_INSERTING)),
    ("pml_ob1_search_unexpected_begin", "pml_ob1_unex_remove", Place::Apart),
];

/// The types that tell how long the queues are.
pub fn queues() -> impl Iterator<Item = &'static str> {
    CHANGES.iter().map(|change| change.1)
}

/// Records each MPI call of the application, each message, each search of a queue and how it changed the queues.
pub struct Tracer {
    abi: &'static Abi,
    pub(super) recorder: &'static Recorder,
    /// How the events of each type are recorded here.
    kinds: [Kind; MAX_EVENT_TYPES],
    objects: Objects,
    /// The same for the handles that calls have.
    handles: Handles,
    /// The functions whose calls are collective operations.
    collective: [bool; FunctionId::COUNT],
}

impl Tracer {
    /// A tracer into this recorder, listening from now on. `logged` are event types that somebody
    /// else records already.
    ///
    /// # Errors
    /// Those of the events core.
    pub fn listen(
        abi: &'static Abi,
        recorder: &'static Recorder,
        core: &'static Core,
        logged: &[mpit_events::EventIndex],
    ) -> Result<&'static Tracer, mpit_events::Error> {
        let mut kinds = [Kind::None; MAX_EVENT_TYPES];
        let mut events = Vec::new();
        for (name, end) in TRACED {
            let (Ok(begin), Ok(end)) = (core.type_by_name(name), core.type_by_name(end)) else { continue };
            let (first, second) = (begin.get() as u16, end.get() as u16);
            if logged.contains(&begin) || logged.contains(&end) {
                // What is left of the pair.
                for event in [begin, end].into_iter().filter(|event| !logged.contains(event)) {
                    kinds[event.get()] = Kind::Event(kind::EVENT + event.get() as u16);
                    events.push(event);
                }
            } else {
                let changed = |kind| {
                    let places = [Place::After(kind), Place::Before(kind)];
                    let change =
                        CHANGES.iter().find(|change| change.0 == name && places.contains(&change.2))?;
                    Some(core.type_by_name(change.1).ok()?.get() as u16)
                };
                let (inserts, removes) = (changed(kind::PAIR_INSERTING), changed(kind::PAIR_REMOVING));
                recorder.define(&log::Definition::Pair { begin: first, end: second, inserts, removes });
                kinds[end.get()] = Kind::Pair(first, second);
                events.push(end);
            }
        }
        for (search, change, place) in CHANGES {
            let (Ok(search), Ok(event)) = (core.type_by_name(search), core.type_by_name(change)) else {
                continue;
            };
            if !logged.contains(&event) {
                let (number, search) = (event.get() as u16, search.get() as u16);
                kinds[event.get()] = Kind::Queue(Queue { number, search, place });
                events.push(event);
            }
        }
        let (objects, handles) = (Objects::default(), Handles::default());
        let collective = collectives::functions();
        let tracer = Tracer { abi, recorder, kinds, objects, handles, collective };
        let tracer = &*Box::leak(Box::new(tracer));
        core.listen_in_bulk(&events, tracer)?;
        Ok(tracer)
    }

    /// The communicator at this place of the twin, with this handle, has this number in the log.
    pub fn set_number(&self, place: u32, handle: u64, number: u16) {
        self.objects.set(place, number);
        self.handles.set(handle, number);
    }

    #[cold]
    fn collective(&self, call: &Call<'_>) {
        let Some(operation) = collectives::of(self.abi, call) else { return };
        let collectives::Collective { comm, root, sent, received } = operation;
        let payload = log::Collective { root, sent, received }.to_payload();
        self.recorder.at_entry(kind::COLLECTIVE, self.handles.number(comm.0 as u64), &payload);
    }
}

impl BulkListener for Tracer {
    fn events(&self, source: SourceIndex, records: &[Record]) {
        self.recorder.events(source, records, &self.kinds, &self.objects);
    }
}

impl Hook for Tracer {
    #[inline]
    fn enter(&self, function: FunctionId, call: &mut Call<'_>) {
        self.recorder.enter(function as u16);
        if self.collective[function.index()] {
            self.collective(call);
        }
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

    fn sent(&self, message: &Message) -> Option<Ticks> {
        let (object, payload) = self.message(message);
        let kind = if message.request.is_some() { kind::MPI_ISEND } else { kind::MPI_SEND };
        self.recorder.timed_at_entry(kind, object, &payload)
    }

    fn send_completed(&self, request: u64) {
        self.recorder.send_completed(request as u32);
    }

    fn receive_posted(&self, request: u64, returns: Option<Ticks>) {
        self.recorder.posted(request as u32, returns);
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
