//! The process and the library as a whole.

use std::ffi::{c_char, c_int, c_void};

use super::call::{Function, mpi};
use crate::{Comm, Handle, Result, next};

/// The text that MPI wrote to `buffer`, of `length` bytes at most.
pub(crate) fn text(buffer: &[u8], length: c_int) -> String {
    let length = usize::try_from(length).unwrap_or(0).min(buffer.len());
    let text = &buffer[..length];
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(length);
    String::from_utf8_lossy(&text[..end]).into_owned()
}

/// Whether `MPI_Init` has been called. Allowed at any time.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn initialized() -> Result<bool> {
    let mut flag = 0;
    // SAFETY: the output is writable.
    unsafe { mpi!(MPI_Initialized(&mut flag => *mut c_int)) }?;
    Ok(flag != 0)
}

/// Whether `MPI_Finalize` has completed. Allowed at any time.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn finalized() -> Result<bool> {
    let mut flag = 0;
    // SAFETY: the output is writable.
    unsafe { mpi!(MPI_Finalized(&mut flag => *mut c_int)) }?;
    Ok(flag != 0)
}

/// The thread level that MPI provides, one of [`crate::ThreadLevels`]: in a program of sessions, each of which has its own, the highest.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn query_thread() -> Result<c_int> {
    if let Some(abi) = crate::Abi::current().filter(|abi| abi.has_adopted_a_world()) {
        return Ok(abi.constants.thread.multiple);
    }
    let mut level = 0;
    // SAFETY: the output is writable.
    unsafe { mpi!(MPI_Query_thread(&mut level => *mut c_int)) }?;
    Ok(level)
}

/// The MPI standard that the library follows: version and subversion. Allowed at any time.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn get_version() -> Result<(c_int, c_int)> {
    let (mut version, mut subversion) = (0, 0);
    // SAFETY: both outputs are writable.
    unsafe { mpi!(MPI_Get_version(&mut version => *mut c_int, &mut subversion => *mut c_int)) }?;
    Ok((version, subversion))
}

/// All that the library says of its version, possibly many lines. Allowed at any time.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn get_library_version() -> Result<String> {
    library_version_of_any_mpi()
}

/// As [`get_library_version`], before the ABI is known.
pub(crate) fn library_version_of_any_mpi() -> Result<String> {
    // Twice the longest limit among the supported families: the library is not known yet.
    let mut version = vec![0u8; 16384];
    let mut length = 0;
    // SAFETY: the buffer is longer than MPI_MAX_LIBRARY_VERSION_STRING of every family.
    unsafe {
        mpi!(MPI_Get_library_version(
            version.as_mut_ptr().cast() => *mut c_char, &mut length => *mut c_int
        ))
    }?;
    Ok(text(&version, length))
}

/// The version of the standard ABI whose functions the library at this address has; `None` where it has those of
/// another ABI. Allowed at any time, before the ABI is known too.
pub(crate) fn abi_version_beside(address: usize) -> Option<(c_int, c_int)> {
    type AbiGetVersion = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int) -> c_int;
    let found = next::in_same_object(address, c"PMPI_Abi_get_version");
    if found.is_null() {
        return None;
    }
    // SAFETY: the function of this name has this signature in every MPI that has it (MPI-5.0, section 20.3).
    let get_version = unsafe { std::mem::transmute::<*mut c_void, AbiGetVersion>(found) };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: both outputs are writable.
    let code = unsafe { get_version(&raw mut major, &raw mut minor) };
    (code == 0 && major > 0).then_some((major, minor))
}

/// The name of the node, as MPI has it.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn get_processor_name() -> Result<String> {
    let mut name = [0u8; 1024];
    let mut length = 0;
    // SAFETY: the buffer is longer than MPI_MAX_PROCESSOR_NAME of every family.
    unsafe {
        mpi!(MPI_Get_processor_name(
            name.as_mut_ptr().cast() => *mut c_char, &mut length => *mut c_int
        ))
    }?;
    Ok(text(&name, length))
}

/// What an error code means, in the words of the library.
#[must_use]
pub fn error_string(code: c_int) -> String {
    let mut message = [0u8; 2048];
    let mut length = 0;
    // SAFETY: the buffer is longer than MPI_MAX_ERROR_STRING of every family.
    let result = unsafe {
        mpi!(MPI_Error_string(
            code => c_int, message.as_mut_ptr().cast() => *mut c_char, &mut length => *mut c_int
        ))
    };
    match result {
        Ok(()) => text(&message, length),
        Err(_) => format!("MPI error code {code}"),
    }
}

/// The class of an error code, such as `MPI_ERR_TRUNCATE`; `None` where MPI does not say.
#[must_use]
pub fn error_class(code: c_int) -> Option<c_int> {
    let mut class = 0;
    // SAFETY: the output is writable; any number may be asked about.
    unsafe { mpi!(MPI_Error_class(code => c_int, &mut class => *mut c_int)) }.ok()?;
    Some(class)
}

/// Seconds since some moment in the past, by MPI's clock; 0 where MPI has none.
#[must_use]
pub fn wtime() -> f64 {
    type Wtime = unsafe extern "C-unwind" fn() -> f64;
    // SAFETY: MPI_Wtime takes nothing and returns a double.
    static WTIME: Function<Wtime> = unsafe { Function::new(c"MPI_Wtime") };
    match WTIME.get() {
        // SAFETY: allowed whenever the library is loaded.
        Ok(wtime) => unsafe { wtime() },
        Err(_) => 0.0,
    }
}

/// Asks MPI to end all processes of `comm`. Returns only when that fails.
///
/// # Errors
/// [`crate::Error::Missing`] or [`crate::Error::Code`].
pub fn abort(comm: Comm, code: c_int) -> Result<()> {
    // SAFETY: MPI checks the handle.
    unsafe { mpi!(MPI_Abort(comm.word() => usize, code => c_int)) }
}
