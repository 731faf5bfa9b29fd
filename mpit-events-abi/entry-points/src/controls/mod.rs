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
//!
//! No lock of ours is held while the MPI is called.

mod access;
mod query;

use std::ffi::c_int;

use mpit_vars::controls::{Controls, controls};

use crate::forward::forward;
use crate::variables::Listed;

/// How many variables the MPI has now; none where it has no such function, or does not say.
fn num_of_mpi(profiling: bool) -> usize {
    let mut number: c_int = 0;
    match forward!(c"MPI_T_cvar_get_num", profiling, (&raw mut number => *mut c_int)) {
        Some(0) => usize::try_from(number).unwrap_or(0),
        _ => 0,
    }
}

/// All control variables.
pub(crate) const LISTED: Listed<Controls> = Listed { all: controls, num_of_mpi };

/// The tools are done: their handles end.
pub(crate) fn end_all() {
    controls().end_all();
}
