//! Which ranks run on which host.

use std::collections::BTreeMap;

use mel_log::profile::Profile;

use super::Rows;

/// The hosts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Their names, in the order of their first ranks.
    pub names: Vec<String>,
    /// The host of each rank, as a place in `names`.
    pub of_rank: Vec<u32>,
}

/// The host of ranks that have left nothing.
const NOT_KNOWN: &str = "(unknown)";

impl Hosts {
    /// Those of a run of so many ranks.
    pub fn of(profile: &Profile, size: u32) -> Hosts {
        let known: BTreeMap<u32, &str> = profile.ranks.iter().map(|rank| (rank.rank, &*rank.host)).collect();
        let mut hosts = Hosts::default();
        let mut places = rustc_hash::FxHashMap::default();
        for rank in 0..size {
            let host = known.get(&rank).copied().filter(|host| !host.is_empty()).unwrap_or(NOT_KNOWN);
            let place = *places.entry(host).or_insert_with(|| {
                hosts.names.push(host.to_owned());
                hosts.names.len() as u32 - 1
            });
            hosts.of_rank.push(place);
        }
        hosts
    }

    /// Number of hosts.
    pub fn len(&self) -> u32 {
        self.names.len() as u32
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The ranks at which a host ends and another begins.
    pub fn borders(&self) -> Vec<u32> {
        let pairs = self.of_rank.windows(2).enumerate();
        pairs.filter(|(_, pair)| pair[0] != pair[1]).map(|(place, _)| place as u32 + 1).collect()
    }
}

/// The host of each rank. A rank that has left nothing is taken to be where the one before it was.
pub fn hosts_of_ranks(profile: &Profile) -> Vec<&str> {
    let mut hosts: Vec<&str> = Vec::new();
    let mut known = profile.ranks.iter().peekable();
    for rank in 0..Rows::of(profile).size() {
        let this = known.next_if(|known| known.rank == rank).map(|known| known.host.as_str());
        let first = profile.ranks.first().map_or("", |first| first.host.as_str());
        hosts.push(this.unwrap_or(hosts.last().copied().unwrap_or(first)));
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::RankProfile;

    #[test]
    fn hosts_have_the_order_of_their_first_ranks() {
        let rank = |rank, host: &str| RankProfile { rank, host: host.into(), ..RankProfile::default() };
        let ranks = vec![rank(0, "b"), rank(1, "a"), rank(3, "b")];
        let hosts = Hosts::of(&Profile { ranks, ..Profile::default() }, 4);
        assert_eq!(
            (hosts.names.join(" "), hosts.of_rank.clone()),
            ("b a (unknown)".into(), vec![0, 1, 2, 0])
        );
        assert_eq!(hosts.borders(), [1, 2, 3]);
    }

    #[test]
    fn ranks_without_a_profile_are_where_the_others_are() {
        let of = |rank, host: &str| RankProfile { rank, host: host.into(), ..RankProfile::default() };
        let profile =
            Profile { world_size: 6, ranks: vec![of(1, "a"), of(2, "b"), of(4, "c")], ..Profile::default() };
        assert_eq!(hosts_of_ranks(&profile), ["a", "a", "b", "b", "c", "c"]);
        assert!(hosts_of_ranks(&Profile::default()).is_empty());
    }
}
