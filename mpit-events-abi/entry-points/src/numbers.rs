//! Callbacks where numbers are not those of the core.
//!
//! The core counts levels from zero, as Open MPI and MPICH do; there the tool's event callbacks are
//! called by the core itself. The standard ABI has other numbers: a function of ours is called, which
//! calls the tool's. So are handlers of dropped events, as tools know sources by other numbers.

use std::ffi::{c_int, c_void};

use mpit_events::{DroppedFn, EventFn, Instance, Registration, UserData};

use crate::compose;
use crate::failure::numbers;

/// `MPI_T_event_cb_function`
pub(crate) type EventFunction = EventFn;
/// `MPI_T_event_dropped_cb_function`
pub(crate) type DroppedFunction = DroppedFn;

fn levels_are_ours() -> bool {
    numbers().cb_safety == [0, 1, 2, 3]
}

/// MPI's number for a level of the core.
pub(crate) fn of_level(level: c_int) -> c_int {
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
pub(crate) fn event(function: EventFunction, user_data: *mut c_void) -> (EventFn, UserData) {
    unsafe extern "C" fn call(
        instance: *const Instance<'_>,
        registration: Registration,
        level: c_int,
        tools: *mut c_void,
    ) {
        // SAFETY: the user data is what was leaked below.
        let tools = unsafe { &*tools.cast::<Tools<EventFunction>>() };
        // SAFETY: the arguments are the core's; the tool promised such a function.
        unsafe { (tools.function)(instance, registration, of_level(level), tools.user_data) };
    }
    if levels_are_ours() {
        return (function, UserData(user_data));
    }
    (call, UserData(Box::into_raw(Box::new(Tools { function, user_data })).cast()))
}

/// What the core is to call for a tool's handler of dropped events.
pub(crate) fn dropped(function: DroppedFunction) -> (DroppedFn, UserData) {
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
        unsafe { (tools.function)(count, registration, source, of_level(level), tools.user_data) };
    }
    let user_data = std::ptr::null_mut();
    (call, UserData(Box::into_raw(Box::new(Tools { function, user_data })).cast()))
}
