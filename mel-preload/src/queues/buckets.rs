//! A histogram of ticks that is cheap to count in: the bins of an [`hdrhistogram::Histogram`] with one or two
//! significant digits, without what that keeps beside them.

use hdrhistogram::Histogram;
use mel_log::profile;

/// The largest value, some days: what is larger counts as this.
const LARGEST: u64 = 1 << 50;

/// Bins of two significant digits, which take 22 kB.
pub(super) const FINE: u64 = 128;
/// Bins of one significant digit, which take 3 kB.
pub(super) const COARSE: u64 = 16;

/// How many bins there are of each kind.
pub(super) const fn all(bins: u64) -> usize {
    index(bins, LARGEST) + 1
}

/// Counts of ticks by bin. Values below twice `BINS` have a bin each; from there on every power of two has so many bins.
#[derive(Debug)]
pub(super) struct Buckets<const BINS: u64, const ALL: usize>(Box<[u32; ALL]>);

impl<const BINS: u64, const ALL: usize> Default for Buckets<BINS, ALL> {
    fn default() -> Self {
        const { assert!(ALL == all(BINS) && (BINS == FINE || BINS == COARSE)) };
        Buckets(Box::new([0; ALL]))
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

impl<const BINS: u64, const ALL: usize> Buckets<BINS, ALL> {
    /// Counts one value. A bin that is full stays so.
    #[inline(always)]
    pub(super) fn count(&mut self, ticks: u64) {
        let bin = &mut self.0[index(BINS, ticks.min(LARGEST))];
        *bin = bin.saturating_add(1);
    }

    /// How many values there were; of a bin that is full, as many as it holds.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }

    /// The same counts as `profile.json` has them, but in ticks.
    pub(super) fn bins(&self) -> profile::Histogram {
        bins(&self.histogram())
    }

    /// The same counts in a histogram that can be asked.
    fn histogram(&self) -> Histogram<u32> {
        let mut histogram = Histogram::new_with_bounds(1, LARGEST, if BINS == FINE { 2 } else { 1 })
            .expect("the bounds are valid");
        for (index, &count) in self.0.iter().enumerate().filter(|(_, count)| **count != 0) {
            histogram.saturating_record_n(lowest(BINS, index), count);
        }
        histogram
    }
}

/// The bins of a recorded histogram that hold something.
fn bins(recorded: &Histogram<u32>) -> profile::Histogram {
    let bins = recorded.iter_recorded().map(|bin| {
        let value = bin.value_iterated_to();
        let (lower, upper) = (recorded.lowest_equivalent(value), recorded.highest_equivalent(value));
        (lower, upper, u64::from(bin.count_at_value()))
    });
    profile::Histogram(bins.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn bins_hold_what_was_recorded() {
        let mut recorded = Histogram::<u32>::new_with_bounds(1, 3_600_000_000_000, 2).unwrap();
        for value in [78, 78, 1200, 571_345_000] {
            recorded.record(value).unwrap();
        }
        let profile::Histogram(bins) = bins(&recorded);
        assert_eq!(bins[0], (78, 78, 2));
        let (lower, upper, count) = bins[2];
        assert!(lower <= 571_345_000 && 571_345_000 <= upper && count == 1);
        assert!((upper - lower) as f64 <= 0.01 * lower as f64);
    }

    fn as_recorded<const BINS: u64, const ALL: usize>(
        values: &[u64],
        digits: u8,
    ) -> Result<(), TestCaseError> {
        let mut recorded = Histogram::<u32>::new_with_bounds(1, LARGEST, digits).unwrap();
        let mut counted = Buckets::<BINS, ALL>::default();
        for &value in values {
            recorded.saturating_record(value.min(LARGEST));
            counted.count(value);
        }
        prop_assert_eq!(counted.bins(), bins(&recorded));
        Ok(())
    }

    proptest! {
        #[test]
        fn values_fall_into_the_bins_of_the_histogram(
            values in prop::collection::vec((0..64u32).prop_flat_map(|bits| (1 << bits) / 2..=u64::MAX >> (63 - bits)), 0..50)
        ) {
            as_recorded::<FINE, { all(FINE) }>(&values, 2)?;
            as_recorded::<COARSE, { all(COARSE) }>(&values, 1)?;
        }
    }
}
