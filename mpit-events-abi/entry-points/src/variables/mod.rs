//! Performance variables (MPI-5.0, section 15.3.7): those of the MPI and ours as one list.
//!
//! The MPI's have the first numbers, which are those that the MPI gives them, and ours follow; where the MPI adds some after
//! a tool has asked how many there are, they come behind ours. A session of a tool holds one of the MPI's. Handles of the
//! MPI's go to the tool as they are, and everything about them is passed on to the MPI with its own session; handles of ours
//! are no addresses. An MPI without such variables, or without the functions, has none: ours are there nevertheless.
//!
//! | file | functions |
//! |---|---|
//! | `query` | `pvar_get_num`, `pvar_get_info`, `pvar_get_index` |
//! | `session` | `pvar_session_*`, `pvar_handle_*` |
//! | `access` | `pvar_start`, `pvar_stop`, `pvar_read`, `pvar_readreset`, `pvar_write`, `pvar_reset` |
//! | `reading` | none: the same list for a consumer in Rust |
//!
//! No lock of ours is held while the MPI is called.

mod access;
mod query;
pub mod reading;
mod session;

use std::ffi::c_int;

use mpit_vars::{Error, Numbered, Owner, Variables, variables};

use crate::failure::Failure;
use crate::forward::forward;

/// How many variables the MPI has now; none where it has no such function, or does not say.
fn num_of_mpi(profiling: bool) -> usize {
    let mut number: c_int = 0;
    match forward!(c"MPI_T_pvar_get_num", profiling, (&raw mut number => *mut c_int)) {
        Some(0) => usize::try_from(number).unwrap_or(0),
        _ => 0,
    }
}

/// All performance variables.
pub(crate) const LISTED: Listed<Variables> = Listed { all: variables, num_of_mpi };

/// The tools are done: their sessions and handles end.
pub(crate) fn end_all() {
    variables().end_all();
}

/// All variables of a kind, and how many the MPI has of them now.
pub(crate) struct Listed<T: 'static> {
    pub(crate) all: fn() -> &'static T,
    pub(crate) num_of_mpi: fn(bool) -> usize,
}

impl<T: Numbered> Listed<T> {
    /// All of them, after those that are new have got their numbers.
    pub(crate) fn refreshed(&self, profiling: bool) -> &'static T {
        let all = (self.all)();
        all.refresh((self.num_of_mpi)(profiling));
        all
    }

    /// Whose variable has this number.
    pub(crate) fn owner(&self, number: c_int, profiling: bool) -> Result<Owner, Failure> {
        match (self.all)().owner(number) {
            Ok(owner) => Ok(owner),
            Err(_) => Ok(self.refreshed(profiling).owner(number)?),
        }
    }

    /// The number under which tools know a variable of the MPI.
    pub(crate) fn number_of_mpi(&self, index: c_int, profiling: bool) -> Result<c_int, Failure> {
        let owner = Owner::Mpi(usize::try_from(index).map_err(|_| Error::InvalidIndex)?);
        let number = (self.all)().number_of(owner).or_else(|| self.refreshed(profiling).number_of(owner));
        number.ok_or(Failure::Variable(Error::InvalidIndex))
    }
}

/// What the MPI has answered about an object of its own; where the function is missing, there is no such object.
pub(crate) fn answer(code: Option<c_int>, missing: Error) -> Result<(), Failure> {
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Mpi(code)),
        None => Err(Failure::Variable(missing)),
    }
}
