//! Time in an archive: ticks of one clock, and what a tick is.

use serde::{Deserialize, Serialize};

/// A point in time, in ticks of the archive's clock, counted from that clock's own origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticks(pub u64);

impl std::fmt::Display for Ticks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ticks", self.0)
    }
}

/// The archive's clock and the span of time that the archive covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The resolution: 1 000 000 000 where ticks are nanoseconds.
    pub ticks_per_second: u64,
    /// The time at or before the first event; `None`: the time of the first event.
    pub start: Option<Ticks>,
    /// The time at or after the last event; `None`: the time of the last event.
    pub end: Option<Ticks>,
    /// The wall clock at `start`, in nanoseconds since 1970-01-01 00:00 UTC, where it is known.
    pub start_unix_nanos: Option<u64>,
}

/// How far the clock of a location is from that of the archive at one time. Readers add the offset to the times of the
/// location's events; between two offsets they interpolate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockOffset {
    /// When, by the location's clock.
    pub time: Ticks,
    /// What is to be added, in ticks.
    pub offset: i64,
    /// How uncertain that is, as a standard deviation in ticks.
    pub deviation: f64,
}

impl Clock {
    /// A clock of this resolution, over the time of the events written.
    pub const fn new(ticks_per_second: u64) -> Self {
        Self { ticks_per_second, start: None, end: None, start_unix_nanos: None }
    }
}
