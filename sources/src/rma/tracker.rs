//! The state of the process: windows, requests, who listens; and how events are raised.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mpi_abi::{Abi, Comm, Handle, Win, pmpi};
use mpi_intercept::ThreadSlot;
use mpit_events::{
    BindKind, Clock, Core, Object, Payload, Prepared, Producer, Raise, Raiser, Safety, Source, SourceIndex,
    Ticks, Token,
};

use super::events::{Event, Events, Moved, RmaEvents};
use super::frame::{self, Frame, Frames, Operand};
use super::observer::{Created, Observer, Synchronised};
use super::operation::{Kind, Operation};
use super::pending::{Pending, Taken};
use super::requests::Requests;
use super::synchronisation::Call;
use super::times::Times;
use super::window::{self, Base, Window, Windows};
use crate::Serial;

/// Set beside the bits of the events where observers want operations and epochs.
const OBSERVED: Events = 1 << 31;
/// Set where a bulk listener wants one of the events.
const IN_BULK: Events = 1 << 30;
/// The events of operations.
const OPERATIONS: Events = Event::PutStarted.bit()
    | Event::PutComplete.bit()
    | Event::GetStarted.bit()
    | Event::GetComplete.bit()
    | OBSERVED;

/// What each operation reads comes first, in one cache line: after a large copy our data is not in the cache.
#[repr(C, align(64))]
pub(super) struct Tracker {
    /// The events that somebody listens to, [`OBSERVED`] and [`IN_BULK`].
    wanted: AtomicU32,
    /// `MPI_SUCCESS`.
    pub(super) success: c_int,
    pub(super) events: RmaEvents,
    pub(super) windows: Windows,
    pub(super) abi: &'static Abi,
    core: &'static Core,
    pub(super) requests: Requests,
    pub(super) times: Times,
    frames: Frames,
    observers: OnceLock<Vec<&'static dyn Observer>>,
    /// Whether windows are followed.
    follows: AtomicBool,
    /// Whether an operation with a request that matters was ever started.
    awaits: AtomicBool,
    /// Whether several threads may call MPI at once.
    threads: AtomicBool,
    /// Windows made so far.
    made: AtomicU32,
    /// Operations that were no longer followed, because too many were pending.
    lost: AtomicU64,
    /// The source of completions that only the end of the window shows.
    late: OnceLock<SourceIndex>,
}

impl Tracker {
    pub(super) fn new(abi: &'static Abi, core: &'static Core, events: RmaEvents) -> Self {
        Tracker {
            wanted: AtomicU32::new(0),
            success: abi.constants.success,
            events,
            windows: Windows::default(),
            abi,
            core,
            requests: Requests::default(),
            times: Times::new(),
            frames: Frames::default(),
            observers: OnceLock::new(),
            follows: AtomicBool::new(false),
            awaits: AtomicBool::new(false),
            threads: AtomicBool::new(false),
            made: AtomicU32::new(0),
            lost: AtomicU64::new(0),
            late: OnceLock::new(),
        }
    }

    /// Windows that are made from now on are followed.
    pub(super) fn start(&self, observers: Vec<&'static dyn Observer>, threads: bool) {
        let _ = self.observers.set(observers);
        self.threads.store(threads, Ordering::Relaxed);
        if !threads {
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and only MPI calls use it.
            unsafe { self.requests.leave_to_one_thread() };
        }
        self.follows.store(true, Ordering::Release);
        self.listeners_changed();
        mpi_intercept::ask_again();
    }

    #[inline]
    pub(super) fn follows(&self) -> bool {
        self.follows.load(Ordering::Acquire)
    }

    #[inline]
    fn wanted(&self) -> Events {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Whether anybody listens to windows.
    pub(super) fn is_heard(&self) -> bool {
        self.wanted() != 0
    }

    /// Whether observers want operations and epochs.
    pub(super) fn is_observed(&self) -> bool {
        self.wanted() & OBSERVED != 0
    }

    /// Whether operations are followed.
    pub(super) fn wants_operations(&self) -> bool {
        self.wanted() & OPERATIONS != 0
    }

    /// Whether calls that complete requests matter.
    pub(super) fn awaits(&self) -> bool {
        self.awaits.load(Ordering::Relaxed)
    }

    /// Operations that were no longer followed.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn now(&self) -> Ticks {
        Clock::best().now()
    }

    fn level(&self) -> Safety {
        if self.threads.load(Ordering::Relaxed) { Safety::ThreadSafe } else { Safety::MpiRestricted }
    }

    pub(super) fn observers(&self) -> &[&'static dyn Observer] {
        self.observers.get().map_or(&[], Vec::as_slice)
    }

    // Windows.

    /// A window was created on `comm`. `base`: that of this process; none where displacements are addresses.
    #[cold]
    pub(super) fn created(&self, win: Win, comm: Comm, base: Option<Base>) {
        let (group, members) = match window::members(self.abi, win) {
            Ok((group, members)) => (Some(group), members),
            Err(_) => (None, Vec::new()),
        };
        let bases = base.map_or_else(Vec::new, |mine| window::bases(mine, &members, comm));
        let token = Token(win.word() as u64);
        let object = self.core.bind(BindKind::Win, token);
        let index = self.made.fetch_add(1, Ordering::Relaxed);
        let threads = self.threads.load(Ordering::Relaxed);
        self.windows.insert(Arc::new(Window::new(index, win.word(), object, group, bases, threads)));
        let comm = Token(comm.word() as u64);
        let created = Created { window: index, token, comm, members: &members };
        self.observers().iter().for_each(|observer| observer.window_created(&created));
    }

    /// The window was freed.
    #[cold]
    pub(super) fn freed(&self, frame: &mut Frame, window: &Window) {
        self.complete(frame, window, &self.section(self.late()));
        self.core.unbind(&window.object);
        if let Some(group) = window.group {
            let _ = pmpi::group_free(group);
        }
        let token = window.object.token();
        self.observers().iter().for_each(|observer| observer.window_freed(window.index, token));
    }

    // Operations.

    /// The calling thread has started an operation. `operation` makes it where it is used: from memory it would be loaded in
    /// other pieces than it was stored in ([`Ring::add`](mpit_events::Ring::add)).
    #[inline(always)]
    pub(super) fn started(&self, mut on: Operand<'_>, operation: impl Fn() -> Operation) {
        let Operation { kind, started, has_request, .. } = operation();
        if let Some(list) = on.list.filter(|_| !has_request)
            // SAFETY: the list is that of this thread, in the call that has started the operation; callbacks start none,
            // because hooks do not run inside hooks.
            && let Some(there) = unsafe { Pending::put(list, operation()) }
        {
            self.raise_started(&mut on, kind, started, there);
            // SAFETY: this thread, the list's owner, has just put a value.
            return unsafe { list.publish() };
        }
        self.started_aside(on, operation());
    }

    /// An operation that is not in the thread's own list: it has a request, there is no list, or the list is full.
    #[inline(never)]
    fn started_aside(&self, mut on: Operand<'_>, operation: Operation) {
        // Before another thread can complete it.
        self.raise_started(&mut on, operation.kind, operation.started, &operation);
        let is_pending =
            operation.has_request || on.list.is_none() && on.window.pending.add_to_last(operation);
        if !is_pending {
            self.lose(on.window, operation.kind.brings_data(), 1);
        }
    }

    /// Notifies observers of a start, and raises its event.
    #[inline(always)]
    fn raise_started(&self, on: &mut Operand<'_>, kind: Kind, started: Ticks, operation: &Operation) {
        let wanted = self.wanted();
        if wanted & OBSERVED != 0 {
            self.observe_started(on.window.index, operation);
        }
        let brings_data = kind.brings_data();
        let event = if brings_data { Event::GetStarted } else { Event::PutStarted };
        if wanted & event.bit() != 0
            && let Some(starts) = &mut on.starts
        {
            let observed = (started != Ticks(0)).then_some(started);
            let (prepared, object) = (&mut starts[usize::from(brings_data)], &on.window.object);
            if wanted & IN_BULK == 0 {
                on.raiser.event_to_registrations(prepared, object, observed, &operation.moved);
            } else {
                raise_started_in_bulk(on.raiser, prepared, object, observed, &operation.moved);
            }
        }
    }

    #[inline(never)]
    fn observe_started(&self, window: u32, operation: &Operation) {
        self.observers().iter().for_each(|observer| observer.started(window, operation));
    }

    /// Too many operations are pending: the completion of these will have no event, which is counted.
    #[cold]
    #[inline(never)]
    fn lose(&self, window: &Window, bring_data: bool, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
        let event = if bring_data { Event::GetComplete } else { Event::PutComplete };
        self.section(self.late()).lost(self.events.index(event), &window.object, count);
    }

    /// An operation was taken and is pending nevertheless: the next call that completes the window's operations completes
    /// it.
    pub(super) fn put_back(&self, window: &Window, operation: &Operation) {
        if !window.pending.put_back(operation) {
            self.lose(window, operation.kind.brings_data(), 1);
        }
    }

    /// Forgets the pending operations: for some time, the calls that complete them were not seen.
    fn forget_operations(&self) {
        let Some(all) = Call::Free.completes() else { return };
        let mut forgotten = Vec::new();
        self.windows.each(|window| {
            window.pending.take(all, &mut forgotten);
            self.requests.take_completed(window.index, all, &mut forgotten);
            forgotten.clear();
        });
    }

    /// The source of events that cannot be ordered.
    fn late(&self) -> SourceIndex {
        *self.late.get_or_init(|| {
            let description = "operations that no call has completed before their window was freed";
            let unordered = mpit_events::Ordering::Unordered;
            self.core.add_source(Source::new("rma late", description, unordered, Clock::best()))
        })
    }

    /// The operation will be completed by its request, or by a call that completes the window's operations.
    pub(super) fn await_request(&self, handle: usize, window: Arc<Window>, operation: Operation) {
        if let Some((window, other)) = self.requests.insert(handle, window, operation) {
            self.put_back(&window, &other);
        }
        if !self.awaits.swap(true, Ordering::Relaxed) {
            mpi_intercept::ask_again();
        }
    }

    /// A call that synchronises this window begins: takes the operations that it completes.
    pub(super) fn begin(&self, frame: &mut Frame, window: &Window, call: Call) {
        frame.entered = self.now();
        frame.completing.clear();
        if let Some(target) = call.flushes()
            && self.wanted() & Event::FlushStarted.bit() != 0
        {
            let section = frame.raiser.section(self.level());
            self.targeted(&section, window, Event::FlushStarted, target, frame.entered);
        }
        if self.wanted() & OBSERVED != 0 && call != Call::Free {
            self.observers().iter().for_each(|observer| observer.synchronises(window.index, call));
        }
        let Some(completes) = call.completes().filter(|_| self.wants_operations()) else { return };
        let Taken { in_order, lost } = window.pending.take(completes, &mut frame.completing);
        let requests = self.requests.take_completed(window.index, completes, &mut frame.completing);
        // The operations of a thread are completed in its order.
        if !in_order || requests {
            frame.completing.sort_unstable_by_key(|operation| operation.id);
        }
        for (bring_data, count) in [false, true].into_iter().zip(lost).filter(|(_, count)| *count > 0) {
            self.lose(window, bring_data, count);
        }
    }

    /// The call has succeeded. `opens`: whether an epoch follows, where it is a fence.
    pub(super) fn end(&self, frame: &mut Frame, window: &Window, call: Call, opens: bool) {
        let section = frame.raiser.section(self.level());
        let now = self.complete(frame, window, &section);
        self.synchronised(&section, window, call, now);
        drop(section);
        if self.wanted() & OBSERVED != 0 {
            let ended = window.pass(call, now, opens);
            frame.partners.clear();
            let partners = &mut frame.partners;
            let mut copy = |of: &Serial<Vec<i32>>| of.with(|ranks| partners.extend_from_slice(ranks));
            match call {
                Call::Start | Call::Complete => copy(&window.accessed),
                Call::Post | Call::Wait => copy(&window.exposed),
                _ => None,
            };
            let (entered, partners) = (frame.entered, &frame.partners[..]);
            let what = Synchronised { call, entered, left: now, ended, opens, partners };
            let hear = |observer: &&dyn Observer| observer.synchronised(window.index, frame.thread, &what);
            self.observers().iter().for_each(hear);
        }
    }

    /// Reports the operations that the call has completed; returns the time of their completion.
    fn complete(&self, frame: &mut Frame, window: &Window, section: &Raise<'_>) -> Ticks {
        let now = self.now();
        if frame.completing.is_empty() {
            return now;
        }
        let always = self.is_observed() || self.starts_in_bulk();
        if self.times.completed(frame.completing.len(), self.core, &self.events, always) {
            mpi_intercept::ask_again();
        }
        if self.wanted() & (Event::PutComplete.bit() | Event::GetComplete.bit()) != 0 {
            self.completed(section, window, &frame.completing, now);
        }
        if self.wanted() & OBSERVED != 0 {
            for operation in &frame.completing {
                let hear =
                    |observer: &&dyn Observer| observer.completed(window.index, frame.thread, operation, now);
                self.observers().iter().for_each(hear);
            }
        }
        frame.completing.clear();
        now
    }

    /// The current call has completed the request of an operation.
    pub(super) fn request_completed(&self, frame: &Frame, window: &Window, operation: &Operation) {
        let now = self.now();
        let section = frame.raiser.section(self.level());
        self.completed(&section, window, std::slice::from_ref(operation), now);
        if self.wanted() & OBSERVED != 0 {
            let hear =
                |observer: &&dyn Observer| observer.completed(window.index, frame.thread, operation, now);
            self.observers().iter().for_each(hear);
        }
    }

    /// Whether bulk listeners, which always get times, want starts of operations.
    fn starts_in_bulk(&self) -> bool {
        let starts = [Event::PutStarted, Event::GetStarted];
        starts.into_iter().any(|event| self.core.is_in_bulk(self.events.index(event)))
    }

    // Raising.

    fn section(&self, source: SourceIndex) -> Raise<'_> {
        self.core.raise_section(source, self.level())
    }

    #[inline]
    fn raise<P: Payload>(&self, section: &Raise<'_>, window: &Window, event: Event, now: Ticks, payload: &P) {
        section.event(self.events.index(event), &window.object, now, payload);
    }

    fn completed(&self, section: &Raise<'_>, window: &Window, operations: &[Operation], now: Ticks) {
        let index = |event| self.events.index(event);
        let (put, get) = (index(Event::PutComplete), index(Event::GetComplete));
        let event = |operation: &Operation| if operation.kind.brings_data() { get } else { put };
        let events = operations.iter().map(|operation| (event(operation), &operation.moved));
        section.events(&window.object, now, events);
    }

    fn targeted(&self, section: &Raise<'_>, window: &Window, event: Event, target: i32, now: Ticks) {
        self.raise(section, window, event, now, &super::events::Targeted { target });
    }

    /// The event of a call that has synchronised a window.
    fn synchronised(&self, section: &Raise<'_>, window: &Window, call: Call, now: Ticks) {
        let targeted = |event, target| self.targeted(section, window, event, target, now);
        // Callbacks may call this again: the list is not borrowed while they run.
        let accessed = |event| {
            let targets = window.accessed.with(|targets| targets.clone()).unwrap_or_default();
            targets.iter().for_each(|target| targeted(event, *target));
        };
        match call {
            Call::Fence => self.raise(section, window, Event::Fence, now, &()),
            Call::Post => self.raise(section, window, Event::PscwExposeStart, now, &()),
            Call::Wait => self.raise(section, window, Event::PscwExposeComplete, now, &()),
            Call::Start => accessed(Event::PscwAccessStart),
            Call::Complete => accessed(Event::PscwAccessComplete),
            Call::Lock(target, _) => targeted(Event::LockAcquired, target),
            Call::LockAll => targeted(Event::LockAcquired, -1),
            Call::Unlock(target) => targeted(Event::LockReleased, target),
            Call::UnlockAll => targeted(Event::LockReleased, -1),
            Call::Flush(target) | Call::FlushLocal(target) => targeted(Event::FlushComplete, target),
            Call::FlushAll | Call::FlushLocalAll => targeted(Event::FlushComplete, -1),
            Call::Free => {}
        }
    }

    /// The frame of the calling thread.
    #[inline(always)]
    pub(super) fn frame(&'static self, slot: &ThreadSlot) -> *mut Frame {
        frame::of(slot, &self.frames, self.core, || self.level())
    }
}

/// Raises a start where bulk listeners want it: out of line, off the path with callbacks only.
#[cold]
#[inline(never)]
fn raise_started_in_bulk(
    raiser: &Raiser<'static>,
    prepared: &mut Prepared<'static>,
    object: &Object,
    observed: Option<Ticks>,
    moved: &Moved,
) {
    raiser.event(prepared, object, observed, moved);
}

/// Caches what is wanted, so that a call reads one word.
impl Producer for Tracker {
    fn listeners_changed(&self) {
        let observed = self.observers().iter().any(|observer| observer.wants_operations());
        let in_bulk = Event::ALL.into_iter().any(|event| self.core.is_in_bulk(self.events.index(event)));
        let wanted = self.events.active(self.core)
            | if observed { OBSERVED } else { 0 }
            | if in_bulk { IN_BULK } else { 0 };
        if self.wanted() & OPERATIONS == 0 && wanted & OPERATIONS != 0 {
            self.forget_operations();
        }
        let before = self.wanted.swap(wanted, Ordering::Relaxed);
        let changed = self.times.listeners_changed()
            || (before != 0) != (wanted != 0)
            || (before & OPERATIONS != 0) != (wanted & OPERATIONS != 0);
        if changed && self.follows() {
            mpi_intercept::ask_again();
        }
    }
}
