//! When the MPI library gave the processor away: Open MPI and MPICH do, while they wait, where a node has more processes
//! than processors. What comes meanwhile they look at when they are back.

use std::sync::OnceLock;

use super::frame;
use super::tracker::Tracker;
use crate::shadow::Away;

/// When the thread that calls MPI was away.
pub(super) static AWAY: Away = Away::new();

static TRACKER: OnceLock<&'static Tracker> = OnceLock::new();

/// Notes from now on when the thread that calls MPI is away.
pub(super) fn follow(tracker: &'static Tracker) {
    let _ = TRACKER.set(tracker);
    mpi_intercept::on_yield(around);
}

fn around(yields: &dyn Fn()) {
    match TRACKER.get() {
        // Others than the one that calls MPI, as the threads of a parallel region, wait for something else.
        Some(tracker) if !tracker.has_threads() && frame::is_here() => {
            let left = tracker.now();
            yields();
            let back = tracker.now();
            if back.since(left) > tracker.brief() {
                AWAY.note(left, back);
            }
        }
        _ => yields(),
    }
}
