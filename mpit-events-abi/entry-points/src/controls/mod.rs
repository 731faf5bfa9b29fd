//! Control variables (MPI-5.0, section 15.3.6): those of the MPI and ours as one list.
//!
//! Numbers and handles are as those of performance variables: the MPI's variables come first, ours behind, and a number never means
//! another variable. Handles of the MPI's go to the tool as they are, and everything about them is passed on to the MPI, but only
//! those that the MPI has given out; handles of ours are no addresses. An MPI without the functions has no such variables.
//!
//! | file | functions |
//! |---|---|
//! | `query` | `cvar_get_num`, `cvar_get_info`, `cvar_get_index` |
//! | `access` | `cvar_handle_alloc`, `cvar_handle_free`, `cvar_read`, `cvar_write` |
//! | `enumeration` | none: the enumerations of ours, for `enum_get_info` and `enum_get_item` |
//!
//! No lock of ours is held while the MPI is called.

mod access;
pub(crate) mod enumeration;
mod query;

use std::ffi::c_int;

use mpit_vars::Owner;
use mpit_vars::controls::{Controls, controls};

use crate::failure::Failure;
use crate::forward::forward;

/// How many variables the MPI has now; none where it has no such function, or does not say.
fn num_of_mpi(profiling: bool) -> usize {
    let mut number: c_int = 0;
    match forward!(c"MPI_T_cvar_get_num", profiling, (&raw mut number => *mut c_int)) {
        Some(0) => usize::try_from(number).unwrap_or(0),
        _ => 0,
    }
}

/// All variables, after those that are new have got their numbers.
fn refreshed(profiling: bool) -> &'static Controls {
    let controls = controls();
    controls.refresh(num_of_mpi(profiling));
    controls
}

/// Whose variable has this number.
fn owner(number: c_int, profiling: bool) -> Result<Owner, Failure> {
    match controls().owner(number) {
        Ok(owner) => Ok(owner),
        Err(_) => Ok(refreshed(profiling).owner(number)?),
    }
}

/// The number under which tools know a variable of the MPI.
pub(crate) fn number_of_mpi(index: c_int, profiling: bool) -> Result<c_int, Failure> {
    let owner = Owner::Mpi(usize::try_from(index).map_err(|_| mpit_vars::Error::InvalidIndex)?);
    let number = controls().number_of(owner).or_else(|| refreshed(profiling).number_of(owner));
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

/// The tools are done: their handles end.
pub(crate) fn end_all() {
    controls().end_all();
}
