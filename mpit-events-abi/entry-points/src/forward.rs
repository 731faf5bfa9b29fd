//! Functions that the MPI of this process has itself.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

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

/// [`forward!`] for what is called often: what was found is kept.
macro_rules! forward_often {
    ($name:literal, $profiling:expr, ($($arg:expr => $type:ty),* $(,)?)) => {{
        static FOUND: [std::sync::atomic::AtomicPtr<std::ffi::c_void>; 2] =
            [const { std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()) }; 2];
        let address = $crate::forward::found(&FOUND, $name, $profiling);
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
pub(crate) use forward_often;

/// What [`behind`] finds, kept in `found`: for each of the names by which we may be called.
#[inline]
pub(crate) fn found(found: &[AtomicPtr<c_void>; 2], mpi_name: &CStr, profiling: bool) -> *mut c_void {
    let place = &found[usize::from(profiling)];
    let known = place.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let address = behind(mpi_name, profiling);
    place.store(address, Ordering::Relaxed);
    address
}
