//! Collective operations on plain data.
//!
//! Every process of the communicator must make the same call. Blocking. On a communicator of the application, call them
//! only inside a collective call of the application on it.

use std::ffi::{c_int, c_void};

use bytemuck::Pod;

use super::call::{abi, mpi};
use crate::questions::{comm_rank, comm_size};
use crate::{Comm, Constants, Datatype, Error, Handle, HandlePtr, Op, Request, Result};

fn bytes_of<T>(function: &'static str, elements: usize) -> Result<c_int> {
    let limit = c_int::MAX as usize;
    elements.checked_mul(size_of::<T>()).and_then(|bytes| c_int::try_from(bytes).ok()).ok_or(Error::Length {
        function,
        expected: limit / size_of::<T>().max(1),
        got: elements,
    })
}

fn processes(comm: Comm) -> Result<usize> {
    Ok(usize::try_from(comm_size(comm)?).unwrap_or(0))
}

fn expect(function: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Length { function, expected, got }) }
}

/// Waits until every process of `comm` is here.
///
/// # Errors
/// [`Error::Missing`] or [`Error::Code`].
pub fn barrier(comm: Comm) -> Result<()> {
    // SAFETY: MPI checks the handle.
    unsafe { mpi!(MPI_Barrier(comm.word() => usize)) }
}

/// Begins a barrier; the request is complete when every process of `comm` has begun it.
///
/// # Errors
/// [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn ibarrier(comm: Comm) -> Result<Request> {
    abi()?;
    let mut word = 0usize;
    let out: *mut c_void = (&raw mut word).cast();
    // SAFETY: MPI checks the handle; the output is large enough for a handle of either width.
    unsafe {
        mpi!(MPI_Ibarrier(comm.word() => usize, out => *mut c_void))?;
        Ok(HandlePtr::new(out).read())
    }
}

/// Copies `data` of process `root` to all others; all give slices of the same length.
///
/// # Errors
/// [`Error::Length`] above 2 GiB, [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn bcast<T: Pod>(data: &mut [T], root: c_int, comm: Comm) -> Result<()> {
    let byte = abi()?.constants.byte;
    let count = bytes_of::<T>("MPI_Bcast", data.len())?;
    // SAFETY: the buffer has `count` bytes of plain data, for which every byte is valid.
    unsafe {
        mpi!(MPI_Bcast(
            data.as_mut_ptr().cast() => *mut c_void, count => c_int, byte.word() => usize,
            root => c_int, comm.word() => usize
        ))
    }
}

/// Collects the `send` of each process, in order of rank, in `recv` of all; every process gives a
/// `send` of the same length, and `recv` is that times the number of processes.
///
/// # Errors
/// [`Error::Length`] when `recv` does not fit, [`Error::Missing`], [`Error::NoMpi`] or
/// [`Error::Code`].
pub fn allgather<T: Pod>(send: &[T], recv: &mut [T], comm: Comm) -> Result<()> {
    let function = "MPI_Allgather";
    let byte = abi()?.constants.byte.word();
    expect(function, send.len() * processes(comm)?, recv.len())?;
    let count = bytes_of::<T>(function, send.len())?;
    // SAFETY: `recv` is large enough for `count` bytes of each process: checked above.
    unsafe {
        mpi!(MPI_Allgather(
            send.as_ptr().cast() => *const c_void, count => c_int, byte => usize,
            recv.as_mut_ptr().cast() => *mut c_void, count => c_int, byte => usize,
            comm.word() => usize
        ))
    }
}

/// Collects the `send` of each process, in order of rank, in `recv` of process `root`; `recv` of
/// the others is not used and may be empty.
///
/// # Errors
/// [`Error::Length`] when the `recv` of `root` does not fit, [`Error::Missing`], [`Error::NoMpi`]
/// or [`Error::Code`].
pub fn gather<T: Pod>(send: &[T], recv: &mut [T], root: c_int, comm: Comm) -> Result<()> {
    let function = "MPI_Gather";
    let byte = abi()?.constants.byte.word();
    if comm_rank(comm)? == root {
        expect(function, send.len() * processes(comm)?, recv.len())?;
    }
    let count = bytes_of::<T>(function, send.len())?;
    // SAFETY: at `root`, `recv` is large enough for `count` bytes of each process: checked above.
    // Elsewhere MPI does not touch it.
    unsafe {
        mpi!(MPI_Gather(
            send.as_ptr().cast() => *const c_void, count => c_int, byte => usize,
            recv.as_mut_ptr().cast() => *mut c_void, count => c_int, byte => usize,
            root => c_int, comm.word() => usize
        ))
    }
}

/// Collects slices of different lengths at process `root`, which gets one vector for each process,
/// in order of rank; the others get none. Three collective operations.
///
/// # Errors
/// [`Error::Length`], on all processes alike, when all data together exceed 2 GiB;
/// [`Error::Missing`], [`Error::NoMpi`] or [`Error::Code`].
pub fn gatherv<T: Pod>(send: &[T], root: c_int, comm: Comm) -> Result<Vec<Vec<T>>> {
    let function = "MPI_Gatherv";
    let byte = abi()?.constants.byte.word();
    let all = if comm_rank(comm)? == root { processes(comm)? } else { 0 };

    let mut sizes = vec![0u64; all];
    gather(&[size_of_val(send) as u64], &mut sizes, root, comm)?;
    let mut total = [sizes.iter().sum::<u64>()];
    bcast(&mut total, root, comm)?;
    if c_int::try_from(total[0]).is_err() {
        let elements = |bytes: u64| bytes as usize / size_of::<T>().max(1);
        let expected = elements(c_int::MAX as u64);
        return Err(Error::Length { function, expected, got: elements(total[0]) });
    }
    if total == [0] {
        return Ok(vec![Vec::new(); all]);
    }
    // An empty slice may lie where an MPI has its `MPI_IN_PLACE`: at 1, in Open MPI.
    let from: *const c_void = if send.is_empty() { (&raw const total).cast() } else { send.as_ptr().cast() };
    // No cut from here on: no number is above `total`, which fits.
    let counts: Vec<c_int> = sizes.iter().map(|&size| size as c_int).collect();
    let mut displacements = Vec::with_capacity(all);
    let mut end = 0;
    for &count in &counts {
        displacements.push(end);
        end += count;
    }
    let mut data = vec![T::zeroed(); (end as usize / size_of::<T>().max(1)).max(1)];
    // SAFETY: `from` has as many bytes as `send`. At `root`, `data` is large enough for the sum of `counts` bytes, each part at its
    // displacement. Elsewhere MPI reads none of the three.
    unsafe {
        mpi!(MPI_Gatherv(
            from => *const c_void, size_of_val(send) as c_int => c_int,
            byte => usize, data.as_mut_ptr().cast() => *mut c_void,
            counts.as_ptr() => *const c_int, displacements.as_ptr() => *const c_int,
            byte => usize, root => c_int, comm.word() => usize
        ))
    }?;
    let mut rest = data.as_slice();
    let mut parts = Vec::with_capacity(all);
    for &count in &counts {
        let elements = count as usize / size_of::<T>().max(1);
        let (part, others) = rest.split_at(elements.min(rest.len()));
        parts.push(part.to_vec());
        rest = others;
    }
    Ok(parts)
}

/// Numbers that MPI can reduce.
pub trait Reducible: Pod {
    /// The MPI datatype of this type.
    fn datatype(constants: &Constants) -> Datatype;
}

macro_rules! reducible {
    ($($type:ty => $field:ident),*) => {$(impl Reducible for $type {
        fn datatype(constants: &Constants) -> Datatype {
            constants.$field
        }
    })*};
}

reducible!(i32 => int, i64 => int64, u64 => uint64, f64 => double);

/// Reduces `send` element by element with `op` (a constant: `sum`, `max`, `min`) into `recv` of
/// all processes.
///
/// # Errors
/// [`Error::Length`] when the slices differ in length, [`Error::Missing`], [`Error::NoMpi`] or
/// [`Error::Code`].
pub fn allreduce<T: Reducible>(send: &[T], recv: &mut [T], op: Op, comm: Comm) -> Result<()> {
    let function = "MPI_Allreduce";
    let datatype = T::datatype(&abi()?.constants).word();
    expect(function, send.len(), recv.len())?;
    bytes_of::<T>(function, send.len())?;
    // SAFETY: both buffers have this many elements of the datatype; the number fits, as the bytes do.
    unsafe {
        mpi!(MPI_Allreduce(
            send.as_ptr().cast() => *const c_void, recv.as_mut_ptr().cast() => *mut c_void,
            send.len() as c_int => c_int, datatype => usize, op.word() => usize,
            comm.word() => usize
        ))
    }
}

/// As [`allreduce`], into `recv` of process `root` only; `recv` of the others may be empty.
///
/// # Errors
/// [`Error::Length`] when the slices of `root` differ in length, [`Error::Missing`], [`Error::NoMpi`] or
/// [`Error::Code`].
pub fn reduce<T: Reducible>(send: &[T], recv: &mut [T], op: Op, root: c_int, comm: Comm) -> Result<()> {
    let function = "MPI_Reduce";
    let datatype = T::datatype(&abi()?.constants).word();
    if comm_rank(comm)? == root {
        expect(function, send.len(), recv.len())?;
    }
    bytes_of::<T>(function, send.len())?;
    // SAFETY: at `root` both buffers have this many elements of the datatype, elsewhere `send` has, and MPI does not
    // touch `recv`; the number fits, as the bytes do.
    unsafe {
        mpi!(MPI_Reduce(
            send.as_ptr().cast() => *const c_void, recv.as_mut_ptr().cast() => *mut c_void,
            send.len() as c_int => c_int, datatype => usize, op.word() => usize,
            root => c_int, comm.word() => usize
        ))
    }
}
