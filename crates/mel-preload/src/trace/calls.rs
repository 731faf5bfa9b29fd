//! MPI calls, messages and searches as records: what a trace shows.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

use mpi_abi::{Abi, questions};
use mpi_functions::Members;
use mpi_intercept::{Call, FunctionId, Hook, InThread};
use mpit_events::{BulkListener, Core, MAX_EVENT_TYPES, Record, SourceIndex, Ticks};
use mpit_sources::calls::{During, Message, Observer};
use mpit_sources::rma;
use mpit_sources::transfers::Transfer;

use super::buffers;
use super::check::{self, Check};
use super::chosen::{Chosen, Hidden};
use super::collectives::{self, Handles, Processes};
use super::recorder::{Kind, Objects, Place, Queue, Recorder};
use crate::calls::functions::{self, kinds};
use mel_log::choice::Choice;
use mel_log::format::{NO_OBJECT, NO_ROOT};
use mel_log::{self as log, kind};

/// The types whose pairs are regions in a trace.
pub const TRACED: [(&str, &str); 2] = [
    ("pml_ob1_search_posted_begin", "pml_ob1_search_posted_end"),
    ("pml_ob1_search_unexpected_begin", "pml_ob1_search_unexpected_end"),
];

/// How a queue changes as a search ends: the type that begins the search, the type that reports the change, and how
/// that is stored.
const CHANGES: [(&str, &str, Place); 4] = [
    ("pml_ob1_search_unexpected_begin", "pml_ob1_posted_insert", Place::After(kind::PAIR_INSERTING)),
    ("pml_ob1_search_posted_begin", "pml_ob1_posted_remove", Place::Before(kind::PAIR_REMOVING)),
    ("pml_ob1_search_posted_begin", "pml_ob1_unex_insert", Place::Before(kind::PAIR_INSERTING)),
    ("pml_ob1_search_unexpected_begin", "pml_ob1_unex_remove", Place::Apart),
];

/// The types that report how long the queues are.
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
    /// What there is to do for a function besides recording its calls: some of the bits below.
    flags: [AtomicU8; FunctionId::COUNT],
    /// The communicators that are left out, where some may be.
    hidden: Option<&'static Hidden>,
    /// What more is recorded under `mel run --check`.
    check: Option<Check>,
}

/// Its calls are collective operations.
const COLLECTIVE: u8 = 1;
/// Its calls are not wanted.
const UNWANTED: u8 = 2;
/// Its calls are not wanted on some communicators.
const BY_COMMUNICATOR: u8 = 4;
/// From where it is called is found by unwinding.
const CALL_SITE: u8 = 8;
/// It has one buffer, or frees a datatype.
const BUFFER: u8 = 16;
/// It looks whether something is complete, or has come.
const TESTS: u8 = 32;
/// Who calls it polls no more for what was tested before.
const ENDS_POLLING: u8 = 64;
/// There is something to check, at both ends of its calls.
const CHECKED: u8 = 128;
/// What there is to do as a call returns only.
const AT_EXIT: u8 = TESTS | ENDS_POLLING;

impl Tracer {
    /// A tracer into this recorder, listening from now on. `logged` are event types that somebody
    /// else records already, `calls` the functions that are wanted; `chosen` says whether communicators
    /// may be left out.
    ///
    /// # Errors
    /// Those of the events core.
    pub fn listen(
        abi: &'static Abi,
        recorder: &'static Recorder,
        core: &'static Core,
        logged: &[mpit_events::EventIndex],
        (calls, chosen): (&Choice, bool),
        check: bool,
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
        let hidden = chosen.then(|| &*Box::leak(Box::default()));
        let check = check.then(|| Check::new(abi, recorder));
        let flags = flags(calls, chosen, (recorder.records_call_sites(), check.is_some()));
        let flags = flags.map(AtomicU8::new);
        let tracer = Tracer { abi, recorder, kinds, objects, handles, flags, hidden, check };
        let tracer = &*Box::leak(Box::new(tracer));
        match tracer.chosen() {
            Some(chosen) => core.listen_in_bulk(&events, chosen)?,
            None => core.listen_in_bulk(&events, tracer)?,
        }
        Ok(tracer)
    }

    /// Whom communicators and messages are reported to.
    pub fn observer(&'static self) -> &'static dyn Observer {
        match self.chosen() {
            Some(chosen) => chosen,
            None => self,
        }
    }

    fn chosen(&'static self) -> Option<&'static Chosen> {
        self.hidden.map(|hidden| &*Box::leak(Box::new(Chosen { tracer: self, hidden })))
    }

    /// The communicator at this place of the model, with this handle, is left out from now on, or is not.
    pub fn set_hidden(&self, place: u32, handle: u64, is_hidden: bool) {
        if let Some(hidden) = self.hidden {
            hidden.set_communicator(place, handle, is_hidden);
        }
    }

    /// Whom windows and operations on them are reported to.
    pub fn window_observer(&'static self) -> &'static dyn rma::Observer {
        match self.chosen() {
            Some(chosen) => chosen,
            None => self,
        }
    }

    /// The window of this number, with this handle, is left out, or is not.
    pub fn set_window_hidden(&self, window: u32, handle: u64, is_hidden: bool) {
        if let Some(hidden) = self.hidden {
            hidden.set_window(window, handle, is_hidden);
        }
    }

    /// The communicator at this place of the model, with this handle, has this number in the log.
    pub fn set_number(&self, place: u32, handle: u64, number: u16) {
        self.objects.set(place, number);
        self.handles.set(handle, number);
    }

    /// The handle may become another communicator's.
    pub fn forget_number(&self, handle: u64) {
        self.handles.forget(handle);
    }

    /// A call of a function that there is more to do for than to record it.
    #[inline(never)]
    fn enter_otherwise(&self, here: InThread<'_>, function: FunctionId, call: &Call<'_>) {
        let flags = self.flags[function.index()].load(Ordering::Relaxed);
        let on_hidden = || flags & BY_COMMUNICATOR != 0 && self.hidden.is_some_and(|hidden| hidden.has(call));
        if flags & UNWANTED != 0 || on_hidden() {
            return self.recorder.pass_over();
        }
        self.recorder.enter(function as u16, here.call_site());
        if flags & BUFFER != 0 {
            self.buffer(call);
        }
        if flags & CALL_SITE != 0 {
            self.recorder.call_site();
        }
        if flags & COLLECTIVE != 0 {
            self.collective(function, call);
        }
        if let Some(check) = self.check.as_ref().filter(|_| flags & CHECKED != 0) {
            check.enter(here, function, call);
        }
    }

    /// From the next call on these functions are wanted. While no other thread is in an MPI call: what has begun would not be ended.
    pub fn choose(&self, calls: &Choice) {
        let more = (self.recorder.records_call_sites(), self.check.is_some());
        for (known, flags) in self.flags.iter().zip(flags(calls, self.hidden.is_some(), more)) {
            known.store(flags, Ordering::Relaxed);
        }
    }

    fn buffer(&self, call: &Call<'_>) {
        match call {
            Call::Send(a) => self.recorder.buffer(a.buf, a.count, a.datatype),
            Call::Bsend(a) => self.recorder.buffer(a.buf, a.count, a.datatype),
            Call::Ssend(a) => self.recorder.buffer(a.buf, a.count, a.datatype),
            Call::Rsend(a) => self.recorder.buffer(a.buf, a.count, a.datatype),
            Call::Recv(a) => self.recorder.buffer(a.buf, a.count, a.datatype),
            Call::Type_free(_) => buffers::freed(),
            _ => {}
        }
    }

    #[cold]
    fn collective(&self, function: FunctionId, call: &Call<'_>) {
        // A communicator that is not known may be none.
        let number = call.comm().map_or(NO_OBJECT, |comm| self.handles.number(comm.0 as u64));
        if number == NO_OBJECT {
            return;
        }
        let mut datatype = None;
        let transfer = Transfer::of(self.abi, function, call);
        let moved = match &transfer {
            Some(transfer) => {
                let size = |count, of| {
                    if count > 0 {
                        datatype.get_or_insert(of);
                    }
                    let size = if count > 0 { questions::bytes_of(of) } else { 0 };
                    u64::try_from(count).unwrap_or(0).saturating_mul(size)
                };
                Processes::of(self.abi, transfer.comm)
                    .and_then(|processes| collectives::moved(self.abi, transfer, processes, size))
            }
            // They make an object together, and move no data.
            None => Some(log::Collective { root: NO_ROOT, sent: 0, received: 0 }),
        };
        let Some(moved) = moved else { return };
        let payload = moved.to_payload();
        self.recorder.at_entry(kind::COLLECTIVE, number, &payload);
        if let (Some(check), Some(transfer)) = (&self.check, transfer) {
            check.collective(transfer.operation, call, datatype);
        }
    }
}

/// The functions whose buffer is recorded, and the one after which a datatype may be another.
#[rustfmt::skip]
fn has_buffer(function: FunctionId) -> bool {
    use FunctionId as F;
    matches!(
        function,
        F::Send | F::Send_c | F::Bsend | F::Bsend_c | F::Ssend | F::Ssend_c | F::Rsend | F::Rsend_c | F::Recv | F::Recv_c
        | F::Type_free
    )
}

/// Whether calls of a function are recorded as parts of something that all processes of a communicator do.
fn is_together(function: FunctionId) -> bool {
    let about = function.about();
    about.operation().is_some() || about.is_met_by_all() && about.members() == Some(Members::Communicator)
}

/// What there is to do for each function besides recording its calls.
fn flags(calls: &Choice, chosen: bool, (sites, check): (bool, bool)) -> [u8; FunctionId::COUNT] {
    let (mut flags, kinds) = ([0; FunctionId::COUNT], kinds());
    for function in FunctionId::all() {
        let kind = kinds[function.index()];
        let names = [function.name(), function.about().plain().name];
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        flags[function.index()] = flag(is_together(function), COLLECTIVE)
            | flag(!calls.wants(&names), UNWANTED)
            | flag(chosen, BY_COMMUNICATOR)
            | flag(sites, CALL_SITE)
            | flag(has_buffer(function), BUFFER)
            | flag(check && calls.wants(&names) && check::looks_at(function), CHECKED)
            | flag(kind == functions::Kind::Tests, TESTS)
            | flag(kind.ends_polling(), ENDS_POLLING);
    }
    flags
}

impl BulkListener for Tracer {
    fn events(&self, source: SourceIndex, records: &[Record]) {
        self.recorder.events(source, records, &self.kinds, &self.objects);
    }
}

impl Hook for Tracer {
    #[inline]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        if self.flags[function.index()].load(Ordering::Relaxed) & !AT_EXIT != 0 {
            return self.enter_otherwise(here, function, call);
        }
        self.recorder.enter(function as u16, here.call_site());
    }

    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, result: c_int) {
        let flags = self.flags[function.index()].load(Ordering::Relaxed);
        if let Some(check) = self.check.as_ref().filter(|_| flags & CHECKED != 0) {
            check.leave(here, function, call, result);
        }
        if flags & TESTS != 0 && result == self.abi.constants.success {
            self.recorder.polled(call);
        }
        self.recorder.leave(function as u16, flags & ENDS_POLLING != 0);
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
        let time = self.recorder.sent(kind, object, &payload);
        if time.is_none() {
            self.recorder.message_unseen((object, message.peer, message.tag), true);
        }
        time
    }

    fn send_completed(&self, _: u32, request: u64) {
        if self.recorder.send_completed(request as u32).is_none() {
            let payload = log::Completion { request: request as u32 }.to_payload();
            self.recorder.ended_unseen(request, kind::MPI_ISEND_COMPLETE, NO_OBJECT, &payload);
        }
    }

    fn receive_posted(&self, _: u32, request: u64, returns: Option<Ticks>) {
        self.recorder.posted(request as u32, returns);
    }

    fn received(&self, message: &Message, returns: Option<Ticks>) {
        let (object, payload) = self.message(message);
        let kind = if message.request.is_some() { kind::MPI_IRECV } else { kind::MPI_RECV };
        if self.recorder.received(returns, kind, object, &payload).is_none() {
            let end = |request| self.recorder.ended_unseen(request, kind, object, &payload);
            if !message.request.is_some_and(end) {
                self.recorder.message_unseen((object, message.peer, message.tag), false);
            }
        }
    }

    fn cancelled(&self, _: u32, request: u64) {
        let payload = log::Completion { request: request as u32 }.to_payload();
        if self.recorder.ended(kind::REQUEST_CANCELLED, NO_OBJECT, &payload).is_none() {
            self.recorder.ended_unseen(request, kind::REQUEST_CANCELLED, NO_OBJECT, &payload);
        }
    }

    fn tested(&self, _: u32, request: u64) {
        self.recorder.tested(request as u32);
    }

    fn collective_requested(&self, _: u32, request: u64, _: During) {
        let payload = log::Completion { request: request as u32 }.to_payload();
        self.recorder.at_entry(kind::COLLECTIVE_REQUEST, NO_OBJECT, &payload);
    }

    fn collective_completed(&self, _: u32, request: u64, _: During) {
        let payload = log::Completion { request: request as u32 }.to_payload();
        if self.recorder.ended(kind::COLLECTIVE_COMPLETE, NO_OBJECT, &payload).is_none() {
            self.recorder.ended_unseen(request, kind::COLLECTIVE_COMPLETE, NO_OBJECT, &payload);
        }
    }
}
