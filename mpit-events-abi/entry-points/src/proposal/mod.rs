//! The interface as it was first proposed (the paper's Tables 1 and 2), under the names `MPIX_T_*`; where
//! the header is asked for it, programs call them by the paper's names.
//!
//! The same core as behind the standard's functions, and the same event types, sources, registrations
//! and numbers; handles of one dialect may be given to functions of the other. What differs:
//!
//! | the proposal | the standard |
//! |---|---|
//! | one callback, given with its user data when the handle is made, for every safety level | one for each level |
//! | the free callback and the handler of drops get that user data too | user data at `handle_free`; null |
//! | drops are counted in an `int`, without the source | `MPI_Count`, with the source |
//! | `event_read` and `event_copy` are told the size of the buffer | they are not |
//! | the extent of an event is told by `event_get_info` | the caller adds it up |
//! | sources have no name, and no largest time stamp | they have |
//!
//! What this room must not know: anything that the standard's functions do. It adapts arguments.

use std::ffi::c_int;

use crate::failure::Failure;

/// Defines exported functions that have one name: `fn MPIX_T_name(arguments) { body }`.
macro_rules! proposed {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) -> std::ffi::c_int {
            crate::entry::guarded(|| $body)
        }
    )*};
}

mod handle;
mod instance;
mod query;

/// What a function of the standard has answered.
fn answered(code: c_int) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure::Mpi(code)) }
}
