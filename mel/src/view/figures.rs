//! Numbers per rank and distributions: the paper's Figures 3 and 4 (section 5.2) and its table.

use serde::Serialize;

use mel_log::profile::summary::{self, Unit};
use mel_log::profile::{Ended, Histogram, Profile};

/// The numbers of a profile, by rank.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// What [`Rank::values`] are, in this order.
    pub quantities: Vec<QuantityName>,
    /// The ranks, ascending.
    pub ranks: Vec<Rank>,
    /// Distributions over all ranks.
    pub distributions: Vec<Distribution>,
}

/// A number that each rank has.
#[derive(Debug, Serialize)]
pub struct QuantityName {
    /// What it is a number of: a queue, its searches, or operations on windows.
    pub group: &'static str,
    /// Its name within the group.
    pub name: &'static str,
    /// Whether it is in seconds; else it is a number of things.
    pub seconds: bool,
}

/// The numbers of a rank.
#[derive(Debug, Serialize)]
pub struct Rank {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// How it ended.
    pub ended: Ended,
    /// Its numbers; none where there is none, as the mean of nothing.
    pub values: Vec<Option<f64>>,
}

/// How often a duration occurred, over all ranks.
#[derive(Debug, Serialize)]
pub struct Distribution {
    /// The group of quantities that it belongs to.
    pub group: &'static str,
    /// Bins of a tenth of a decade: their number (bin 10 begins at 10 ns, bin 20 at 100 ns), and how
    /// many values are in them.
    pub bins: Vec<(u32, u64)>,
}

/// The numbers of a profile.
pub fn figures(profile: &Profile) -> Figures {
    let counted = summary::quantities(profile);
    let quantities = counted.clone().map(|quantity| QuantityName {
        group: quantity.group,
        name: quantity.name,
        seconds: quantity.unit == Unit::Seconds,
    });
    let ranks = profile.ranks.iter().map(|rank| Rank {
        rank: rank.rank,
        host: rank.host.clone(),
        ended: rank.ended,
        values: counted.clone().map(|quantity| (quantity.of)(rank).filter(|v| v.is_finite())).collect(),
    });
    Figures {
        quantities: quantities.collect(),
        ranks: ranks.collect(),
        distributions: distributions(profile),
    }
}

/// The four distributions, those without values left out.
pub fn distributions(profile: &Profile) -> Vec<Distribution> {
    let of = |group, histogram: fn(&mel_log::profile::RankProfile) -> &Histogram| {
        let mut counts = std::collections::BTreeMap::<u32, u64>::new();
        for (lower, upper, count) in profile.ranks.iter().flat_map(|rank| &histogram(rank).0) {
            // The middle of the bin, as far as one can tell.
            let middle = (lower / 2 + upper / 2).max(1) as f64;
            let slot = counts.entry((middle.log10() * 10.0).floor() as u32).or_default();
            *slot = slot.saturating_add(*count);
        }
        Distribution { group, bins: counts.into_iter().collect() }
    };
    let all = [
        of("posted queue", |rank| &rank.posted.lifetimes),
        of("unexpected queue", |rank| &rank.unexpected.lifetimes),
        of("posted queue searches", |rank| &rank.posted_search.times),
        of("unexpected queue searches", |rank| &rank.unexpected_search.times),
    ];
    all.into_iter().filter(|distribution| !distribution.bins.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::RankProfile;

    #[test]
    fn bins_of_all_ranks_are_joined_by_tenths_of_a_decade() {
        let mut rank = RankProfile::default();
        rank.posted.lifetimes = Histogram(vec![(100, 101, 2), (102, 103, 3), (1_000_000, 1_000_010, 1)]);
        let profile = Profile { ranks: vec![rank.clone(), rank], ..Profile::default() };
        let figures = figures(&profile);
        assert_eq!(figures.distributions.len(), 1);
        assert_eq!(figures.distributions[0].bins, [(20, 10), (60, 2)]);
        assert_eq!(figures.ranks[1].values.len(), figures.quantities.len());
    }
}
