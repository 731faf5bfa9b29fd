//! Events of a thread that PERUSE has notified us of and that are not raised yet.
//!
//! PERUSE calls from inside ob1, often under its matching lock: no callback of a tool may run there, as it may
//! call MPI. So events wait here until the MPI call returns. Bulk listeners neither call MPI nor take a lock that
//! is held while MPI is called: they may get events at once, and get them when a batch is full.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use mpit_events::{Clock, Core, EventIndex, Object, Ordering, Record, Safety, Source, SourceIndex, Ticks};

use super::pairing::Searching;
use crate::Serial;
use crate::matching::{CommIndex, Event, Ob1Events, Sink};

/// The objects that the communicators' events are bound to, by the communicators' indices.
pub(super) type Objects = Arc<Vec<Arc<Object>>>;

/// The most events that may wait for the end of the MPI call.
const CAPACITY: usize = 4096;
/// The same, as it was set since.
static MOST: AtomicUsize = AtomicUsize::new(CAPACITY);

/// The most events that may wait inside an MPI call for their callbacks.
pub fn event_buffer_size() -> usize {
    MOST.load(Relaxed)
}

/// From now on so many may wait. A greater number takes memory when so many do.
pub fn set_event_buffer_size(events: usize) {
    MOST.store(events.max(1), Relaxed);
}
/// Events that bulk listeners get in one call.
const BATCH: usize = 64;

/// A thread's part.
pub(super) struct Outbox {
    pub(super) searching: Searching,
    pub(super) sink: Buffer,
    /// An empty vector, to be filled while the other one's events are raised.
    spare: Vec<Record>,
    /// Events beyond the capacity.
    lost: Vec<Lost>,
    /// The sources of events of the application's messages, and of those of the MPI itself.
    sources: [SourceIndex; 2],
    /// Storage for a status that the application ignores, in words.
    pub(super) status: [u64; 8],
}

/// Events of a type on a communicator that registrations will not get.
#[derive(Clone, Copy, Debug)]
struct Lost {
    event: EventIndex,
    object: u32,
    count: u64,
}

/// What is to be raised at the end of an MPI call.
pub(super) struct Waiting {
    records: Vec<Record>,
    lost: Vec<Lost>,
    sources: [SourceIndex; 2],
}

/// Where events wait.
pub(super) struct Buffer {
    clock: Clock,
    events: Ob1Events,
    /// The events that this PERUSE can tell of, as bits.
    served: u16,
    /// The wanted events among them, and the version of the core's listeners at that time.
    wanted: u16,
    version: Option<u32>,
    /// Whether the current event is about a message of the MPI itself.
    pub(super) internal: bool,
    records: Vec<Record>,
}

thread_local! {
    // Constant and without destructor: usable at any time in the life of a thread.
    static OUTBOX: Cell<Option<&'static Serial<Outbox>>> = const { Cell::new(None) };
}

/// All threads' outboxes: at the end, the ending thread raises what waits in them.
static ALL: Mutex<Vec<&'static Serial<Outbox>>> = Mutex::new(Vec::new());

/// The outbox of this thread, if it was ever notified.
#[inline(always)]
pub(super) fn current() -> Option<&'static Serial<Outbox>> {
    OUTBOX.get()
}

/// All outboxes.
pub(super) fn all() -> Vec<&'static Serial<Outbox>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Makes the outbox of this thread. It stays when the thread ends: others may raise what is in it.
#[cold]
pub(super) fn make(core: &Core, events: Ob1Events, served: u16, threads: bool) -> &'static Serial<Outbox> {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let number = all.len();
    let source = |name: String, description: String| {
        core.add_source(Source::new(name, description, Ordering::Ordered, Clock::best()))
    };
    let sources = [
        source(
            format!("ob1 (PERUSE) thread {number}"),
            format!("ob1, as PERUSE reports it, in MPI calls of application thread {number}"),
        ),
        source(
            format!("ob1 (PERUSE) thread {number}, internal"),
            format!("the same, for messages of the MPI itself, such as in collectives, in thread {number}"),
        ),
    ];
    let sink = Buffer {
        clock: Clock::best(),
        events,
        served,
        wanted: 0,
        version: None,
        internal: false,
        records: Vec::with_capacity(CAPACITY),
    };
    let outbox: &'static Serial<Outbox> = Box::leak(Box::new(Serial::new(Outbox {
        searching: Searching::default(),
        sink,
        spare: Vec::with_capacity(CAPACITY),
        lost: Vec::new(),
        sources,
        status: [0; 8],
    })));
    if !threads {
        // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and ob1 calls us in MPI calls.
        unsafe { outbox.leave_to_one_thread() };
    }
    all.push(outbox);
    OUTBOX.set(Some(outbox));
    outbox
}

impl Outbox {
    /// After each event, inside ob1: delivers to bulk listeners where a batch is full, or `immediately`. With
    /// `callbacks`, events wait for the end of the MPI call, up to the capacity.
    #[inline(always)]
    pub(super) fn flush_if_full(&mut self, core: &Core, level: Safety, callbacks: bool, immediately: bool) {
        let waiting = self.sink.records.len();
        let most = if callbacks {
            MOST.load(Relaxed)
        } else if immediately {
            1
        } else {
            BATCH
        };
        if waiting >= most {
            self.deliver(core, level, callbacks);
        }
    }

    #[inline(never)]
    fn deliver(&mut self, core: &Core, level: Safety, callbacks: bool) {
        for run in runs(&self.sink.records) {
            core.raise_section(self.sources[usize::from(run[0].internal)], level).records_in_bulk(run);
        }
        if callbacks {
            self.lose();
        }
        self.sink.records.clear();
    }

    /// Counts the waiting events as lost for registrations: a single MPI call has brought more than the capacity.
    #[cold]
    fn lose(&mut self) {
        for &Record { event, object, .. } in &self.sink.records {
            match self.lost.iter_mut().find(|lost| lost.event == event && lost.object == object) {
                Some(lost) => lost.count += 1,
                None => self.lost.push(Lost { event, object, count: 1 }),
            }
        }
    }

    /// Whether no event waits.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.sink.records.is_empty() && self.lost.is_empty()
    }

    /// Takes out the waiting events; `None` where there are none.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<Waiting> {
        if self.is_empty() {
            return None;
        }
        let records = std::mem::replace(&mut self.sink.records, std::mem::take(&mut self.spare));
        Some(Waiting { records, lost: std::mem::take(&mut self.lost), sources: self.sources })
    }

    /// Takes the memory of raised events back, for later ones.
    pub(super) fn reuse(&mut self, waiting: Waiting) {
        self.spare = waiting.records;
        self.spare.clear();
    }
}

/// Runs of consecutive events of the same source.
fn runs(records: &[Record]) -> impl Iterator<Item = &[Record]> {
    records.chunk_by(|a, b| a.internal == b.internal)
}

impl Waiting {
    /// Raises the events, outside of ob1 and with nothing locked: callbacks may call MPI.
    pub(super) fn raise(&self, core: &Core, level: Safety, objects: &Objects) {
        for &Lost { event, object, count } in &self.lost {
            if let Some(object) = objects.get(object as usize) {
                core.raise_section(self.sources[0], level).lost(event, object, count);
            }
        }
        for run in runs(&self.records) {
            let source = self.sources[usize::from(run[0].internal)];
            core.raise_section(source, level).records(run, false, objects);
        }
    }
}

impl Buffer {
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.records.reserve(CAPACITY);
    }

    /// Updates the wanted events, where the listeners have changed.
    #[inline(always)]
    pub(super) fn update(&mut self, core: &Core) {
        let version = core.version();
        if self.version != Some(version) {
            self.wanted = self.events.active(core) & self.served;
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
    fn push(&mut self, mut record: Record) {
        record.internal = self.internal;
        if self.records.len() == self.records.capacity() {
            self.grow();
        }
        // The vector need not grow now. So nothing comes between making the record and storing it, and its fields go
        // straight to their addresses.
        self.records.push(record);
    }

    fn lost(&mut self, _: CommIndex, _: u64) {}
}
