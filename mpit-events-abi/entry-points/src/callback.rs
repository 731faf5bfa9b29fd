//! Event callbacks: one for each safety level of a registration; what the core is to call for them.

use std::ffi::{c_int, c_void};

use mpi_abi::ToolEventFn;
use mpit_events::{Core, DroppedFn, Error, EventFn, Instance, Registration, Safety, UserData};

use crate::args::Level;
use crate::compose::{self, Whose, answer};
use crate::failure::{Failure, numbers};
use crate::hints::{self, Hints, OutInfo};
use crate::init::ready;

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
        let callback = event_cb_function.map(|function| event_of_core(function, user_data));
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
                if hints::is_null_info(info) {
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

// Where numbers are not those of the core. It counts levels from zero, as Open MPI and MPICH do; there the tool's event callbacks are
// called by the core itself. The standard ABI has other numbers: a function of ours is called, which
// calls the tool's. So are handlers of dropped events, as tools know sources by other numbers.

/// `MPI_T_event_cb_function`
pub(crate) type EventFunction = EventFn;
/// `MPI_T_event_dropped_cb_function`
pub(crate) type DroppedFunction = DroppedFn;

fn levels_are_ours() -> bool {
    numbers().cb_safety == [0, 1, 2, 3]
}

/// MPI's number for a level of the core.
pub(crate) fn number_of_level(level: c_int) -> c_int {
    let known = usize::try_from(level).ok().and_then(|level| numbers().cb_safety.get(level));
    known.copied().unwrap_or(level)
}

/// A tool's function and its data, for the life of the process: a replaced callback may still run,
/// and a tool registers few.
struct Tools<F> {
    function: F,
    user_data: *mut c_void,
}

/// What the core is to call for a tool's callback.
pub(crate) fn event_of_core(function: EventFunction, user_data: *mut c_void) -> (EventFn, UserData) {
    unsafe extern "C" fn call(
        instance: *const Instance<'_>,
        registration: Registration,
        level: c_int,
        tools: *mut c_void,
    ) {
        // SAFETY: the user data is what was leaked below.
        let tools = unsafe { &*tools.cast::<Tools<EventFunction>>() };
        // SAFETY: the arguments are the core's; the tool promised such a function.
        unsafe { (tools.function)(instance, registration, number_of_level(level), tools.user_data) };
    }
    if levels_are_ours() {
        return (function, UserData(user_data));
    }
    (call, UserData(Box::into_raw(Box::new(Tools { function, user_data })).cast()))
}

/// What the core is to call for a tool's handler of dropped events.
pub(crate) fn dropped_of_core(function: DroppedFunction) -> (DroppedFn, UserData) {
    unsafe extern "C" fn call(
        count: i64,
        registration: Registration,
        source: c_int,
        level: c_int,
        tools: *mut c_void,
    ) {
        // SAFETY: the user data is what was leaked below.
        let tools = unsafe { &*tools.cast::<Tools<DroppedFunction>>() };
        let source = compose::number_of_source_number(source);
        // SAFETY: the arguments are the core's; the tool promised such a function.
        unsafe { (tools.function)(count, registration, source, number_of_level(level), tools.user_data) };
    }
    let user_data = std::ptr::null_mut();
    (call, UserData(Box::into_raw(Box::new(Tools { function, user_data })).cast()))
}
