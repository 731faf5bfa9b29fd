//! When the MPI library gave the processor away: Open MPI and MPICH do, while they wait, where a node has more processes
//! than processors. What comes meanwhile they poll for when they have it back.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpit_events::Ticks;

use super::frame;
use super::tracker::{Tracker, Work};
use crate::progress_model::{CallInterval, Schedule};

/// When the thread that calls MPI was descheduled.
static SCHEDULE: Schedule = Schedule::new();

/// Whose thread that is.
static FOLLOWED: OnceLock<&'static Tracker> = OnceLock::new();

/// Whether this is a forked child: its thread is another one.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Notes from now on when the thread that calls MPI is descheduled.
pub(crate) fn follow(tracker: &'static Tracker) {
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    if FOLLOWED.set(tracker).is_ok() {
        // SAFETY: the function stays loaded, as this library is never closed, and does nothing but store a flag.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        mpi_intercept::on_yield(around);
    }
}

/// In place of each `sched_yield`.
fn around(yields: &dyn Fn()) {
    match FOLLOWED.get() {
        // Threads that never call MPI, as those of a parallel region, wait for something else.
        Some(tracker) if !tracker.has_threads() && frame::is_here() && !FORKED.load(Ordering::Relaxed) => {
            SCHEDULE.note_yield(tracker.now());
            yields();
            SCHEDULE.note_resumed(tracker.now(), tracker.parameters().brief);
        }
        _ => yields(),
    }
}

/// When the process ran that a message was sent to at this time.
#[inline]
pub(crate) fn resumed_after(sent: Ticks) -> Ticks {
    SCHEDULE.resumed_after(sent)
}

impl Work<'_> {
    /// Whether the thread was descheduled between these two times. Asked only where that was long enough, and of the
    /// system where the thread is not known to have given the processor away; where it was descheduled before, too, since the system
    /// was asked last, the answer may be wrong.
    #[inline(always)]
    pub(crate) fn was_descheduled(&mut self, from: Ticks, until: Ticks) -> bool {
        until.since(from) > self.tracker.parameters().may_be_descheduled
            && (SCHEDULE.was_descheduled_after(from) || self.has_been_switched())
    }

    /// The thread was descheduled in a call that ended at `until`.
    #[cold]
    pub(crate) fn set_descheduled(&self, interval: &mut CallInterval, until: Ticks) {
        let resumed = SCHEDULE.resumed_from_before(until);
        if let Some(resumed) = resumed.filter(|&resumed| resumed > interval.from) {
            interval.set_resumed(resumed);
        } else if let Some(last) = self.state.routes.ring.as_ref().and_then(|ring| ring.latest_until(until)) {
            interval.set_lag(until, last);
        }
    }

    #[cold]
    #[inline(never)]
    fn has_been_switched(&mut self) -> bool {
        // SAFETY: an all-zero value is valid for this struct of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: a valid output; allowed on any thread.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let switches = usage.ru_nivcsw.wrapping_add(usage.ru_nvcsw);
        std::mem::replace(&mut self.state.switches, switches) != switches
    }
}
