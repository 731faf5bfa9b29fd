//! The functions of a library behind ours of the same names, though the library may come later than we do, and for nobody else to see.

use std::ffi::{CStr, c_void};
use std::ptr;

use mpi_abi::next;

/// A library of which functions are interposed.
pub(super) struct Behind {
    /// The name of its file.
    pub(super) file: &'static CStr,
    /// The version of its symbols, where they have one.
    pub(super) version: Option<&'static CStr>,
}

impl Behind {
    /// The library's own function of this name, as code at `caller`, unless that is 0, means it: in the object that has the function at
    /// `known`, unless that is 0; behind ours; among what the caller is linked with; or in the library's file, where that is loaded.
    /// Null where there is none.
    #[cold]
    pub(super) fn find(&self, name: &CStr, known: usize, caller: usize) -> *mut c_void {
        if known != 0 {
            let found = next::in_same_object(known, name);
            if !found.is_null() {
                return found;
            }
        }
        let behind = self.in_object(libc::RTLD_NEXT, name);
        if !behind.is_null() {
            return behind;
        }
        let found = if caller == 0 { ptr::null_mut() } else { next::symbol_at(caller, name) };
        // The caller may be one of our libraries, of which there may be two in the process: what they have goes on to this one.
        let is_ours =
            |found: *mut c_void| !next::in_same_object(found as usize, c"mpi_intercept_marker").is_null();
        if !found.is_null() && !is_ours(found) {
            return found;
        }
        // It stays loaded: the handle is kept.
        // SAFETY: a valid C string; nothing is loaded.
        let handle = unsafe { libc::dlopen(self.file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() { ptr::null_mut() } else { self.in_object(handle, name) }
    }

    fn in_object(&self, handle: *mut c_void, name: &CStr) -> *mut c_void {
        if let Some(version) = self.version {
            // SAFETY: valid C strings and a valid handle.
            let versioned = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
            if !versioned.is_null() {
                return versioned;
            }
        }
        // SAFETY: as above.
        unsafe { libc::dlsym(handle, name.as_ptr()) }
    }
}
