//! Communicators and groups.

use std::ffi::{c_char, c_int, c_void};

use super::call::{abi, mpi};
use crate::{Comm, Error, Group, Handle, HandlePtr, Result};

/// Storage for one handle that MPI returns, whatever its width in memory.
struct Out(usize);

impl Out {
    fn pointer(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    fn handle<H: Handle>(mut self) -> H {
        // SAFETY: the storage is one initialised machine word, and no handle is wider.
        unsafe { HandlePtr::new(self.pointer()).read() }
    }
}

/// The rank of this process in `comm`.
///
/// # Errors
/// As every function here: [`Error::Missing`], or [`Error::Code`].
pub fn comm_rank(comm: Comm) -> Result<c_int> {
    let mut rank = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_rank(comm.word() => usize, &mut rank => *mut c_int)) }?;
    Ok(rank)
}

/// The number of processes in `comm` (its local group).
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_size(comm: Comm) -> Result<c_int> {
    let mut size = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_size(comm.word() => usize, &mut size => *mut c_int)) }?;
    Ok(size)
}

/// Whether this process belongs to a job that another one has started with `MPI_Comm_spawn`.
#[must_use]
pub fn has_parent() -> bool {
    let mut parent = Out(0);
    let output = parent.pointer();
    // SAFETY: the output is large enough for one handle.
    let result = unsafe { mpi!(MPI_Comm_get_parent(output => *mut c_void)) };
    result.is_ok() && abi().is_ok_and(|abi| parent.handle::<Comm>() != abi.constants.comm_null)
}

/// The number of processes in the remote group of an intercommunicator.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_remote_size(comm: Comm) -> Result<c_int> {
    let mut size = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_remote_size(comm.word() => usize, &mut size => *mut c_int)) }?;
    Ok(size)
}

/// Whether `comm` is an intercommunicator.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_test_inter(comm: Comm) -> Result<bool> {
    let mut flag = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_test_inter(comm.word() => usize, &mut flag => *mut c_int)) }?;
    Ok(flag != 0)
}

/// How two communicators compare: one of the constants `ident`, `congruent`, `similar`, `unequal`.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_compare(a: Comm, b: Comm) -> Result<c_int> {
    let mut result = 0;
    // SAFETY: the output is writable; MPI checks the handles.
    unsafe { mpi!(MPI_Comm_compare(a.word() => usize, b.word() => usize, &mut result => *mut c_int)) }?;
    Ok(result)
}

/// A communicator of our own with the same processes. Collective.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_dup(comm: Comm) -> Result<Comm> {
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_dup(comm.word() => usize, out.pointer() => *mut c_void)) }?;
    Ok(out.handle())
}

/// Parts of a communicator by colour, ordered by `key`. Collective.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
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
/// [`Error::Missing`], [`Error::NoMpi`], or [`Error::Code`].
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
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_free(comm: Comm) -> Result<()> {
    let mut word = comm.word();
    // SAFETY: the in-out parameter is a handle of either width in a machine word.
    unsafe { mpi!(MPI_Comm_free((&raw mut word).cast() => *mut c_void)) }
}

/// The (local) group of a communicator; free it with [`group_free`].
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_group(comm: Comm) -> Result<Group> {
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_group(comm.word() => usize, out.pointer() => *mut c_void)) }?;
    Ok(out.handle())
}

/// The remote group of an intercommunicator; free it with [`group_free`].
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_remote_group(comm: Comm) -> Result<Group> {
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_remote_group(comm.word() => usize, out.pointer() => *mut c_void)) }?;
    Ok(out.handle())
}

/// The name of a communicator, empty where it has none.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn comm_get_name(comm: Comm) -> Result<String> {
    // More than the longest name of any supported MPI.
    let mut name = [0u8; 512];
    let mut length = 0;
    // SAFETY: the buffer is longer than MPI_MAX_OBJECT_NAME of every family; MPI checks the handle.
    unsafe {
        mpi!(MPI_Comm_get_name(
            comm.word() => usize, name.as_mut_ptr().cast() => *mut c_char,
            &mut length => *mut c_int
        ))
    }?;
    Ok(super::process::text(&name, length))
}

/// Makes errors on `comm` come back as codes. Only for communicators of our own: on the
/// application's this would change what its errors do.
///
/// # Errors
/// [`Error::Missing`], [`Error::NoMpi`], or [`Error::Code`].
pub fn comm_return_errors(comm: Comm) -> Result<()> {
    let handler = abi()?.constants.errors_return;
    // SAFETY: both are handles, which MPI checks.
    unsafe { mpi!(MPI_Comm_set_errhandler(comm.word() => usize, handler.word() => usize)) }
}

/// Runs `f` with errors on the program's `comm` coming back as codes, and gives it the program's error handler back, also while a panic
/// unwinds. While it runs no other thread of the program may call MPI: for the exit of `MPI_Init*` and the entry of `MPI_Finalize`
/// (MPI-5.0, 9.3 and 11.2).
pub fn returning_errors<R>(comm: Comm, f: impl FnOnce() -> R) -> R {
    struct Handler(Comm, usize);
    impl Drop for Handler {
        fn drop(&mut self) {
            // SAFETY: the communicator's own handler, as MPI has given it; the reference to it is freed once.
            unsafe {
                let _ = mpi!(MPI_Comm_set_errhandler(self.0.word() => usize, self.1 => usize));
                let _ = mpi!(MPI_Errhandler_free((&raw mut self.1).cast() => *mut c_void));
            }
        }
    }
    let mut handler = Out(0);
    // SAFETY: the output is large enough for a handle of either width; the communicator is the program's, and MPI runs.
    let found =
        unsafe { mpi!(MPI_Comm_get_errhandler(comm.word() => usize, handler.pointer() => *mut c_void)) };
    let _restored = found.and_then(|()| comm_return_errors(comm)).map(|()| Handler(comm, handler.0));
    f()
}

/// The number of processes in a group.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn group_size(group: Group) -> Result<c_int> {
    let mut size = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Group_size(group.word() => usize, &mut size => *mut c_int)) }?;
    Ok(size)
}

/// The rank of this process in a group, or the constant `undefined`.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn group_rank(group: Group) -> Result<c_int> {
    let mut rank = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Group_rank(group.word() => usize, &mut rank => *mut c_int)) }?;
    Ok(rank)
}

/// Writes to `translated` the ranks in group `to` of the processes that have `ranks` in `from`;
/// the constant `undefined` for those that are not in `to`.
///
/// # Errors
/// [`Error::Length`] when the slices differ in length, [`Error::Missing`], or [`Error::Code`].
pub fn group_translate_ranks(
    from: Group,
    ranks: &[c_int],
    to: Group,
    translated: &mut [c_int],
) -> Result<()> {
    let function = "MPI_Group_translate_ranks";
    let mismatch = Error::Length { function, expected: ranks.len(), got: translated.len() };
    let count = match c_int::try_from(ranks.len()) {
        Ok(count) if ranks.len() == translated.len() => count,
        _ => return Err(mismatch),
    };
    // SAFETY: both arrays have `count` elements; MPI checks handles and ranks.
    unsafe {
        mpi!(MPI_Group_translate_ranks(
            from.word() => usize, count => c_int, ranks.as_ptr() => *const c_int,
            to.word() => usize, translated.as_mut_ptr() => *mut c_int
        ))
    }
}

/// Frees a group that this tool obtained.
///
/// # Errors
/// [`Error::Missing`], or [`Error::Code`].
pub fn group_free(group: Group) -> Result<()> {
    let mut word = group.word();
    // SAFETY: the in-out parameter is a handle of either width in a machine word.
    unsafe { mpi!(MPI_Group_free((&raw mut word).cast() => *mut c_void)) }
}
