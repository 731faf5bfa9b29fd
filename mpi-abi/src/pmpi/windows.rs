//! Windows.

use std::ffi::{c_char, c_int, c_void};

use super::call::mpi;
use crate::{Group, Handle, HandlePtr, Result, Win};

/// The group of the processes that have made a window; free it with [`group_free`](super::group_free).
///
/// # Errors
/// [`crate::Error::Missing`], or [`crate::Error::Code`].
pub fn win_get_group(win: Win) -> Result<Group> {
    let mut word = 0usize;
    let out: *mut c_void = (&raw mut word).cast();
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Win_get_group(win.word() => usize, out => *mut c_void)) }?;
    // SAFETY: the storage is one initialised machine word, and no handle is wider.
    Ok(unsafe { HandlePtr::new(out).read() })
}

/// The name of a window, empty where it has none.
///
/// # Errors
/// [`crate::Error::Missing`], or [`crate::Error::Code`].
pub fn win_get_name(win: Win) -> Result<String> {
    // More than the longest name of any supported MPI.
    let mut name = [0u8; 512];
    let mut length = 0;
    // SAFETY: the buffer is longer than MPI_MAX_OBJECT_NAME of every family; MPI checks the handle.
    unsafe {
        mpi!(MPI_Win_get_name(
            win.word() => usize, name.as_mut_ptr().cast() => *mut c_char, &mut length => *mut c_int
        ))
    }?;
    Ok(super::process::text(&name, length))
}
