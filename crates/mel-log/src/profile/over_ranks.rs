//! One number of each rank, over all ranks: its extremes with their ranks, and how it is distributed. However many ranks there are, it
//! takes the same space.

use serde::{Deserialize, Serialize};

use super::quantities::Unit;

/// The most ranks that are named at each end.
pub const MOST_NAMED: usize = 8;
/// Bins of the histogram.
pub const BINS: usize = 24;
/// The shares of the ranks of which [`OverRanks::quantiles`] gives the greatest value.
pub const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// A number over all ranks that have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverRanks {
    /// What it is a number of: `time`, `MPI functions`, a queue, its searches, or operations on windows.
    pub group: String,
    /// Its name within the group.
    pub name: String,
    /// What it is counted in.
    pub unit: Unit,
    /// How many ranks have it.
    pub ranks: u32,
    /// The sum of all.
    pub sum: f64,
    /// The values that 5, 25, 50, 75 and 95 % of the ranks do not exceed; those of the ranks themselves, and of an even number of ranks
    /// the mean of the middle two for the median.
    pub quantiles: [f64; 5],
    /// The ranks with the least values, the least first.
    pub lowest: Vec<(u32, f64)>,
    /// The ranks with the greatest values, the greatest first.
    pub highest: Vec<(u32, f64)>,
    /// Bins of the same width from the least value to the greatest: lower bound, upper bound, how many ranks. The last one includes its
    /// upper bound. Empty bins are left out.
    pub histogram: Vec<(f64, f64, u32)>,
}

impl OverRanks {
    /// The numbers of some ranks; what is not finite is none.
    pub fn of(values: impl IntoIterator<Item = (u32, f64)>) -> OverRanks {
        let mut values: Vec<(u32, f64)> = values.into_iter().filter(|(_, value)| value.is_finite()).collect();
        values.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let (Some(first), Some(last)) = (values.first(), values.last()) else { return OverRanks::default() };
        let (low, high) = (first.1, last.1);
        let mut highest: Vec<(u32, f64)> = values.clone();
        // Of equal ones the first rank is named, at both ends.
        let from = highest.len().saturating_sub(MOST_NAMED);
        let least = highest[from].1;
        highest.retain(|(_, value)| *value >= least);
        highest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        highest.truncate(MOST_NAMED);
        let ranks = values.len();
        let quantile = |share: f64| {
            let place = (share * ranks as f64).ceil() as usize;
            values[place.clamp(1, ranks) - 1].1
        };
        let mut quantiles = SHARES.map(quantile);
        if ranks.is_multiple_of(2) {
            quantiles[2] = f64::midpoint(values[ranks / 2 - 1].1, values[ranks / 2].1);
        }
        OverRanks {
            ranks: ranks as u32,
            sum: values.iter().map(|(_, value)| value).sum(),
            quantiles,
            histogram: histogram(&values, low, high),
            lowest: values[..ranks.min(MOST_NAMED)].to_vec(),
            highest,
            ..OverRanks::default()
        }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(self, group: &str, name: &str, unit: Unit) -> OverRanks {
        OverRanks { group: group.into(), name: name.into(), unit, ..self }
    }

    /// The mean of the ranks that have it; 0 where none has.
    pub fn mean(&self) -> f64 {
        if self.ranks == 0 { 0.0 } else { self.sum / f64::from(self.ranks) }
    }

    /// The middle value.
    pub fn median(&self) -> f64 {
        self.quantiles[2]
    }

    /// The first rank with the least value.
    pub fn min(&self) -> Option<(u32, f64)> {
        self.lowest.first().copied()
    }

    /// The first rank with the greatest value.
    pub fn max(&self) -> Option<(u32, f64)> {
        self.highest.first().copied()
    }
}

/// Of values that ascend from `low` to `high`.
fn histogram(values: &[(u32, f64)], low: f64, high: f64) -> Vec<(f64, f64, u32)> {
    let wide = (high - low) / BINS as f64;
    if wide <= 0.0 || !wide.is_finite() {
        return vec![(low, high, values.len() as u32)];
    }
    let mut bins = [0u32; BINS];
    for (_, value) in values {
        bins[(((value - low) / wide) as usize).min(BINS - 1)] += 1;
    }
    let bound = |bin: usize| if bin == BINS { high } else { low + bin as f64 * wide };
    let filled = bins.iter().enumerate().filter(|(_, count)| **count > 0);
    filled.map(|(bin, count)| (bound(bin), bound(bin + 1), *count)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn extremes_and_the_middle_are_those_of_ranks() {
        let spread = OverRanks::of([(0, 3.0), (1, 1.0), (2, f64::NAN), (3, 3.0), (4, 2.0)]);
        assert_eq!((spread.ranks, spread.sum, spread.median()), (4, 9.0, 2.5));
        assert_eq!((spread.min(), spread.max()), (Some((1, 1.0)), Some((0, 3.0))));
        assert_eq!(spread.highest, [(0, 3.0), (3, 3.0), (4, 2.0), (1, 1.0)]);
        assert_eq!(OverRanks::of([]), OverRanks::default());
        assert_eq!(OverRanks::of([(7, 2.0)]).histogram, [(2.0, 2.0, 1)]);
    }

    #[test]
    fn it_takes_the_same_space_for_any_number_of_ranks() {
        let of = |ranks: u32| {
            let values = (0..ranks).map(|rank| (rank, f64::from(rank.wrapping_mul(2_654_435_761) % 1000)));
            serde_json::to_vec(&OverRanks::of(values)).unwrap().len()
        };
        assert!(of(100_000) < 2500, "{}", of(100_000));
    }

    proptest! {
        #[test]
        fn quantiles_and_bins_are_true(values in prop::collection::vec(-1e6f64..1e6, 1..300)) {
            let spread = OverRanks::of((0..).zip(values.iter().copied()));
            prop_assert_eq!(spread.histogram.iter().map(|bin| bin.2).sum::<u32>() as usize, values.len());
            for (share, quantile) in SHARES.into_iter().zip(spread.quantiles) {
                let below = values.iter().filter(|value| **value <= quantile).count() as f64;
                prop_assert!(below >= (share * values.len() as f64).floor());
            }
            prop_assert!(spread.quantiles.is_sorted());
            let greatest = values.iter().copied().fold(f64::MIN, f64::max);
            prop_assert_eq!(spread.max().map(|max| max.1), Some(greatest));
        }
    }
}
