//! Floating-point arithmetic of the tool in a program that has made exceptions signals (`-ffpe-trap`, `feenableexcept`).
//!
//! A compiler may divide before it knows whether it needs the quotient, so code that is right for everybody else would end such a
//! program.

use std::ffi::c_int;

/// C's `fenv_t`, which has at most 32 bytes on all machines.
#[repr(C, align(16))]
struct Environment([u64; 8]);

#[link(name = "m")]
unsafe extern "C" {
    fn feholdexcept(environment: *mut Environment) -> c_int;
    fn fesetenv(environment: *const Environment) -> c_int;
}

/// Restores what it holds.
struct Held(Environment);

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: `feholdexcept` has filled it.
        unsafe { fesetenv(&self.0) };
    }
}

/// Runs `f` without traps of floating-point exceptions, and gives the thread its traps and flags back, also while a panic unwinds.
/// Threads that `f` starts have no traps either. Takes some tens of nanoseconds: for the beginning and the end, not for each call.
pub fn without_traps<R>(f: impl FnOnce() -> R) -> R {
    let mut held = Held(Environment([0; 8]));
    // SAFETY: the place is as large as any `fenv_t`, and aligned.
    unsafe { feholdexcept(&mut held.0) };
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn feraiseexcept(exceptions: c_int) -> c_int;
        fn fetestexcept(exceptions: c_int) -> c_int;
        fn feclearexcept(exceptions: c_int) -> c_int;
    }

    /// `FE_INVALID` on x86 and on 64-bit ARM.
    const INVALID: c_int = 1;

    #[test]
    fn flags_are_those_of_before() {
        // SAFETY: these functions take numbers, and change this thread's flags alone.
        unsafe {
            feclearexcept(INVALID);
            without_traps(|| feraiseexcept(INVALID));
            assert_eq!(fetestexcept(INVALID), 0);
            feraiseexcept(INVALID);
            without_traps(|| assert_eq!(fetestexcept(INVALID), 0));
            assert_eq!(fetestexcept(INVALID), INVALID);
        }
    }
}
