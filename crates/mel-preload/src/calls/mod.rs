//! The profile of calls: time, bytes and waiting by context. A context is what a call is made in: thread, MPI function, call site,
//! communicator. It is found once per call, is a small number, and is a row of the profile table.
//!
//! - [`profiler`]: the hook: everything that runs per call.
//! - `contexts`: which row a call counts in: a cache in each thread, then a table.
//! - `communicators`: what is known of each communicator.
//! - `bytes`: what a call sends and receives.
//! - `functions`: what is special about some functions.
//! - `waits`: what the model knows of messages: time lost for late senders, unexpected messages, by context.

mod bytes;
mod communicators;
mod contexts;
mod functions;
pub mod profiler;
mod waits;

pub use profiler::CallProfiler;
