//! Info objects.

use std::ffi::{CStr, CString, c_char, c_int};

use super::kinds::checked;
use crate::pmpi::call::mpi;
use crate::{Handle, Info, Result};

/// The keys of an info object with their values, in MPI's order.
///
/// # Errors
/// [`NotAsked`](crate::Error::NotAsked), [`NoMpi`](crate::Error::NoMpi), [`Missing`](crate::Error::Missing), or
/// [`Code`](crate::Error::Code).
pub fn info_entries(info: Info) -> Result<Vec<(CString, CString)>> {
    checked("MPI_Info_get_nkeys", info)?;
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
