//! Starting, stopping, reading and writing.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use mpi_abi::Abi;
use mpit_vars::{Contents, Element, Error, Handle, Whose, variables};

use crate::failure::Failure;
use crate::forward::forward_often;
use crate::init::ready;
use crate::variables::answer;

/// Whether the tool means all handles of the session.
fn is_all(handle: usize) -> bool {
    static ALL: OnceLock<usize> = OnceLock::new();
    match ALL.get() {
        Some(&all) => handle == all,
        None => Abi::current().is_some_and(|abi| handle == *ALL.get_or_init(|| abi.all_pvar_handles())),
    }
}

/// Does the same with one handle, ours or the MPI's, or with all of a session.
macro_rules! one_or_all {
    ($name:literal, $profiling:expr, $session:expr, $handle:expr, $what:ident) => {{
        ready()?;
        let of_mpi = |session: usize| {
            let code = forward_often!($name, $profiling, (session => usize, $handle => usize));
            answer(code, Error::InvalidHandle)
        };
        if is_all($handle) {
            let all = variables().all($session)?;
            let theirs = all.mpi.map_or(Ok(()), of_mpi);
            let ours = all.$what();
            theirs?;
            return Ok(ours?);
        }
        match variables().handle($session, $handle)? {
            Whose::Mpi(session) => of_mpi(session),
            Whose::Ours(handle) => Ok(handle.$what()?),
        }
    }};
}

entry_points! {
    /// Starts a variable, or all of a session that are not continuous.
    fn MPI_T_pvar_start = PMPI_T_pvar_start[profiling](pe_session: usize, handle: usize) {
        one_or_all!(c"MPI_T_pvar_start", profiling, pe_session, handle, start)
    }

    /// Stops a variable, or all of a session that are not continuous.
    fn MPI_T_pvar_stop = PMPI_T_pvar_stop[profiling](pe_session: usize, handle: usize) {
        one_or_all!(c"MPI_T_pvar_stop", profiling, pe_session, handle, stop)
    }

    /// Gives a variable the value that it had at first, or all of a session that can be written.
    fn MPI_T_pvar_reset = PMPI_T_pvar_reset[profiling](pe_session: usize, handle: usize) {
        one_or_all!(c"MPI_T_pvar_reset", profiling, pe_session, handle, reset)
    }

    /// Reads a variable.
    fn MPI_T_pvar_read = PMPI_T_pvar_read[profiling](pe_session: usize, handle: usize, buf: *mut c_void) {
        ready()?;
        match variables().handle(pe_session, handle)? {
            Whose::Mpi(session) => answer(
                forward_often!(c"MPI_T_pvar_read", profiling,
                    (session => usize, handle => usize, buf => *mut c_void)),
                Error::InvalidHandle,
            ),
            Whose::Ours(handle) => {
                let buf = room(&handle, buf)?;
                // SAFETY: the caller has promised room for as many elements as it was told.
                Ok(handle.read(|contents| unsafe { copy_out(&handle, contents, buf) })?)
            }
        }
    }

    /// Reads a variable and resets it.
    fn MPI_T_pvar_readreset = PMPI_T_pvar_readreset[profiling](
        pe_session: usize,
        handle: usize,
        buf: *mut c_void,
    ) {
        ready()?;
        match variables().handle(pe_session, handle)? {
            Whose::Mpi(session) => answer(
                forward_often!(c"MPI_T_pvar_readreset", profiling,
                    (session => usize, handle => usize, buf => *mut c_void)),
                Error::InvalidHandle,
            ),
            Whose::Ours(handle) => {
                let buf = room(&handle, buf)?;
                // SAFETY: the caller has promised room for as many elements as it was told.
                Ok(handle.read_reset(|contents| unsafe { copy_out(&handle, contents, buf) })?)
            }
        }
    }

    /// Writes a variable.
    fn MPI_T_pvar_write = PMPI_T_pvar_write[profiling](
        pe_session: usize,
        handle: usize,
        buf: *const c_void,
    ) {
        ready()?;
        match variables().handle(pe_session, handle)? {
            Whose::Mpi(session) => answer(
                forward_often!(c"MPI_T_pvar_write", profiling,
                    (session => usize, handle => usize, buf => *const c_void)),
                Error::InvalidHandle,
            ),
            Whose::Ours(_) if buf.is_null() => Err(Failure::Argument),
            // SAFETY: not null, so the caller has promised a value of this variable.
            Whose::Ours(handle) => unsafe { write(&handle, buf) },
        }
    }
}

/// The caller's memory for a value, which must be there if there is any.
fn room(handle: &Handle, buf: *mut c_void) -> Result<*mut c_void, Failure> {
    if buf.is_null() && handle.count() > 0 { Err(Failure::Argument) } else { Ok(buf) }
}

/// Copies as many elements as the handle has.
///
/// # Safety
/// There is room for them.
unsafe fn copy_out(handle: &Handle, contents: Contents<'_>, to: *mut c_void) {
    match contents {
        Contents::Numbers(numbers) => {
            for (place, &number) in numbers.iter().take(handle.count()).enumerate() {
                // SAFETY: within the room that the caller of this function promises.
                unsafe { to.cast::<u64>().add(place).write_unaligned(number) };
            }
        }
        Contents::Text(text) => {
            let bytes = text.bytes().chain([0]).take(handle.count());
            for (place, byte) in bytes.enumerate() {
                // SAFETY: within the room that the caller of this function promises.
                unsafe { to.cast::<u8>().add(place).write(byte) };
            }
        }
    }
}

/// Gives a handle a new value.
///
/// # Safety
/// At the address are as many numbers as the handle has elements, or a C string, by the type of the variable.
unsafe fn write(handle: &Handle, from: *const c_void) -> Result<(), Failure> {
    match handle.description().element {
        Element::UnsignedLong => {
            let numbers: Vec<u64> = (0..handle.count())
                // SAFETY: within what the caller of this function promises.
                .map(|place| unsafe { from.cast::<u64>().add(place).read_unaligned() })
                .collect();
            Ok(handle.write(Contents::Numbers(&numbers))?)
        }
        Element::Char => {
            // SAFETY: a C string, as the caller of this function promises.
            let text = unsafe { CStr::from_ptr(from.cast()) }.to_str();
            Ok(handle.write(Contents::Text(text.map_err(|_| Failure::Argument)?))?)
        }
    }
}
