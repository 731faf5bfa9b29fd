//! The message queues in the table: counts, sums, extremes and histograms, in ticks.
//!
//! Beside the whole queues there are those of each communicator, without distributions ([`BriefQueues`]).
//!
//! The queues of one backend may have several sets, one for each phase of the program: one of them is in use at a time, and gives
//! the length of its queues to the next. The sum of all is what one set would have.

use super::durations::{Brief, Counts, Durations};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::row::{Cell, Column};
use crate::profile;

/// One queue: its entries' lifetimes, its length, how long it was populated. One thread at a time counts.
#[derive(Debug, Default)]
#[repr(C)]
pub struct QueueOf<D> {
    lifetimes: D,
    /// Below zero where threads race, and a removal comes before its insertion.
    length: Column,
    longest: Column,
    populated: Column,
    populated_since: Column,
    /// Entries that came from other sets, less those that went to other sets.
    carried: Column,
}

/// A queue with the distribution of its lifetimes.
pub type Queue = QueueOf<Durations>;

impl<D: Counts> QueueOf<D> {
    /// An entry came in at `time` ticks.
    pub fn insert(&self, time: u64) {
        self.insert_several(time, 1);
    }

    /// As many `entries` came in, one after the other, the first of them at `time` ticks.
    #[inline]
    pub fn insert_several(&self, time: u64, entries: u16) {
        let length = self.length.get() as i64;
        if length == 0 {
            self.populated_since.set(time);
        }
        let length = length.wrapping_add(entries.into());
        self.length.set(length as u64);
        if length > self.longest.get() as i64 {
            self.longest.set(length as u64);
        }
    }

    /// An entry that had come in at `since` left at `time` ticks.
    pub fn remove(&self, since: u64, time: u64) {
        self.remove_one_of(since, time, 1);
    }

    /// The same of an entry that counts as `entries`: itself, and others that are not counted.
    #[inline]
    pub fn remove_one_of(&self, since: u64, time: u64, entries: u16) {
        self.lifetimes.record(time.saturating_sub(since), entries.into());
        let length = (self.length.get() as i64).wrapping_sub(1);
        self.length.set(length as u64);
        if length == 0 {
            let populated = time.saturating_sub(self.populated_since.get());
            self.populated.add(populated.wrapping_mul(entries.into()));
        }
    }

    /// The queue as it is at `time` ticks goes on in another set: how long it is.
    fn leave(&self, time: u64) -> i64 {
        let length = self.length.get() as i64;
        if length > 0 {
            self.populated.add(time.saturating_sub(self.populated_since.get()));
        }
        if length != 0 {
            self.carried.set((self.carried.get() as i64).wrapping_sub(length) as u64);
            self.length.set(0);
        }
        length
    }

    /// The queue comes from another set at `time` ticks, this long.
    fn enter(&self, length: i64, time: u64) {
        if length != 0 {
            self.populated_since.set(time);
            self.carried.set((self.carried.get() as i64).wrapping_add(length) as u64);
            self.length.set(length as u64);
            if length > self.longest.get() as i64 {
                self.longest.set(length as u64);
            }
        }
    }

    /// What was counted until `time` ticks is forgotten; what is in the queue stays there.
    fn clear(&self, time: u64) {
        self.lifetimes.clear();
        self.populated.set(0);
        self.populated_since.set(time);
        self.longest.set((self.length.get() as i64).max(0) as u64);
        self.carried.set(self.length.get());
    }

    /// Adds another set of the same queue.
    fn join(&self, other: &Queue) {
        self.lifetimes.join(&other.lifetimes);
        for (own, more) in [
            (&self.length, &other.length),
            (&self.populated, &other.populated),
            (&self.carried, &other.carried),
        ] {
            own.add(more.get());
        }
        if other.longest.get() as i64 > self.longest.get() as i64 {
            self.longest.set(other.longest.get());
        }
    }

    /// The queue goes on here, where another set that was [joined](Self::join) has it now.
    fn go_on(&self, other: &Queue) {
        self.populated_since.set(other.populated_since.get());
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::QueueStats {
        let profile::Times { count, total_s, mean_s, min_s, max_s, times } =
            self.lifetimes.stats(ticks_per_second);
        let length = self.length.get() as i64;
        profile::QueueStats {
            messages: count.saturating_add_signed(length.wrapping_sub(self.carried.get() as i64)),
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

    /// From the first bytes of a file, which are taken away; zero where there are too few.
    fn take(bytes: &mut &[u8]) -> Self {
        let lifetimes = D::take(bytes);
        let [length, longest, populated, populated_since, carried] = Cell::take(bytes);
        QueueOf { lifetimes, length, longest, populated, populated_since, carried }
    }
}

/// The searches of one queue. One thread at a time counts.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SearchesOf<D>(D);

/// Searches with the distribution of their durations.
pub type Searches = SearchesOf<Durations>;

impl<D: Counts> SearchesOf<D> {
    /// A search that began at `since` ended at `time` ticks.
    pub fn end(&self, since: u64, time: u64) {
        self.end_several(since, time, 1);
    }

    /// As many `searches`, each of which took as long as one from `since` to `time` ticks.
    #[inline]
    pub fn end_several(&self, since: u64, time: u64, searches: u16) {
        self.0.record(time.saturating_sub(since), searches.into());
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::SearchStats {
        let profile::Times { count, total_s, mean_s, min_s, max_s, times } = self.0.stats(ticks_per_second);
        profile::SearchStats { searches: count, total_s, mean_s, min_s, max_s, times }
    }
}

/// Whose queues a set is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuesKey {
    /// 0: of the application's messages; 1: of the MPI's own; 2 and 3: the same of a second backend.
    pub whose: u16,
    /// The phase of the program.
    pub phase: u16,
}

/// How many values [`QueuesKey::whose`] has.
pub const WHOSE: usize = 4;

/// Both queues and their searches: what one backend has seen of the application's messages, or of the MPI's own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct QueuesOf<D> {
    pub posted: QueueOf<D>,
    pub unexpected: QueueOf<D>,
    pub posted_search: SearchesOf<D>,
    pub unexpected_search: SearchesOf<D>,
    /// The phase, and whose they are in the upper half.
    pub phase_and_whose: AtomicU32,
    /// Of the queues of one communicator its number in the definitions.
    communicator: AtomicU32,
}

/// Queues with distributions.
pub type Queues = QueuesOf<Durations>;

/// The queues of the application's messages on one communicator: 256 bytes.
pub type BriefQueues = QueuesOf<Brief>;

/// In place of [`QueuesKey::whose`]: the communicator is the only one so far, and its queues are the whole queues.
const ONLY: u16 = u16::MAX;

impl BriefQueues {
    /// The number of the communicator in the definitions; 0 where it has none, or no row of its own.
    pub fn communicator(&self) -> u32 {
        self.communicator.load(Relaxed)
    }

    /// Whether the communicator is the only one so far: what is in its row is to be taken from the [whole queues](Queues).
    pub fn is_only(&self) -> bool {
        self.key().whose == ONLY
    }

    /// It is the only one, or no longer.
    pub fn set_only(&self, only: bool) {
        self.set_key(QueuesKey { whose: if only { ONLY } else { 0 }, ..self.key() });
    }

    pub(super) fn set_communicator(&self, communicator: u32) {
        self.communicator.store(communicator, Relaxed);
    }

    /// Takes what a set of the whole queues has, of which this communicator was the only one. `current`: the set is in use.
    pub fn take_over(&self, whole: &Queues, current: bool) {
        self.join(whole);
        if current {
            self.posted.go_on(&whole.posted);
            self.unexpected.go_on(&whole.unexpected);
        }
    }
}

impl<D: Counts> QueuesOf<D> {
    /// What it stands for.
    pub fn key(&self) -> QueuesKey {
        let both = self.phase_and_whose.load(Relaxed);
        QueuesKey { whose: (both >> 16) as u16, phase: both as u16 }
    }

    pub(super) fn set_key(&self, key: QueuesKey) {
        self.phase_and_whose.store(u32::from(key.whose) << 16 | u32::from(key.phase), Relaxed);
    }

    /// The queues go on in another set from `time` ticks on. The same set may be both. One thread at a time, which also counts.
    pub fn go_on_in(&self, other: &Self, time: u64) {
        let lengths = (self.posted.leave(time), self.unexpected.leave(time));
        other.posted.enter(lengths.0, time);
        other.unexpected.enter(lengths.1, time);
    }

    /// What was counted until `time` ticks is forgotten; what is in the queues stays there. One thread at a time, which also counts.
    pub fn clear(&self, time: u64) {
        self.posted.clear(time);
        self.unexpected.clear(time);
        self.posted_search.0.clear();
        self.unexpected_search.0.clear();
    }

    /// Adds another set of the same queues.
    pub fn join(&self, other: &Queues) {
        self.posted.join(&other.posted);
        self.unexpected.join(&other.unexpected);
        self.posted_search.0.join(&other.posted_search.0);
        self.unexpected_search.0.join(&other.unexpected_search.0);
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::Queues {
        profile::Queues {
            posted: self.posted.stats(ticks_per_second),
            unexpected: self.unexpected.stats(ticks_per_second),
            posted_search: self.posted_search.stats(ticks_per_second),
            unexpected_search: self.unexpected_search.stats(ticks_per_second),
        }
    }

    /// What a file has, of which any part may be missing.
    pub(super) fn of_bytes(mut bytes: &[u8]) -> Box<Self> {
        let bytes = &mut bytes;
        Box::new(QueuesOf {
            posted: QueueOf::take(bytes),
            unexpected: QueueOf::take(bytes),
            posted_search: SearchesOf(D::take(bytes)),
            unexpected_search: SearchesOf(D::take(bytes)),
            phase_and_whose: Cell::take(bytes),
            communicator: Cell::take(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn an_entry_may_come_in_one_set_and_leave_in_another() {
        let (first, second) = (Box::<Queues>::default(), Box::<Queues>::default());
        first.posted.insert(100);
        first.posted.insert(200);
        first.posted.remove(100, 300);
        first.go_on_in(&second, 400);
        second.posted.remove(200, 600);
        second.posted.insert(700);
        second.go_on_in(&second, 750);
        let stats = [&first, &second].map(|set| set.posted.stats(1000));
        let of = |stats: &profile::QueueStats| {
            (stats.messages, stats.max_length, stats.left, stats.lifetimes.count())
        };
        assert_eq!(stats.each_ref().map(of), [(2, 2, 0, 1), (1, 1, 1, 1)]);
        assert_eq!((stats[0].populated_s, stats[1].populated_s), (0.3, 0.25));
        first.join(&second);
        let whole = first.posted.stats(1000);
        assert_eq!((of(&whole), whole.populated_s), ((3, 2, 1, 2), 0.55));
        second.clear(800);
        second.posted.remove(700, 900);
        let after = second.posted.stats(1000);
        assert_eq!((of(&after), after.populated_s), ((0, 1, 0, 1), 0.1));
    }

    proptest! {
        #[test]
        fn the_sum_of_all_sets_is_what_one_set_has(
            steps in prop::collection::vec((0..4u8, 0..3usize, 1..50u64), 0..200),
        ) {
            let (whole, sets) = (Box::<Queues>::default(), [(); 3].map(|()| Box::<Queues>::default()));
            let (mut now, mut current, mut entries) = (0, 0, Vec::new());
            for (what, set, passed) in steps {
                now += passed;
                match what {
                    0 => {
                        sets[current].go_on_in(&sets[set], now);
                        current = set;
                    }
                    1 => {
                        sets[current].unexpected_search.end(now, now + passed);
                        whole.unexpected_search.end(now, now + passed);
                    }
                    2 if !entries.is_empty() => {
                        let since = entries.remove(set % entries.len());
                        sets[current].posted.remove(since, now);
                        whole.posted.remove(since, now);
                    }
                    _ => {
                        entries.push(now);
                        sets[current].posted.insert(now);
                        whole.posted.insert(now);
                    }
                }
            }
            // The set in use is still populated, and so is the one set.
            whole.go_on_in(&whole, now);
            sets[current].go_on_in(&sets[current], now);
            let sum = Box::<Queues>::default();
            sets.iter().for_each(|set| sum.join(set));
            prop_assert_eq!(sum.stats(1000), whole.stats(1000));
        }
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
