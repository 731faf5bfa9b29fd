//! How deep this thread is inside MPI or inside the tool.
//!
//! Hooks run only on the way from depth 0 to depth 1: an MPI function that is implemented through
//! another one is seen once, and what the tool itself does with MPI is not seen at all.

use std::cell::Cell;

use crate::dispatch::Place;
use crate::hook::{self, ThreadSlot};

/// What a thread knows of itself; looked up once per call, and in one cache line but for what the last hook keeps. Zeros at
/// first.
#[repr(C, align(64))]
struct Thread {
    depth: Cell<u32>,
    /// What of ours this thread is running ([`Place::code`]).
    inside: Cell<u16>,
    /// What each hook keeps of this thread.
    kept: [ThreadSlot; hook::MAX],
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod current {
    //! The compiler looks a library's thread-local variable up in a function of the dynamic linker, each time. With a descriptor
    //! (<https://www.fsfla.org/~lxoliva/writeups/TLS/RFC-TLSDESC-x86.txt>) the linker chooses the function: in a library that
    //! is there from the start, it is two instructions.

    use super::Thread;

    std::arch::global_asm!(
        ".pushsection .tbss.mpi_intercept_thread,\"awT\",@nobits",
        ".globl mpi_intercept_thread",
        ".hidden mpi_intercept_thread",
        ".type mpi_intercept_thread,@object",
        ".size mpi_intercept_thread,{size}",
        ".balign {align}",
        "mpi_intercept_thread:",
        ".zero {size}",
        ".popsection",
        size = const size_of::<Thread>(),
        align = const align_of::<Thread>(),
    );

    /// This thread's own.
    #[inline(always)]
    pub(super) fn thread() -> *const Thread {
        let thread: *const Thread;
        // SAFETY: the address of the variable above, for this thread. What is called keeps all registers but this one;
        // some versions forget those of vectors, where they make room for the variable at its first use.
        unsafe {
            std::arch::asm!(
                "leaq mpi_intercept_thread@TLSDESC(%rip), %rax",
                "callq *mpi_intercept_thread@TLSCALL(%rax)",
                "addq %fs:0, %rax",
                out("rax") thread,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(att_syntax),
            );
        }
        thread
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod current {
    use super::*;

    thread_local! {
        // Constant and without destructor: usable at any time in the life of a thread, and never a
        // reason to allocate.
        static THREAD: Thread = const { Thread {
            depth: Cell::new(0),
            inside: Cell::new(0),
            kept: [const { ThreadSlot::new() }; hook::MAX],
        } };
    }

    /// This thread's own.
    #[inline(always)]
    pub(super) fn thread() -> *const Thread {
        THREAD.with(std::ptr::from_ref)
    }
}

/// This thread's own.
#[inline(always)]
fn thread() -> &'static Thread {
    // SAFETY: the variable has no destructor and lives as long as the thread, which the reference never leaves: it is used
    // in the functions below only. All its bytes are zero at first, which is a valid value.
    unsafe { &*current::thread() }
}

/// One level; left when dropped, also while a foreign exception unwinds through us.
pub(crate) struct Depth(*const Thread);

impl Depth {
    /// One level down, if this thread is at the top; otherwise `None`.
    #[inline]
    pub(crate) fn enter_from_top() -> Option<Self> {
        let thread = thread();
        (thread.depth.get() == 0).then(|| {
            thread.depth.set(1);
            Self(thread)
        })
    }

    /// One level down from anywhere.
    #[inline]
    pub(crate) fn enter() -> Self {
        let thread = thread();
        thread.depth.set(thread.depth.get().wrapping_add(1));
        Self(thread)
    }

    /// Whether this thread is at the top: outside of MPI and outside of the tool.
    #[inline]
    pub(crate) fn at_top() -> bool {
        thread().depth.get() == 0
    }

    #[inline]
    fn thread(&self) -> &Thread {
        // SAFETY: the address of this thread's own variable, which has no destructor and lives as
        // long as the thread; a `Depth` never leaves its thread, because it holds a raw pointer.
        unsafe { &*self.0 }
    }

    /// What the hook of this place keeps of this thread.
    #[inline]
    pub(crate) fn kept(&self, place: usize) -> &ThreadSlot {
        &self.thread().kept[place]
    }

    /// Notes what of ours runs now.
    #[inline]
    pub(crate) fn set_inside(&self, place: Option<Place>) {
        self.thread().inside.set(Place::code(place));
    }
}

/// What of ours this thread is running.
pub(crate) fn inside() -> Option<Place> {
    Place::of_code(thread().inside.get())
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
