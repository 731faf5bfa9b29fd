//! What a thread keeps between the entry and the exit of an MPI call, and its source of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering as Memory};

use mpi_abi::{Datatype, pmpi};
use mpi_intercept::Kept;
use mpit_events::{Clock, Core, Ordering, Raiser, Source, Ticks};

use super::operation::Operation;
use super::window::Window;
use super::windows::Windows;

/// A thread's own state.
pub(super) struct Frame {
    /// The `n`-th thread that uses windows.
    pub(super) thread: u32,
    /// Raises events of the thread's source.
    pub(super) raiser: Raiser<'static>,
    /// Operations that this thread has started.
    started: u64,
    /// When the current call, which synchronises, was entered.
    pub(super) entered: Ticks,
    /// When the current call, which starts an operation, was entered; zero where its entry was not seen.
    pub(super) begun: Ticks,
    /// The operations that the current call completes if it succeeds.
    pub(super) completing: Vec<Operation>,
    /// Those of requests that the current call may complete.
    pub(super) awaited: Vec<Awaited>,
    /// The partners of the epoch that the current call opens or ends.
    pub(super) partners: Vec<i32>,
    /// The window that the current call frees.
    pub(super) freed: Option<Arc<Window>>,
    pub(super) known: Known,
}

/// What handles meant last.
#[derive(Default)]
pub(super) struct Known {
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

/// The frame of this thread, which the interception keeps; made at its first use, and never freed: it is small, and a thread
/// that ends may still be in the middle of a call.
#[inline(always)]
pub(super) fn of(kept: &Kept, core: &'static Core) -> *mut Frame {
    let frame = kept.get().cast::<Frame>();
    if frame.is_null() { make(kept, core) } else { frame }
}

#[cold]
#[inline(never)]
fn make(kept: &Kept, core: &'static Core) -> *mut Frame {
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
        raiser: core.raiser(source),
        started: 0,
        entered: Ticks(0),
        begun: Ticks(0),
        completing: Vec::with_capacity(256),
        awaited: Vec::new(),
        partners: Vec::new(),
        freed: None,
        known: Known::default(),
    }));
    kept.set(frame.cast());
    frame
}

impl Frame {
    /// A number for a new operation: that of the thread is in its upper part.
    #[inline]
    pub(super) fn next_operation(&mut self) -> u64 {
        self.started += 1;
        (u64::from(self.thread) << 40) | self.started
    }
}

impl Known {
    /// The window of this handle, if it is followed.
    #[inline(always)]
    pub(super) fn window(&mut self, windows: &Windows, handle: usize) -> Option<&Arc<Window>> {
        self.refresh(windows);
        if self.window.as_ref().is_none_or(|window| window.handle != handle) {
            self.look_up(windows, handle);
        }
        self.window.as_ref()
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, windows: &Windows, handle: usize) {
        self.window = windows.get(handle);
    }

    /// As [`window`](Known::window), to be given back with [`keep`](Known::keep): threads that share a window then do
    /// not count its users all the time.
    pub(super) fn take(&mut self, windows: &Windows, handle: usize) -> Option<Arc<Window>> {
        self.window(windows, handle)?;
        self.window.take()
    }

    /// Keeps the window for the next call.
    pub(super) fn keep(&mut self, window: Arc<Window>) {
        self.window = Some(window);
    }

    /// The bytes of so many of a datatype; zero for one that MPI does not know.
    #[inline(always)]
    pub(super) fn bytes(&mut self, windows: &Windows, count: i64, datatype: Datatype) -> u64 {
        self.refresh(windows);
        let size = match self.size {
            Some((known, size)) if known == datatype => size,
            _ => self.learn_size(datatype),
        };
        size.saturating_mul(u64::try_from(count).unwrap_or(0))
    }

    #[cold]
    #[inline(never)]
    fn learn_size(&mut self, datatype: Datatype) -> u64 {
        let size = pmpi::type_size(datatype).ok().and_then(|size| u64::try_from(size).ok());
        let size = size.unwrap_or(0);
        self.size = Some((datatype, size));
        size
    }

    /// Forgets what handles meant, where one of them may mean something else by now.
    #[inline(always)]
    fn refresh(&mut self, windows: &Windows) {
        let version = windows.version();
        if self.version != version {
            self.forget(version);
        }
    }

    #[cold]
    #[inline(never)]
    fn forget(&mut self, version: u64) {
        *self = Known { version, ..Known::default() };
    }
}
