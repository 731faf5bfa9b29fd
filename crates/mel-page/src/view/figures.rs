//! Numbers per rank and distributions: the paper's Figures 3 and 4 (section 5.2) and its table.

use serde::Serialize;

use super::over::few;
use super::table::columns;
use mel_log::profile::columns::{Columns, FUNCTIONS, TIME};
use mel_log::profile::quantities::Unit;
use mel_log::profile::summary;
use mel_log::profile::{Ended, Histogram, Profile};

/// The numbers of a profile, by rank.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// What [`Rank::values`] are, in this order.
    pub quantities: Vec<QuantityName>,
    /// The ranks, ascending; the page has none beyond [`MOST_RANKS`](super::over::MOST_RANKS).
    #[serde(serialize_with = "few")]
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
    /// How many durations are in which bin.
    #[serde(serialize_with = "columns")]
    pub bins: Vec<Tenth>,
}

/// A tenth of a decade of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tenth {
    /// Its number: 10 begins at 10 ns, 20 at 100 ns.
    pub bin: u32,
    /// How many durations are in it.
    pub count: u64,
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

impl Figures {
    /// Adds the numbers of each of very many ranks.
    pub fn add_ranks(&mut self, all: &Columns) {
        let own = |group: &str| {
            let groups = summary::all().map(|quantity| quantity.group);
            groups.into_iter().find(|known| *known == group && ![TIME, FUNCTIONS].contains(known))
        };
        let mut columns = Vec::new();
        for (column, values) in &all.columns {
            let known = summary::all().find(|known| known.group == column.group && known.name == column.name);
            if let (Some(group), Some(known)) = (own(&column.group), known) {
                let seconds = known.unit == Unit::Seconds;
                columns.push((QuantityName { group, name: known.name, seconds }, values));
            }
        }
        let host = |place: usize| {
            all.host.get(place).filter(|host| host.is_finite()).and_then(|host| all.hosts.get(*host as usize))
        };
        let rank = |(place, rank): (usize, &u32)| Rank {
            rank: *rank,
            host: host(place).cloned().unwrap_or_default(),
            ended: Ended::Finalised,
            values: columns
                .iter()
                .map(|(_, values)| Some(values[place]).filter(|value| value.is_finite()))
                .collect(),
        };
        self.ranks = all.ranks.iter().enumerate().map(rank).collect();
        self.quantities = columns.into_iter().map(|(name, _)| name).collect();
    }
}

/// The four distributions, those without values left out.
pub fn distributions(profile: &Profile) -> Vec<Distribution> {
    type Of = fn(&mel_log::profile::RankProfile) -> &Histogram;
    let of = |place: usize, group, histogram: Of| {
        let mut counts = std::collections::BTreeMap::<u32, u64>::new();
        let of_sums = profile.reduced.as_ref().map(|reduced| &reduced.times[place]);
        for (bin, count) in profile.ranks.iter().map(histogram).chain(of_sums).flat_map(Histogram::tenths) {
            let slot = counts.entry(bin).or_default();
            *slot = slot.saturating_add(count);
        }
        Distribution { group, bins: counts.into_iter().map(|(bin, count)| Tenth { bin, count }).collect() }
    };
    let all = [
        of(0, "posted queue", |rank| &rank.posted.lifetimes),
        of(1, "unexpected queue", |rank| &rank.unexpected.lifetimes),
        of(2, "posted queue searches", |rank| &rank.posted_search.times),
        of(3, "unexpected queue searches", |rank| &rank.unexpected_search.times),
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
        let expected = [Tenth { bin: 20, count: 10 }, Tenth { bin: 60, count: 2 }];
        assert_eq!(figures.distributions[0].bins, expected);
        assert_eq!(figures.ranks[1].values.len(), figures.quantities.len());
    }
}
