//! Registration handles: for which event, of which object.

use std::ffi::c_void;

use mpi_abi::{Abi, Comm, File, Handle, HandlePtr};
use mpit_events::{BindKind, Error, FreeFn, Registration, Token, UserData};

use crate::args::Out;
use crate::failure::Failure;
use crate::info::OutInfo;
use crate::init::ready;
use crate::live;
use crate::numbers::{self, DroppedFunction};

entry_points! {
    /// Makes a registration for an event type and, where that is bound to a kind of object, for the
    /// object whose handle lies at `obj_handle`. No hints are known, so `info` is not looked at.
    fn MPI_T_event_handle_alloc = PMPI_T_event_handle_alloc(
        event_index: std::ffi::c_int,
        obj_handle: *mut c_void,
        _info: usize,
        event_registration: Out<Registration>,
    ) {
        let core = ready()?;
        let index = core.event_index(event_index.into())?;
        let event_registration = event_registration.required()?;
        let kind = core.event_type(index).ok_or(Error::InvalidIndex)?.bind;
        // SAFETY: the caller has promised the address of a handle of this kind.
        let token = unsafe { token_at(kind, obj_handle) }?;
        let registration = core.alloc(index, token)?;
        live::add(registration);
        event_registration.set(registration);
        Ok(())
    }

    /// Updates hints; none are known, so there is nothing to update.
    fn MPI_T_event_handle_set_info = PMPI_T_event_handle_set_info(registration: Registration, _info: usize) {
        ready()?.dropped(registration)?;
        Ok(())
    }

    /// The hints in use: a new info object without any.
    fn MPI_T_event_handle_get_info = PMPI_T_event_handle_get_info(
        registration: Registration,
        info_used: OutInfo,
    ) {
        ready()?.dropped(registration)?;
        info_used.required()?.give()
    }

    /// Ends a registration. `free_cb_function`, where it is not null, is called once, when nobody
    /// uses the registration any more.
    fn MPI_T_event_handle_free = PMPI_T_event_handle_free(
        registration: Registration,
        user_data: *mut c_void,
        free_cb_function: Option<FreeFn>,
    ) {
        let core = ready()?;
        core.free(registration, free_cb_function.map(|function| (function, UserData(user_data))))?;
        live::remove(registration);
        Ok(())
    }

    /// Installs, replaces or (null) removes the handler that is told how many events were lost.
    fn MPI_T_event_set_dropped_handler = PMPI_T_event_set_dropped_handler(
        registration: Registration,
        dropped_cb_function: Option<DroppedFunction>,
    ) {
        let core = ready()?;
        let handler = dropped_cb_function.map(numbers::dropped);
        // SAFETY: the caller has promised a function of this type, and takes no user data for it.
        unsafe { core.set_dropped_handler(registration, handler) }?;
        Ok(())
    }
}

/// The identity of the object whose handle is at this address; `None` for a kind without object.
///
/// # Safety
/// The address is null, or that of a handle of this kind.
unsafe fn token_at(kind: BindKind, address: *mut c_void) -> Result<Option<Token>, Failure> {
    if kind == BindKind::None {
        return Ok(None);
    }
    if address.is_null() {
        return Err(Error::ObjectNeeded.into());
    }
    // SAFETY: the caller's promise; but for files, all kinds of handles are of one width.
    let word = unsafe {
        match kind {
            BindKind::File => HandlePtr::<File>::new(address).read().word(),
            _ => HandlePtr::<Comm>::new(address).read().word(),
        }
    };
    let null = Abi::current().is_some_and(|abi| abi.constants.comm_null.word() == word);
    if kind == BindKind::Comm && null {
        return Err(Error::InvalidHandle.into());
    }
    Ok(Some(Token(word as u64)))
}
