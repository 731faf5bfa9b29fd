//! Info objects.

use std::ffi::{CStr, c_char, c_void};

use super::call::mpi;
use crate::{Handle, HandlePtr, Info, Result};

/// A new info object without keys; the caller frees it.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn info_create() -> Result<Info> {
    let mut word = 0usize;
    let out: *mut c_void = (&raw mut word).cast();
    // SAFETY: the output is large enough for a handle of either width.
    unsafe { mpi!(MPI_Info_create(out => *mut c_void)) }?;
    // SAFETY: the storage is one initialised machine word, and no handle is wider.
    Ok(unsafe { HandlePtr::new(out).read() })
}

/// Adds a key to an info object, or gives it another value.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn info_set(info: Info, key: &CStr, value: &CStr) -> Result<()> {
    // SAFETY: both are C strings, which MPI only reads; MPI checks the handle.
    unsafe {
        mpi!(MPI_Info_set(info.word() => usize, key.as_ptr() => *const c_char, value.as_ptr() => *const c_char))
    }
}
