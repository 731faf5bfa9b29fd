//! The C functions by which a program names its regions. `include/mel.h` finds MEL's own at run time; `include/mel.f90` does, too. Those of
//! Caliper's names stand before Caliper's, and go on to them; where the program is linked to no Caliper, they are there for weak symbols.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Runs where the program names a region: nothing in an MPI call, such as in an operation of the program's own.
fn named(name: *const c_char, what: impl FnOnce(&[u8])) {
    if !name.is_null() && super::are_noted() {
        // SAFETY: the caller of the functions below promises a text that ends with a zero byte.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        mpi_intercept::asked_without_floats(|| what(name));
    }
}

/// A region of this name begins in the calling thread, in the one that it is in. For any thread, where MPI may be called; before
/// `MPI_Init*`, too.
///
/// # Safety
/// `name` is null, or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mel_region_begin(name: *const c_char) {
    named(name, super::begin);
}

/// The region of this name ends in the calling thread; so do those in it.
///
/// # Safety
/// As for [`mel_region_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mel_region_end(name: *const c_char) {
    named(name, super::end);
}

type OfCaliper = unsafe extern "C" fn(*const c_char);

/// Caliper's function behind ours, searched once.
struct Next(AtomicPtr<c_void>);

/// Stands for "there is none": no function has this address.
const NONE: *mut c_void = std::ptr::without_provenance_mut(1);

impl Next {
    fn call(&self, symbol: &CStr, name: *const c_char) {
        let mut found = self.0.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: dlsym with a valid C string.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, symbol.as_ptr()) };
            if found.is_null() {
                found = NONE;
            }
            self.0.store(found, Ordering::Relaxed);
        }
        if found != NONE {
            // SAFETY: the function of this name has this type in every Caliper.
            let next = unsafe { std::mem::transmute::<*mut c_void, OfCaliper>(found) };
            // SAFETY: with the argument of our caller, as it would have been called without us.
            unsafe { next(name) };
        }
    }
}

static BEGIN: Next = Next(AtomicPtr::new(std::ptr::null_mut()));
static END: Next = Next(AtomicPtr::new(std::ptr::null_mut()));

/// Caliper's function: a region of this name begins.
///
/// # Safety
/// As for [`mel_region_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cali_begin_region(name: *const c_char) {
    named(name, super::begin);
    BEGIN.call(c"cali_begin_region", name);
}

/// Caliper's function: the region of this name ends.
///
/// # Safety
/// As for [`mel_region_begin`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cali_end_region(name: *const c_char) {
    END.call(c"cali_end_region", name);
    named(name, super::end);
}
