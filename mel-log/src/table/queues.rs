//! The message queues in the table: counts, sums, extremes and histograms, in ticks.

use super::durations::Durations;
use super::layout::Column;
use crate::profile;

/// One queue: its entries' lifetimes, its length, how long it was populated. One thread at a time counts.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Queue {
    lifetimes: Durations,
    /// Below zero where threads race, and a removal comes before its insertion.
    length: Column,
    longest: Column,
    populated: Column,
    populated_since: Column,
}

impl Queue {
    /// An entry came in at `time` ticks.
    #[inline]
    pub fn insert(&self, time: u64) {
        let length = self.length.get() as i64;
        if length == 0 {
            self.populated_since.set(time);
        }
        let length = length.wrapping_add(1);
        self.length.set(length as u64);
        if length > self.longest.get() as i64 {
            self.longest.set(length as u64);
        }
    }

    /// An entry that had come in at `since` left at `time` ticks.
    #[inline]
    pub fn remove(&self, since: u64, time: u64) {
        self.lifetimes.record(time.saturating_sub(since));
        let length = (self.length.get() as i64).wrapping_sub(1);
        self.length.set(length as u64);
        if length == 0 {
            self.populated.add(time.saturating_sub(self.populated_since.get()));
        }
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::QueueStats {
        let profile::Times { count, total_s, mean_s, min_s, max_s, times } =
            self.lifetimes.stats(ticks_per_second);
        let length = self.length.get() as i64;
        profile::QueueStats {
            messages: count.saturating_add_signed(length),
            max_length: (self.longest.get() as i64).unsigned_abs(),
            populated_s: self.populated.get() as f64 / ticks_per_second as f64,
            total_s,
            mean_s,
            min_s,
            max_s,
            left: length.max(0).unsigned_abs(),
            lifetimes: times,
        }
    }

    fn load(&self, words: &mut dyn Iterator<Item = u64>) {
        self.lifetimes.load(words);
        for column in [&self.length, &self.longest, &self.populated, &self.populated_since] {
            column.set(words.next().unwrap_or(0));
        }
    }
}

/// The searches of one queue. One thread at a time counts.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Searches(Durations);

impl Searches {
    /// A search that began at `since` ended at `time` ticks.
    #[inline]
    pub fn end(&self, since: u64, time: u64) {
        self.0.record(time.saturating_sub(since));
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::SearchStats {
        let profile::Times { count, total_s, mean_s, min_s, max_s, times } = self.0.stats(ticks_per_second);
        profile::SearchStats { searches: count, total_s, mean_s, min_s, max_s, times }
    }
}

/// Both queues and their searches: what one backend has seen of the application's messages, or of the MPI's own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Queues {
    pub posted: Queue,
    pub unexpected: Queue,
    pub posted_search: Searches,
    pub unexpected_search: Searches,
}

impl Queues {
    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::Queues {
        profile::Queues {
            posted: self.posted.stats(ticks_per_second),
            unexpected: self.unexpected.stats(ticks_per_second),
            posted_search: self.posted_search.stats(ticks_per_second),
            unexpected_search: self.unexpected_search.stats(ticks_per_second),
        }
    }

    /// What a file has: its words, of which any may be missing.
    pub(super) fn of_words(words: &[u64]) -> Box<Queues> {
        let (queues, mut words) = (Box::<Queues>::default(), words.iter().copied());
        queues.posted.load(&mut words);
        queues.unexpected.load(&mut words);
        queues.posted_search.0.load(&mut words);
        queues.unexpected_search.0.load(&mut words);
        queues
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_lengths_and_the_populated_time() {
        let queue = Box::<Queue>::default();
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
        let queue = Box::<Queue>::default();
        queue.remove(2000, 2100);
        queue.insert(2000);
        let stats = queue.stats(1000);
        assert_eq!((stats.messages, stats.left, stats.total_s), (1, 0, 0.1));
    }

    #[test]
    fn searches() {
        let searches = Box::<Searches>::default();
        searches.end(10, 30);
        searches.end(20, 60);
        let stats = searches.stats(10);
        assert_eq!((stats.searches, stats.total_s, stats.min_s), (2, 6.0, 2.0));
        assert_eq!(Box::<Searches>::default().stats(10).min_s, 0.0);
    }
}
