//! Sources: the control flows that events come from (the paper's section 3.6).

use std::sync::atomic::{AtomicU64, Ordering as Memory};

use crate::clock::{Clock, Ticks};

/// Index of a source: dense from zero, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceIndex(pub(crate) u16);

impl SourceIndex {
    /// The index as a number.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

/// Whether the events of a source are delivered in the order of their time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ordering {
    /// `MPI_T_SOURCE_ORDERED`: time stamps never decrease.
    Ordered,
    /// `MPI_T_SOURCE_UNORDERED`: an event may be delivered after a later one.
    Unordered,
}

/// A control flow that raises events, with its clock (`MPI_T_source_get_info`; MPI-5.0, section
/// 15.3.8). Any thread may ask it.
#[derive(Debug)]
pub struct Source {
    /// The unique name.
    pub name: String,
    /// What this control flow is, in a sentence.
    pub description: String,
    /// Whether its time stamps ascend.
    pub ordering: Ordering,
    /// The clock of its time stamps.
    pub clock: Clock,
    /// The clock's reading that counts as zero.
    origin: Ticks,
    /// Whether several threads raise events from this source at once.
    shared: bool,
    last: AtomicU64,
}

impl Source {
    /// A source whose time starts now: that reading of the clock is its [`origin`](Source::origin).
    /// One thread at a time raises from it, unless it is [`shared`](Source::shared).
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        ordering: Ordering,
        clock: Clock,
    ) -> Self {
        Source {
            name: name.into(),
            description: description.into(),
            ordering,
            clock,
            origin: clock.now(),
            shared: false,
            last: AtomicU64::new(0),
        }
    }

    /// The same source, for several threads that raise at once. An atomic maximum then keeps its order, at a few
    /// nanoseconds per event.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// The time now, in ticks of the clock (`MPI_T_source_get_timestamp` returns it since the origin).
    /// Thread-safe and signal-safe.
    pub fn now(&self) -> Ticks {
        self.clock.now()
    }

    /// The reading of the clock that counts as zero in `MPI_T_source_get_timestamp` and
    /// `MPI_T_event_get_timestamp`.
    pub fn origin(&self) -> Ticks {
        self.origin
    }

    /// The time stamp that an event observed at `observed` gets: that, or the time of the last
    /// event where it is later and the source is ordered.
    #[inline]
    pub(crate) fn stamp(&self, observed: Ticks) -> Ticks {
        if self.ordering == Ordering::Unordered {
            return observed;
        }
        if self.shared {
            return Ticks(self.last.fetch_max(observed.0, Memory::Relaxed).max(observed.0));
        }
        let stamp = observed.0.max(self.last.load(Memory::Relaxed));
        self.last.store(stamp, Memory::Relaxed);
        Ticks(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordered_source_never_goes_back() {
        let source = Source::new("s", "", Ordering::Ordered, Clock::Monotonic);
        assert_eq!(source.stamp(Ticks(5)), Ticks(5));
        assert_eq!(source.stamp(Ticks(3)), Ticks(5));
        assert_eq!(source.stamp(Ticks(6)), Ticks(6));
    }

    #[test]
    fn an_unordered_source_stamps_the_time_of_observation() {
        let source = Source::new("s", "", Ordering::Unordered, Clock::Monotonic);
        assert_eq!(source.stamp(Ticks(5)), Ticks(5));
        assert_eq!(source.stamp(Ticks(3)), Ticks(3));
    }
}
