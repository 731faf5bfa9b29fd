//! Info objects.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

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

/// The keys of an info object with their values, in MPI's order.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn info_entries(info: Info) -> Result<Vec<(CString, CString)>> {
    let mut keys = 0;
    // SAFETY: a valid output; MPI checks the handle.
    unsafe { mpi!(MPI_Info_get_nkeys(info.word() => usize, &mut keys => *mut c_int)) }?;
    let mut entries = Vec::new();
    for place in 0..keys {
        let key = info_key(info, place)?;
        // A key that another thread has just taken out is not there.
        if let Some(value) = info_value(info, &key)? {
            entries.push((key, value));
        }
    }
    Ok(entries)
}

fn info_key(info: Info, place: c_int) -> Result<CString> {
    // More than the longest key of any supported MPI.
    let mut key = [0u8; 512];
    let text: *mut c_char = key.as_mut_ptr().cast();
    // SAFETY: the buffer is longer than MPI_MAX_INFO_KEY of every family; MPI checks the rest.
    unsafe { mpi!(MPI_Info_get_nthkey(info.word() => usize, place => c_int, text => *mut c_char)) }?;
    Ok(until_nul(&key))
}

fn info_value(info: Info, key: &CStr) -> Result<Option<CString>> {
    let (mut length, mut there) = (0, 0);
    // SAFETY: a C string, which MPI only reads, and valid outputs; MPI checks the handle.
    unsafe {
        mpi!(MPI_Info_get_valuelen(
            info.word() => usize, key.as_ptr() => *const c_char, &mut length => *mut c_int, &mut there => *mut c_int
        ))
    }?;
    if there == 0 {
        return Ok(None);
    }
    let mut value = vec![0u8; usize::try_from(length).unwrap_or(0) + 1];
    let text: *mut c_char = value.as_mut_ptr().cast();
    // SAFETY: as above; MPI writes at most `length` bytes and a NUL, for which there is room.
    unsafe {
        mpi!(MPI_Info_get(
            info.word() => usize, key.as_ptr() => *const c_char, length => c_int, text => *mut c_char,
            &mut there => *mut c_int
        ))
    }?;
    Ok((there != 0).then(|| until_nul(&value)))
}

/// The text at the beginning of a buffer.
fn until_nul(buffer: &[u8]) -> CString {
    let text = buffer.split(|&byte| byte == 0).next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
