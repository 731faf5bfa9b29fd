//! The hints that tools give to registrations and callbacks: kept, given back, and not acted on, because we know none.
//!
//! They are kept as text: an info object of the tool's may be freed, and the MPI may be finalised.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use mpi_abi::{Handle, Info, questions};
use mpit_events::{Registration, Safety};

use crate::failure::Failure;
use crate::info;

/// Values by key.
pub(crate) type Hints = BTreeMap<CString, CString>;

/// Whose hints: a registration's, or those of its callback of a level.
pub(crate) type Owner = (Registration, Option<Safety>);

static KEPT: LazyLock<Mutex<HashMap<Owner, Hints>>> = LazyLock::new(Mutex::default);

fn all_kept() -> MutexGuard<'static, HashMap<Owner, Hints>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hints in an info argument. There are none in `MPI_INFO_NULL`, and none outside of `MPI_Init` to `MPI_Finalize`,
/// where not every MPI can tell.
pub(crate) fn in_info(word: usize) -> Result<Hints, Failure> {
    if info::is_null(word) || !questions::world_is_there() {
        return Ok(Hints::new());
    }
    Ok(questions::info_entries(Info::from_word(word))?.into_iter().collect())
}

/// Keeps hints; those with the same keys are replaced, all others stay.
pub(crate) fn update(owner: Owner, hints: Hints) {
    if !hints.is_empty() {
        all_kept().entry(owner).or_default().extend(hints);
    }
}

/// Keeps these hints and no others.
pub(crate) fn replace(owner: Owner, hints: Hints) {
    all_kept().remove(&owner);
    update(owner, hints);
}

/// The hints that are kept.
pub(crate) fn of(owner: Owner) -> Hints {
    all_kept().get(&owner).cloned().unwrap_or_default()
}

/// The registration is no more, and none of its callbacks.
pub(crate) fn forget(registration: Registration) {
    let mut kept = all_kept();
    kept.remove(&(registration, None));
    Safety::ALL.into_iter().for_each(|level| _ = kept.remove(&(registration, Some(level))));
}
