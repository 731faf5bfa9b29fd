//! From the sums over all ranks to who is the cause: what rank 0 finds, and asks all for the details of.
//!
//! A wait that is passed on makes the rank in the middle both a victim and a cause. So it is not the rank that others have waited for
//! longest that is the source, but the ones that are least in MPI, and by far, while others wait for them: they compute while the others
//! wait, whoever these wait for directly. Where nobody is, those that were waited for directly are named, where they have a good part of
//! what was lost at a place.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::profile::columns::{self, Column};
use mel_log::profile::summary;
use serde::{Deserialize, Serialize};

use super::part::{Blame, Group, GroupKey, Nanos, Part};
use crate::findings::Rule;

/// The most ranks of which details are collected.
const MOST_CAUSES: usize = 32;
/// So many ranks say what is usual.
const USUAL: u32 = 16;
/// For those ranks others have waited less than this part of what they have waited for one.
const LONG: Nanos = 10;
/// The most ranks that are the sources of waits that are passed on.
const MOST_SOURCES: usize = 8;
/// The most MPI functions of which each rank has its time.
const MOST_FUNCTIONS: usize = 12;

/// What rank 0 wants to know more of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Whether calls were counted.
    pub has_calls: bool,
    /// Ranks for which others have waited.
    pub causes: BTreeSet<u32>,
    /// Some for which others have not waited long, spread over all: they say what is usual.
    pub usual: BTreeSet<u32>,
    /// The functions that took the most time.
    pub functions: Vec<String>,
    /// The columns of the table of ranks.
    pub columns: Vec<Column>,
    /// Collective operations, with the time of who spent least in them.
    pub closed: BTreeMap<GroupKey, Group>,
}

/// What rank 0 has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The sums, with what is known of all collective operations.
    pub part: Part,
    /// The ranks that are the sources of waits, with their shares.
    pub sources: Vec<(u32, f64)>,
    /// The share of the time blocked in sends that is explained by receives that were posted late.
    pub explained: f64,
}

impl Judgement {
    /// What the sums of all ranks say.
    pub fn of(mut part: Part) -> Judgement {
        close_others(&mut part);
        let sums = part.blame.values().fold((0, 0), |(blocked, explained), blame| {
            (blocked + blame.blocked, explained + blame.blocked.min(blame.posted_late))
        });
        let explained = if sums.0 == 0 { 0.0 } else { sums.1 as f64 / sums.0 as f64 };
        for ((rule, _), lost) in &mut part.lost {
            if *rule == Rule::LateReceiver {
                lost.nanos = (lost.nanos as f64 * explained) as Nanos;
            }
        }
        Judgement { sources: sources(&part.blame), part, explained }
    }

    /// What others have lost for a rank, in nanoseconds.
    pub fn caused(&self, rank: u32) -> Nanos {
        self.part.blame.get(&rank).map_or(0, |blame| blame.all_caused())
    }

    /// What to ask all ranks for, where queues and windows were counted, and where processors count.
    pub fn selection(&self, queues: bool, windows: bool, counters: bool) -> Selection {
        let mut causes: Vec<(Nanos, u32)> = self
            .part
            .blame
            .iter()
            .map(|(rank, blame)| (blame.all_caused(), *rank))
            .filter(|cause| cause.0 > 0)
            .collect();
        causes.sort_unstable_by_key(|(nanos, rank)| (std::cmp::Reverse(*nanos), *rank));
        let longest = causes.first().map_or(0, |cause| cause.0);
        let long = causes.iter().filter(|cause| cause.0 * LONG >= longest).map(|cause| cause.1);
        let sources = || self.sources.iter().map(|source| source.0);
        let usual = spread(self.part.ranks, &sources().chain(long).collect());
        let causes = causes.into_iter().map(|(_, rank)| rank).take(MOST_CAUSES);
        let mut functions: BTreeMap<&str, Nanos> = BTreeMap::new();
        for (place, calls) in &self.part.calls {
            *functions.entry(&place.function).or_default() += calls.nanos;
        }
        let mut functions: Vec<(&str, Nanos)> = functions.into_iter().collect();
        functions.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let functions: Vec<String> =
            functions.into_iter().take(MOST_FUNCTIONS).map(|(name, _)| name.to_owned()).collect();
        Selection {
            columns: columns::columns(
                self.part.has_calls,
                &functions,
                summary::quantities_of(queues, windows, counters),
            ),
            has_calls: self.part.has_calls,
            causes: sources().chain(causes).collect(),
            usual,
            functions,
            closed: self.part.closed.clone(),
        }
    }
}

/// Some ranks of a run with this many, spread evenly; none of those in `without`.
fn spread(ranks: u32, without: &BTreeSet<u32>) -> BTreeSet<u32> {
    let middle = |place: u32| (u64::from(2 * place + 1) * u64::from(ranks) / u64::from(2 * USUAL)) as u32;
    // The next one that is another.
    let free = |first: u32| (first..ranks).chain(0..first).find(|rank| !without.contains(rank));
    (0..USUAL).filter_map(|place| free(middle(place))).collect()
}

/// Collective operations that members call from different places, such as a root from one and the others from another: all places of one
/// function on a communicator together, where each member is at one of them.
fn close_others(part: &mut Part) {
    let open = std::mem::take(&mut part.open);
    let mut together: BTreeMap<(u64, String), Vec<(GroupKey, Group)>> = BTreeMap::new();
    for (key, group) in open {
        together.entry((key.0, key.1.function.clone())).or_default().push((key, group));
    }
    for groups in together.into_values() {
        let seen: u64 = groups.iter().map(|(_, group)| group.seen).sum();
        if groups.iter().any(|(_, group)| group.size != seen) {
            continue;
        }
        let mut all = Group::default();
        groups.iter().for_each(|(_, group)| all.join(group.clone()));
        for (key, group) in groups {
            // Each place with the least of all.
            part.close(key, Group { least: all.least.clone(), ..group });
        }
    }
}

/// The ranks that are least in MPI, by far, and that others wait for: with the share that each has of what these wait for them. Where
/// there are no waits for messages, and in collective operations nobody is last alone, with equal shares.
fn sources(blame: &BTreeMap<u32, Blame>) -> Vec<(u32, f64)> {
    let directly = |blame: &Blame| blame.caused + blame.came_last;
    let nobody = blame.values().all(|blame| directly(blame) == 0);
    let mut ranks: Vec<(Nanos, u32, Nanos)> = blame
        .iter()
        .map(|(rank, blame)| (blame.in_mpi, *rank, if nobody { 1 } else { directly(blame) }))
        .collect();
    ranks.sort_unstable();
    let all: Nanos = ranks.iter().map(|rank| rank.0).sum();
    let Some(least) = ranks.first().map(|rank| rank.0) else { return Vec::new() };
    let mut before = 0;
    for number in 1..=MOST_SOURCES.min(ranks.len() / 2) {
        let (sources, others) = ranks.split_at(number);
        let last = sources[number - 1];
        before += last.0;
        if last.2 == 0 {
            return Vec::new();
        }
        let mean = (all - before) / others.len() as Nanos;
        if (others[0].0 - last.0) * 2 >= mean.saturating_sub(least) && mean > least {
            let caused: Nanos = sources.iter().map(|source| source.2).sum();
            return sources.iter().map(|source| (source.1, source.2 as f64 / caused as f64)).collect();
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(waits: &[(u32, u32, Nanos)]) -> BTreeMap<u32, Blame> {
        let mut blame: BTreeMap<u32, Blame> = BTreeMap::new();
        for (rank, peer, nanos) in waits {
            let of_rank = blame.entry(*rank).or_default();
            of_rank.lost += nanos;
            of_rank.in_mpi += nanos;
            blame.entry(*peer).or_default().caused += nanos;
        }
        blame
    }

    #[test]
    fn the_first_of_a_chain_is_the_source_of_all() {
        let chain: Vec<_> = (1..100_000).map(|rank| (rank, rank - 1, 1_000_000)).collect();
        assert_eq!(sources(&of(&chain)), [(0, 1.0)]);
    }

    #[test]
    fn two_slow_ranks_of_a_ring_are_the_sources() {
        let ring: Vec<_> = (0..1000)
            .filter(|rank| ![17, 600].contains(rank))
            .map(|rank| (rank, (rank + 999) % 1000, 5000))
            .collect();
        assert_eq!(sources(&of(&ring)), [(17, 0.5), (600, 0.5)]);
    }

    #[test]
    fn who_is_late_with_another_one_to_an_operation_is_a_source() {
        let of_rank =
            |rank: Nanos| Blame { in_mpi: if rank < 2 { 10 } else { 1000 + rank }, ..Blame::default() };
        let blame: BTreeMap<u32, Blame> = (0..1000).map(|rank| (rank, of_rank(rank.into()))).collect();
        assert_eq!(sources(&blame), [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn usual_ranks_are_spread_and_are_no_causes() {
        let all: Vec<u32> = spread(1600, &BTreeSet::new()).into_iter().collect();
        assert_eq!((all.len(), all[0], all[1], all[15]), (16, 50, 150, 1550));
        assert_eq!(spread(4, &[1, 2].into()).into_iter().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(spread(2, &[0, 1].into()), BTreeSet::new());
        assert_eq!(spread(0, &BTreeSet::new()), BTreeSet::new());
    }

    #[test]
    fn where_all_wait_alike_nobody_is() {
        let ring: Vec<_> =
            (0..1000).map(|rank| (rank, (rank + 999) % 1000, 5000 + Nanos::from(rank % 7))).collect();
        assert_eq!(sources(&of(&ring)), []);
        // Every second rank waits for the one before.
        let pairs: Vec<_> = (0..500).map(|pair| (2 * pair + 1, 2 * pair, 5000)).collect();
        assert_eq!(sources(&of(&pairs)), []);
        assert_eq!(sources(&BTreeMap::new()), []);
    }

    #[test]
    fn who_waits_least_and_is_waited_for_by_nobody_is_no_source() {
        let mut ring: Vec<_> = (0..1000).map(|rank| (rank, (rank + 999) % 1000, 5000)).collect();
        ring.push((1000, 5, 1));
        assert_eq!(sources(&of(&ring)), []);
    }
}
