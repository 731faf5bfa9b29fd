//! Communicators, groups and windows.

use std::ffi::{c_char, c_int, c_void};
use std::io;

use super::kinds::{checked, may_be, world_is_there};
use crate::pmpi::call::mpi;
use crate::pmpi::{Out, text};
use crate::{Abi, Comm, Error, Family, Group, Handle, Result, Win};

/// Whether MPI may be asked about a communicator, as far as its handle says it.
fn check_comm(function: &'static str, comm: Comm) -> Result<()> {
    let constants = &checked(function, comm)?.constants;
    let is_predefined = comm == constants.comm_world || comm == constants.comm_self;
    if is_predefined && !world_is_there() { Err(Error::NotAsked { function }) } else { Ok(()) }
}

/// The rank of this process in `comm`.
///
/// # Errors
/// As every function here: [`Error::NotAsked`], [`Error::NoMpi`], [`Error::Missing`], or [`Error::Code`].
pub fn comm_rank(comm: Comm) -> Result<c_int> {
    check_comm("MPI_Comm_rank", comm)?;
    let mut rank = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_rank(comm.word() => usize, &mut rank => *mut c_int)) }?;
    Ok(rank)
}

/// The number of processes in `comm` (its local group).
///
/// # Errors
/// Those of [`comm_rank`].
pub fn comm_size(comm: Comm) -> Result<c_int> {
    check_comm("MPI_Comm_size", comm)?;
    let mut size = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_size(comm.word() => usize, &mut size => *mut c_int)) }?;
    Ok(size)
}

/// The number of processes in the remote group of an intercommunicator.
///
/// # Errors
/// Those of [`comm_rank`].
pub fn comm_remote_size(comm: Comm) -> Result<c_int> {
    check_comm("MPI_Comm_remote_size", comm)?;
    let mut size = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_remote_size(comm.word() => usize, &mut size => *mut c_int)) }?;
    Ok(size)
}

/// Whether `comm` is an intercommunicator.
///
/// # Errors
/// Those of [`comm_rank`].
pub fn comm_test_inter(comm: Comm) -> Result<bool> {
    check_comm("MPI_Comm_test_inter", comm)?;
    let mut flag = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_test_inter(comm.word() => usize, &mut flag => *mut c_int)) }?;
    Ok(flag != 0)
}

/// The (local) group of a communicator; free it with [`group_free`](crate::pmpi::group_free).
///
/// # Errors
/// Those of [`comm_rank`].
pub fn comm_group(comm: Comm) -> Result<Group> {
    check_comm("MPI_Comm_group", comm)?;
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_group(comm.word() => usize, out.pointer() => *mut c_void)) }?;
    Ok(out.handle())
}

/// The remote group of an intercommunicator; free it with [`group_free`](crate::pmpi::group_free).
///
/// # Errors
/// Those of [`comm_rank`].
pub fn comm_remote_group(comm: Comm) -> Result<Group> {
    check_comm("MPI_Comm_remote_group", comm)?;
    let mut out = Out(0);
    // SAFETY: the output is large enough for a handle of either width; MPI checks the handle.
    unsafe { mpi!(MPI_Comm_remote_group(comm.word() => usize, out.pointer() => *mut c_void)) }?;
    Ok(out.handle())
}

/// The name of a communicator, empty where it has none.
///
/// # Errors
/// Those of [`comm_rank`].
pub fn comm_get_name(comm: Comm) -> Result<String> {
    check_comm("MPI_Comm_get_name", comm)?;
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
    Ok(text(&name, length))
}

/// The number of processes in a group.
///
/// # Errors
/// Those of [`comm_rank`].
pub fn group_size(group: Group) -> Result<c_int> {
    checked("MPI_Group_size", group)?;
    let mut size = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Group_size(group.word() => usize, &mut size => *mut c_int)) }?;
    Ok(size)
}

/// The rank of this process in a group, or the constant `undefined`.
///
/// # Errors
/// Those of [`comm_rank`].
pub fn group_rank(group: Group) -> Result<c_int> {
    checked("MPI_Group_rank", group)?;
    let mut rank = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Group_rank(group.word() => usize, &mut rank => *mut c_int)) }?;
    Ok(rank)
}

/// Writes to `translated` the ranks in group `to` of the processes that have `ranks` in `from`;
/// the constant `undefined` for those that are not in `to`.
///
/// # Errors
/// [`Error::Length`] when the slices differ in length, and those of [`comm_rank`].
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
    checked(function, from)?;
    checked(function, to)?;
    // SAFETY: both arrays have `count` elements; MPI checks handles and ranks.
    unsafe {
        mpi!(MPI_Group_translate_ranks(
            from.word() => usize, count => c_int, ranks.as_ptr() => *const c_int,
            to.word() => usize, translated.as_mut_ptr() => *mut c_int
        ))
    }
}

/// Whether this is the handle of a communicator, of which nobody knows whether it ever was one. Asks the system, and not MPI.
/// `false` while there is no `MPI_COMM_WORLD`.
#[must_use]
pub fn is_communicator(abi: &Abi, comm: Comm) -> bool {
    let world = abi.constants.comm_world;
    may_be(abi, comm)
        && world_is_there()
        && (abi.family != Family::OpenMpi || {
            // An object begins with the address of its class.
            let class = word_at(comm.word());
            class.is_some() && class == word_at(world.word())
        })
}

/// The word at an address, where there is memory.
fn word_at(address: usize) -> Option<usize> {
    let mut word = 0usize;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<usize>() };
    let remote =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: size_of::<usize>() };
    // SAFETY: there is room for a word; where is read from, the system checks.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    let forbidden = copied < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT);
    // Some sandboxes forbid to ask: then all answers are alike.
    (forbidden || copied == size_of::<usize>() as isize).then_some(word)
}

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
