//! The registrations made through this interface that were not freed: what is left at the last
//! `MPI_T_finalize` ends there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mpit_events::{Registration, core};

use crate::hints;

static LIVE: Mutex<Vec<Registration>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<Registration>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn add(registration: Registration) {
    live().push(registration);
}

pub(crate) fn remove(registration: Registration) {
    let mut live = live();
    if let Some(place) = live.iter().position(|&other| other == registration) {
        live.swap_remove(place);
    }
}

/// Frees all of them, without free callbacks: nobody waits for these.
pub(crate) fn end_all() {
    let ended = std::mem::take(&mut *live());
    for registration in ended {
        // One that another thread has just freed is no error.
        let _ = core().free(registration, None);
        hints::forget(registration);
    }
}
