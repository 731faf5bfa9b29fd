//! What code needs that lives in somebody else's process.
//!
//! - [`own_file`]: files that stay open there, and are not mistaken for the program's own.
//! - [`prefetch`]: hints that bring memory into the cache.
//!
//! It knows neither MPI nor the rest of MEL.

pub mod own_file;
pub mod prefetch;
