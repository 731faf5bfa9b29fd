//! What a thread keeps between the entry and the exit of an MPI call, and its source of events.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering as Memory};

use mpi_abi::{Datatype, pmpi};
use mpit_events::{Clock, Core, Ordering, Source, SourceIndex, Ticks};

use super::operation::Operation;
use super::window::Window;
use super::windows::Windows;

/// A thread's own state.
pub(super) struct Frame {
    /// The `n`-th thread that uses windows.
    pub(super) thread: u32,
    pub(super) source: SourceIndex,
    /// Operations that this thread has started.
    started: u64,
    /// When the current call was entered.
    pub(super) entered: Ticks,
    /// The operations that the current call completes if it succeeds.
    pub(super) completing: Vec<Operation>,
    /// Those of requests that the current call may complete.
    pub(super) awaited: Vec<Awaited>,
    /// The partners of the epoch that the current call opens or ends.
    pub(super) partners: Vec<i32>,
    /// The window that the current call frees.
    pub(super) freed: Option<Arc<Window>>,
    version: u64,
    window: Option<Arc<Window>>,
    size: Option<(Datatype, u64)>,
}

/// An operation whose request the current call may complete.
pub(super) struct Awaited {
    /// The request's place in the application's array.
    pub(super) place: usize,
    pub(super) handle: usize,
    pub(super) window: Arc<Window>,
    pub(super) operation: Operation,
}

thread_local! {
    static FRAME: Cell<*mut Frame> = const { Cell::new(std::ptr::null_mut()) };
}

/// The frame of this thread; made at its first use and kept: it is small, and a thread that ends may still be in
/// the middle of a call.
#[inline(always)]
pub(super) fn current() -> *mut Frame {
    let frame = FRAME.get();
    if frame.is_null() { make(mpit_events::core()) } else { frame }
}

#[cold]
#[inline(never)]
fn make(core: &Core) -> *mut Frame {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    let thread = THREADS.fetch_add(1, Memory::Relaxed);
    let description = format!("one-sided communication, as application thread {thread} calls it");
    let source = core.add_source(Source::new(
        format!("rma thread {thread}"),
        description,
        Ordering::Ordered,
        Clock::best(),
    ));
    let frame = Box::into_raw(Box::new(Frame {
        thread,
        source,
        started: 0,
        entered: Ticks(0),
        completing: Vec::with_capacity(256),
        awaited: Vec::new(),
        partners: Vec::new(),
        freed: None,
        version: 0,
        window: None,
        size: None,
    }));
    FRAME.set(frame);
    frame
}

impl Frame {
    /// A number for a new operation: that of the thread is in its upper part.
    #[inline]
    pub(super) fn next_operation(&mut self) -> u64 {
        self.started += 1;
        (u64::from(self.thread) << 40) | self.started
    }

    /// The window of this handle, if it is followed. To be given back with [`keep_window`](Frame::keep_window):
    /// threads that share a window then do not count its users all the time.
    #[inline]
    pub(super) fn take_window(&mut self, windows: &Windows, handle: usize) -> Option<Arc<Window>> {
        self.refresh(windows);
        self.window.take().filter(|window| window.handle == handle).or_else(|| windows.get(handle))
    }

    /// Keeps the window for the next call.
    #[inline]
    pub(super) fn keep_window(&mut self, window: Arc<Window>) {
        self.window = Some(window);
    }

    /// The bytes of so many of a datatype; zero for one that MPI does not know.
    #[inline]
    pub(super) fn bytes(&mut self, windows: &Windows, count: i64, datatype: Datatype) -> u64 {
        self.refresh(windows);
        let size = match self.size {
            Some((known, size)) if known == datatype => size,
            _ => {
                let size = pmpi::type_size(datatype).ok().and_then(|size| u64::try_from(size).ok());
                let size = size.unwrap_or(0);
                self.size = Some((datatype, size));
                size
            }
        };
        size.saturating_mul(u64::try_from(count).unwrap_or(0))
    }

    /// Forgets what handles meant, where one of them may mean something else by now.
    #[inline]
    fn refresh(&mut self, windows: &Windows) {
        let version = windows.version();
        if self.version != version {
            self.version = version;
            self.window = None;
            self.size = None;
        }
    }
}
