//! The timer signal: polls the ring once in a millisecond, in the thread that calls MPI.
//!
//! What runs in the handler takes no lock, asks for no memory, and calls nothing that is not
//! async-signal-safe. It has the model to itself: below `MPI_THREAD_SERIALIZED` only the interrupted thread
//! uses it, and where that is in the middle of a use, the handler does nothing. The timer is wound up anew
//! in the handler only, so that a program that installs its own handler for the signal gets at most one.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{io, mem};

use mel_settings::PROGRESS;
use mpit_events::Safety;

use super::{Tracker, Watch, reserve};
use crate::calls::Mode;

/// From the end of a poll to the next one, in nanoseconds.
const PERIOD: i64 = 1_000_000;

/// Polls in one signal, as long as there is more: a flood of messages must not keep the program from going on.
const POLLS: u32 = 8;

/// What the handler works with.
struct Alarm {
    watch: Watch,
    /// The thread that calls MPI.
    thread: libc::pid_t,
    timer: libc::timer_t,
}

/// The one that is set; null before and after. What it points to is never freed.
static ALARM: AtomicPtr<Alarm> = AtomicPtr::new(null_mut());

/// Starts the timer for the calling thread, which is the one that calls MPI.
///
/// # Errors
/// A line for the user.
pub(crate) fn start(tracker: &'static Tracker) -> Result<(), String> {
    let failed = |what: &str| {
        let error = io::Error::last_os_error();
        Err(format!("{PROGRESS}=signal: {what}: {error}"))
    };
    // A poll comes between any two instructions: what calls leave for later would be out of order.
    tracker.want_mode(Mode::Tool);
    tracker.state.with(|state| reserve(&mut state.engine, &mut state.between_calls));
    let description = "the ob1 model, as it runs in a timer signal, while the application computes";
    let mut watch = Watch::new(tracker, Safety::AsyncSignalSafe, "ob1 timer signal", description);
    // The first poll of a thread may ask for memory.
    watch.level = Safety::MpiRestricted;
    watch.poll();
    watch.level = Safety::AsyncSignalSafe;
    let Some(signal) = free_signal() else {
        return Err(format!("{PROGRESS}=signal is ignored: no signal is free"));
    };
    // SAFETY: the handler has this type for SA_SIGINFO; the sets and structures are this function's own, and
    // all zero is a valid value of them.
    let timer = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // No other handler comes in between, which might leave ours by a jump; faults stay faults.
        libc::sigfillset(&raw mut action.sa_mask);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT] {
            libc::sigdelset(&raw mut action.sa_mask, fault);
        }
        if libc::sigaction(signal, &raw const action, null_mut()) != 0 {
            return failed("no handler");
        }
        let mut event: libc::sigevent = mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = null_mut();
        if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) != 0 {
            return failed("no timer");
        }
        timer
    };
    // SAFETY: the call has no arguments.
    let thread = unsafe { libc::gettid() };
    ALARM.store(Box::into_raw(Box::new(Alarm { watch, thread, timer })), Ordering::Release);
    wind_up(timer);
    Ok(())
}

/// Ends the timer. A signal that is on its way finds nothing to do.
pub(crate) fn stop() {
    let alarm = ALARM.swap(null_mut(), Ordering::AcqRel);
    if !alarm.is_null() {
        // SAFETY: an alarm is never freed, and the timer is deleted by the one who took it.
        unsafe { libc::timer_delete((*alarm).timer) };
    }
}

/// Lets the timer go off once.
fn wind_up(timer: libc::timer_t) {
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let once = libc::itimerspec { it_interval: now, it_value: libc::timespec { tv_sec: 0, tv_nsec: PERIOD } };
    // SAFETY: async-signal-safe; a timer that has been deleted is refused.
    unsafe { libc::timer_settime(timer, 0, &raw const once, null_mut()) };
}

/// A real-time signal that the program leaves to its default; from the top, because programs count from
/// the bottom.
fn free_signal() -> Option<c_int> {
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(|&signal| {
        // SAFETY: only asks; all zero is a valid value of the structure.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction == libc::SIG_DFL
        }
    })
}

extern "C" fn on_signal(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the thread's own errno, which the interrupted code may be about to read.
    let errno = unsafe { *libc::__errno_location() };
    let alarm = ALARM.load(Ordering::Acquire);
    // SAFETY: the kernel gives a valid description of the signal.
    let from_timer = unsafe { (*info).si_code } == libc::SI_TIMER;
    if from_timer && !alarm.is_null() {
        // SAFETY: never freed, and only read.
        let (thread, timer) = unsafe { ((*alarm).thread, (*alarm).timer) };
        // SAFETY: the call has no arguments, and is a system call and nothing else.
        if thread == unsafe { libc::gettid() } {
            // SAFETY: only this handler uses it, on this one thread, where it does not interrupt itself: the
            // signal is blocked while it runs.
            let watch = unsafe { &mut (*alarm).watch };
            match catch_unwind(AssertUnwindSafe(|| (0..POLLS).all(|_| watch.poll()))) {
                Ok(_) => wind_up(timer),
                Err(panic) => {
                    mpi_intercept::stop();
                    // Its destructor might panic in turn.
                    mem::forget(panic);
                }
            }
        }
    }
    // SAFETY: the thread's own errno, which is what it was before the handler ran.
    unsafe { *libc::__errno_location() = errno };
}
