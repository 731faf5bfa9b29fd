//! What a thread keeps between the entry and the exit of an MPI call, and how it raises events.
//!
//! The model runs under a lock and emits into a buffer; the buffer is raised from afterwards, so
//! that callbacks run with no lock held and a search is never timed with a callback in it.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpi_abi::{Datatype, Handle};
use mpit_events::{
    Clock, Core, EventIndex, Object, Ordering, Raise, Record, Safety, Source, SourceIndex, Ticks,
};

use super::again::TestedInVain;
use super::comms::Seen;
use super::mode::Part;
use super::observer::Observer;
use super::requests::{FollowedSend, Tracked};
use crate::matching::{CommIndex, Event, Ob1Events, ReceiveIndex, Sink};
use crate::progress_model::Awaits;

/// A request that a completion call was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// Its place in the application's array.
    pub place: u32,
    /// The handle's value before the call.
    pub handle: usize,
    /// What it is.
    pub tracked: Tracked,
}

/// A thread's own state.
pub(crate) struct Frame {
    pub(crate) sink: Buffer,
    pub(crate) call: Current,
    pub(crate) seen: Seen,
    pub(crate) short: ShortSends,
    sources: EventSources,
    /// Whether the frame stays when its thread has ended.
    pub(crate) is_home: bool,
}

/// How many elements of the datatype that was sent last make a short message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortSends {
    datatype: usize,
    most: i64,
}

impl Default for ShortSends {
    fn default() -> Self {
        ShortSends { datatype: 0, most: -1 }
    }
}

impl ShortSends {
    /// Whether it is known that so many elements of this datatype are short.
    #[inline(always)]
    pub(crate) fn are(&self, datatype: Datatype, count: i64) -> bool {
        datatype.word() == self.datatype && (0..=self.most).contains(&count)
    }

    /// From now on so many elements of this datatype are.
    pub(crate) fn know(&mut self, datatype: Datatype, most: i64) {
        *self = ShortSends { datatype: datatype.word(), most };
    }
}

/// The sources that a control flow of the model raises events from.
pub(crate) struct EventSources {
    source: SourceIndex,
    late: Option<SourceIndex>,
    /// Whether bulk listeners hear of the events here, and not in a later call.
    in_bulk: bool,
}

/// What the entry of an MPI call leaves for its exit.
pub(crate) struct Current {
    /// When the call was entered and the model had caught up, if the call makes progress.
    pub(crate) entered: Ticks,
    /// The number that the call under way has from other hooks.
    pub(crate) context: u16,
    /// When the call under way returned, as all hooks know it; zero before that.
    pub(crate) left: Ticks,
    /// When a call that posts a nonblocking receive was entered, where that is noted.
    pub(crate) posted: Ticks,
    /// The receive that the call posted.
    pub(crate) receive: Option<(ReceiveIndex, CommIndex, u64)>,
    /// The send that the call started.
    pub(crate) send: Option<FollowedSend>,
    /// Whether the envelope of the call's message was sent at its entry.
    pub(crate) envelope_sent: bool,
    /// What the call may wait for.
    pub(crate) awaits: Awaits,
    /// Whether the call's probe has found a message in the model.
    pub(crate) found: bool,
    /// Whether statuses are needed of what is pending.
    pub(crate) needs_statuses: bool,
    /// What the last call that was about requests has tested in vain.
    pub(crate) tested_in_vain: TestedInVain,
    /// How many requests the call has whose receives are a row; none where it does not wait for one.
    pub(crate) in_row: usize,
    /// The requests that the call may complete.
    pub(crate) pending: Vec<Pending>,
    /// The persistent requests that the call starts, by their handles before; none for those that are not known.
    pub(crate) started: Vec<Option<(usize, Tracked)>>,
    /// A handle that the call frees or uses up.
    pub(crate) handle: usize,
    /// Room for statuses that the application does not want.
    pub(crate) statuses: Vec<u64>,
}

/// Events that a buffer has room for from the start.
pub(crate) const ROOM: usize = 1024;

thread_local! {
    static FRAME: Cell<*mut Frame> = const { Cell::new(std::ptr::null_mut()) };
}

/// The frame of this thread; made at its first MPI call.
#[inline(always)]
pub(crate) fn current(events: Ob1Events) -> *mut Frame {
    let frame = FRAME.get();
    if frame.is_null() { make(events) } else { frame }
}

/// Whether this is the frame of this thread.
pub(crate) fn is_of_this_thread(frame: *const Frame) -> bool {
    std::ptr::eq(FRAME.get(), frame)
}

/// Whether this thread has a frame: it has called MPI.
pub(crate) fn is_here() -> bool {
    !FRAME.get().is_null()
}

/// The outlets of threads that have ended: for later ones, so that a program may make and end any number of threads.
static VACANT: Mutex<Vec<EventSources>> = Mutex::new(Vec::new());

fn vacant() -> MutexGuard<'static, Vec<EventSources>> {
    VACANT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sources of a new thread.
fn sources() -> EventSources {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    vacant().pop().unwrap_or_else(|| {
        let number = THREADS.fetch_add(1, Relaxed);
        let description = format!("the ob1 model, as it runs in MPI calls of application thread {number}");
        EventSources::new(mpit_events::core(), format!("ob1 thread {number}"), description)
    })
}

#[cold]
#[inline(never)]
fn make(events: Ob1Events) -> *mut Frame {
    let frame = Box::into_raw(Box::new(Frame {
        sink: Buffer::new(Clock::best(), events),
        call: Current {
            entered: Ticks(0),
            context: 0,
            left: Ticks(0),
            posted: Ticks(0),
            receive: None,
            send: None,
            envelope_sent: false,
            awaits: Awaits::Receives,
            found: false,
            needs_statuses: false,
            tested_in_vain: TestedInVain::default(),
            in_row: 0,
            pending: Vec::with_capacity(256),
            started: Vec::with_capacity(256),
            handle: 0,
            statuses: Vec::with_capacity(512),
        },
        seen: Seen::default(),
        short: ShortSends::default(),
        sources: sources(),
        is_home: false,
    }));
    FRAME.set(frame);
    mpi_intercept::at_thread_end(move || {
        // SAFETY: made above, and freed here alone.
        if !unsafe { &*frame }.is_home {
            FRAME.set(std::ptr::null_mut());
            // SAFETY: it came from a box, and no hook of this thread uses it any more.
            let frame = *unsafe { Box::from_raw(frame) };
            vacant().push(frame.sources);
        }
    });
    frame
}

impl Frame {
    /// Raises what the model has emitted, in order, with no lock held.
    #[inline]
    pub(crate) fn raise(&mut self, core: &Core, level: Safety) {
        let sink = &mut self.sink;
        if sink.is_empty() {
            return;
        }
        if sink.any_late || !sink.losses.is_empty() {
            self.sources.raise_in_parts(sink, &self.seen.objects, core, level);
        } else {
            core.raise_section(self.sources.source, level).records(&sink.records, false, &self.seen.objects);
        }
        self.sink.records.clear();
    }
}

impl EventSources {
    /// An ordered source of this name.
    pub(crate) fn new(core: &Core, name: impl Into<String>, description: impl Into<String>) -> Self {
        let source = Source::new(name, description, Ordering::Ordered, Clock::best());
        EventSources { source: core.add_source(source), late: None, in_bulk: true }
    }

    /// The same for events that bulk listeners are given in the next MPI call.
    #[must_use]
    pub(crate) fn between_calls(self) -> Self {
        EventSources { in_bulk: false, ..self }
    }

    /// Raises what the model has emitted between MPI calls. Signal-safe at [`Safety::AsyncSignalSafe`]
    /// where nothing is late or lost.
    pub(crate) fn raise(&mut self, sink: &mut Buffer, objects: &[Arc<Object>], core: &Core, level: Safety) {
        if sink.any_late || !sink.losses.is_empty() {
            self.raise_in_parts(sink, objects, core, level);
        } else {
            self.records(&core.raise_section(self.source, level), &sink.records, objects);
        }
        sink.records.clear();
    }

    fn records(&self, section: &Raise<'_>, records: &[Record], objects: &[Arc<Object>]) {
        if self.in_bulk {
            section.records(records, false, objects);
        } else {
            section.records_to_registrations(records, false, objects);
        }
    }

    /// With what is rare: losses, reported between the events around them, and events that come late.
    #[cold]
    #[inline(never)]
    fn raise_in_parts(&mut self, sink: &mut Buffer, objects: &[Arc<Object>], core: &Core, level: Safety) {
        let mut raised = 0;
        for Loss { before, comm, count } in sink.losses.drain(..) {
            let section = core.raise_section(self.source, level);
            self.records(&section, &sink.records[raised..before], objects);
            raised = before;
            let Some(object) = objects.get(comm.0 as usize) else { continue };
            for event in [Event::MessageArrived, Event::SearchPostedBegin, Event::SearchPostedEnd] {
                section.lost(sink.events.index(event), object, count);
            }
        }
        self.records(&core.raise_section(self.source, level), &sink.records[raised..], objects);
        if std::mem::take(&mut sink.any_late) {
            let late = *self.late.get_or_insert_with(|| {
                let description = "the ob1 model, for messages whose envelope came after their completion";
                core.add_source(Source::new("ob1 late", description, Ordering::Unordered, Clock::best()))
            });
            core.raise_section(late, level).records_to_registrations(&sink.records, true, objects);
        }
    }
}

/// Envelopes lost on a communicator.
pub(crate) struct Loss {
    /// The place of the first record that comes after them.
    before: usize,
    comm: CommIndex,
    count: u64,
}

/// The sink of a thread: keeps what somebody wants until no lock is held.
pub(crate) struct Buffer {
    /// The wanted events, as bits.
    pub(crate) wanted: u16,
    /// Whether who wants them only counts.
    only_counts: bool,
    /// Whether some of them may stand for others.
    pub(crate) weighs: bool,
    /// What the core's listeners were when `wanted` was found out.
    version: Option<u32>,
    /// The clock of the model.
    pub(crate) clock: Clock,
    /// The events' indices.
    pub(crate) events: Ob1Events,
    /// Where events wait.
    pub(crate) records: Vec<Record>,
    /// Set when one of them is late.
    pub(crate) any_late: bool,
    /// Envelopes lost, to be reported to those who listen.
    pub(crate) losses: Vec<Loss>,
    /// Set when an envelope to another node waits to be sent.
    pub(crate) mail_waits: bool,
    /// Set when it should not wait for the process to make progress.
    pub(crate) mail_is_due: bool,
    /// Who wants the bytes of unexpected messages.
    for_bytes: Option<&'static dyn Observer>,
}

impl Buffer {
    /// A sink with room for many events.
    pub(crate) fn new(clock: Clock, events: Ob1Events) -> Self {
        Buffer { records: Vec::with_capacity(ROOM), ..Buffer::deaf(clock, events) }
    }

    /// A sink of its own, which nobody listens to.
    pub(crate) fn deaf(clock: Clock, events: Ob1Events) -> Self {
        let (records, losses) = (Vec::new(), Vec::new());
        let (any_late, mail_waits, mail_is_due) = (false, false, false);
        Buffer {
            wanted: 0,
            only_counts: false,
            weighs: false,
            version: None,
            clock,
            events,
            records,
            any_late,
            losses,
            mail_waits,
            mail_is_due,
            for_bytes: None,
        }
    }

    /// Whether nothing waits to be raised.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.losses.is_empty()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.records.reserve(self.records.capacity().max(ROOM));
    }

    /// Takes over events, and leaves their room.
    #[cold]
    #[inline(never)]
    pub(crate) fn take(&mut self, waiting: &mut Vec<Record>) {
        self.records.append(waiting);
    }

    /// Whether somebody has begun or ceased to listen since the last [`update`](Buffer::update).
    #[inline(always)]
    pub(crate) fn is_outdated(&self, core: &Core) -> bool {
        self.version != Some(core.version())
    }

    /// Learns what is wanted; nothing is where others raise the events.
    pub(crate) fn update(&mut self, core: &Core, part: Part, for_bytes: Option<&'static dyn Observer>) {
        self.version = Some(core.version());
        self.for_bytes = for_bytes;
        self.wanted = if part == Part::Events { self.events.active(core) } else { 0 };
        self.only_counts = core.only_counts();
        self.weighs = core.only_weighs();
    }
}

impl Sink for Buffer {
    #[inline(always)]
    fn index(&self, event: Event) -> EventIndex {
        self.events.index(event)
    }

    #[inline(always)]
    fn wants(&self, event: Event) -> bool {
        self.wanted & (1 << event as u8) != 0
    }

    #[inline(always)]
    fn wants_any(&self, mask: u16) -> bool {
        self.wanted & mask != 0
    }

    #[inline(always)]
    fn only_counts(&self) -> bool {
        self.only_counts
    }

    #[inline(always)]
    fn now(&self) -> Ticks {
        self.clock.now()
    }

    #[inline(always)]
    fn push(&mut self, record: Record) {
        self.any_late |= record.late;
        if self.records.len() == self.records.capacity() {
            self.grow();
        }
        // There is room: nothing comes between making the record and storing it, so that its parts
        // go straight to their places.
        self.records.push(record);
    }

    #[cold]
    fn lost(&mut self, comm: CommIndex, count: u64) {
        self.losses.push(Loss { before: self.records.len(), comm, count });
    }

    #[inline(always)]
    fn unexpected_bytes(&mut self, comm: CommIndex, change: i64) {
        if let Some(observer) = self.for_bytes {
            observer.unexpected_bytes(comm.0, change);
        }
    }
}
