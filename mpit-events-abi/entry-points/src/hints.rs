//! The hints that tools give to registrations and callbacks: kept, given back, and not acted on, because we know none.
//!
//! They are kept as text: an info object of the tool's may be freed, and the MPI may be finalised. Every info object that is given is new and
//! has the hints that the tool has given, if any; those of the MPI's own are as the MPI gives them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_int, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use mpi_abi::{Abi, Handle, HandlePtr, Info, pmpi, questions};
use mpit_events::{Registration, Safety};

use crate::compose::answer;
use crate::failure::Failure;

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
    if is_null_info(word) || !questions::world_is_there() {
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

/// An info output: null, or the address of a writable `MPI_Info`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct OutInfo(*mut c_void);

/// Whether an info argument is `MPI_INFO_NULL`, or a null pointer.
pub(crate) fn is_null_info(info: usize) -> bool {
    info == 0 || Abi::current().is_none_or(|abi| abi.constants.info_null == Info::from_word(info))
}

impl OutInfo {
    /// An info object that nobody wants.
    pub(crate) const UNWANTED: OutInfo = OutInfo(std::ptr::null_mut());

    /// The same output, which must be wanted.
    pub(crate) fn required(self) -> Result<Self, Failure> {
        if self.0.is_null() { Err(Failure::Argument) } else { Ok(self) }
    }

    /// Gives the info object that `ask` has the MPI write to the address that it is given, or a new one
    /// where that is `MPI_INFO_NULL`.
    pub(crate) fn give_of(self, ask: impl FnOnce(*mut c_void) -> c_int) -> Result<(), Failure> {
        let abi = Abi::current().ok_or(Failure::Internal)?;
        // As wide as the widest handle.
        let mut word = abi.constants.info_null.0;
        let place = HandlePtr::<Info>::new((&raw mut word).cast());
        answer(ask(place.as_ptr()))?;
        // SAFETY: a local word, which is initialised.
        let info = unsafe { place.read() };
        if info == abi.constants.info_null {
            return self.give(&Hints::new());
        }
        // SAFETY: the caller has promised room for a handle of its MPI, where the address is not null.
        unsafe { HandlePtr::<Info>::new(self.required()?.0).set(0, info) };
        Ok(())
    }

    /// Gives a new info object with these hints, which the caller frees, where it is wanted. Outside of `MPI_Init` to
    /// `MPI_Finalize`, where not every MPI can make one, `MPI_INFO_NULL`.
    pub(crate) fn give(self, hints: &Hints) -> Result<(), Failure> {
        if self.0.is_null() {
            return Ok(());
        }
        let abi = Abi::current().ok_or(Failure::Internal)?;
        let mut info = abi.constants.info_null;
        if questions::world_is_there() {
            info = pmpi::info_create()?;
            hints.iter().try_for_each(|(key, value)| pmpi::info_set(info, key, value))?;
        }
        // SAFETY: not null, so the caller has promised room for a handle of its MPI.
        unsafe { HandlePtr::<Info>::new(self.0).set(0, info) };
        Ok(())
    }
}
