//! Functions that the MPI of this process has itself.

use std::ffi::{CStr, c_void};

use mpi_abi::next;

/// The function behind ours, called by the name by which we were called; null where there is none.
pub(crate) fn behind(mpi_name: &CStr, profiling: bool) -> *mut c_void {
    if profiling { next::unseen(mpi_name) } else { next::next(mpi_name) }
}

/// Calls MPI's own function of this name and signature; `None` where MPI has none.
macro_rules! forward {
    ($name:literal, $profiling:expr, ($($arg:expr => $type:ty),* $(,)?)) => {{
        let address = $crate::forward::behind($name, $profiling);
        (!address.is_null()).then(|| {
            // SAFETY: the function of this name has this signature in every MPI, with handles as
            // machine words.
            let function = unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C-unwind" fn($($type),*) -> std::ffi::c_int>(address)
            };
            // SAFETY: the arguments are those of our caller, who promised what MPI asks for.
            unsafe { function($($arg),*) }
        })
    }};
}
pub(crate) use forward;
