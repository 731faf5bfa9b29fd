//! The queue profile: how long messages wait in the queues, and how long MPI searches them.
//!
//! A consumer of eight event types: `*_insert` and `*_remove` of both queues give lifetimes,
//! `search_*_begin` and `search_*_end` give search times. It is the one room that knows events by
//! name, because it computes what they mean (the paper, section 5.2).
//!
//! - [`pairs`]: which time belongs to which entry.
//! - [`accumulate`]: counts, sums, extremes, histograms.
//! - [`profiler`]: the listener that the events core calls.

pub mod accumulate;
pub mod pairs;
pub mod profiler;

pub use profiler::QueueProfiler;
