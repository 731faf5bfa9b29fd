//! What every exported function has around it.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::Failure;

/// Defines exported functions: `fn MPI_T_name = PMPI_T_name(arguments) { body }`, where the body gives
/// `Result<(), Failure>`. Both names run the body itself: neither may come back by way of the other,
/// because another tool may stand in between.
macro_rules! entry_points {
    ($($(#[$doc:meta])* fn $mpi:ident = $pmpi:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        const _: () = {
            #[allow(clippy::too_many_arguments, reason = "as many as MPI has")]
            #[inline(always)]
            fn body($($arg: $type),*) -> std::ffi::c_int {
                crate::entry::guarded(|| $body)
            }

            $(#[$doc])*
            #[unsafe(no_mangle)]
            extern "C" fn $mpi($($arg: $type),*) -> std::ffi::c_int {
                body($($arg),*)
            }

            #[doc = concat!("`", stringify!($mpi), "` by the name that tools call behind their own wrappers.")]
            #[unsafe(no_mangle)]
            extern "C" fn $pmpi($($arg: $type),*) -> std::ffi::c_int {
                body($($arg),*)
            }
        };
    )*};
}

/// Runs the body of an exported function and gives MPI's number for what came of it. A panic, which
/// would be a mistake of ours, becomes an error code too.
#[inline]
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failure.code(),
        Err(payload) => {
            // Its destructor might panic in turn.
            std::mem::forget(payload);
            Failure::Internal.code()
        }
    }
}
