//! Event callbacks: one for each safety level of a registration.

use std::ffi::c_void;

use mpi_abi::ToolEventFn;
use mpit_events::{Core, Error, Registration, Safety};

use crate::args::Level;
use crate::compose::{self, Whose, answer};
use crate::failure::Failure;
use crate::hints::{self, Hints};
use crate::info::{self, OutInfo};
use crate::init::ready;
use crate::numbers::{self, EventFunction};

entry_points! {
    /// Installs, replaces or (null) removes the callback of one safety level, and with it its hints.
    fn MPI_T_event_register_callback = PMPI_T_event_register_callback[profiling](
        registration: Registration,
        cb_safety: Level,
        info: usize,
        user_data: *mut c_void,
        event_cb_function: Option<EventFunction>,
    ) {
        let core = ready()?;
        if let Whose::Mpi(mpi, handle) = compose::registration(registration, profiling)? {
            let level = cb_safety.number()?;
            // The tool's own function: the instances that it is given are the MPI's.
            // SAFETY: both are the type of a C function that takes three machine words and a pointer.
            let function = event_cb_function
                .map(|function| unsafe { std::mem::transmute::<EventFunction, ToolEventFn>(function) });
            // SAFETY: a live registration of the MPI's; the caller has promised the rest.
            return answer(unsafe { (mpi.event_register_callback)(handle, level, info, user_data, function) });
        }
        // A stale registration must not cost anything.
        core.dropped(registration)?;
        let level = cb_safety.get()?;
        let hints = if event_cb_function.is_some() { hints::in_info(info)? } else { Hints::new() };
        let callback = event_cb_function.map(|function| numbers::event(function, user_data));
        // SAFETY: the caller has promised a function of this type that takes this data, safe at
        // this level.
        unsafe { core.set_callback_raw(registration, level, callback) }?;
        hints::replace((registration, Some(level)), hints);
        Ok(())
    }

    /// Updates the hints of a callback: those with other keys stay.
    fn MPI_T_event_callback_set_info = PMPI_T_event_callback_set_info[profiling](
        registration: Registration,
        cb_safety: Level,
        info: usize,
    ) {
        let core = ready()?;
        match compose::registration(registration, profiling)? {
            Whose::Ours(registration) => {
                let level = installed(core, registration, cb_safety)?;
                hints::update((registration, Some(level)), hints::in_info(info)?);
                Ok(())
            }
            Whose::Mpi(mpi, handle) => {
                let level = cb_safety.number()?;
                // No hints are nothing to update, which some MPIs take for a mistake.
                if info::is_null(info) {
                    return Ok(());
                }
                // SAFETY: a live registration of the MPI's; the caller has promised the rest.
                answer(unsafe { (mpi.event_callback_set_info)(handle, level, info) })
            }
        }
    }

    /// The hints that were given, in a new info object.
    fn MPI_T_event_callback_get_info = PMPI_T_event_callback_get_info[profiling](
        registration: Registration,
        cb_safety: Level,
        info_used: OutInfo,
    ) {
        let core = ready()?;
        match compose::registration(registration, profiling)? {
            Whose::Ours(registration) => {
                let level = installed(core, registration, cb_safety)?;
                info_used.required()?.give(&hints::of((registration, Some(level))))
            }
            Whose::Mpi(mpi, handle) => {
                let level = cb_safety.number()?;
                // SAFETY: a live registration of the MPI's, and room for an info handle.
                let ask = |place| unsafe { (mpi.event_callback_get_info)(handle, level, place) };
                info_used.required()?.give_of(ask)
            }
        }
    }
}

/// The level, where it has a callback.
fn installed(core: &Core, registration: Registration, cb_safety: Level) -> Result<Safety, Failure> {
    let level = cb_safety.get()?;
    if core.has_callback(registration, level)? { Ok(level) } else { Err(Error::InvalidHandle.into()) }
}
