//! Between a wrapper and the hooks: the state that every wrapper reads, and the boundary that no
//! panic crosses.

use std::{
    ffi::c_int,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::{
        Once,
        atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering},
    },
};

use crate::{
    Call, FunctionId, attending,
    depth::{self, Depth},
    floats, fortran, hook, io, passing, standard_error,
};

/// The next functions are not resolved yet.
pub(crate) const UNRESOLVED: u8 = 0;
/// Nobody listens: wrappers jump.
pub(crate) const IDLE: u8 = 1;
/// Hooks are called.
pub(crate) const ACTIVE: u8 = 2;
/// The same, but that functions which no hook wants are jumped to until a byte says otherwise ([`passing`]).
pub(crate) const PASSING: u8 = 3;
/// Hooks are called, and the next call does before that what waits for it ([`attending`]).
pub(crate) const ATTENDING: u8 = 4;

/// All states in which hooks are called.
const CALLED: [u8; 3] = [ACTIVE, PASSING, ATTENDING];

/// What every call reads, in one cache line.
#[repr(C, align(8))]
pub(crate) struct Shared {
    /// What wrappers do. Leaves [`UNRESOLVED`] once, then moves between the others.
    pub(crate) state: AtomicU8,
    /// Measurement has ended for good.
    stopped: AtomicBool,
    /// The registered hooks, as bits from the lowest; only grows.
    pub(crate) present: AtomicU16,
}

pub(crate) static SHARED: Shared =
    Shared { state: AtomicU8::new(UNRESOLVED), stopped: AtomicBool::new(false), present: AtomicU16::new(0) };

/// The ABI is known and the startup functions have run: hooks may be called.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether hooks are called, as a call of this function begins, which has something `here` on the stack.
#[inline(always)]
pub(crate) fn is_active(function: FunctionId, here: usize) -> bool {
    match SHARED.state.load(Ordering::Relaxed) {
        ACTIVE => true,
        PASSING => passing::look(here),
        ATTENDING => attending::look(function, here),
        _ => false,
    }
}

/// Whether measurement has ended for good.
#[inline(always)]
pub(crate) fn is_stopped() -> bool {
    SHARED.stopped.load(Ordering::Relaxed)
}

/// Ends measurement in this process for good: no hook is called any more, MPI calls of the
/// application go straight to MPI. A hook that another thread is in returns normally.
///
/// Callable from anywhere, signal handlers and hooks included.
pub fn stop() {
    SHARED.stopped.store(true, Ordering::SeqCst);
    fortran::ignore();
    io::ignore();
    // Where the next functions are not known yet the state stays, so that they will be.
    for state in CALLED {
        let _ = SHARED.state.compare_exchange(state, IDLE, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// Runs what the program asks of the tool between its MPI calls, as hooks run: MPI calls in it are hidden, and a panic ends the
/// measurement only. Nothing runs in an MPI call, such as in an operation of the program's own, nor once measurement has
/// [ended](stop); whether it has run. For any thread that may call MPI.
pub fn asked(f: impl FnOnce()) -> bool {
    asked_without_floats(|| floats::without_traps(f))
}

/// The same for what is asked often and computes nothing with floating-point numbers: these keep the traps that the program has set.
pub fn asked_without_floats(f: impl FnOnce()) -> bool {
    if SHARED.stopped.load(Ordering::SeqCst) {
        return false;
    }
    let here = crate::depth::stack();
    let Some(depth) = Depth::enter_from_top_at(FunctionId::Pcontrol, here, here) else {
        return false;
    };
    guarded(&depth, Running::Hook(FunctionId::Pcontrol), f)
}

/// Ends what the hooks that are registered now see; MPI calls of the application go straight to MPI until another hook is
/// [registered](crate::register), which alone sees calls then. [`ask_again`](crate::ask_again) takes this back for functions that a hook
/// still wants.
///
/// Allowed at any time, in hooks too. A call that is under way may be seen at its entry only.
pub fn pause() {
    hook::forget_wishes();
    fortran::ignore();
    for state in CALLED {
        let _ = SHARED.state.compare_exchange(state, IDLE, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// Hooks may run from now on.
pub(crate) fn started() {
    STARTED.store(true, Ordering::SeqCst);
    if hook::count() > 0 {
        activate();
    }
}

pub(crate) fn hook_was_registered() {
    report_our_panics();
    if STARTED.load(Ordering::SeqCst) {
        activate();
    }
}

fn activate() {
    fortran::attend();
    let _ = SHARED.state.compare_exchange(IDLE, ACTIVE, Ordering::SeqCst, Ordering::SeqCst);
    attending::take_up();
    // Somebody may have stopped in between.
    if SHARED.stopped.load(Ordering::SeqCst) {
        stop();
    }
}

/// Which hooks saw a call begin, as bits; `None` after a panic.
pub(crate) type Entered = Option<u16>;

/// Calls `enter` of the hooks that want it, and then reads the clock if one wants that. After `None` the arguments may be in
/// disorder.
#[inline]
pub(crate) fn enter(depth: &Depth, function: FunctionId, call: &mut Call<'_>) -> Entered {
    let present = hook::present();
    let wanted = hook::wanted(function, present);
    let hooks = || {
        hook::ascending(wanted.enter, |index, hook| {
            hook.enter_in_thread(depth.of_hook(index), function, call);
        });
    };
    let entered = wanted.enter == 0 || guarded(depth, Running::Hook(function), hooks);
    if wanted.timed != 0 {
        depth.set_entered();
    }
    entered.then_some(present)
}

/// Calls `leave` of the hooks that want it and were there when the call began.
#[inline]
pub(crate) fn leave(depth: &Depth, entered: Entered, function: FunctionId, call: &mut Call<'_>, code: c_int) {
    if let Some(present) = entered {
        leave_to(depth, hook::wanted(function, present).leave, function, call, code);
    }
}

/// Calls `leave` of these hooks.
#[inline(always)]
fn leave_to(depth: &Depth, wanted: u16, function: FunctionId, call: &mut Call<'_>, code: c_int) {
    if wanted == 0 || is_stopped() {
        return;
    }
    let hooks = || {
        hook::descending(wanted, |index, hook| {
            hook.leave_in_thread(depth.of_hook(index), function, call, code)
        });
    };
    guarded(depth, Running::Hook(function), hooks);
}

/// Calls `leave` of these hooks for a call whose entry no hook has seen. One function for all wrappers: after a large copy
/// our code is not in the cache, and less code is fetched sooner.
#[inline(never)]
pub(crate) fn leave_unentered(
    depth: &Depth,
    wanted: u16,
    function: FunctionId,
    call: &mut Call<'_>,
    code: c_int,
) {
    leave_to(depth, wanted, function, call, code);
}

/// Code of ours that a thread runs, and whose panics end measurement.
#[derive(Clone, Copy)]
pub(crate) enum Running {
    /// A hook, at a call of this function.
    Hook(FunctionId),
    /// A startup function.
    Startup,
}

impl Running {
    /// As a number; zero for none.
    #[inline(always)]
    pub(crate) const fn code(running: Option<Running>) -> u16 {
        match running {
            None => 0,
            Some(Running::Startup) => 1,
            Some(Running::Hook(function)) => 2 + function.index() as u16,
        }
    }

    /// The inverse of [`code`](Running::code).
    pub(crate) fn of_code(code: u16) -> Option<Running> {
        match code {
            0 => None,
            1 => Some(Running::Startup),
            _ => FunctionId::from_index(usize::from(code) - 2).map(Running::Hook),
        }
    }
}

/// Runs hooks or a startup function; false when it panicked, which ends measurement.
#[inline(always)]
pub(crate) fn guarded(depth: &Depth, running: Running, f: impl FnOnce()) -> bool {
    depth.set_inside(Some(running));
    // Unwind safety: after a panic no code of ours runs again, so nothing reads the state that it left.
    let outcome = panic::catch_unwind(AssertUnwindSafe(f));
    depth.set_inside(None);
    match outcome {
        Ok(()) => true,
        Err(payload) => {
            stop();
            // Its destructor might panic in turn.
            std::mem::forget(payload);
            false
        }
    }
}

/// Makes a panic of ours one line on standard error; other panics are reported as before.
pub(crate) fn report_our_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| match depth::inside() {
            Some(Running::Hook(function)) => report(function.name(), info),
            Some(Running::Startup) => report("startup", info),
            None => before(info),
        }));
    });
}

fn report(place: &str, info: &PanicHookInfo<'_>) {
    // Only the first: panics of other threads in the same moment say nothing new.
    if SHARED.stopped.swap(true, Ordering::SeqCst) {
        return;
    }
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let location = info.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
    standard_error::say(&format!(
        "internal error in {place}: {message}{}; measurement stopped, the application continues",
        location.unwrap_or_default()
    ));
}
