//! Windows.

use std::ffi::{c_char, c_int, c_void};

use super::kinds::checked;
use crate::pmpi::call::mpi;
use crate::pmpi::{Out, text};
use crate::{Group, Handle, Result, Win};

/// The group of the processes that have made a window; free it with [`group_free`](crate::pmpi::group_free).
///
/// # Errors
/// [`NotAsked`](crate::Error::NotAsked), [`NoMpi`](crate::Error::NoMpi), [`Missing`](crate::Error::Missing), or
/// [`Code`](crate::Error::Code).
pub fn win_get_group(win: Win) -> Result<Group> {
    checked("MPI_Win_get_group", win)?;
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Win_get_group(win.word() => usize, out.pointer() => *mut c_void)) }?;
    Ok(out.handle())
}

/// The name of a window, empty where it has none.
///
/// # Errors
/// [`NotAsked`](crate::Error::NotAsked), [`NoMpi`](crate::Error::NoMpi), [`Missing`](crate::Error::Missing), or
/// [`Code`](crate::Error::Code).
pub fn win_get_name(win: Win) -> Result<String> {
    checked("MPI_Win_get_name", win)?;
    // More than the longest name of any supported MPI.
    let mut name = [0u8; 512];
    let mut length = 0;
    // SAFETY: the buffer is longer than MPI_MAX_OBJECT_NAME of every family; MPI checks the handle.
    unsafe {
        mpi!(MPI_Win_get_name(
            win.word() => usize, name.as_mut_ptr().cast() => *mut c_char, &mut length => *mut c_int
        ))
    }?;
    Ok(text(&name, length))
}
