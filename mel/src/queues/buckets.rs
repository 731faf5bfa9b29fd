//! A histogram of ticks that is cheap to count in: the bins of an [`hdrhistogram::Histogram`] with two significant
//! digits, without what that keeps beside them.

use hdrhistogram::Histogram;

/// Values below twice this have a bin each; from there on every power of two has so many bins.
const BINS: u64 = 128;
/// The largest value, some days: what is larger counts as this.
const LARGEST: u64 = 1 << 50;
const ALL: usize = index(LARGEST) + 1;

/// Counts of ticks by bin.
#[derive(Debug)]
pub(super) struct Buckets(Box<[u32; ALL]>);

impl Default for Buckets {
    fn default() -> Self {
        Buckets(Box::new([0; ALL]))
    }
}

/// The bin of a value that is not above [`LARGEST`].
#[inline(always)]
const fn index(ticks: u64) -> usize {
    let shift = (ticks | (2 * BINS - 1)).ilog2() - BINS.ilog2();
    ((shift as u64 * BINS) + (ticks >> shift)) as usize
}

/// The smallest value of a bin.
const fn lowest(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / BINS).saturating_sub(1);
    (index - shift * BINS) << shift
}

impl Buckets {
    /// Counts one value. A bin that is full stays so.
    #[inline(always)]
    pub(super) fn count(&mut self, ticks: u64) {
        let bin = &mut self.0[index(ticks.min(LARGEST))];
        *bin = bin.saturating_add(1);
    }

    /// How many values there were; of a bin that is full, as many as it holds.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }

    /// The same counts in a histogram that can be asked.
    pub(super) fn histogram(&self) -> Histogram<u32> {
        let mut histogram = Histogram::new_with_bounds(1, LARGEST, 2).expect("the bounds are valid");
        for (index, &count) in self.0.iter().enumerate().filter(|(_, count)| **count != 0) {
            histogram.saturating_record_n(lowest(index), count);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_one_another() {
        for index in 1..ALL {
            let lowest = lowest(index);
            assert_eq!(super::index(lowest), index);
            assert_eq!(super::index(lowest - 1), index - 1);
        }
    }

    proptest! {
        #[test]
        fn values_fall_into_the_bins_of_the_histogram(
            values in prop::collection::vec((0..64u32).prop_flat_map(|bits| (1 << bits) / 2..=u64::MAX >> (63 - bits)), 0..50)
        ) {
            let mut recorded = Histogram::<u32>::new_with_bounds(1, LARGEST, 2).unwrap();
            let mut counted = Buckets::default();
            for &value in &values {
                recorded.saturating_record(value.min(LARGEST));
                counted.count(value);
            }
            let bins = profile::Histogram::from_recorded;
            prop_assert_eq!(bins(&counted.histogram()), bins(&recorded));
        }
    }
}
