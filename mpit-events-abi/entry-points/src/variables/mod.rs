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

use mpit_vars::{Owner, Variables, variables};

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

/// All variables, after those that are new have got their numbers.
fn refreshed(profiling: bool) -> &'static Variables {
    let variables = variables();
    variables.refresh(num_of_mpi(profiling));
    variables
}

/// Whose variable has this number.
fn owner(number: c_int, profiling: bool) -> Result<Owner, Failure> {
    match variables().owner(number) {
        Ok(owner) => Ok(owner),
        Err(_) => Ok(refreshed(profiling).owner(number)?),
    }
}

/// The number under which tools know a variable of the MPI.
pub(crate) fn number_of_mpi(index: c_int, profiling: bool) -> Result<c_int, Failure> {
    let owner = Owner::Mpi(usize::try_from(index).map_err(|_| mpit_vars::Error::InvalidIndex)?);
    let number = variables().number_of(owner).or_else(|| refreshed(profiling).number_of(owner));
    number.ok_or(Failure::Variable(mpit_vars::Error::InvalidIndex))
}

/// What the MPI has answered about an object of its own; where the function is missing, there is no such object.
fn answer(code: Option<c_int>, missing: mpit_vars::Error) -> Result<(), Failure> {
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Mpi(code)),
        None => Err(Failure::Variable(missing)),
    }
}

/// The tools are done: their sessions and handles end.
pub(crate) fn end_all() {
    variables().end_all();
}
