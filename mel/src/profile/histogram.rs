//! Distributions of durations, as `profile.json` keeps them: a sparse list of bins.

use hdrhistogram::Counter;
use serde::{Deserialize, Serialize};

/// Bins that hold something, ascending: lower bound, upper bound (both included) in nanoseconds,
/// and how many values lie between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram(pub Vec<(u64, u64, u64)>);

impl Histogram {
    /// The bins of a recorded histogram of nanoseconds.
    pub fn from_recorded<T: Counter>(recorded: &hdrhistogram::Histogram<T>) -> Histogram {
        let bins = recorded.iter_recorded().map(|bin| {
            let value = bin.value_iterated_to();
            let (lower, upper) = (recorded.lowest_equivalent(value), recorded.highest_equivalent(value));
            (lower, upper, bin.count_at_value().as_u64())
        });
        Histogram(bins.collect())
    }

    /// Whether it holds no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, bin| sum.saturating_add(bin.2))
    }

    /// The upper bound, in nanoseconds, of the bin below or in which the given share (0 to 1) of
    /// all values lies.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let wanted = (self.count() as f64 * share).ceil().max(1.0);
        let mut seen: u64 = 0;
        self.0.iter().find_map(|&(_, upper, count)| {
            seen = seen.saturating_add(count);
            (seen as f64 >= wanted).then_some(upper)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_what_was_recorded() {
        let mut recorded = hdrhistogram::Histogram::<u32>::new_with_bounds(1, 3_600_000_000_000, 2).unwrap();
        for value in [78, 78, 1200, 571_345_000] {
            recorded.record(value).unwrap();
        }
        let histogram = Histogram::from_recorded(&recorded);
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.0[0], (78, 78, 2));
        let (lower, upper, count) = histogram.0[2];
        assert!(lower <= 571_345_000 && 571_345_000 <= upper && count == 1);
        assert!((upper - lower) as f64 <= 0.01 * lower as f64);
        assert_eq!(histogram.quantile(0.5), Some(78));
        assert_eq!(histogram.quantile(1.0), Some(upper));
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert!(serde_json::to_string(&histogram).unwrap().starts_with("[[78,78,2],["));
    }
}
