//! What takes long at the end of a run is told while it goes on.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Nothing is told of what takes less.
const FIRST: Duration = Duration::from_secs(10);

/// Tells how many records have been written, after a while, and then each time that as much time again has passed.
#[derive(Debug)]
pub(super) struct Patience {
    begun: Instant,
    records: Cell<u64>,
    next: Cell<Duration>,
}

impl Patience {
    /// From now on.
    pub(super) fn new() -> Patience {
        Patience { begun: Instant::now(), records: Cell::new(0), next: Cell::new(FIRST) }
    }

    /// So many more records: a line for the user, if it is time for one.
    pub(super) fn tick(&self, records: u64) -> Option<String> {
        self.tick_at(self.begun.elapsed(), records)
    }

    fn tick_at(&self, passed: Duration, records: u64) -> Option<String> {
        let records = self.records.get() + records;
        self.records.set(records);
        if passed < self.next.get() {
            return None;
        }
        self.next.set(passed * 2);
        let millions = records as f64 / 1e6;
        Some(format!(
            "the trace is being written: {millions:.1} million records after {} s",
            passed.as_secs()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_long_is_told() {
        let patience = Patience::new();
        assert_eq!(patience.tick_at(Duration::from_secs(9), 4_000_000), None);
        let told = patience.tick_at(Duration::from_secs(11), 1_500_000).unwrap();
        assert_eq!(told, "the trace is being written: 5.5 million records after 11 s");
        assert_eq!(patience.tick_at(Duration::from_secs(20), 1), None);
        assert!(patience.tick_at(Duration::from_secs(22), 1).is_some());
    }
}
