//! Handles, reading and setting.

use std::ffi::{c_int, c_void};

use mpit_vars::control::{Contents, Domain};
use mpit_vars::controls::{Whose, controls};
use mpit_vars::{Error, Owner};

use super::LISTED;
use crate::args::{InOut, Out};
use crate::failure::Failure;
use crate::forward::{forward, forward_often};
use crate::init::ready;
use crate::variables::answer;

entry_points! {
    /// Makes a handle for a variable and, where that is bound to a kind of object, for the object whose handle lies at
    /// `obj_handle`; ours are bound to none. `count` gets the number of elements that a read writes.
    fn MPI_T_cvar_handle_alloc = PMPI_T_cvar_handle_alloc[profiling](
        cvar_index: c_int,
        obj_handle: *mut c_void,
        handle: Out<usize>,
        count: Out<c_int>,
    ) {
        ready()?;
        let ours = match LISTED.owner(cvar_index, profiling)? {
            Owner::Ours(index) => index,
            Owner::Mpi(index) => {
                let handle = handle.required()?;
                let mut made = 0usize;
                answer(
                    forward!(c"MPI_T_cvar_handle_alloc", profiling, (
                        index as c_int => c_int,
                        obj_handle => *mut c_void,
                        &raw mut made => *mut usize,
                        count => Out<c_int>,
                    )),
                    Error::InvalidIndex,
                )?;
                controls().add_handle_of_mpi(made);
                handle.set(made);
                return Ok(());
            }
        };
        let (handle, count) = (handle.required()?, count.required()?);
        let (made, entry) = controls().alloc(ours)?;
        handle.set(made);
        count.set(c_int::try_from(entry.description.domain.count()).unwrap_or(c_int::MAX));
        Ok(())
    }

    /// Ends a handle; its place gets `MPI_T_CVAR_HANDLE_NULL`, which is null in every MPI.
    fn MPI_T_cvar_handle_free = PMPI_T_cvar_handle_free[profiling](handle: InOut<usize>) {
        ready()?;
        let word = handle.get().ok_or(Failure::Argument)?;
        if let Whose::Mpi = controls().free(word)? {
            let mut freed = word;
            let code = forward!(c"MPI_T_cvar_handle_free", profiling, (&raw mut freed => *mut usize));
            if code != Some(0) {
                // It is still there.
                controls().add_handle_of_mpi(word);
            }
            answer(code, Error::InvalidHandle)?;
        }
        handle.set(0);
        Ok(())
    }

    /// Reads a variable.
    fn MPI_T_cvar_read = PMPI_T_cvar_read[profiling](handle: usize, buf: *mut c_void) {
        ready()?;
        match controls().handle(handle)? {
            Whose::Mpi => answer(
                forward_often!(c"MPI_T_cvar_read", profiling, (handle => usize, buf => *mut c_void)),
                Error::InvalidHandle,
            ),
            Whose::Ours(_) if buf.is_null() => Err(Failure::Argument),
            Whose::Ours(entry) => {
                let contents = entry.read();
                // A value of another kind would need other room than the tool was told of.
                entry.description.domain.check(&contents).map_err(|_| Failure::Internal)?;
                // SAFETY: not null, so the caller has promised room for a value of this variable.
                unsafe { copy_out(&contents, buf) };
                Ok(())
            }
        }
    }

    /// Sets a variable.
    fn MPI_T_cvar_write = PMPI_T_cvar_write[profiling](handle: usize, buf: *const c_void) {
        ready()?;
        match controls().handle(handle)? {
            Whose::Mpi => answer(
                forward_often!(c"MPI_T_cvar_write", profiling, (handle => usize, buf => *const c_void)),
                Error::InvalidHandle,
            ),
            Whose::Ours(_) if buf.is_null() => Err(Failure::Argument),
            Whose::Ours(entry) if !entry.description.scope.is_writable() => Err(Error::SetNever.into()),
            Whose::Ours(entry) => {
                // SAFETY: not null, so the caller has promised a value of this variable.
                let contents = unsafe { copy_in(entry.description.domain, buf) }?;
                Ok(entry.write(&contents)?)
            }
        }
    }
}

/// Copies a value.
///
/// # Safety
/// There is room for one of its domain.
unsafe fn copy_out(contents: &Contents, to: *mut c_void) {
    match contents {
        // SAFETY: the room that the caller of this function promises.
        Contents::Choice(item) => unsafe { to.cast::<c_int>().write_unaligned(*item) },
        // SAFETY: the room that the caller of this function promises.
        Contents::Number(number) => unsafe { to.cast::<u64>().write_unaligned(*number) },
        Contents::Text(text) => {
            for (place, byte) in text.bytes().chain([0]).enumerate() {
                // SAFETY: a text of the domain and its NUL are within the room that the caller of this function promises.
                unsafe { to.cast::<u8>().add(place).write(byte) };
            }
        }
    }
}

/// The value that a tool gives.
///
/// # Safety
/// At the address is a value of the type of this domain: a number, or a C string or as many bytes as the domain has room for.
unsafe fn copy_in(domain: Domain, from: *const c_void) -> Result<Contents, Failure> {
    Ok(match domain {
        // SAFETY: what the caller of this function promises.
        Domain::Choice(_) => Contents::Choice(unsafe { from.cast::<c_int>().read_unaligned() }),
        // SAFETY: what the caller of this function promises.
        Domain::Number { .. } => Contents::Number(unsafe { from.cast::<u64>().read_unaligned() }),
        Domain::Text(room) => {
            let mut bytes = Vec::new();
            for place in 0..room {
                // SAFETY: no further than the NUL, and within the room, as the caller of this function promises.
                match unsafe { from.cast::<u8>().add(place).read() } {
                    0 => return String::from_utf8(bytes).map(Contents::Text).map_err(|_| Failure::Argument),
                    byte => bytes.push(byte),
                }
            }
            // There is no end to it.
            return Err(Error::OutOfRange.into());
        }
    })
}
