//! How deep this thread is inside MPI or inside the tool.
//!
//! Hooks run only on the way from depth 0 to depth 1: an MPI function that is implemented through
//! another one is seen once, and what the tool itself does with MPI is not seen at all.

use std::cell::Cell;

use crate::dispatch::Place;
use crate::hook::{self, Kept};

/// What a thread knows of itself; looked up once per call, and in one cache line but for what the last hook keeps.
#[repr(C, align(64))]
pub(crate) struct Thread {
    depth: Cell<u32>,
    /// What of ours this thread is running.
    inside: Cell<Option<Place>>,
    /// What each hook keeps of this thread.
    kept: [Kept; hook::MAX],
}

thread_local! {
    // Constant and without destructor: usable at any time in the life of a thread, and never a
    // reason to allocate.
    static THREAD: Thread = const { Thread {
        depth: Cell::new(0),
        inside: Cell::new(None),
        kept: [const { Kept::new() }; hook::MAX],
    } };
}

/// One level; left when dropped, also while a foreign exception unwinds through us.
pub(crate) struct Depth(*const Thread);

impl Depth {
    /// One level down, if this thread is at the top; otherwise `None`.
    #[inline]
    pub(crate) fn enter_from_top() -> Option<Self> {
        THREAD.with(|thread| {
            if thread.depth.get() == 0 {
                thread.depth.set(1);
                Some(Self(thread))
            } else {
                None
            }
        })
    }

    /// One level down from anywhere.
    #[inline]
    pub(crate) fn enter() -> Self {
        THREAD.with(|thread| {
            thread.depth.set(thread.depth.get().wrapping_add(1));
            Self(thread)
        })
    }

    /// Whether this thread is at the top: outside of MPI and outside of the tool.
    #[inline]
    pub(crate) fn at_top() -> bool {
        THREAD.with(|thread| thread.depth.get() == 0)
    }

    #[inline]
    fn thread(&self) -> &Thread {
        // SAFETY: the address of this thread's own variable, which has no destructor and lives as
        // long as the thread; a `Depth` never leaves its thread, because it holds a raw pointer.
        unsafe { &*self.0 }
    }

    /// What the hook of this place keeps of this thread.
    #[inline]
    pub(crate) fn kept(&self, place: usize) -> &Kept {
        &self.thread().kept[place]
    }

    /// Notes what of ours runs now.
    #[inline]
    pub(crate) fn set_inside(&self, place: Option<Place>) {
        self.thread().inside.set(place);
    }
}

/// What of ours this thread is running.
pub(crate) fn inside() -> Option<Place> {
    THREAD.with(|thread| thread.inside.get())
}

impl Drop for Depth {
    #[inline]
    fn drop(&mut self) {
        let depth = &self.thread().depth;
        depth.set(depth.get().wrapping_sub(1));
    }
}

/// Runs `f`, whose MPI calls no hook sees: for what the tool itself does with MPI outside of a
/// hook, for instance in a thread of its own. Inside a hook it is not needed.
#[inline]
pub fn untracked<R>(f: impl FnOnce() -> R) -> R {
    let _depth = Depth::enter();
    f()
}
