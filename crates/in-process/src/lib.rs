//! What code needs that lives in somebody else's process.
//!
//! - [`own_file`]: files that stay open there, and are not mistaken for the program's own.
//! - [`prefetch`]: hints that bring memory into the cache.
//!
//! It knows neither MPI nor the rest of MEL.

pub mod own_file;

pub mod prefetch {
    //! Prefetching: hints that bring memory into the cache and have no other effect.
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
        // SAFETY: a prefetch changes nothing that a program can see, at whatever address. Every processor with 64 bits knows
        // the instruction, some as one that does nothing. The compiler's own hint for writing becomes one for reading, unless
        // it builds for newer processors only; hence assembly.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags));
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = place;
    }
}
