//! Event callbacks: one for each safety level of a registration.

use std::ffi::c_void;

use mpit_events::{Core, Error, Registration};

use crate::args::Level;
use crate::failure::Failure;
use crate::info::OutInfo;
use crate::init::ready;
use crate::numbers::{self, EventFunction};

entry_points! {
    /// Installs, replaces or (null) removes the callback of one safety level.
    fn MPI_T_event_register_callback = PMPI_T_event_register_callback(
        registration: Registration,
        cb_safety: Level,
        _info: usize,
        user_data: *mut c_void,
        event_cb_function: Option<EventFunction>,
    ) {
        let core = ready()?;
        // A stale registration must not cost anything.
        core.dropped(registration)?;
        let level = cb_safety.get()?;
        let callback = event_cb_function.map(|function| numbers::event(function, user_data));
        // SAFETY: the caller has promised a function of this type that takes this data, safe at
        // this level.
        unsafe { core.set_callback_raw(registration, level, callback) }?;
        Ok(())
    }

    /// Updates the hints of a callback; none are known, so there is nothing to update.
    fn MPI_T_event_callback_set_info = PMPI_T_event_callback_set_info(
        registration: Registration,
        cb_safety: Level,
        _info: usize,
    ) {
        installed(ready()?, registration, cb_safety)
    }

    /// The hints in use: a new info object without any.
    fn MPI_T_event_callback_get_info = PMPI_T_event_callback_get_info(
        registration: Registration,
        cb_safety: Level,
        info_used: OutInfo,
    ) {
        installed(ready()?, registration, cb_safety)?;
        info_used.required()?.give()
    }
}

fn installed(core: &Core, registration: Registration, cb_safety: Level) -> Result<(), Failure> {
    let found = core.has_callback(registration, cb_safety.get()?)?;
    if found { Ok(()) } else { Err(Error::InvalidHandle.into()) }
}
