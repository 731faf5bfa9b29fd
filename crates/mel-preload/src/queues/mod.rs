//! The queue profile: how long messages wait in the queues, and how long MPI searches them.
//!
//! A consumer of six event types: `*_insert` and `*_remove` of both queues give lengths and lifetimes,
//! `search_*_end` gives search times. It is the one room that knows events by
//! name, because it computes what they mean (the paper, section 5.2).
//!
//! - `by_communicator`: the same for each communicator.
//! - [`profiler`]: the listener that the events core calls. It counts in the [profile table](mel_log::table::queues).

mod by_communicator;
pub mod profiler;

pub use profiler::QueueProfiler;
