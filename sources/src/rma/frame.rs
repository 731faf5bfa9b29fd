//! The state of a thread between the entry and the exit of an MPI call, and its source of events.

use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

use mpi_abi::{Datatype, Handle, questions};
use mpi_intercept::ThreadSlot;
use mpit_events::{Clock, Core, Ordering, Prepared, Raiser, Ring, Safety, Source, SourceIndex, Ticks};

use super::events::Event;
use super::operation::Operation;
use super::tracker::Tracker;
use super::window::Window;

/// The state of a thread. What each operation reads comes first, in three cache lines: after a large copy our data is not in
/// the cache.
#[repr(C, align(128))]
pub(super) struct Frame {
    cache: HandleCache,
    /// The number of the operation that this thread has started last: the thread's number in the upper part, then a count.
    started: u64,
    /// When the current call, which starts an operation, was entered; zero where its entry was not seen.
    pub(super) begun: Ticks,
    /// Raises events of the thread's source.
    pub(super) raiser: Raiser<'static>,
    /// The number of this thread among those that use windows at once.
    pub(super) thread: u32,
    source: SourceIndex,
    /// The level at which this thread raises.
    level: Safety,
    /// The start events on the cached window: of an operation that writes, and of one that brings data.
    starts: Option<[Prepared<'static>; 2]>,
    /// When the current call, which synchronises, was entered.
    pub(super) entered: Ticks,
    /// The operations that the current call completes if it succeeds.
    pub(super) completing: Vec<Operation>,
    /// Those of requests that the current call may complete.
    pub(super) awaited: Vec<Awaited>,
    /// The partners of the epoch that the current call opens or ends.
    pub(super) partners: Vec<i32>,
    /// The window that the current call frees.
    pub(super) freed: Option<Arc<Window>>,
}

/// The window and the datatype that a thread used last, by their handles.
struct HandleCache {
    version: u64,
    /// The handle of a window, [`NONE`] at first.
    handle: usize,
    /// That window, where it is followed.
    window: Option<Arc<Window>>,
    /// This thread's list of the window's operations, where it has one of its own.
    list: Option<NonNull<Ring<Operation>>>,
    /// The handle of a datatype, [`NONE`] at first.
    datatype: usize,
    /// The bytes of that datatype.
    size: u64,
}

/// What an operation works on, and how its start is raised.
pub(super) struct Operand<'a> {
    pub(super) window: &'a Arc<Window>,
    /// The list of the window's operations of this thread, where it has one of its own.
    pub(super) list: Option<&'a Ring<Operation>>,
    /// The bytes that it moves; zero where MPI does not know the datatype.
    pub(super) bytes: u64,
    pub(super) raiser: &'a Raiser<'static>,
    /// See [`Frame`].
    pub(super) starts: Option<&'a mut [Prepared<'static>; 2]>,
}

/// A value that no MPI has as a handle.
const NONE: usize = usize::MAX;

/// An operation whose request the current call may complete.
pub(super) struct Awaited {
    /// The request's index in the application's array.
    pub(super) place: usize,
    pub(super) handle: usize,
    pub(super) window: Arc<Window>,
    pub(super) operation: Operation,
}

/// All frames. A thread that ends leaves its frame, with its number and its source, to a later thread, so that a program may
/// create and end any number of threads.
#[derive(Default)]
pub(super) struct Frames(Mutex<State>);

#[derive(Default)]
struct State {
    made: u32,
    vacant: Vec<Frame>,
}

// SAFETY: a vacant frame has no list and no events prepared, and gets the next thread's raiser before it is used, so that
// nothing in it belongs to a thread.
unsafe impl Send for State {}

/// The frame of this thread, whose address is in the slot; made, or taken over, at its first use.
#[inline(always)]
pub(super) fn of(
    slot: &ThreadSlot,
    frames: &'static Frames,
    core: &'static Core,
    level: impl FnOnce() -> Safety,
) -> *mut Frame {
    let frame = slot.get().cast::<Frame>();
    if frame.is_null() { lend(slot, frames, core, level()) } else { frame }
}

#[cold]
#[inline(never)]
fn lend(slot: &ThreadSlot, frames: &'static Frames, core: &'static Core, level: Safety) -> *mut Frame {
    let frame = Box::into_raw(Box::new(frames.lend(core, level)));
    slot.set(frame.cast());
    let slot = ptr::from_ref(slot);
    mpi_intercept::at_thread_end(move || {
        // SAFETY: the slot of a thread lives as long as the thread, which is this one.
        unsafe { &*slot }.set(ptr::null_mut());
        // SAFETY: the frame came from `Box::into_raw`, and only the slot led to it; no hook of this thread uses it any more.
        frames.take_back(*unsafe { Box::from_raw(frame) });
    });
    frame
}

impl Frames {
    /// A frame for the calling thread.
    fn lend(&self, core: &'static Core, level: Safety) -> Frame {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut frame) = state.vacant.pop() {
            frame.raiser = core.raiser(frame.source);
            return frame;
        }
        let thread = state.made;
        state.made += 1;
        drop(state);
        let description = format!("one-sided communication, as application thread {thread} calls it");
        let name = format!("rma thread {thread}");
        let source = core.add_source(Source::new(name, description, Ordering::Ordered, Clock::best()));
        Frame {
            thread,
            source,
            raiser: core.raiser(source),
            level,
            started: u64::from(thread) << 40,
            entered: Ticks(0),
            begun: Ticks(0),
            completing: Vec::with_capacity(256),
            awaited: Vec::new(),
            partners: Vec::new(),
            freed: None,
            cache: HandleCache::new(),
            starts: None,
        }
    }

    /// The frame of a thread that ends.
    fn take_back(&self, mut frame: Frame) {
        frame.forget();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).vacant.push(frame);
    }
}

impl Frame {
    /// Clears what the ended thread has left in it.
    fn forget(&mut self) {
        self.begun = Ticks(0);
        self.completing.clear();
        self.awaited.clear();
        self.freed = None;
        self.cache = HandleCache::new();
        self.starts = None;
    }

    /// A number for a new operation.
    #[inline(always)]
    pub(super) fn next_operation(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    /// What an operation on the window of this handle works on, if that is followed.
    #[inline(always)]
    pub(super) fn operation(
        &mut self,
        tracker: &Tracker,
        handle: usize,
        (count, datatype): (i64, Datatype),
    ) -> Option<Operand<'_>> {
        self.refresh(tracker);
        let bytes = self.cache.bytes(count, datatype);
        self.find(tracker, handle);
        // SAFETY: the list belongs to the window, which keeps it as long as it lives, and the cache keeps the window alive.
        let list = self.cache.list.map(|list| unsafe { list.as_ref() });
        let (raiser, starts) = (&self.raiser, self.starts.as_mut());
        self.cache.window.as_ref().map(|window| Operand { window, list, bytes, raiser, starts })
    }

    /// The window of this handle, if it is followed. Taken out of the cache, without a count of references that threads
    /// would share; [`keep`](Frame::keep) returns it.
    pub(super) fn take(&mut self, tracker: &Tracker, handle: usize) -> Option<Arc<Window>> {
        self.refresh(tracker);
        self.find(tracker, handle);
        self.cache.window.take()
    }

    /// Returns the window to the cache, for the next call.
    pub(super) fn keep(&mut self, window: Arc<Window>) {
        self.cache.window = Some(window);
    }

    #[inline(always)]
    fn find(&mut self, tracker: &Tracker, handle: usize) {
        if self.cache.handle != handle {
            self.look_up(tracker, handle);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, tracker: &Tracker, handle: usize) {
        let window = tracker.windows.get(handle);
        self.cache.list =
            window.as_ref().and_then(|window| window.pending.list_of(self.thread)).map(NonNull::from);
        self.starts = window.as_ref().and_then(|window| {
            let prepare =
                |event| self.raiser.prepare(self.level, tracker.events.index(event), &window.object);
            Some([prepare(Event::PutStarted)?, prepare(Event::GetStarted)?])
        });
        (self.cache.handle, self.cache.window) = (handle, window);
    }

    /// Empties the cache, where one of the handles may have got another meaning.
    #[inline(always)]
    fn refresh(&mut self, tracker: &Tracker) {
        let version = tracker.windows.version();
        if self.cache.version != version {
            self.cache.forget(version);
        }
    }
}

impl HandleCache {
    fn new() -> Self {
        HandleCache { version: 0, handle: NONE, window: None, list: None, datatype: NONE, size: 0 }
    }

    #[inline(always)]
    fn bytes(&mut self, count: i64, datatype: Datatype) -> u64 {
        if self.datatype != datatype.word() {
            if count == 0 {
                // It may be anything.
                return 0;
            }
            self.learn_size(datatype);
        }
        // MPI has taken the call, so that the count is not negative.
        self.size.wrapping_mul(count as u64)
    }

    #[cold]
    #[inline(never)]
    fn learn_size(&mut self, datatype: Datatype) {
        (self.datatype, self.size) = (datatype.word(), questions::bytes_of(datatype));
    }

    #[cold]
    #[inline(never)]
    fn forget(&mut self, version: u64) {
        *self = HandleCache { version, ..HandleCache::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_leaves_its_frame_to_the_next() {
        let core: &'static Core = Box::leak(Box::default());
        let frames = Frames::default();
        let lend = || frames.lend(core, Safety::ThreadSafe);
        let (first, mut second) = (lend(), lend());
        assert_eq!((first.thread, second.thread, core.num_sources()), (0, 1, 2));
        let number = second.next_operation();
        let window = Arc::new(Window::new(0, 7, core.no_object(), None, Vec::new(), true));
        second.cache.handle = 7;
        second.freed = Some(window.clone());
        second.keep(window.clone());
        frames.take_back(second);
        assert_eq!(Arc::strong_count(&window), 1);
        let mut third = lend();
        assert_eq!((third.thread, third.cache.handle, core.num_sources()), (1, NONE, 2));
        assert!(third.next_operation() > number);
        assert_eq!(lend().thread, 2);
    }
}
