//! How deep this thread is inside MPI or inside the tool.
//!
//! Hooks run only on the way from depth 0 to depth 1: an MPI function that is implemented through
//! another one is seen once, and what the tool itself does with MPI is not seen at all.

use std::cell::Cell;

thread_local! {
    // Constant and without destructor: usable at any time in the life of a thread, and never a
    // reason to allocate.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// One level; left when dropped, also while a foreign exception unwinds through us.
pub(crate) struct Depth(());

impl Depth {
    /// One level down, if this thread is at the top; otherwise `None`.
    #[inline]
    pub(crate) fn enter_from_top() -> Option<Self> {
        DEPTH.with(|depth| {
            if depth.get() == 0 {
                depth.set(1);
                Some(Self(()))
            } else {
                None
            }
        })
    }

    /// One level down from anywhere.
    #[inline]
    pub(crate) fn enter() -> Self {
        DEPTH.with(|depth| depth.set(depth.get().wrapping_add(1)));
        Self(())
    }

    /// Whether this thread is at the top: outside of MPI and outside of the tool.
    #[inline]
    pub(crate) fn at_top() -> bool {
        DEPTH.with(|depth| depth.get() == 0)
    }
}

impl Drop for Depth {
    #[inline]
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get().wrapping_sub(1)));
    }
}

/// Runs `f`, whose MPI calls no hook sees: for what the tool itself does with MPI outside of a
/// hook, for instance in a thread of its own. Inside a hook it is not needed.
#[inline]
pub fn untracked<R>(f: impl FnOnce() -> R) -> R {
    let _depth = Depth::enter();
    f()
}
