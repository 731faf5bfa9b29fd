//! What a status says.

use std::ffi::{c_int, c_void};

use super::kinds::checked;
use crate::pmpi::call::mpi;
use crate::{Datatype, Error, Handle, Result, StatusPtr};

/// How many elements of `datatype` a received message held; the constant `undefined` when the
/// bytes do not make whole elements.
///
/// # Safety
/// A status in the layout of this MPI lies at `status`.
///
/// # Errors
/// [`Error::NotAsked`], [`Error::NoMpi`], [`Error::Missing`] or [`Error::Code`].
pub unsafe fn get_count(status: StatusPtr, datatype: Datatype) -> Result<i64> {
    checked("MPI_Get_count", datatype)?;
    let mut large = 0i64;
    // SAFETY: the caller vouches for the status; the output is writable.
    let result = unsafe {
        mpi!(MPI_Get_count_c(
            status.0 => *const c_void, datatype.word() => usize, &mut large => *mut i64
        ))
    };
    match result {
        Ok(()) => return Ok(large),
        // An MPI before version 4.
        Err(Error::Missing(_)) => {}
        Err(error) => return Err(error),
    }
    let mut count = 0;
    // SAFETY: the caller vouches for the status; the output is writable.
    unsafe {
        mpi!(MPI_Get_count(
            status.0 => *const c_void, datatype.word() => usize, &mut count => *mut c_int
        ))
    }?;
    Ok(count.into())
}

/// Whether the operation of a status was cancelled.
///
/// # Safety
/// A status in the layout of this MPI lies at `status`.
///
/// # Errors
/// [`Error::Missing`] or [`Error::Code`].
pub unsafe fn test_cancelled(status: StatusPtr) -> Result<bool> {
    let mut flag = 0;
    // SAFETY: the caller vouches for the status; the output is writable.
    unsafe { mpi!(MPI_Test_cancelled(status.0 => *const c_void, &mut flag => *mut c_int)) }?;
    Ok(flag != 0)
}
