//! `dlsym`, for programs that open the MPI library themselves and find its functions there, as Julia and Python's
//! ctypes do: such calls would go past the wrappers.
//!
//! Also for programs that ask whether a function exists: the wrapper of a function that the MPI lacks is hidden.
//!
//! Symbols of other names, and `RTLD_NEXT`, go on to the real `dlsym` with registers and stack as they came, so that it
//! sees the caller itself. A wrapper is returned in place of a function only where it continues with that very function.
//!
//! What this must not know: MPI's functions; any symbol of this object counts whose name begins with `MPI_`.

use std::{
    ffi::{CStr, c_char, c_void},
    mem, ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use mpi_abi::next;

use crate::FunctionId;

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The real `dlsym`, once [`real`] has searched for it; it may be missing.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The real `dlsym`; null where there is none. By its version, because by name it would be ours.
fn real() -> *mut c_void {
    let known = REAL.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let versions = [c"GLIBC_2.34", c"GLIBC_2.2.5"];
    let found = versions.iter().map(|version| {
        // SAFETY: valid C strings.
        unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) }
    });
    let found = found.into_iter().find(|found| !found.is_null()).unwrap_or(ptr::null_mut());
    REAL.store(found, Ordering::Relaxed);
    found
}

/// What `dlsym` is to return: an address or null, or what the real one returns.
#[repr(C)]
struct Answer {
    address: *mut c_void,
    /// Not 0 where `address` is the answer; 0 where the real one decides.
    decided: usize,
}

impl Answer {
    const REAL: Self = Self { address: ptr::null_mut(), decided: 0 };
}

/// Decides what `dlsym` returns: a wrapper where the program asks the MPI library for its function, and null where it asks
/// the global scope for a function that only the wrappers have, because the MPI lacks it. `caller` is an address in the
/// calling code.
///
/// # Safety
/// As for `dlsym`: a valid handle and a C string, or what the real one refuses itself.
unsafe extern "C" fn answer(handle: *mut c_void, name: *const c_char, caller: usize) -> Answer {
    let real = real();
    if real.is_null() || name.is_null() || handle == libc::RTLD_NEXT {
        return Answer::REAL;
    }
    // SAFETY: a C string, as the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    let here = answer as *const () as usize;
    // Our own search for the next functions comes this way too.
    if !name.to_bytes().starts_with(b"MPI_") || next::base_of(caller) == next::base_of(here) {
        return Answer::REAL;
    }
    // SAFETY: `real` is the C library's function of this type.
    let dlsym = unsafe { mem::transmute::<*mut c_void, Dlsym>(real) };
    // SAFETY: the arguments of our caller, for whom the real function would be called with them.
    let found = unsafe { dlsym(handle, name.as_ptr()) };
    let ours = next::in_same_object(here, name);
    let answer = if found.is_null() || ours.is_null() {
        Answer::REAL
    } else if found == ours {
        let is_wrapper = FunctionId::all().any(|function| function.c_name() == name);
        let is_lacking = is_wrapper && next::next(name).is_null();
        Answer { address: ptr::null_mut(), decided: usize::from(is_lacking) }
    } else if next::next_for(name, found) == found {
        Answer { address: ours, decided: 1 }
    } else {
        Answer::REAL
    };
    // SAFETY: takes no arguments; clears the errors of the searches above, which are not the caller's.
    unsafe { libc::dlerror() };
    if answer.decided != 0 && answer.address.is_null() {
        // SAFETY: valid arguments; fails, and leaves the error that the caller may ask for.
        unsafe { dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    }
    answer
}

// Two registers hold the arguments, and the stack begins with the caller's address, at an odd multiple of eight.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "mov rdx, qword ptr [rsp + 24]",
        "call {answer}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rdx, rdx",
        "jne 2f",
        "mov rax, qword ptr [rip + {real}]",
        "test rax, rax",
        "je 2f",
        "jmp rax",
        "2:",
        "ret",
        answer = sym answer,
        real = sym REAL,
    )
}
