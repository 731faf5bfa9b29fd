//! The profile of calls: time, bytes and waiting by context. A context is what a call is made in: thread, MPI function, call site,
//! communicator. It is found once per call, is a small number, and is a row of the profile table.
//!
//! - [`mod@profiler`]: the hook: everything that runs per call.
//! - `contexts`: which row a call counts in: a cache in each thread, then a table.
//! - `bytes`: what a call sends and receives.
//! - `functions`: what is special about some functions.
//! - `operations`: collective operations, and which of them are under way.
//! - `waits`: what the model knows of messages: time lost for late senders, unexpected messages, by context.

mod bytes;
mod contexts;
pub(crate) mod functions;
mod operations;
pub mod profiler;
mod waits;

pub use profiler::CallProfiler;

use std::sync::OnceLock;

use crate::consumer::{Consumer, Parts};

/// Where calls are counted: who does, the same whoever asks.
pub(crate) fn profiler(parts: &Parts) -> Option<&'static CallProfiler> {
    static ONE: OnceLock<&'static CallProfiler> = OnceLock::new();
    let make = || CallProfiler::new(parts.abi, parts.registry);
    parts.config.call_profile.then(|| *ONE.get_or_init(make))
}

/// The consumer of calls.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    profiler(parts).map(|profiler| profiler as &dyn Consumer)
}
