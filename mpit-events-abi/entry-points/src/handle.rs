//! Registration handles: for which event, of which object.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi_abi::ToolFreeFn;
use mpit_events::{Error, FreeFn, Registration, UserData, core};

use crate::args::Out;
use crate::callback::{self, DroppedFunction};
use crate::compose::{self, Whose, answer};
use crate::hints::{self, OutInfo};
use crate::init::ready;
use crate::object;

entry_points! {
    /// Makes a registration for an event type and, where that is bound to a kind of object, for the
    /// object whose handle lies at `obj_handle`, or is `obj_handle` itself. Hints in `info` are kept.
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
        // SAFETY: the caller has promised a handle of this kind, or the address of one.
        let token = unsafe { object::token(core, kind, obj_handle) }?;
        let hints = hints::in_info(info)?;
        let registration = core.alloc(index, token)?;
        mpi_intercept::listen();
        hints::replace((registration, None), hints);
        lives(registration);
        event_registration.set(registration);
        Ok(())
    }

    /// Updates hints: those with other keys stay.
    fn MPI_T_event_handle_set_info = PMPI_T_event_handle_set_info[profiling](
        registration: Registration,
        info: usize,
    ) {
        let core = ready()?;
        match compose::registration(registration, profiling)? {
            Whose::Ours(registration) => {
                core.dropped(registration)?;
                hints::update((registration, None), hints::in_info(info)?);
                Ok(())
            }
            // No hints are nothing to update, which some MPIs take for a mistake.
            Whose::Mpi(..) if hints::is_null_info(info) => Ok(()),
            // SAFETY: a live registration of the MPI's; the caller has promised the rest.
            Whose::Mpi(mpi, handle) => answer(unsafe { (mpi.event_handle_set_info)(handle, info) }),
        }
    }

    /// The hints that were given, in a new info object.
    fn MPI_T_event_handle_get_info = PMPI_T_event_handle_get_info[profiling](
        registration: Registration,
        info_used: OutInfo,
    ) {
        let core = ready()?;
        match compose::registration(registration, profiling)? {
            Whose::Ours(registration) => {
                core.dropped(registration)?;
                info_used.required()?.give(&hints::of((registration, None)))
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
        lives_no_more(registration);
        hints::forget(registration);
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
        let handler = dropped_cb_function.map(callback::dropped_of_core);
        // SAFETY: the caller has promised a function of this type, and takes no user data for it.
        unsafe { core.set_dropped_handler(registration, handler) }?;
        Ok(())
    }
}

// The registrations made through this interface that were not freed: what is left at the last `MPI_T_finalize` ends there.

static LIVE: Mutex<Vec<Registration>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<Registration>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lives(registration: Registration) {
    live().push(registration);
}

fn lives_no_more(registration: Registration) {
    let mut live = live();
    if let Some(place) = live.iter().position(|&other| other == registration) {
        live.swap_remove(place);
    }
}

/// Frees all of them, without free callbacks: nobody waits for these.
pub(crate) fn end_all() {
    let ended = std::mem::take(&mut *live());
    for registration in ended {
        // One that another thread has just freed is no error.
        let _ = core().free(registration, None);
        hints::forget(registration);
    }
}
