//! Memory that will be used soon comes nearer: hints that change nothing which a program can see.
//!
//! Any address is allowed, valid or not. Signal-safe. Does nothing on processors other than x86-64.

/// Brings the line at `place` into this processor's cache, to be read.
#[inline(always)]
pub fn for_reading<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch changes nothing that a program can see, at whatever address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

/// Brings the line at `place` into this processor's cache alone, to be written.
#[inline(always)]
pub fn for_writing<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: as for reading. Every processor with 64 bits knows the instruction, some as one that does nothing; what
    // the compiler makes of its own hint for writing is one for reading, unless it is built for newer ones only.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
