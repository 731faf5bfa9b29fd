//! Durations in ticks: how many, their sum, extremes and distribution. Cheap to count, and in mapped memory as good as in any other.
//!
//! The bins are those of an HDR histogram of one or two significant digits, without what that keeps beside them. [`Brief`] does without
//! a distribution.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::row::{Cell, Column};
use crate::profile;

/// The largest value, some days: what is larger counts as this.
const LARGEST: u64 = 1 << 50;

/// Bins of two significant digits, which take 22 kB.
const FINE: u64 = 128;
/// Bins of one significant digit, which take 3 kB.
const COARSE: u64 = 16;

/// How many bins there are of each kind.
const fn all(bins: u64) -> usize {
    index(bins, LARGEST) + 1
}

/// Durations in two significant digits.
pub type Durations = DurationsIn<FINE, { all(FINE) }>;
/// The same in one significant digit: for durations of which there are many.
pub type CoarseDurations = DurationsIn<COARSE, { all(COARSE) }>;

/// Durations in bins of this kind. All zeros is the state without any.
///
/// Values below twice `BINS` have a bin each; from there on every power of two has so many bins. One thread at a time counts.
#[derive(Debug)]
#[repr(C)]
pub struct DurationsIn<const BINS: u64, const ALL: usize> {
    total: Column,
    /// All bits of the shortest inverted, so that none is the longest.
    shortest_inverted: Column,
    longest: Column,
    bins: [AtomicU32; ALL],
}

impl<const BINS: u64, const ALL: usize> Default for DurationsIn<BINS, ALL> {
    fn default() -> Self {
        const { assert!(ALL == all(BINS) && (BINS == FINE || BINS == COARSE)) };
        DurationsIn {
            total: Column::default(),
            shortest_inverted: Column::default(),
            longest: Column::default(),
            bins: [const { AtomicU32::new(0) }; ALL],
        }
    }
}

/// The bin of a value that is not above [`LARGEST`].
#[inline(always)]
const fn index(bins: u64, ticks: u64) -> usize {
    let shift = (ticks | (2 * bins - 1)).ilog2() - bins.ilog2();
    ((shift as u64 * bins) + (ticks >> shift)) as usize
}

/// The smallest value of a bin.
const fn lowest(bins: u64, index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / bins).saturating_sub(1);
    (index - shift * bins) << shift
}

/// What counts durations. One thread at a time counts.
pub trait Counts: Default {
    /// Adds a duration in ticks, `times` times.
    fn record(&self, ticks: u64, times: u32);
    /// Forgets all.
    fn clear(&self);
    /// The numbers as `profile.json` has them.
    fn stats(&self, ticks_per_second: u64) -> profile::Times;
    /// Those that are in the first bytes of a file, which are taken away; any may be missing.
    fn take(bytes: &mut &[u8]) -> Self;
    /// Adds those that were recorded with their distribution.
    fn join(&self, other: &Durations);
}

impl<const BINS: u64, const ALL: usize> DurationsIn<BINS, ALL> {
    /// Adds a duration in ticks. A bin that is full stays so.
    #[inline(always)]
    pub fn record(&self, ticks: u64) {
        self.record_times(ticks, 1);
    }

    /// Adds a duration in ticks, `times` times. A bin that is full stays so.
    #[inline(always)]
    fn record_times(&self, ticks: u64, times: u32) {
        self.total.add(ticks.wrapping_mul(times.into()));
        self.shortest_inverted.raise(!ticks);
        self.longest.raise(ticks);
        let bin = &self.bins[index(BINS, ticks.min(LARGEST))];
        bin.store(bin.load(Relaxed).saturating_add(times), Relaxed);
    }

    /// Forgets all.
    pub fn clear(&self) {
        [&self.total, &self.shortest_inverted, &self.longest].into_iter().for_each(|column| column.set(0));
        self.bins.iter().for_each(|bin| bin.store(0, Relaxed));
    }

    /// Adds those that were recorded elsewhere.
    pub fn join(&self, other: &Self) {
        self.total.add(other.total.get());
        self.shortest_inverted.raise(other.shortest_inverted.get());
        self.longest.raise(other.longest.get());
        for (bin, more) in self.bins.iter().zip(&other.bins) {
            bin.store(bin.load(Relaxed).saturating_add(more.load(Relaxed)), Relaxed);
        }
    }

    /// How many there were; of a bin that is full, as many as it holds.
    pub fn count(&self) -> u64 {
        self.filled().map(|(_, count)| count).sum()
    }

    /// The numbers as `profile.json` has them.
    pub fn stats(&self, ticks_per_second: u64) -> profile::Times {
        let time = |ticks: u64| ticks as f64 / ticks_per_second as f64;
        let (times, total_s) = (self.distribution(ticks_per_second), time(self.total.get()));
        let count = times.count();
        profile::Times {
            count,
            total_s,
            mean_s: if count == 0 { 0.0 } else { total_s / count as f64 },
            min_s: if count == 0 { 0.0 } else { time(!self.shortest_inverted.get()) },
            max_s: time(self.longest.get()),
            times,
        }
    }

    fn distribution(&self, ticks_per_second: u64) -> profile::Histogram {
        let nanos = |ticks: u64| {
            let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
            u64::try_from(nanos).unwrap_or(u64::MAX)
        };
        let bins = self.filled().map(|(bin, count)| {
            let (low, high) = (lowest(BINS, bin), lowest(BINS, bin + 1) - 1);
            (nanos(low), nanos(high), count)
        });
        profile::Histogram(bins.collect())
    }

    /// The bins that hold something: their places, and how many.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        // Of thousands of bins few are filled: most blocks are empty.
        let (blocks, rest) = self.bins.as_chunks::<BLOCK>();
        let filled = (0..).step_by(BLOCK).zip(blocks).filter(|(_, block)| !is_empty(block));
        let bins = filled.flat_map(|(first, block)| (first..).zip(block));
        let bins = bins.chain((blocks.len() * BLOCK..).zip(rest));
        bins.map(|(place, bin)| (place, u64::from(bin.load(Relaxed)))).filter(|(_, count)| *count != 0)
    }
}

/// Bins that are looked at together.
const BLOCK: usize = 16;

fn is_empty(block: &[AtomicU32; BLOCK]) -> bool {
    block.iter().fold(0, |any, bin| any | bin.load(Relaxed)) == 0
}

impl<const BINS: u64, const ALL: usize> Cell for DurationsIn<BINS, ALL> {
    type Plain = Self;
    const NAME: &'static str = "durations";

    fn take(bytes: &mut &[u8]) -> Self {
        let (mut own, rest) = bytes.split_at(bytes.len().min(size_of::<Self>()));
        *bytes = rest;
        let [total, shortest_inverted, longest] = Cell::take(&mut own);
        let durations = DurationsIn { total, shortest_inverted, longest, ..Self::default() };
        let fill = |bins: &[AtomicU32], bytes: &[u8]| {
            for (bin, bytes) in bins.iter().zip(bytes.as_chunks().0) {
                bin.store(u32::from_ne_bytes(*bytes), Relaxed);
            }
        };
        let (blocks, rest) = own.as_chunks::<{ BLOCK * size_of::<u32>() }>();
        for (bins, block) in durations.bins.chunks(BLOCK).zip(blocks) {
            if block.iter().fold(0, |any, byte| any | byte) != 0 {
                fill(bins, block);
            }
        }
        fill(&durations.bins[ALL.min(blocks.len() * BLOCK)..], rest);
        durations
    }

    fn plain(&self) -> Self {
        let plain = Self::default();
        plain.join(self);
        plain
    }

    fn clear(&self) {
        DurationsIn::clear(self);
    }

    fn copy(&self, from: &Self) {
        DurationsIn::clear(self);
        self.join(from);
    }

    fn more(&self, more: &Self) {
        self.join(more);
    }
}

impl Counts for Durations {
    #[inline(always)]
    fn record(&self, ticks: u64, times: u32) {
        self.record_times(ticks, times);
    }

    fn clear(&self) {
        DurationsIn::clear(self);
    }

    fn stats(&self, ticks_per_second: u64) -> profile::Times {
        DurationsIn::stats(self, ticks_per_second)
    }

    fn take(bytes: &mut &[u8]) -> Self {
        Cell::take(bytes)
    }

    fn join(&self, other: &Durations) {
        DurationsIn::join(self, other);
    }
}

/// Durations without their distribution: 32 bytes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Brief {
    count: Column,
    total: Column,
    /// As of [`DurationsIn`].
    shortest_inverted: Column,
    longest: Column,
}

impl Brief {
    fn columns(&self) -> [&Column; 4] {
        [&self.count, &self.total, &self.shortest_inverted, &self.longest]
    }
}

impl Counts for Brief {
    #[inline(always)]
    fn record(&self, ticks: u64, times: u32) {
        self.count.add(times.into());
        self.total.add(ticks.wrapping_mul(times.into()));
        self.shortest_inverted.raise(!ticks);
        self.longest.raise(ticks);
    }

    fn clear(&self) {
        self.columns().into_iter().for_each(|column| column.set(0));
    }

    fn stats(&self, ticks_per_second: u64) -> profile::Times {
        let time = |ticks: u64| ticks as f64 / ticks_per_second as f64;
        let (count, total_s) = (self.count.get(), time(self.total.get()));
        profile::Times {
            count,
            total_s,
            mean_s: if count == 0 { 0.0 } else { total_s / count as f64 },
            min_s: if count == 0 { 0.0 } else { time(!self.shortest_inverted.get()) },
            max_s: time(self.longest.get()),
            times: profile::Histogram::default(),
        }
    }

    fn take(bytes: &mut &[u8]) -> Self {
        let [count, total, shortest_inverted, longest] = Cell::take(bytes);
        Brief { count, total, shortest_inverted, longest }
    }

    fn join(&self, other: &Durations) {
        self.count.add(other.count());
        self.total.add(other.total.get());
        self.shortest_inverted.raise(other.shortest_inverted.get());
        self.longest.raise(other.longest.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_one_another() {
        for bins in [COARSE, FINE] {
            for place in 1..all(bins) {
                let lowest = lowest(bins, place);
                assert_eq!(index(bins, lowest), place);
                assert_eq!(index(bins, lowest - 1), place - 1);
            }
        }
    }

    #[test]
    fn numbers_are_those_of_what_was_recorded() {
        let durations = Box::<Durations>::default();
        assert_eq!(durations.stats(1000), profile::Times::default());
        for ticks in [200, 0, 400] {
            durations.record(ticks);
        }
        let stats = durations.stats(1000);
        assert_eq!((stats.count, stats.min_s, stats.max_s), (3, 0.0, 0.4));
        assert!((stats.total_s - 0.6).abs() < 1e-9 && (stats.mean_s - 0.2).abs() < 1e-9);
        assert_eq!(stats.times.count(), 3);
    }

    #[test]
    fn without_a_distribution_the_other_numbers_are_the_same() {
        let (whole, joined, brief) = (Box::<Durations>::default(), Brief::default(), Brief::default());
        for ticks in [200, 0, 400] {
            whole.record(ticks);
            brief.record(ticks, 1);
        }
        Counts::join(&joined, &whole);
        let expected = profile::Times { times: profile::Histogram::default(), ..whole.stats(1000) };
        assert_eq!([joined.stats(1000), brief.stats(1000)], [expected.clone(), expected]);
        brief.clear();
        assert_eq!(brief.stats(1000), profile::Times::default());
    }

    /// The bins of a recorded histogram that hold something.
    fn bins(recorded: &Histogram<u32>) -> Vec<(u64, u64, u64)> {
        let bins = recorded.iter_recorded().map(|bin| {
            let value = bin.value_iterated_to();
            let (lower, upper) = (recorded.lowest_equivalent(value), recorded.highest_equivalent(value));
            (lower, upper, u64::from(bin.count_at_value()))
        });
        bins.collect()
    }

    fn as_recorded<const BINS: u64, const ALL: usize>(
        values: &[u64],
        digits: u8,
    ) -> Result<(), TestCaseError> {
        let mut recorded = Histogram::<u32>::new_with_bounds(1, LARGEST, digits).unwrap();
        let counted = Box::<DurationsIn<BINS, ALL>>::default();
        for &value in values {
            recorded.saturating_record(value.min(LARGEST));
            counted.record(value);
        }
        prop_assert_eq!(counted.distribution(1_000_000_000).0, bins(&recorded));
        Ok(())
    }

    proptest! {
        #[test]
        fn values_fall_into_the_bins_of_an_hdr_histogram(
            values in prop::collection::vec((0..64u32).prop_flat_map(|bits| (1 << bits) / 2..=u64::MAX >> (63 - bits)), 0..50)
        ) {
            as_recorded::<FINE, { all(FINE) }>(&values, 2)?;
            as_recorded::<COARSE, { all(COARSE) }>(&values, 1)?;
        }
    }
}
