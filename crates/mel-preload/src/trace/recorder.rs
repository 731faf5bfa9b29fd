//! The streams of the event log, each thread its own: appending takes no lock.

use std::cell::Cell;
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use in_process::own_file::is_taken;
use mpi_abi::Datatype;
use mpi_intercept::Call;
use mpit_events::{Clock, Core, Record, SourceIndex, Ticks};

use super::buffers::Buffers;
use super::callsites::{CallSites, Recent};
use super::unseen::Unseen;
use crate::polling::Polling;
use crate::warn;
use mel_log::format::{NO_OBJECT, PAYLOAD_BYTES, u64_at};
use mel_log::number::general;
use mel_log::{Appender, Completion, Definition, LogFile, Pair, State, StreamKind, Switch, is_limit, kind};

/// Records into the event log of this process. Lives as long as the process.
pub struct Recorder {
    log: LogFile,
    core: &'static Core,
    clock: Clock,
    /// A microsecond in ticks.
    microsecond: u64,
    /// Whether anything is recorded: one of the numbers below.
    state: AtomicU8,
    late: Mutex<Option<Late>>,
    /// Whether the log says already that it has gaps.
    has_phases: AtomicBool,
    threads: AtomicU32,
    /// The streams of threads that have ended: for later ones, so that a program may make and end any number of threads.
    vacant: Arc<Mutex<Vec<Thread>>>,
    /// The streams of the only thread that calls MPI, if there is only one.
    home: AtomicPtr<Thread>,
    /// Finds from where functions are called.
    sites: OnceLock<CallSites>,
    /// Whether stacks are unwound for that.
    unwinds: AtomicBool,
    /// What is counted while recording is switched off.
    unseen: Unseen,
}

/// Everything is recorded.
const RECORDS: u8 = 0;
/// The program has switched recording off for a while; what has begun is still ended.
const PAUSED: u8 = 1;
/// Nothing is recorded any more: the log is finished, or this is a forked child.
const CLOSED: u8 = 2;

/// How the events of a type are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not here.
    None,
    /// As a record of this kind.
    Event(u16),
    /// Together with the event that it ends: the numbers of both types.
    Pair(u16, u16),
    /// As a change of a queue, where it can be in the record of the search that it belongs to.
    Queue(Queue),
}

impl Kind {
    /// Whether such events are recorded also where they come late.
    #[inline(always)]
    fn may_be_late(self) -> bool {
        matches!(self, Kind::Pair(..) | Kind::Queue(_))
    }
}

/// An event about an entry of a queue, which changes as a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    /// The number of its type.
    pub(super) number: u16,
    /// The number of the type that begins the search.
    pub(super) search: u16,
    pub(super) place: Place,
}

/// Where the event is raised, and where it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Right after the end of the search, with the same elements: in one record of this kind.
    After(u16),
    /// Right before the end, with a request as its first element: in one record of this kind.
    Before(u16),
    /// Right before the end: in a record of its own behind that of the search.
    Apart,
}

/// Where events go that come after the end.
struct Late {
    streams: Vec<Events>,
    /// Whether some have come.
    recorded: bool,
}

/// The streams of a thread, and after its end of another one.
pub(super) struct Thread {
    number: u32,
    calls: Option<Appender>,
    events: Vec<Events>,
    /// When the current MPI call was entered, and left: what happens at either end has that time.
    entered: Ticks,
    left: Option<Ticks>,
    /// The call sites that it has called from lately.
    recent: Recent,
    /// The buffer of the current call, as the log has it; 0 where it is not known.
    buffer: u32,
    buffers: Buffers,
    polling: Polling,
    /// The region of the program that it is in, and the one that the log has it in.
    region: u16,
    region_in_log: u16,
    /// Whether they stay when the thread has ended.
    is_home: bool,
}

/// The stream of the events that a source raises on a thread.
struct Events {
    source: SourceIndex,
    stream: Appender,
    /// The time of the last event that was recorded from a collection.
    latest: Ticks,
}

impl Thread {
    /// The current call returns at this time, where that is known and no other was given.
    #[inline(always)]
    fn returns(&mut self, at: Option<Ticks>) {
        self.left = self.left.or(at.map(|time| time.max(self.entered)));
    }
}

thread_local! {
    static THREAD: Cell<*mut Thread> = const { Cell::new(std::ptr::null_mut()) };
}

impl Recorder {
    /// A recorder into this log.
    pub fn new(log: LogFile, core: &'static Core) -> Self {
        let (state, has_phases, threads) =
            (AtomicU8::new(RECORDS), AtomicBool::new(false), AtomicU32::new(0));
        let home = AtomicPtr::new(std::ptr::null_mut());
        let (clock, sites, unseen) = (Clock::best(), OnceLock::new(), Unseen::default());
        let microsecond = clock.microsecond();
        let (vacant, unwinds) = (Arc::default(), AtomicBool::new(false));
        if let Some(found) = CallSites::new() {
            let _ = sites.set(found);
        }
        Recorder {
            log,
            core,
            clock,
            microsecond,
            state,
            late: Mutex::default(),
            has_phases,
            threads,
            vacant,
            home,
            sites,
            unwinds,
            unseen,
        }
    }

    /// Only this thread calls MPI: its streams need not be looked up.
    pub fn set_home(&self) {
        let thread = self.make();
        // SAFETY: just made, by this thread.
        unsafe { &mut *thread }.is_home = true;
        self.home.store(thread, Ordering::Relaxed);
    }

    /// From where functions are called is found by unwinding: to be called before the first of them.
    pub fn record_call_sites(&self) {
        match self.sites.get() {
            Some(_) => self.unwinds.store(true, Ordering::Relaxed),
            None => warn("this library cannot be found among the loaded ones: call sites are not recorded"),
        }
    }

    /// Whether [`call_site`](Self::call_site) is to be called.
    pub(super) fn records_call_sites(&self) -> bool {
        self.unwinds.load(Ordering::Relaxed)
    }

    /// An MPI call begins, which returns to this address, where that is known.
    #[inline]
    pub(super) fn enter(&self, function: u16, returns_to: Option<NonZeroUsize>) {
        self.with(|thread| {
            thread.entered = self.clock.now();
            (thread.left, thread.buffer) = (None, 0);
            if thread.region != thread.region_in_log {
                self.log_region(thread, thread.entered);
            }
            let (time, site) = (thread.entered.0, self.site(thread, returns_to));
            self.stored(self.calls_of(thread).enter(time, function, site));
        });
    }

    /// The number of the call site that returns to an address.
    #[inline(always)]
    fn site(&self, thread: &mut Thread, returns_to: Option<NonZeroUsize>) -> u16 {
        let (Some(address), Some(sites)) = (returns_to, self.sites.get()) else { return 0 };
        let address = address.get() as u64;
        thread.recent.get(address, || sites.number(address, |definition| self.define(definition)))
    }

    /// The number of the call site that returns to an address; 0 where it is not known.
    pub(super) fn site_of(&self, returns_to: Option<NonZeroUsize>) -> u16 {
        self.with(|thread| self.site(thread, returns_to)).unwrap_or(0)
    }

    /// The call under way sends from here, or receives into it, elements of this datatype.
    pub(super) fn buffer(&self, address: *const c_void, count: i64, datatype: Datatype) {
        // With no elements the datatype may be anything.
        if count > 0 {
            self.with(|thread| thread.buffer = thread.buffers.in_log(address, datatype));
        }
    }

    /// From where the call that has just begun comes. Takes about a microsecond.
    pub(super) fn call_site(&self) {
        if self.state.load(Ordering::Relaxed) == RECORDS
            && let Some(returns_to) = self.caller()
        {
            self.at_entry(kind::CALLSITE, NO_OBJECT, &returns_to);
        }
    }

    /// Where the call under way returns to, as a payload.
    fn caller(&self) -> Option<[u8; 8]> {
        if !self.records_call_sites() {
            return None;
        }
        Some(self.sites.get()?.find(|module| self.define(module))?.to_le_bytes())
    }

    /// An MPI call begins that is not recorded.
    pub(super) fn pass_over(&self) {
        self.with(|thread| {
            thread.entered = self.clock.now();
            thread.left = None;
            self.calls_of(thread).pass_over();
        });
    }

    /// The MPI call, a test, has succeeded: where the thread has polled until now, and worked for the most part of that, it is recorded.
    #[inline(never)]
    pub(super) fn polled(&self, call: &Call<'_>) {
        self.with(|thread| {
            let left = self.left(thread);
            let polled = thread.polling.called(call, (thread.entered.0, left.0), self.microsecond);
            if let Some(polled) = polled.filter(|polled| !polled.is_waiting()) {
                self.call(thread, left, kind::WORKED, NO_OBJECT, &polled.waited.to_le_bytes());
            }
        });
    }

    /// The MPI call ends; also where recording was switched off in it. It may be one after which nothing is polled for.
    #[inline]
    pub(super) fn leave(&self, function: u16, ends_polling: bool) {
        self.with_unless(CLOSED, |thread| {
            if ends_polling {
                thread.polling.forget();
            }
            let left = thread.left.take().unwrap_or_else(|| self.clock.now());
            let duration = left.since(thread.entered);
            if !self.calls_of(thread).leave(duration) {
                self.call(thread, left, kind::LEAVE, NO_OBJECT, &function.to_le_bytes());
            }
        });
    }

    /// A whole call that was not recorded as it went: `MPI_Init`, `MPI_Finalize`. Also while recording is switched off.
    pub fn whole_call(&self, function: u16, entered: Ticks) {
        let caller = self.caller();
        self.with_unless(CLOSED, |thread| {
            self.call(thread, entered, kind::ENTER, NO_OBJECT, &function.to_le_bytes());
            if let Some(returns_to) = caller {
                self.call(thread, entered, kind::CALLSITE, NO_OBJECT, &returns_to);
            }
            self.call(thread, self.clock.now(), kind::LEAVE, NO_OBJECT, &function.to_le_bytes());
        });
    }

    /// Something happens as the current call begins.
    pub(super) fn at_entry(&self, kind: u16, object: u16, payload: &[u8]) {
        self.with(|thread| self.call(thread, thread.entered, kind, object, payload));
    }

    /// The current call sends a message, as it begins. Gives that time where anything is recorded.
    ///
    /// Inlined, and so with a payload of known length: copied through memory it would be loaded in other pieces than it was
    /// stored in, and so wait for all stores before it, those of the messages before among them.
    #[inline(always)]
    pub(super) fn sent(&self, kind: u16, object: u16, payload: &[u8; PAYLOAD_BYTES]) -> Option<Ticks> {
        self.with(|thread| {
            let payload = &with_buffer(kind, payload, thread.buffer);
            self.call(thread, thread.entered, kind, object, payload);
            thread.entered
        })
    }

    /// Something has happened in the current call.
    #[inline]
    pub(super) fn at_exit(&self, kind: u16, object: u16, payload: &[u8]) {
        let _ = self.ended(kind, object, payload);
    }

    /// The same, of the end of a message. `None` where nothing is recorded.
    #[inline]
    pub(super) fn ended(&self, kind: u16, object: u16, payload: &[u8]) -> Option<()> {
        self.with(|thread| {
            let left = self.left(thread);
            self.call(thread, left, kind, object, payload);
        })
    }

    /// A request has ended while recording is off: what has begun before is still ended. Whether it has.
    #[cold]
    pub(super) fn ended_unseen(&self, request: u64, kind: u16, object: u16, payload: &[u8]) -> bool {
        if !self.is_paused() || self.unseen.has_begun(request) {
            return false;
        }
        let append = |thread: &mut Thread| self.call(thread, self.clock.now(), kind, object, payload);
        self.with_unless(CLOSED, append).is_some()
    }

    /// A message was sent, or received, while recording is off: to or from this communicator, peer and tag.
    #[cold]
    pub(super) fn message_unseen(&self, channel: (u16, i32, i32), sent: bool) {
        if self.is_paused() {
            self.unseen.message(channel, sent);
        }
    }

    /// Whether anything is recorded just now.
    pub(super) fn records(&self) -> bool {
        self.state.load(Ordering::Relaxed) == RECORDS
    }

    /// A stream for samples, of whichever thread. It ends before [`finish`](Self::finish).
    pub(super) fn sample_stream(&self) -> Appender {
        self.log.stream(StreamKind::Samples, 0, None)
    }

    fn is_paused(&self) -> bool {
        self.state.load(Ordering::Relaxed) == PAUSED
    }

    /// The current call has received a message; it returns at this time, where that is known. `None` where nothing is
    /// recorded. Inlined as [`sent`](Self::sent) is.
    #[inline(always)]
    pub(super) fn received(
        &self,
        returns: Option<Ticks>,
        kind: u16,
        object: u16,
        payload: &[u8; PAYLOAD_BYTES],
    ) -> Option<()> {
        self.with(|thread| {
            thread.returns(returns);
            let (left, payload) = (self.left(thread), &with_buffer(kind, payload, thread.buffer));
            self.call(thread, left, kind, object, payload);
        })
    }

    /// The current call has posted a receive; it returns at this time, where that is known.
    #[inline]
    pub(super) fn posted(&self, request: u32, returns: Option<Ticks>) {
        self.with(|thread| {
            thread.returns(returns);
            if !self.calls_of(thread).post(request) {
                let (left, payload) = (self.left(thread), Completion { request }.to_payload());
                self.call(thread, left, kind::MPI_IRECV_REQUEST, NO_OBJECT, &payload);
            }
        });
    }

    /// The request of a send was completed in the current call. `None` where nothing is recorded.
    #[inline]
    pub(super) fn send_completed(&self, request: u32) -> Option<()> {
        self.with(|thread| {
            let left = self.left(thread);
            self.stored(self.calls_of(thread).complete(left.0, request));
        })
    }

    /// A request was tested in the current call, and is not complete.
    pub(super) fn tested(&self, request: u32) {
        self.with(|thread| {
            if !self.calls_of(thread).test(request) {
                let left = self.left(thread);
                self.stored(self.calls_of(thread).tested(left.0, request));
            }
        });
    }

    /// Switches recording off, or on again, as the program asks for it. Calls and requests that are under way are still
    /// ended. `request` is the latest one that was made.
    pub fn set_recording(&self, on: bool, request: u64) {
        let (from, to) = if on { (PAUSED, RECORDS) } else { (RECORDS, PAUSED) };
        if self.state.load(Ordering::Relaxed) != from {
            return;
        }
        if !self.has_phases.swap(true, Ordering::Relaxed) {
            self.define(&Definition::Phases {});
        }
        let counts = self.unseen.switch(request);
        self.with_unless(CLOSED, |thread| {
            let (now, incomplete) = (self.clock.now(), counts.is_incomplete());
            let switch = Switch { on, incomplete, request: request as u32 };
            self.call(thread, now, kind::RECORDING, NO_OBJECT, &switch.to_payload());
            for (object, messages) in counts.messages() {
                self.call(thread, now, kind::UNSEEN_MESSAGES, object, &messages.to_payload());
            }
            for (object, events) in counts.events() {
                self.call(thread, now, kind::UNSEEN_EVENTS, object, &events.to_payload());
            }
        });
        let _ = self.state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The process enters this phase: in the stream of the thread that has asked for it.
    pub fn phase(&self, phase: u16) {
        self.with(|thread| self.call(thread, self.clock.now(), kind::PHASE, NO_OBJECT, &phase.to_le_bytes()));
    }

    /// This thread is in this region of the program from now on. The log has that from now on if it has calls of the thread and recording is
    /// on, else from the next call on that it has.
    pub fn region(&self, region: u16) {
        let (state, thread) = (self.state.load(Ordering::Relaxed), THREAD.get());
        // One that has called no MPI looks which it is in when it does.
        if state == CLOSED || thread.is_null() {
            return;
        }
        // SAFETY: these are this thread's own streams; no record is appended inside another.
        let thread = unsafe { &mut *thread };
        thread.region = region;
        if state == RECORDS && thread.calls.is_some() && thread.region_in_log != region {
            self.log_region(thread, self.clock.now());
        }
    }

    /// The log has the region of the thread from then on.
    #[cold]
    fn log_region(&self, thread: &mut Thread, time: Ticks) {
        thread.region_in_log = thread.region;
        self.call(thread, time, kind::REGION, NO_OBJECT, &thread.region.to_le_bytes());
    }

    /// Whether what happens is recorded; not while the program has switched that off, nor at the end.
    pub fn is_recording(&self) -> bool {
        self.state.load(Ordering::Relaxed) == RECORDS
    }

    /// Whether nothing is recorded any more.
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == CLOSED
    }

    /// The log.
    pub(crate) fn log(&self) -> &LogFile {
        &self.log
    }

    /// Hands what the log holds to the disk, and waits for that: it is there then even if the machine fails.
    pub fn flush(&self) {
        if self.state.load(Ordering::Relaxed) != CLOSED && self.log.flush().is_err() {
            self.warn_of_failure();
        }
    }

    /// When the current call is left: what happens at its exit has one time.
    #[inline(always)]
    fn left(&self, thread: &mut Thread) -> Ticks {
        *thread.left.get_or_insert_with(|| self.clock.now())
    }

    #[inline(always)]
    fn calls_of<'a>(&self, thread: &'a mut Thread) -> &'a mut Appender {
        let (log, number) = (&self.log, thread.number);
        thread.calls.get_or_insert_with(|| log.stream(StreamKind::Calls, number, None))
    }

    #[inline(always)]
    fn call(&self, thread: &mut Thread, time: Ticks, kind: u16, object: u16, payload: &[u8]) {
        self.append(self.calls_of(thread), time, kind, object, payload);
    }

    /// Appends a record of an event of a source, raised on this thread.
    #[inline]
    pub fn event(&self, source: SourceIndex, time: Ticks, kind: u16, object: u16, payload: &[u8]) {
        let recorded = self.with(|thread| {
            let Events { stream, .. } = self.events_of(thread, source);
            self.append(stream, time, kind, object, payload);
        });
        if recorded.is_none() {
            self.events_unseen(kind.checked_sub(kind::EVENT).map(|number| (number, object)).into_iter());
            self.late(source, time, kind, object, payload);
        }
    }

    /// Events of these sources are recorded also after [`finish`](Recorder::finish), until [`end_late`](Recorder::end_late).
    pub fn stay_open(&self, sources: &[SourceIndex]) {
        let streams = sources.iter().map(|&source| self.stream_of(0, source)).collect();
        *lock(&self.late) = Some(Late { streams, recorded: false });
    }

    /// An event after the end. Signal-safe: it is left out where another is being appended.
    #[cold]
    fn late(&self, source: SourceIndex, time: Ticks, kind: u16, object: u16, payload: &[u8]) {
        if self.state.load(Ordering::Relaxed) != CLOSED {
            return;
        }
        let Ok(mut late) = self.late.try_lock() else { return };
        let Some(Late { streams, recorded }) = &mut *late else { return };
        if let Some(Events { stream, .. }) = streams.iter_mut().find(|known| known.source == source) {
            *recorded = true;
            self.append(stream, time, kind, object, payload);
        }
    }

    /// Nothing is recorded any more; whether something was since [`finish`](Recorder::finish).
    pub fn end_late(&self) -> bool {
        lock(&self.late).take().is_some_and(|late| late.recorded)
    }

    /// Events of these types happened on these communicators while recording is off.
    #[cold]
    fn events_unseen(&self, events: impl Iterator<Item = (u16, u16)>) {
        if self.is_paused() {
            self.unseen.events(events);
        }
    }

    /// Appends those of the collected events that have a kind and whose communicator has a number.
    pub(super) fn events(&self, source: SourceIndex, records: &[Record], kinds: &[Kind], objects: &Objects) {
        let all = records;
        let recorded = self.with(|thread| {
            let Events { stream, latest, .. } = self.events_of(thread, source);
            let mut records = records.iter();
            while let Some(record) = records.next() {
                let object = objects.number(record.object);
                let next = records.as_slice().first();
                let (kind, before) = (kinds[record.event.get()], *latest);
                if !record.late || kind.may_be_late() {
                    *latest = before.max(record.ticks);
                }
                match kind {
                    // An entry may go because of what is known later. The queue changes then, where the events are raised.
                    Kind::Queue(queue) => {
                        match next.filter(|next| queue.is_before_end(record, next, kinds)) {
                            Some(search) => {
                                records.next();
                                let end = kinds[search.event.get()];
                                self.search(stream, search, end, object, Some((queue, record)));
                            }
                            None => {
                                let number = kind::EVENT + queue.number;
                                self.append(stream, *latest, number, object, record.payload());
                            }
                        }
                    }
                    // When it really was, others have been recorded since.
                    pair @ Kind::Pair(..) if record.late => {
                        self.search(stream, &record.at(*latest), pair, object, None);
                    }
                    _ if record.late => {}
                    Kind::None => {}
                    Kind::Event(kind) => {
                        self.append(stream, record.ticks, kind, object, record.payload());
                    }
                    pair @ Kind::Pair(..) => {
                        let queued = next.and_then(|next| Some((queued_after(record, next, kinds)?, next)));
                        if queued.is_some() {
                            records.next();
                        }
                        self.search(stream, record, pair, object, queued);
                    }
                }
            }
        });
        if recorded.is_none() {
            self.events_unseen(all.iter().filter_map(|record| match kinds[record.event.get()] {
                Kind::Queue(queue) => Some((queue.number, objects.number(record.object))),
                _ => None,
            }));
        }
    }

    /// Appends a pair of events by the second of them, and how a queue changed with it.
    #[inline(always)]
    fn search(
        &self,
        stream: &mut Appender,
        search: &Record,
        pair: Kind,
        object: u16,
        queued: Option<(Queue, &Record)>,
    ) {
        let Kind::Pair(begin, end) = pair else { return };
        let (elements, length) = (search.padded(), search.payload_len());
        let duration = search.ticks.since(search.since);
        let whole = match queued {
            Some((Queue { place: Place::After(kind), .. }, _)) => {
                Pair::to_payload(elements, length, duration).map(|payload| (kind, payload))
            }
            Some((Queue { place: Place::Before(kind), .. }, change)) => {
                let request = u64_at(change.padded(), 0);
                Pair::to_payload_with(elements, length, duration, request).map(|payload| (kind, payload))
            }
            _ => None,
        };
        if let Some((kind, payload)) = whole {
            return self.append(stream, search.since, kind + begin, object, &payload);
        }
        match Pair::to_payload(elements, length, duration) {
            Some(payload) => self.append(stream, search.since, kind::PAIR + begin, object, &payload),
            None => {
                let elements = search.payload();
                self.append(stream, search.since, kind::EVENT + begin, object, elements);
                self.append(stream, search.ticks, kind::EVENT + end, object, elements);
            }
        }
        if let Some((queue, change)) = queued {
            self.append(stream, change.ticks, kind::EVENT + queue.number, object, change.payload());
        }
    }

    #[inline(always)]
    fn events_of<'a>(&self, thread: &'a mut Thread, source: SourceIndex) -> &'a mut Events {
        let place = match thread.events.iter().position(|known| known.source == source) {
            Some(place) => place,
            None => self.add_stream(thread, source),
        };
        &mut thread.events[place]
    }

    #[inline(always)]
    fn append(&self, stream: &mut Appender, time: Ticks, kind: u16, object: u16, payload: &[u8]) {
        self.stored(stream.append(time.0, kind, object, payload));
    }

    /// Warns the user, once, where a record could not be stored.
    #[inline(always)]
    pub(super) fn stored(&self, stored: bool) {
        if !stored {
            self.warn_of_failure();
        }
    }

    #[cold]
    fn add_stream(&self, thread: &mut Thread, source: SourceIndex) -> usize {
        thread.events.push(self.stream_of(thread.number, source));
        thread.events.len() - 1
    }

    /// A stream for the events of a source on a thread.
    fn stream_of(&self, thread: u32, source: SourceIndex) -> Events {
        if let Some(described) = self.core.source(source) {
            let definition = Definition::Source {
                index: source.get() as u32,
                name: described.name.clone(),
                description: described.description.clone(),
                ordering: match described.ordering {
                    mpit_events::Ordering::Ordered => "ordered".into(),
                    mpit_events::Ordering::Unordered => "unordered".into(),
                },
                ticks_per_second: described.clock.ticks_per_second(),
            };
            self.define(&definition);
        }
        let stream = self.log.stream(StreamKind::Events, thread, Some(source.get() as u32));
        Events { source, stream, latest: Ticks(0) }
    }

    /// Writes a definition into the log.
    pub fn define(&self, definition: &Definition) {
        if self.log.define(definition).is_err() {
            self.warn_of_failure();
        }
    }

    #[cold]
    #[inline(never)]
    fn warn_of_failure(&self) {
        // Of a closed descriptor there is one line, whatever file it was: `Session::find_run`.
        if let Some(error) = self.log.take_failure().filter(|error| !is_taken(error)) {
            let line = if is_limit(&error) {
                let bytes = general(self.log.bytes() as f64 / f64::from(1 << 20));
                format!(
                    "the event log ends here: it has its {bytes} MiB (--limit); what follows is counted, not kept"
                )
            } else {
                format!("the event log ends here: {error}; make room or give another directory with -o")
            };
            warn(&line);
        }
    }

    /// From now on nothing is recorded; writes down how the process ended.
    pub fn finish(&self, state: State) {
        if self.state.swap(CLOSED, Ordering::AcqRel) == CLOSED {
            return;
        }
        self.home.store(std::ptr::null_mut(), Ordering::Relaxed);
        let thread = THREAD.replace(std::ptr::null_mut());
        if !thread.is_null() {
            // SAFETY: made by `Box::into_raw` in `make`, and taken out of this thread's cell: nobody
            // else has it. Dropping gives the unused space of its chunks back.
            drop(unsafe { Box::from_raw(thread) });
        }
        lock(&self.vacant).clear();
        self.log.finish(state, self.clock.now().0);
    }

    /// This is a forked child: the log belongs to its parent.
    pub fn abandon(&self) {
        self.state.store(CLOSED, Ordering::Release);
        // Their space is the parent's.
        self.late.try_lock().ok().and_then(|mut late| late.take()).into_iter().for_each(std::mem::forget);
    }

    /// Uses this thread's streams, while something is recorded; else `None`.
    #[inline(always)]
    fn with<R>(&self, user: impl FnOnce(&mut Thread) -> R) -> Option<R> {
        self.with_unless(PAUSED, user)
    }

    /// Uses this thread's streams, in a state before this one.
    #[inline(always)]
    fn with_unless<R>(&self, state: u8, user: impl FnOnce(&mut Thread) -> R) -> Option<R> {
        if self.state.load(Ordering::Relaxed) >= state {
            return None;
        }
        let mut thread = self.home.load(Ordering::Relaxed);
        if thread.is_null() {
            thread = THREAD.get();
            if thread.is_null() {
                thread = self.make();
            }
        }
        // SAFETY: these are this thread's own streams, or those of the only thread that calls MPI;
        // no record is appended inside another (hooks and callbacks do not nest on a thread, and
        // appending calls nobody).
        Some(user(unsafe { &mut *thread }))
    }

    /// Those of a thread that has ended, or new ones.
    #[cold]
    #[inline(never)]
    fn make(&self) -> *mut Thread {
        let vacant = lock(&self.vacant).pop();
        let mut thread = Box::new(vacant.unwrap_or_else(|| {
            let number = self.threads.fetch_add(1, Ordering::Relaxed);
            let (calls, events, entered) = (None, Vec::new(), self.clock.now());
            let (recent, buffers, polling) = (Recent::default(), Buffers::default(), Polling::default());
            let (left, buffer, region, region_in_log, is_home) = (None, 0, 0, 0, false);
            Thread {
                number,
                calls,
                events,
                entered,
                left,
                recent,
                buffer,
                buffers,
                polling,
                region,
                region_in_log,
                is_home,
            }
        }));
        thread.region = crate::regions::current();
        let thread = Box::into_raw(thread);
        THREAD.set(thread);
        let vacant = Arc::clone(&self.vacant);
        mpi_intercept::at_thread_end(move || {
            crate::regions::end_of_thread();
            // SAFETY: what is in the cell was made here, and is there until it is taken out.
            if THREAD.get() == thread && !unsafe { &*thread }.is_home {
                THREAD.set(std::ptr::null_mut());
                // SAFETY: it came from a box, it was in the cell until now, and this thread records nothing more.
                lock(&vacant).push(*unsafe { Box::from_raw(thread) });
            }
        });
        thread
    }
}

/// The payload of a message of a blocking call, with the buffer where a request would be.
#[inline(always)]
fn with_buffer(kind: u16, payload: &[u8; PAYLOAD_BYTES], buffer: u32) -> [u8; PAYLOAD_BYTES] {
    let mut payload = *payload;
    if matches!(kind, kind::MPI_SEND | kind::MPI_RECV) {
        payload[PAYLOAD_BYTES - 4..].copy_from_slice(&buffer.to_le_bytes());
    }
    payload
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// Whether the next record is the end of the search that this event belongs to.
    #[inline(always)]
    fn is_before_end(self, record: &Record, next: &Record, kinds: &[Kind]) -> bool {
        let Kind::Pair(begin, _) = kinds[next.event.get()] else { return false };
        begin == self.search
            && !matches!(self.place, Place::After(_))
            && (record.ticks, record.object) == (next.ticks, next.object)
            && !(record.late || next.late)
    }
}

/// What the event that follows the end of a search says of a queue, if it belongs to that search.
#[inline(always)]
fn queued_after(search: &Record, next: &Record, kinds: &[Kind]) -> Option<Queue> {
    let (Kind::Queue(queue), Kind::Pair(begin, _)) = (kinds[next.event.get()], kinds[search.event.get()])
    else {
        return None;
    };
    let belongs = begin == queue.search
        && matches!(queue.place, Place::After(_))
        && (next.ticks, next.object) == (search.ticks, search.object)
        && !next.late
        && (next.payload_len(), next.padded()) == (search.payload_len(), search.padded());
    belongs.then_some(queue)
}

/// The numbers that communicators have in the log, by their places in the model.
#[derive(Debug)]
pub(super) struct Objects(Box<[AtomicU16]>);

/// Places whose numbers are kept; events of further communicators have none.
const MAX_OBJECTS: usize = 4096;

impl Default for Objects {
    fn default() -> Self {
        Objects((0..MAX_OBJECTS).map(|_| AtomicU16::new(NO_OBJECT)).collect())
    }
}

impl Objects {
    /// The communicator at this place has this number from now on.
    pub(super) fn set(&self, place: u32, number: u16) {
        if let Some(known) = self.0.get(place as usize) {
            known.store(number, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn number(&self, place: u32) -> u16 {
        self.0.get(place as usize).map_or(NO_OBJECT, |number| number.load(Ordering::Relaxed))
    }
}
