//! What every exported function has around it.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::Failure;

/// Defines exported functions: `fn MPI_T_name = PMPI_T_name(arguments) { body }`, where the body gives
/// `Result<(), Failure>`. Both names run the body itself: neither may come back by way of the other,
/// because another tool may stand in between. For the same reason other files of this crate call
/// `body::MPI_T_name`.
///
/// A body that passes the call on names a variable, `fn MPI_T_name = PMPI_T_name[profiling](arguments)`:
/// whether the call came by the second name.
macro_rules! entry_points {
    ($(
        $(#[$doc:meta])*
        fn $mpi:ident = $pmpi:ident $([$profiling:ident])? ($($arg:ident: $type:ty),* $(,)?) $body:block
    )*) => {
        /// The functions as this crate calls them.
        #[allow(non_snake_case, reason = "MPI's names")]
        #[allow(clippy::too_many_arguments, reason = "as many as MPI has")]
        pub(crate) mod body {
            use super::*;

            $(
                #[inline(always)]
                pub(crate) fn $mpi($($profiling: bool,)? $($arg: $type),*) -> std::ffi::c_int {
                    crate::entry::guarded(|| $body)
                }
            )*
        }

        $(const _: () = {
            $(#[$doc])*
            #[unsafe(no_mangle)]
            extern "C" fn $mpi($($arg: $type),*) -> std::ffi::c_int {
                $(let $profiling = false;)?
                body::$mpi($($profiling,)? $($arg),*)
            }

            #[doc = concat!("`", stringify!($mpi), "` by the name that tools call behind their own wrappers.")]
            #[unsafe(no_mangle)]
            extern "C" fn $pmpi($($arg: $type),*) -> std::ffi::c_int {
                $(let $profiling = true;)?
                body::$mpi($($profiling,)? $($arg),*)
            }
        };)*
    };
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
