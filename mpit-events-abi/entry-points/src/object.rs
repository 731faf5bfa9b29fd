//! The object that a registration is for: the standard wants the address of its handle, and many programs give the
//! handle itself.
//!
//! A value is taken for a handle where it is that of an object that is there now: one of those that MPI always has, or
//! one that a producer has bound to the core. Otherwise it is an address, which is read with care: where no memory is,
//! the answer is an error.

use std::ffi::c_void;
use std::io;

use mpi_abi::{Abi, Comm, File, Handle, HandlePtr};
use mpit_events::{BindKind, Core, Error, Token};

use crate::failure::Failure;

/// The identity of the object whose handle is at this address, or which is this value; `None` for a kind without
/// object.
///
/// # Safety
/// The value is null, a handle of this kind, or the address of one.
pub(crate) unsafe fn token(
    core: &Core,
    kind: BindKind,
    value: *mut c_void,
) -> Result<Option<Token>, Failure> {
    if kind == BindKind::None {
        return Ok(None);
    }
    if value.is_null() {
        return Err(Error::ObjectNeeded.into());
    }
    let itself =
        handle_in(kind, value as usize).filter(|&word| is_there(core, kind, word) || is_null(kind, word));
    let word = match itself {
        Some(word) => word,
        // SAFETY: no handle that is known, so by the caller's promise the address of one.
        None => unsafe { handle_at(kind, value) }.ok_or(Error::InvalidHandle)?,
    };
    if is_null(kind, word) {
        return Err(Error::InvalidHandle.into());
    }
    Ok(Some(Token(word as u64)))
}

/// Whether the machine word is the handle of an object that exists.
fn is_there(core: &Core, kind: BindKind, word: usize) -> bool {
    let always = kind == BindKind::Comm
        && Abi::current().is_some_and(|abi| {
            let constants = &abi.constants;
            [constants.comm_world, constants.comm_self].iter().any(|comm| comm.word() == word)
        });
    always || core.is_bound(kind, Token(word as u64))
}

/// Whether the machine word is the null handle of its kind.
fn is_null(kind: BindKind, word: usize) -> bool {
    let null = Abi::current().and_then(|abi| match kind {
        BindKind::Comm => Some(abi.constants.comm_null.word()),
        BindKind::Win => Some(abi.constants.win_null.word()),
        _ => None,
    });
    null == Some(word)
}

/// Bytes of a handle in memory. But for files, all kinds are of one width.
fn width(kind: BindKind) -> usize {
    if kind == BindKind::File { File::width() } else { Comm::width() }
}

/// The handle that a pointer argument has as its value. One of four bytes becomes a pointer as a number does, with or
/// without its sign.
fn handle_in(kind: BindKind, value: usize) -> Option<usize> {
    if width(kind) == 8 {
        return Some(value);
    }
    let handle = value as u32;
    [handle as usize, handle as i32 as usize].contains(&value).then_some(handle as usize)
}

/// The handle in memory at an address; `None` where there is no memory.
///
/// # Safety
/// The address is that of a handle of this kind. Where the system can tell that it is not, it need not be.
unsafe fn handle_at(kind: BindKind, address: *mut c_void) -> Option<usize> {
    // As wide as the widest handle.
    let mut copy = 0usize;
    let place: *mut c_void = (&raw mut copy).cast();
    let from = match read(address, place, width(kind)) {
        Ok(()) => place,
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => return None,
        // Some sandboxes forbid to ask.
        Err(_) => address,
    };
    // SAFETY: a copy of as many bytes as a handle has, or the caller's promise.
    Some(unsafe {
        match kind {
            BindKind::File => HandlePtr::<File>::new(from).read().word(),
            _ => HandlePtr::<Comm>::new(from).read().word(),
        }
    })
}

/// Copies memory of this process, where it is there: the system looks.
fn read(from: *mut c_void, to: *mut c_void, bytes: usize) -> io::Result<()> {
    let local = libc::iovec { iov_base: to, iov_len: bytes };
    let remote = libc::iovec { iov_base: from, iov_len: bytes };
    // SAFETY: `to` is a word of `handle_at`, which has room for a handle; where is read from, the system checks.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(copied) {
        Ok(copied) if copied == bytes => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
