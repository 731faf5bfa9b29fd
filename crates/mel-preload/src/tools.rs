//! The events for others' tools, where MEL itself was asked nothing: whoever uses the events interface by
//! the end of `MPI_Init*` gets events. Where nobody does, MPI calls go straight to MPI from then on, until somebody allocates a
//! performance variable of ours.

use std::sync::atomic::{AtomicBool, Ordering};

use mpi_abi::pmpi;
use mpit_sources::calls::Observer;

use super::state::Session;
use super::warn;

/// Whether the model runs for tools.
static RUNS: AtomicBool = AtomicBool::new(false);

/// All processes together, at the exit of `MPI_Init*`.
pub(super) fn begin(session: &'static Session) {
    match try_begin(session) {
        Ok(true) => {}
        // The program may still ask for performance variables, which follow its calls then.
        Ok(false) => mpi_intercept::pause(),
        Err(error) => {
            warn(&format!("{error}: no events are raised"));
            mpi_intercept::stop();
        }
    }
}

/// Whether the model runs: one process that has a tool is enough, as all take part in it.
fn try_begin(session: &'static Session) -> mpi_abi::Result<bool> {
    let constants = &session.abi.constants;
    let mine = [i32::from(mpit_events_entry_points::is_initialized())];
    let mut any = [0i32];
    pmpi::allreduce(&mine, &mut any, constants.max, constants.comm_world)?;
    if any == [0] {
        return Ok(false);
    }
    if let Some(rma) = session.rma {
        rma.start(true, Vec::new())?;
    }
    if let Some(netops) = session.netops {
        netops.start(true)?;
    }
    let observers = session.variables.map(|counts| counts as &'static dyn Observer).into_iter().collect();
    for line in session.queue_events.start(observers, session.config.following)? {
        warn(&line);
    }
    if let Some(netops) = session.netops {
        netops.begin();
    }
    RUNS.store(true, Ordering::Release);
    Ok(true)
}

/// All processes together, at the entry of `MPI_Finalize`. Events that were under way are raised in here.
pub(super) fn finish(session: &'static Session) {
    if !RUNS.load(Ordering::Acquire) || session.over.swap(true, Ordering::AcqRel) {
        return;
    }
    if let Some(netops) = session.netops {
        netops.finish();
    }
    session.queue_events.finish();
    mpi_intercept::stop();
}
