//! What a thread keeps between the entry and the exit of an MPI call, and how it raises events.
//!
//! The twin runs under a lock and emits into a buffer; the buffer is raised from afterwards, so
//! that callbacks run with no lock held and a search is never timed with a callback in it.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpit_events::{
    Clock, Core, EventIndex, Object, Ordering, Raise, Record, Safety, Source, SourceIndex, Ticks,
};

use super::last_look::Awaits;
use super::messages::FollowedSend;
use super::requests::Tracked;
use super::session::Part;
use crate::shadow::{CommIndex, Event, Ob1Events, ReceiveIndex, Sink};

/// The objects that the communicators' events are bound to, by [`CommIndex`].
pub(super) type Objects = Arc<Vec<Arc<Object>>>;

/// A request that a completion call was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// Its place in the application's array.
    pub place: u32,
    /// The handle's value before the call.
    pub handle: usize,
    /// What it is.
    pub tracked: Tracked,
}

/// A thread's own state.
pub(super) struct Frame {
    pub(super) sink: Buffer,
    pub(super) call: Current,
    pub(super) objects: Objects,
    pub(super) objects_version: u64,
    outlet: Outlet,
    /// Whether the frame stays when its thread has ended.
    pub(super) is_home: bool,
}

/// The sources that a control flow of the twin raises events from.
pub(super) struct Outlet {
    source: SourceIndex,
    late: Option<SourceIndex>,
    /// Whether bulk listeners hear of the events here, and not in a later call.
    in_bulk: bool,
}

/// What the entry of an MPI call leaves for its exit.
pub(super) struct Current {
    /// When the call was entered and the twin had caught up, if the call makes progress.
    pub(super) entered: Ticks,
    /// When a call that posts a nonblocking receive was entered, where that is noted.
    pub(super) posted: Ticks,
    /// The receive that the call posted.
    pub(super) receive: Option<(ReceiveIndex, CommIndex, u64)>,
    /// The send that the call started.
    pub(super) send: Option<FollowedSend>,
    /// Whether the receiver of the call's message has yet to be told.
    pub(super) untold: bool,
    /// What the call may wait for.
    pub(super) awaits: Awaits,
    /// Whether the call's probe has found a message in the twin.
    pub(super) found: bool,
    /// How many requests the call has whose receives are a row; none where it does not wait for one.
    pub(super) in_row: usize,
    /// The requests that the call may complete.
    pub(super) pending: Vec<Pending>,
    /// A handle that the call frees or uses up.
    pub(super) handle: usize,
    /// Room for statuses that the application does not want.
    pub(super) statuses: Vec<u64>,
}

/// Events that a buffer has room for from the start.
pub(super) const ROOM: usize = 1024;

thread_local! {
    static FRAME: Cell<*mut Frame> = const { Cell::new(std::ptr::null_mut()) };
}

/// The frame of this thread; made at its first MPI call.
#[inline(always)]
pub(super) fn current(events: Ob1Events) -> *mut Frame {
    let frame = FRAME.get();
    if frame.is_null() { make(events) } else { frame }
}

/// Whether this thread has a frame: it has called MPI.
pub(super) fn is_here() -> bool {
    !FRAME.get().is_null()
}

/// The outlets of threads that have ended: for later ones, so that a program may make and end any number of threads.
static VACANT: Mutex<Vec<Outlet>> = Mutex::new(Vec::new());

fn vacant() -> MutexGuard<'static, Vec<Outlet>> {
    VACANT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The outlet of a new thread.
fn outlet() -> Outlet {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    vacant().pop().unwrap_or_else(|| {
        let number = THREADS.fetch_add(1, Relaxed);
        let description = format!("the ob1 twin, as it runs in MPI calls of application thread {number}");
        Outlet::new(mpit_events::core(), format!("ob1 thread {number}"), description)
    })
}

#[cold]
#[inline(never)]
fn make(events: Ob1Events) -> *mut Frame {
    let frame = Box::into_raw(Box::new(Frame {
        sink: Buffer::new(Clock::best(), events),
        call: Current {
            entered: Ticks(0),
            posted: Ticks(0),
            receive: None,
            send: None,
            untold: false,
            awaits: Awaits::Receives,
            found: false,
            in_row: 0,
            pending: Vec::with_capacity(256),
            handle: 0,
            statuses: Vec::with_capacity(512),
        },
        objects: Objects::default(),
        objects_version: 0,
        outlet: outlet(),
        is_home: false,
    }));
    FRAME.set(frame);
    mpi_intercept::at_thread_end(move || {
        // SAFETY: made above, and freed here alone.
        if !unsafe { &*frame }.is_home {
            FRAME.set(std::ptr::null_mut());
            // SAFETY: it came from a box, and no hook of this thread uses it any more.
            let frame = *unsafe { Box::from_raw(frame) };
            vacant().push(frame.outlet);
        }
    });
    frame
}

impl Frame {
    /// Raises what the twin has emitted, in order, with no lock held.
    #[inline]
    pub(super) fn raise(&mut self, core: &Core, level: Safety) {
        let sink = &mut self.sink;
        if sink.is_empty() {
            return;
        }
        if sink.any_late || !sink.losses.is_empty() {
            self.outlet.raise_in_parts(sink, &self.objects, core, level);
        } else {
            core.raise_section(self.outlet.source, level).records(&sink.records, false, &self.objects);
        }
        self.sink.records.clear();
    }
}

impl Outlet {
    /// An ordered source of this name.
    pub(super) fn new(core: &Core, name: impl Into<String>, description: impl Into<String>) -> Self {
        let source = Source::new(name, description, Ordering::Ordered, Clock::best());
        Outlet { source: core.add_source(source), late: None, in_bulk: true }
    }

    /// The same for events that bulk listeners are given in the next MPI call.
    #[must_use]
    pub(super) fn between_calls(self) -> Self {
        Outlet { in_bulk: false, ..self }
    }

    /// Raises what the twin has emitted between MPI calls. Signal-safe at [`Safety::AsyncSignalSafe`]
    /// where nothing is late or lost.
    pub(super) fn raise(&mut self, sink: &mut Buffer, objects: &Objects, core: &Core, level: Safety) {
        if sink.any_late || !sink.losses.is_empty() {
            self.raise_in_parts(sink, objects, core, level);
        } else {
            self.records(&core.raise_section(self.source, level), &sink.records, objects);
        }
        sink.records.clear();
    }

    fn records(&self, section: &Raise<'_>, records: &[Record], objects: &Objects) {
        if self.in_bulk {
            section.records(records, false, objects);
        } else {
            section.records_to_registrations(records, false, objects);
        }
    }

    /// With what is rare: losses, told between the events around them, and events that come late.
    #[cold]
    #[inline(never)]
    fn raise_in_parts(&mut self, sink: &mut Buffer, objects: &Objects, core: &Core, level: Safety) {
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
                let description = "the ob1 twin, for messages whose envelope came after their completion";
                core.add_source(Source::new("ob1 late", description, Ordering::Unordered, Clock::best()))
            });
            core.raise_section(late, level).records_to_registrations(&sink.records, true, objects);
        }
    }
}

/// Envelopes lost on a communicator.
pub(super) struct Loss {
    /// The place of the first record that comes after them.
    before: usize,
    comm: CommIndex,
    count: u64,
}

/// The sink of a thread: keeps what somebody wants until no lock is held.
pub(super) struct Buffer {
    /// The wanted events, as bits.
    pub(super) wanted: u16,
    /// What the core's listeners were when `wanted` was found out.
    version: Option<u32>,
    /// The clock of the twin.
    pub(super) clock: Clock,
    /// The events' indices.
    pub(super) events: Ob1Events,
    /// Where events wait.
    pub(super) records: Vec<Record>,
    /// Set when one of them is late.
    pub(super) any_late: bool,
    /// Envelopes lost, to be told to those who listen.
    pub(super) losses: Vec<Loss>,
    /// Set when an envelope to another node waits to be sent.
    pub(super) mail_waits: bool,
    /// Set when it should not wait for the process to make progress.
    pub(super) mail_is_due: bool,
}

impl Buffer {
    /// A sink with room for many events.
    pub(super) fn new(clock: Clock, events: Ob1Events) -> Self {
        Buffer { records: Vec::with_capacity(ROOM), ..Buffer::deaf(clock, events) }
    }

    /// A sink of its own, which nobody listens to.
    pub(super) fn deaf(clock: Clock, events: Ob1Events) -> Self {
        let (records, losses) = (Vec::new(), Vec::new());
        let (any_late, mail_waits, mail_is_due) = (false, false, false);
        Buffer { wanted: 0, version: None, clock, events, records, any_late, losses, mail_waits, mail_is_due }
    }

    /// Whether nothing waits to be raised.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
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
    pub(super) fn take(&mut self, told: &mut Vec<Record>) {
        self.records.append(told);
    }

    /// Learns what is wanted, where that has changed; nothing is where others raise the events.
    #[inline(always)]
    pub(super) fn update(&mut self, core: &Core, part: Part) {
        let version = core.version();
        if self.version != Some(version) {
            self.wanted = if part == Part::Events { self.events.active(core) } else { 0 };
            self.version = Some(version);
        }
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
}
