//! How an interposed function begins, and how the function behind it is found: instructions that leave registers, stack and `errno` as
//! they came, so that one form serves functions of any arguments. The functions of a library behind ours of the same names, though the
//! library may come later than we do, and for nobody else to see. x86-64 only.

use std::ffi::{CStr, c_void};
use std::ptr;

use mpi_abi::next;

/// Functions that go on to `$observed` when `$listens` is not 0 and code of the MPI library has called them, and to the function behind
/// them, in its place of `$next`, otherwise.
macro_rules! interpose {
    ($listens:ident, $next:ident: $($number:literal $name:ident -> $observed:ident;)*) => {$(
        // Newer compilers compare the types of functions that Rust's library calls, such as `close`, with their own: these leave
        // arguments and result as they are, of whatever type.
        #[allow(unknown_lints, invalid_runtime_symbol_definitions)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            // Six registers hold arguments; with one more word the stack is aligned to 16 bytes at the call. Above them is
            // the caller's address.
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {listens}], 0
                jne 2f
                jmp qword ptr [rip + {next} + {offset}]
                2:",
                $crate::registers::save_integers!(),
                "sub rsp, 8
                mov rdi, qword ptr [rsp + 56]
                call {is_of_mpi}
                add rsp, 8",
                $crate::registers::restore_integers!(),
                "test al, al
                jne {observed}
                jmp qword ptr [rip + {next} + {offset}]",
                listens = sym $listens,
                next = sym $next,
                offset = const $number * 8,
                is_of_mpi = sym $crate::io::is_of_mpi,
                observed = sym $observed,
            )
        }
    )*};
}

/// `find_next::<N>`: the first call of function `N`. It lets `$resolve` find the function behind it, from the number and the caller's
/// address, for its place of `$next`, and goes on to it with the arguments as they came.
macro_rules! find_next {
    ($resolve:ident, $next:ident) => {
        #[unsafe(naked)]
        unsafe extern "C" fn find_next<const NUMBER: usize>() {
            // Six registers hold arguments; with one more word the stack is aligned to 16 bytes at the call. Above them is
            // the caller's address.
            std::arch::naked_asm!(
                $crate::registers::save_integers!(),
                "sub rsp, 8
                mov edi, {number}
                mov rsi, qword ptr [rsp + 56]
                call {resolve}
                add rsp, 8",
                $crate::registers::restore_integers!(),
                "jmp qword ptr [rip + {next} + {offset}]",
                number = const NUMBER,
                offset = const NUMBER * 8,
                resolve = sym $resolve,
                next = sym $next,
            )
        }
    };
}

pub(super) use {find_next, interpose};

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
