//! Distributions of durations, as `profile.json` keeps them: a sparse list of bins.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bins that hold something, ascending: lower bound, upper bound (both included) in nanoseconds,
/// and how many values lie between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram(pub Vec<(u64, u64, u64)>);

impl Histogram {
    /// By tenth of a decade, how many values: bin 10 begins at 10 ns, bin 20 at 100 ns. Each is taken to lie in the middle of its bin.
    pub fn tenths(&self) -> BTreeMap<u32, u64> {
        let mut tenths = BTreeMap::new();
        for (lower, upper, count) in &self.0 {
            let middle = (lower / 2 + upper / 2).max(1) as f64;
            let slot: &mut u64 = tenths.entry((middle.log10() * 10.0).floor() as u32).or_default();
            *slot = slot.saturating_add(*count);
        }
        tenths
    }

    /// The distribution that has so many values in the tenths of decades.
    pub fn of_tenths(tenths: &BTreeMap<u32, u64>) -> Histogram {
        let bound = |bin: u32| 10f64.powf(f64::from(bin) / 10.0).ceil() as u64;
        let filled = tenths.iter().filter(|(_, count)| **count > 0);
        Histogram(
            filled
                .map(|(&bin, &count)| (bound(bin), bound(bin + 1).saturating_sub(1).max(bound(bin)), count))
                .collect(),
        )
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
    fn a_quantile_is_the_upper_bound_of_its_bin() {
        let histogram = Histogram(vec![(78, 78, 2), (1200, 1207, 1), (570_000_000, 571_999_999, 1)]);
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.quantile(0.0), Some(78));
        assert_eq!(histogram.quantile(0.5), Some(78));
        assert_eq!(histogram.quantile(0.75), Some(1207));
        assert_eq!(histogram.quantile(1.0), Some(571_999_999));
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert!(serde_json::to_string(&histogram).unwrap().starts_with("[[78,78,2],["));
    }

    #[test]
    fn tenths_of_decades_come_back() {
        let tenths: BTreeMap<u32, u64> = (10..120).map(|bin| (bin, u64::from(bin))).collect();
        assert_eq!(Histogram::of_tenths(&tenths).tenths(), tenths);
    }
}
