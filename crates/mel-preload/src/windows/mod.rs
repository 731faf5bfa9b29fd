//! The profile of one-sided communication: how much each thread moved through each window, how long it took until
//! MPI said that it was complete, and who waited for that.
//!
//! An observer of windows; it knows nothing of queues and logs.

mod profiler;

pub use profiler::WindowProfiler;

use crate::consumer::{Consumer, Parts};

/// The consumer of one-sided communication.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    parts.config.windows.then(|| Box::leak(Box::<WindowProfiler>::default()) as &dyn Consumer)
}
