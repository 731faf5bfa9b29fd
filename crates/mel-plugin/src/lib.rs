//! Plugins of MEL: shared objects that are told what MEL sees in a process while it runs, and that advise, or set control variables.
//!
//! - [`raw`]: the structures of `include/mel_plugin.h`, which says what they mean, and on which threads. MEL itself uses these, too.
//! - [`safe`]: a trait and a macro for plugins in Rust. `examples/plugins/free_buffers` is one.
//!
//! Knows neither MPI nor MEL, and depends on nothing.

pub mod raw;
pub mod safe;

pub use safe::{Calls, Control, End, Function, Mel, Plugin, Sample, Variable};
