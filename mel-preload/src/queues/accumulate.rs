//! Counts, sums, extremes and histograms, in ticks; converted to seconds when they are reported.

use super::buckets::{Buckets, COARSE, FINE, all};
use mel_log::profile;

/// Durations: how many, their sum, extremes and distribution, in two significant digits.
pub type Durations = DurationsIn<FINE, { all(FINE) }>;
/// The same in one significant digit: for durations of which there are many.
pub type CoarseDurations = DurationsIn<COARSE, { all(COARSE) }>;

/// Durations in bins of this kind.
#[derive(Debug)]
pub struct DurationsIn<const BINS: u64, const ALL: usize> {
    total: u64,
    min: u64,
    max: u64,
    buckets: Buckets<BINS, ALL>,
}

impl<const BINS: u64, const ALL: usize> Default for DurationsIn<BINS, ALL> {
    fn default() -> Self {
        DurationsIn { total: 0, min: u64::MAX, max: 0, buckets: Buckets::default() }
    }
}

impl<const BINS: u64, const ALL: usize> DurationsIn<BINS, ALL> {
    /// Adds a duration in ticks.
    #[inline(always)]
    pub fn record(&mut self, ticks: u64) {
        self.total += ticks;
        // Not stored where they stay what they are, as they do but for a few.
        if ticks < self.min {
            self.min = ticks;
        }
        if ticks > self.max {
            self.max = ticks;
        }
        self.buckets.count(ticks);
    }

    fn count(&self) -> u64 {
        self.buckets.total()
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::Times {
        let time = |ticks| seconds(ticks, ticks_per_second);
        let (count, &DurationsIn { total, min, max, .. }) = (self.count(), self);
        profile::Times {
            count,
            total_s: time(total),
            mean_s: if count == 0 { 0.0 } else { time(total) / count as f64 },
            min_s: if count == 0 { 0.0 } else { time(min) },
            max_s: time(max),
            times: self.distribution(ticks_per_second),
        }
    }

    fn distribution(&self, ticks_per_second: u64) -> profile::Histogram {
        let nanos = |ticks: u64| (u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second)) as u64;
        let profile::Histogram(bins) = self.buckets.bins();
        profile::Histogram(
            bins.into_iter().map(|(low, high, count)| (nanos(low), nanos(high), count)).collect(),
        )
    }
}

/// Seconds of a number of ticks.
fn seconds(ticks: u64, ticks_per_second: u64) -> f64 {
    ticks as f64 / ticks_per_second as f64
}

/// One queue: its entries' lifetimes, its length, how long it was populated.
#[derive(Debug, Default)]
pub struct Queue {
    lifetimes: Durations,
    /// Below zero where threads race, and a removal comes before its insertion.
    length: i64,
    max_length: i64,
    populated: u64,
    populated_since: u64,
}

impl Queue {
    /// An entry came in at `time` ticks.
    #[inline]
    pub fn insert(&mut self, time: u64) {
        if self.length == 0 {
            self.populated_since = time;
        }
        self.length += 1;
        if self.length > self.max_length {
            self.max_length = self.length;
        }
    }

    /// An entry that had come in at `since` left at `time` ticks.
    #[inline]
    pub fn remove(&mut self, since: u64, time: u64) {
        self.lifetimes.record(time.saturating_sub(since));
        self.length -= 1;
        if self.length == 0 {
            self.populated += time.saturating_sub(self.populated_since);
        }
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::QueueStats {
        let time = |ticks| seconds(ticks, ticks_per_second);
        let Durations { total, min, max, .. } = self.lifetimes;
        let count = self.lifetimes.count();
        profile::QueueStats {
            messages: count.saturating_add_signed(self.length),
            max_length: self.max_length.unsigned_abs(),
            populated_s: time(self.populated),
            total_s: time(total),
            mean_s: if count == 0 { 0.0 } else { time(total) / count as f64 },
            min_s: if count == 0 { 0.0 } else { time(min) },
            max_s: time(max),
            left: self.length.max(0).unsigned_abs(),
            lifetimes: self.lifetimes.distribution(ticks_per_second),
        }
    }
}

/// The searches of one queue.
#[derive(Debug, Default)]
pub struct Searches(Durations);

impl Searches {
    /// A search that began at `since` ended at `time` ticks.
    #[inline]
    pub fn end(&mut self, since: u64, time: u64) {
        self.0.record(time.saturating_sub(since));
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::SearchStats {
        let time = |ticks| seconds(ticks, ticks_per_second);
        let Durations { total, min, max, .. } = self.0;
        let count = self.0.count();
        profile::SearchStats {
            searches: count,
            total_s: time(total),
            mean_s: if count == 0 { 0.0 } else { time(total) / count as f64 },
            min_s: if count == 0 { 0.0 } else { time(min) },
            max_s: time(max),
            times: self.0.distribution(ticks_per_second),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_lengths_and_the_populated_time() {
        let mut queue = Queue::default();
        queue.insert(100);
        queue.insert(200);
        queue.remove(100, 300);
        queue.remove(200, 600);
        queue.insert(1000);
        queue.remove(1000, 1100);
        queue.insert(2000);
        let stats = queue.stats(1000);
        assert_eq!((stats.messages, stats.max_length, stats.left), (4, 2, 1));
        assert_eq!((stats.total_s, stats.min_s, stats.max_s), (0.7, 0.1, 0.4));
        assert_eq!(stats.populated_s, 0.6);
        assert_eq!(stats.lifetimes.count(), 3);
    }

    #[test]
    fn a_removal_that_comes_before_its_insertion_counts() {
        let mut queue = Queue::default();
        queue.remove(2000, 2100);
        queue.insert(2000);
        let stats = queue.stats(1000);
        assert_eq!((stats.messages, stats.left, stats.total_s), (1, 0, 0.1));
    }

    #[test]
    fn searches() {
        let mut searches = Searches::default();
        searches.end(10, 30);
        searches.end(20, 60);
        let stats = searches.stats(10);
        assert_eq!((stats.searches, stats.total_s, stats.min_s), (2, 6.0, 2.0));
        assert_eq!(Searches::default().stats(10).min_s, 0.0);
    }
}
