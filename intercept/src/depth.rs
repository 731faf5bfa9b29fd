//! How deep this thread is inside MPI or inside the tool.
//!
//! Hooks run only on the way from depth 0 to depth 1: an MPI function that is implemented through
//! another one is seen once, and what the tool itself does with MPI is not seen at all.

use std::cell::Cell;

use crate::dispatch::Running;
use crate::hook::{self, ThreadSlot};

/// The state of one thread. Found once per call; in one cache line but for the slot of the last hook. Zeros at first.
#[repr(C, align(64))]
struct Thread {
    depth: Cell<u32>,
    /// What code of ours this thread runs ([`Running::code`]).
    inside: Cell<u16>,
    /// Each hook's slot, by the index of the hook.
    slots: [ThreadSlot; hook::MAX],
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod current {
    //! The compiler finds a library's thread-local variable by a function of the dynamic linker, at each use. With a
    //! descriptor (<https://www.fsfla.org/~lxoliva/writeups/TLS/RFC-TLSDESC-x86.txt>) the linker chooses the function: two
    //! instructions, in a library that is loaded at the start of the process.

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
        // SAFETY: computes the address of the variable above, for this thread. The called function preserves all other
        // registers; some versions do not preserve vector registers where they allocate the variable at its first use, so
        // these are declared as clobbered.
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
            slots: [const { ThreadSlot::new() }; hook::MAX],
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

    /// The slot of the hook with this index in this thread.
    #[inline]
    pub(crate) fn slot(&self, hook: usize) -> &ThreadSlot {
        &self.thread().slots[hook]
    }

    /// Stores what code of ours runs from now on.
    #[inline]
    pub(crate) fn set_inside(&self, running: Option<Running>) {
        self.thread().inside.set(Running::code(running));
    }
}

/// What code of ours this thread runs.
pub(crate) fn inside() -> Option<Running> {
    Running::of_code(thread().inside.get())
}

impl Drop for Depth {
    #[inline]
    fn drop(&mut self) {
        let depth = &self.thread().depth;
        depth.set(depth.get().wrapping_sub(1));
    }
}

/// Runs `f` with its MPI calls hidden from all hooks: for MPI calls of the tool itself outside of a hook, for
/// instance in a thread of its own. Inside a hook it is not needed.
#[inline]
pub fn untracked<R>(f: impl FnOnce() -> R) -> R {
    let _depth = Depth::enter();
    f()
}
