//! Registration handles: for which event, of which object.

use std::ffi::{c_int, c_void};

use mpi_abi::{Abi, Comm, File, Handle, HandlePtr, ToolFreeFn};
use mpit_events::{BindKind, Error, FreeFn, Registration, Token, UserData};

use crate::args::Out;
use crate::compose::{self, Whose, answer};
use crate::failure::Failure;
use crate::info::{self, OutInfo};
use crate::init::ready;
use crate::live;
use crate::numbers::{self, DroppedFunction};

entry_points! {
    /// Makes a registration for an event type and, where that is bound to a kind of object, for the
    /// object whose handle lies at `obj_handle`. We know no hints: `info` is for the MPI's own.
    fn MPI_T_event_handle_alloc = PMPI_T_event_handle_alloc[profiling](
        event_index: c_int,
        obj_handle: *mut c_void,
        info: usize,
        event_registration: Out<Registration>,
    ) {
        let core = ready()?;
        let whose = compose::event(event_index, profiling)?;
        let event_registration = event_registration.required()?;
        let index = match whose {
            Whose::Ours(index) => index,
            Whose::Mpi(mpi, index) => {
                let mut handle = 0;
                // SAFETY: an event of the MPI's, and a valid output; the caller has promised the rest.
                answer(unsafe { (mpi.event_handle_alloc)(index, obj_handle, info, &raw mut handle) })?;
                compose::add_registration(handle);
                event_registration.set(Registration(handle));
                return Ok(());
            }
        };
        let kind = core.event_type(index).ok_or(Error::InvalidIndex)?.bind;
        // SAFETY: the caller has promised the address of a handle of this kind.
        let token = unsafe { token_at(kind, obj_handle) }?;
        let registration = core.alloc(index, token)?;
        live::add(registration);
        event_registration.set(registration);
        Ok(())
    }

    /// Updates hints; we know none, so there is nothing to update.
    fn MPI_T_event_handle_set_info = PMPI_T_event_handle_set_info[profiling](
        registration: Registration,
        info: usize,
    ) {
        let core = ready()?;
        match compose::registration(registration, profiling)? {
            Whose::Ours(registration) => core.dropped(registration).map(|_| ()).map_err(Failure::Core),
            // No hints are nothing to update, which some MPIs take for a mistake.
            Whose::Mpi(..) if info::is_null(info) => Ok(()),
            // SAFETY: a live registration of the MPI's; the caller has promised the rest.
            Whose::Mpi(mpi, handle) => answer(unsafe { (mpi.event_handle_set_info)(handle, info) }),
        }
    }

    /// The hints in use, in a new info object: of ours there are none.
    fn MPI_T_event_handle_get_info = PMPI_T_event_handle_get_info[profiling](
        registration: Registration,
        info_used: OutInfo,
    ) {
        let core = ready()?;
        match compose::registration(registration, profiling)? {
            Whose::Ours(registration) => {
                core.dropped(registration)?;
                info_used.required()?.give()
            }
            Whose::Mpi(mpi, handle) => {
                // SAFETY: a live registration of the MPI's, and room for an info handle.
                let ask = |place| unsafe { (mpi.event_handle_get_info)(handle, place) };
                info_used.required()?.give_of(ask)
            }
        }
    }

    /// Ends a registration. `free_cb_function`, where it is not null, is called once, when nobody
    /// uses the registration any more.
    fn MPI_T_event_handle_free = PMPI_T_event_handle_free[profiling](
        registration: Registration,
        user_data: *mut c_void,
        free_cb_function: Option<FreeFn>,
    ) {
        let core = ready()?;
        if let Whose::Mpi(mpi, handle) = compose::registration(registration, profiling)? {
            compose::remove_registration(handle)?;
            // SAFETY: both are the type of a C function that takes two machine words and a pointer.
            let function = free_cb_function
                .map(|function| unsafe { std::mem::transmute::<FreeFn, ToolFreeFn>(function) });
            // SAFETY: a registration of the MPI's that nobody else frees; the caller has promised the rest.
            return answer(unsafe { (mpi.event_handle_free)(handle, user_data, function) });
        }
        core.free(registration, free_cb_function.map(|function| (function, UserData(user_data))))?;
        live::remove(registration);
        Ok(())
    }

    /// Installs, replaces or (null) removes the handler that is told how many events were lost.
    fn MPI_T_event_set_dropped_handler = PMPI_T_event_set_dropped_handler[profiling](
        registration: Registration,
        dropped_cb_function: Option<DroppedFunction>,
    ) {
        let core = ready()?;
        if let Whose::Mpi(mpi, handle) = compose::registration(registration, profiling)? {
            return {
                let handler = dropped_cb_function.map(|function| (function, None));
                compose::set_dropped_handler(mpi, handle, handler)
            };
        }
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
    let null = Abi::current().and_then(|abi| match kind {
        BindKind::Comm => Some(abi.constants.comm_null.word()),
        BindKind::Win => Some(abi.constants.win_null.word()),
        _ => None,
    });
    if null == Some(word) {
        return Err(Error::InvalidHandle.into());
    }
    Ok(Some(Token(word as u64)))
}
