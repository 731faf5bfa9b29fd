//! Point-to-point messages and requests.

use std::ffi::{c_int, c_void};

use super::call::{Function, abi, mpi};
use crate::{Comm, Error, Handle, HandlePtr, Request, Result, StatusLayout, StatusPtr};

/// Storage for one status of whichever MPI runs.
#[repr(C, align(8))]
struct Status([u8; StatusLayout::MAX_SIZE]);

impl Status {
    const fn new() -> Self {
        Self([0; StatusLayout::MAX_SIZE])
    }

    fn pointer(&mut self) -> StatusPtr {
        StatusPtr(self.0.as_mut_ptr().cast())
    }
}

/// A message found by a probe, or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// The rank that it comes from.
    pub source: c_int,
    /// Its tag.
    pub tag: c_int,
    /// Its length in bytes.
    pub bytes: usize,
}

impl Probed {
    fn from_status(mut status: Status) -> Result<Self> {
        let abi = abi()?;
        let at = status.pointer();
        // SAFETY: `status` is a status of this MPI, which a completed call has filled.
        let (source, tag, bytes) = unsafe { (at.source(abi), at.tag(abi), at.bytes(abi)) };
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        Ok(Self { source, tag, bytes })
    }
}

fn length(function: &'static str, bytes: usize) -> Result<c_int> {
    let expected = c_int::MAX as usize;
    c_int::try_from(bytes).map_err(|_| Error::Length { function, expected, got: bytes })
}

/// Sends bytes; blocks as `MPI_Send` does.
///
/// # Errors
/// [`Error::Length`] above 2 GiB, [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn send(data: &[u8], dest: c_int, tag: c_int, comm: Comm) -> Result<()> {
    let byte = abi()?.constants.byte;
    let count = length("MPI_Send", data.len())?;
    // SAFETY: the buffer has `count` bytes and outlives the blocking call.
    unsafe {
        mpi!(MPI_Send(
            data.as_ptr().cast() => *const c_void, count => c_int, byte.word() => usize,
            dest => c_int, tag => c_int, comm.word() => usize
        ))
    }
}

/// Receives bytes; blocks until a message is there.
///
/// # Errors
/// [`Error::Length`] above 2 GiB, [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn recv(data: &mut [u8], source: c_int, tag: c_int, comm: Comm) -> Result<Probed> {
    let byte = abi()?.constants.byte;
    let count = length("MPI_Recv", data.len())?;
    let mut status = Status::new();
    // SAFETY: the buffer has `count` bytes and outlives the blocking call; the status is large enough for
    // the layout of any MPI.
    unsafe {
        mpi!(MPI_Recv(
            data.as_mut_ptr().cast() => *mut c_void, count => c_int, byte.word() => usize,
            source => c_int, tag => c_int, comm.word() => usize,
            status.pointer().0 => *mut c_void
        ))
    }?;
    Probed::from_status(status)
}

/// Starts to send `bytes` bytes from `data`.
///
/// # Safety
/// The memory is readable and unchanged until the request is complete.
///
/// # Errors
/// [`Error::Length`] above 2 GiB, [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub unsafe fn isend(data: *const u8, bytes: usize, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let byte = abi()?.constants.byte;
    let count = length("MPI_Isend", bytes)?;
    let mut word = 0usize;
    let out: *mut c_void = (&raw mut word).cast();
    // SAFETY: the caller vouches for the memory; the output is large enough for a handle of either width.
    unsafe {
        mpi!(MPI_Isend(
            data.cast() => *const c_void, count => c_int, byte.word() => usize,
            dest => c_int, tag => c_int, comm.word() => usize, out => *mut c_void
        ))?;
        Ok(HandlePtr::new(out).read())
    }
}

/// Starts to send `bytes` bytes from `data`; complete only when the receiver has begun to receive them.
///
/// # Safety
/// The memory is readable and unchanged until the request is complete.
///
/// # Errors
/// [`Error::Length`] above 2 GiB, [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub unsafe fn issend(data: *const u8, bytes: usize, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let byte = abi()?.constants.byte;
    let count = length("MPI_Issend", bytes)?;
    let mut word = 0usize;
    let out: *mut c_void = (&raw mut word).cast();
    // SAFETY: the caller vouches for the memory; the output is large enough for a handle of either width.
    unsafe {
        mpi!(MPI_Issend(
            data.cast() => *const c_void, count => c_int, byte.word() => usize,
            dest => c_int, tag => c_int, comm.word() => usize, out => *mut c_void
        ))?;
        Ok(HandlePtr::new(out).read())
    }
}

/// Starts to receive at most `bytes` bytes into `data`.
///
/// # Safety
/// The memory is writable, and nobody else uses it, until the request is complete or cancelled.
///
/// # Errors
/// [`Error::Length`] above 2 GiB, [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub unsafe fn irecv(data: *mut u8, bytes: usize, source: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let byte = abi()?.constants.byte;
    let count = length("MPI_Irecv", bytes)?;
    let mut word = 0usize;
    let out: *mut c_void = (&raw mut word).cast();
    // SAFETY: the caller vouches for the memory; the output is large enough for a handle of either width.
    unsafe {
        mpi!(MPI_Irecv(
            data.cast() => *mut c_void, count => c_int, byte.word() => usize,
            source => c_int, tag => c_int, comm.word() => usize, out => *mut c_void
        ))?;
        Ok(HandlePtr::new(out).read())
    }
}

/// Whether a message from `source` with `tag` (both may be the wildcards) is there, and which.
///
/// # Errors
/// [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn iprobe(source: c_int, tag: c_int, comm: Comm) -> Result<Option<Probed>> {
    let mut flag = 0;
    let mut status = Status::new();
    // SAFETY: the outputs are writable, the status in the layout of any MPI; MPI checks the rest.
    unsafe {
        mpi!(MPI_Iprobe(
            source => c_int, tag => c_int, comm.word() => usize, &mut flag => *mut c_int,
            status.pointer().0 => *mut c_void
        ))
    }?;
    if flag == 0 { Ok(None) } else { Probed::from_status(status).map(Some) }
}

/// Whether an operation of our own is complete; if so, `request` becomes `MPI_REQUEST_NULL`.
///
/// # Errors
/// [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn test(request: &mut Request) -> Result<Option<Probed>> {
    let mut word = request.word();
    let inout: *mut c_void = (&raw mut word).cast();
    let mut flag = 0;
    let mut status = Status::new();
    // SAFETY: the in-out parameter is a handle of either width in a machine word, the outputs are
    // writable, the status in the layout of any MPI.
    unsafe {
        mpi!(MPI_Test(
            inout => *mut c_void, &mut flag => *mut c_int, status.pointer().0 => *mut c_void
        ))?;
        *request = HandlePtr::new(inout).read();
    }
    if flag == 0 { Ok(None) } else { Probed::from_status(status).map(Some) }
}

/// Waits until an operation of our own is complete; `request` becomes `MPI_REQUEST_NULL`.
///
/// # Errors
/// [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn wait(request: &mut Request) -> Result<Probed> {
    let mut word = request.word();
    let inout: *mut c_void = (&raw mut word).cast();
    let mut status = Status::new();
    // SAFETY: the in-out parameter is a handle of either width in a machine word, the output is a writable status
    // in the layout of any MPI.
    unsafe {
        mpi!(MPI_Wait(inout => *mut c_void, status.pointer().0 => *mut c_void))?;
        *request = HandlePtr::new(inout).read();
    }
    Probed::from_status(status)
}

/// Asks MPI to cancel an operation of our own; it must still be waited for.
///
/// # Errors
/// [`Error::Missing`] or [`Error::Code`].
pub fn cancel(request: Request) -> Result<()> {
    let mut word = request.word();
    // SAFETY: the in-out parameter is a handle of either width in a machine word.
    unsafe { mpi!(MPI_Cancel((&raw mut word).cast() => *mut c_void)) }
}

/// Frees a request of our own without waiting.
///
/// # Errors
/// [`Error::Missing`] or [`Error::Code`].
pub fn request_free(request: Request) -> Result<()> {
    let mut word = request.word();
    // SAFETY: the in-out parameter is a handle of either width in a machine word.
    unsafe { mpi!(MPI_Request_free((&raw mut word).cast() => *mut c_void)) }
}

/// The integer that stands for a request, where MPI (from version 5 on) has one.
pub(crate) fn request_toint(request: Request) -> Option<c_int> {
    type RequestToint = unsafe extern "C-unwind" fn(usize) -> c_int;
    static REQUEST_TOINT: Function<RequestToint> = {
        // SAFETY: MPI_Request_toint takes a handle and returns an int.
        unsafe { Function::new(c"MPI_Request_toint") }
    };
    let request_toint = REQUEST_TOINT.get().ok()?;
    // SAFETY: a handle that MPI has given out.
    Some(unsafe { request_toint(request.word()) })
}
