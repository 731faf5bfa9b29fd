//! Communicators, groups and info objects.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::call::{abi, mpi};
use crate::{Comm, Group, Handle, HandlePtr, Info, Result};

/// Storage for one handle that MPI returns, whatever its width in memory.
pub(crate) struct Out(pub(crate) usize);

impl Out {
    pub(crate) fn pointer(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    pub(crate) fn handle<H: Handle>(mut self) -> H {
        // SAFETY: the storage is one initialised machine word, and no handle is wider.
        unsafe { HandlePtr::new(self.pointer()).read() }
    }
}

/// Whether this process belongs to a job that another one has started with `MPI_Comm_spawn`.
#[must_use]
pub fn has_parent() -> bool {
    // Only a process with a world of its own can have one.
    if crate::Abi::current().is_some_and(crate::Abi::has_adopted_a_world) {
        return false;
    }
    let mut parent = Out(0);
    let output = parent.pointer();
    // SAFETY: the output is large enough for one handle.
    let result = unsafe { mpi!(MPI_Comm_get_parent(output => *mut c_void)) };
    result.is_ok() && abi().is_ok_and(|abi| parent.handle::<Comm>() != abi.constants.comm_null)
}

/// How two communicators compare: one of the constants `ident`, `congruent`, `similar`, `unequal`.
///
/// # Errors
/// [`crate::Error::Missing`], or [`crate::Error::Code`].
pub fn comm_compare(a: Comm, b: Comm) -> Result<c_int> {
    let mut result = 0;
    // SAFETY: the output is writable; MPI checks the handles.
    unsafe { mpi!(MPI_Comm_compare(a.word() => usize, b.word() => usize, &mut result => *mut c_int)) }?;
    Ok(result)
}

/// A communicator of our own with the same processes. Collective.
///
/// # Errors
/// [`crate::Error::Missing`], or [`crate::Error::Code`].
pub fn comm_dup(comm: Comm) -> Result<Comm> {
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_dup(comm.word() => usize, out.pointer() => *mut c_void)) }?;
    Ok(out.handle())
}

/// Parts of a communicator by colour, ordered by `key`. Collective.
///
/// # Errors
/// [`crate::Error::Missing`], or [`crate::Error::Code`].
pub fn comm_split(comm: Comm, color: c_int, key: c_int) -> Result<Comm> {
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe {
        mpi!(MPI_Comm_split(
            comm.word() => usize, color => c_int, key => c_int, out.pointer() => *mut c_void
        ))
    }?;
    Ok(out.handle())
}

/// The part of a communicator whose processes share what `split_type` says, ordered by `key`; with
/// the constant `comm_type_shared`, the processes of this node. Collective.
///
/// # Errors
/// [`crate::Error::Missing`], [`crate::Error::NoMpi`], or [`crate::Error::Code`].
pub fn comm_split_type(comm: Comm, split_type: c_int, key: c_int) -> Result<Comm> {
    let info = abi()?.constants.info_null;
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handles.
    unsafe {
        mpi!(MPI_Comm_split_type(
            comm.word() => usize, split_type => c_int, key => c_int, info.word() => usize,
            out.pointer() => *mut c_void
        ))
    }?;
    Ok(out.handle())
}

/// Frees a communicator that this tool created. Collective.
///
/// # Errors
/// [`crate::Error::Missing`], or [`crate::Error::Code`].
pub fn comm_free(comm: Comm) -> Result<()> {
    let mut word = comm.word();
    // SAFETY: the in-out parameter is a handle of either width in a machine word.
    unsafe { mpi!(MPI_Comm_free((&raw mut word).cast() => *mut c_void)) }
}

/// Makes errors on `comm` come back as codes. Only for communicators of our own: on the
/// application's this would change what its errors do.
///
/// # Errors
/// [`crate::Error::Missing`], [`crate::Error::NoMpi`], or [`crate::Error::Code`].
pub fn comm_return_errors(comm: Comm) -> Result<()> {
    let handler = abi()?.constants.errors_return;
    // SAFETY: both are handles, which MPI checks.
    unsafe { mpi!(MPI_Comm_set_errhandler(comm.word() => usize, handler.word() => usize)) }
}

/// Frees a group that this tool obtained.
///
/// # Errors
/// [`crate::Error::Missing`], or [`crate::Error::Code`].
pub fn group_free(group: Group) -> Result<()> {
    let mut word = group.word();
    // SAFETY: the in-out parameter is a handle of either width in a machine word.
    unsafe { mpi!(MPI_Group_free((&raw mut word).cast() => *mut c_void)) }
}

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
