//! How deep this thread is inside MPI or inside the tool.
//!
//! Hooks run only on the way from depth 0 to depth 1: an MPI function that is implemented through
//! another one is seen once, and what the tool itself does with MPI is not seen at all.

use std::cell::Cell;

use crate::FunctionId;
use crate::dispatch::Running;
use crate::hook::{self, CallCells, InThread, ThreadSlot};

/// The state of one thread. Found once per call; in one cache line but for the slots of the fourth and later hooks. Zeros at
/// first.
#[repr(C, align(64))]
pub(crate) struct Thread {
    depth: Cell<u32>,
    /// What code of ours this thread runs ([`Running::code`]).
    inside: Cell<u16>,
    /// The function whose call has brought the thread from the top, plus 1; 0 for none. Of no meaning at the top.
    function: Cell<u16>,
    /// Where the wrapper that was entered last returns to, until a call has taken it; zero where that is not known. Assembly
    /// stores it.
    pub(crate) entered_from: Cell<usize>,
    /// The same of a subroutine of Fortran, which may go on to the function of C.
    pub(crate) fortran_from: Cell<usize>,
    /// What is known of the call under way.
    call: CallCells,
    /// Where on the stack the return address of the wrapper lies that was entered last, until a call has taken it. Assembly stores it.
    pub(crate) entered_at: Cell<usize>,
    /// About where the stack was when the thread left the top.
    left_top_at: Cell<usize>,
    /// The place on the stack of the arguments of the call by which it has; they are there if a hook wants its entry.
    arguments: Cell<usize>,
    /// Each hook's slot, by the index of the hook.
    slots: [ThreadSlot; hook::MAX],
}

/// For the entry of a wrapper written by hand: stores where it returns to, from the top of the stack. Changes `rax` and `r11`,
/// which hold no arguments. Stores where that top is, too. The offset of the variable is taken from the table of the dynamic linker: a library that is
/// loaded at the start of the process, or is small enough, has its variables at such an offset.
#[cfg(target_arch = "x86_64")]
macro_rules! store_call_site {
    () => {
        "mov r11, qword ptr [rip + mpi_intercept_thread@GOTTPOFF]
        mov rax, qword ptr [rsp]
        mov qword ptr fs:[r11 + {entered_from}], rax
        mov qword ptr fs:[r11 + {entered_at}], rsp"
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use store_call_site;

/// The place of [`Thread::entered_from`].
#[cfg(target_arch = "x86_64")]
pub(crate) const ENTERED_FROM: usize = std::mem::offset_of!(Thread, entered_from);
/// The place of [`Thread::entered_at`].
#[cfg(target_arch = "x86_64")]
pub(crate) const ENTERED_AT: usize = std::mem::offset_of!(Thread, entered_at);
/// The place of [`Thread::fortran_from`].
#[cfg(target_arch = "x86_64")]
pub(crate) const FORTRAN_FROM: usize = std::mem::offset_of!(Thread, fortran_from);

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
            function: Cell::new(0),
            entered_from: Cell::new(0),
            fortran_from: Cell::new(0),
            call: CallCells::new(),
            entered_at: Cell::new(0),
            left_top_at: Cell::new(0),
            arguments: Cell::new(0),
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

/// About where the stack is.
#[inline(always)]
pub(crate) fn stack() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}

/// Whether the call that took this thread from the top was left by `longjmp`, from an error handler of the program's: what runs inside a
/// call lies below it on the stack. What runs on another stack (a coroutine's) is taken for what it was before.
#[cold]
#[inline(never)]
fn was_abandoned(thread: &Thread, here: usize) -> bool {
    /// No stack of a thread is as large as the distance between two of them may be.
    const NEAR: usize = 64 << 20;
    /// Calls that one function makes lie this near each other: they differ by the arguments on the stack. A call from inside of MPI lies
    /// deeper: below the frames of the wrapper, of MPI, and of the callback.
    const SAME: usize = 64;
    let left_at = thread.left_top_at.get();
    left_at != 0 && (left_at.saturating_sub(SAME)..left_at.saturating_add(NEAR)).contains(&here)
}

/// One level; left when dropped, also while a foreign exception unwinds through us.
pub(crate) struct Depth {
    thread: *const Thread,
    /// The depth of before. Levels that a `longjmp` has passed are left with the one around them.
    before: u32,
}

impl Depth {
    /// One level down by a call of this function, if this thread is at the top; otherwise `None`. What the call keeps is `here` on the
    /// stack, its arguments among it.
    #[inline]
    pub(crate) fn enter_from_top(function: FunctionId, here: usize) -> Option<Self> {
        let entered_at = thread().entered_at.replace(0);
        Self::enter_from_top_at(function, if entered_at != 0 { entered_at } else { here }, here)
    }

    /// The same, with the stack being `at` this place.
    #[inline]
    pub(crate) fn enter_from_top_at(function: FunctionId, at: usize, here: usize) -> Option<Self> {
        let thread = thread();
        (thread.depth.get() == 0 || was_abandoned(thread, at)).then(|| {
            thread.depth.set(1);
            thread.left_top_at.set(at);
            thread.arguments.set(here);
            thread.function.set(function as u16 + 1);
            let (of_c, of_fortran) = (thread.entered_from.replace(0), thread.fortran_from.replace(0));
            thread.call.begin(if of_fortran != 0 { of_fortran } else { of_c });
            Self { thread, before: 0 }
        })
    }

    /// One level down from anywhere.
    #[inline]
    pub(crate) fn enter() -> Self {
        let thread = thread();
        let before = thread.depth.get();
        if before == 0 {
            thread.function.set(0);
            // Code of ours is not left by `longjmp`.
            thread.left_top_at.set(0);
        }
        thread.depth.set(before.wrapping_add(1));
        Self { thread, before }
    }

    /// Runs this one level down, before the hooks see the call that has just begun: where that comes from is known as before.
    pub(crate) fn before_call(f: impl FnOnce(&Depth)) {
        let cells = || [&thread().entered_from, &thread().entered_at, &thread().fortran_from];
        let before = cells().map(std::cell::Cell::take);
        f(&Depth::enter());
        cells().iter().zip(before).for_each(|(cell, before)| cell.set(before));
    }

    /// Whether this thread is at the top: outside of MPI and outside of the tool.
    #[inline]
    pub(crate) fn at_top() -> bool {
        thread().depth.get() == 0
    }

    /// The same as a call begins that has something `here` on the stack: the thread may have jumped out of the call before.
    pub(crate) fn begins_at_top(here: usize) -> bool {
        let thread = thread();
        let entered_at = thread.entered_at.get();
        thread.depth.get() == 0 || was_abandoned(thread, if entered_at != 0 { entered_at } else { here })
    }

    #[inline]
    fn thread(&self) -> &Thread {
        // SAFETY: the address of this thread's own variable, which has no destructor and lives as
        // long as the thread; a `Depth` never leaves its thread, because it holds a raw pointer.
        unsafe { &*self.thread }
    }

    /// The real function is about to be called: reads the clock ([`hook::set_clock`]).
    #[inline(always)]
    pub(crate) fn set_entered(&self) {
        self.set_entered_at(hook::now());
    }

    /// The same, at this time.
    #[inline(always)]
    pub(crate) fn set_entered_at(&self, now: u64) {
        self.thread().call.set_entered(now);
    }

    /// What the hook with this index has in this thread.
    #[inline]
    pub(crate) fn of_hook(&self, hook: usize) -> InThread<'_> {
        let thread = self.thread();
        InThread { slot: &thread.slots[hook % hook::MAX], call: &thread.call, found: false }
    }

    /// What is known of the call.
    #[inline(always)]
    pub(crate) fn call(&self) -> &CallCells {
        &self.thread().call
    }

    /// Stores what code of ours runs from now on.
    #[inline]
    pub(crate) fn set_inside(&self, running: Option<Running>) {
        self.thread().inside.set(Running::code(running));
    }
}

/// Where the state of the calling thread is.
pub(crate) fn place() -> usize {
    current::thread().addr()
}

/// A call that a thread is in, as its state says that was at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) function: FunctionId,
    pub(crate) arguments: usize,
    /// See [`CallCells::seen`].
    pub(crate) entered: u64,
    pub(crate) of_contexts: usize,
}

/// What the state of a thread says, a copy of it: the call of the program's that it is in, if it is in the real function of one. That
/// lies between the entries of all hooks, after which the clock is read, and the exits, before which it is read again.
pub(crate) fn seen(copy: &Thread) -> Option<Seen> {
    let (entered, of_contexts) = copy.call.seen()?;
    if copy.depth.get() == 0 || copy.inside.get() != 0 {
        return None;
    }
    let function = FunctionId::from_index(usize::from(copy.function.get().checked_sub(1)?))?;
    Some(Seen { function, arguments: copy.arguments.get(), entered, of_contexts })
}

/// What code of ours this thread runs.
pub(crate) fn inside() -> Option<Running> {
    Running::of_code(thread().inside.get())
}

/// Whether this thread runs a hook or a startup function: what MPI does meanwhile, it does for the tool. For any thread, also inside of MPI.
#[inline]
pub fn runs_hook() -> bool {
    thread().inside.get() != 0
}

/// The MPI function that this thread is in by a call of the program's, while hooks listen; `None` outside of MPI, in threads of the
/// library's own, and while a hook runs. For any thread, also inside of MPI.
#[inline]
pub fn current_function() -> Option<FunctionId> {
    let thread = thread();
    if thread.depth.get() == 0 || thread.inside.get() != 0 {
        return None;
    }
    FunctionId::from_index(usize::from(thread.function.get().checked_sub(1)?))
}

impl Drop for Depth {
    #[inline]
    fn drop(&mut self) {
        self.thread().depth.set(self.before);
    }
}

/// Runs `f` with its MPI calls hidden from all hooks: for MPI calls of the tool itself outside of a hook, for
/// instance in a thread of its own. Inside a hook it is not needed.
#[inline]
pub fn untracked<R>(f: impl FnOnce() -> R) -> R {
    let _depth = Depth::enter();
    f()
}
