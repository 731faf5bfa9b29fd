//! When the MPI library gave the processor away: Open MPI and MPICH do, while they wait, where a node has more processes
//! than processors. What comes meanwhile they look at when they are back.

use std::sync::OnceLock;

use super::frame;
use super::tracker::Tracker;
use crate::shadow::Away;
use crate::transport::ring::{Presence, Ring};

/// Where others can see when the thread that calls MPI is away.
static SEEN: OnceLock<Presence> = OnceLock::new();
/// The same where none can.
static UNSEEN: Away = Away::new();

/// Whose thread it is, and of which process: one that was forked shares the memory, and is another one.
static FOLLOWED: OnceLock<(&'static Tracker, u32)> = OnceLock::new();

/// When the thread that calls MPI was away.
pub(super) fn away() -> &'static Away {
    SEEN.get().map_or(&UNSEEN, Presence::away)
}

/// Notes from now on when the thread that calls MPI is away; for others who write to this ring, too.
pub(super) fn follow(tracker: &'static Tracker, ring: Option<&Ring>) {
    if let Some(ring) = ring {
        let _ = SEEN.set(ring.presence());
    }
    let _ = FOLLOWED.set((tracker, std::process::id()));
    mpi_intercept::on_yield(around);
}

fn around(yields: &dyn Fn()) {
    match FOLLOWED.get() {
        // Others than the one that calls MPI, as the threads of a parallel region, wait for something else.
        Some((tracker, process))
            if !tracker.has_threads() && frame::is_here() && *process == std::process::id() =>
        {
            away().note_left(tracker.now());
            yields();
            away().note_back(tracker.now(), tracker.brief());
        }
        _ => yields(),
    }
}
