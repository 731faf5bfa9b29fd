//! Who is the cause of a wait: the rank that came late, or the one that it had waited for before.
//!
//! A rank that keeps another one waiting was late for one of two reasons: it did more than the other one since both were
//! last together, or it waited itself. The first is its own doing. The second is charged to those that it waited for, and
//! so on: in a chain 0 → 1 → 2 → 3 in which rank 0 is slow, rank 0 is the cause of all waits.
//!
//! Since both were together at `since`, the waiting rank was busy for a time, and then waited until `end`; the other one
//! was busy, and perhaps waited. By how much longer the other one was busy is its own part of the wait. The rest is due to
//! its waits, in proportion to their lengths. Comparing times, not only what overlaps, matters where ranks do the same work
//! step by step: a neighbour of a slow rank computes while its own neighbours wait, as long as they did before.
//!
//! Times are numbers of any one unit on one clock. Waits are known in the order of their ends, and one depends only on
//! those before it: nothing is followed in a circle.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// Waits of a rank that are remembered; what was before them counts as if the rank had been busy.
const REMEMBERED: usize = 512;
/// Causes of one wait that are remembered: those with the smallest parts are left out.
const MOST_CAUSES: usize = 8;

/// A rank waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When the waiting began.
    pub begin: u64,
    /// When it ended, because the other rank did something.
    pub end: u64,
    /// When the two ranks were together last, not after `begin`: an earlier message between them, or an operation that
    /// both took part in; where that is not known, `begin`.
    pub since: u64,
    /// Whom it waited for.
    pub culprit: u32,
    /// The call of the other rank that ended the waiting: any number that means something to the caller.
    pub site: u32,
}

/// A rank that is a cause of a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cause {
    /// The rank that was busy.
    pub rank: u32,
    /// Its call that came late.
    pub site: u32,
    /// Its part of the time lost, 0 to 1. The parts of a wait add up to 1.
    pub part: f64,
}

/// Follows waits back, as they become known in the order of their ends. Remembers a bounded number for each rank.
#[derive(Clone, Debug, Default)]
pub struct Blame {
    ranks: FxHashMap<u32, VecDeque<Known>>,
}

/// A wait whose causes are known.
#[derive(Clone, Debug)]
struct Known {
    begin: u64,
    end: u64,
    causes: Vec<Cause>,
}

impl Blame {
    /// Nothing is known of any rank.
    pub fn new() -> Blame {
        Blame::default()
    }

    /// The causes of a wait of this rank, the one with the largest part first. Waits are to be given in the order of their
    /// ends, those of all ranks; one that comes later than it should is still answered, by what is known then.
    pub fn wait(&mut self, rank: u32, wait: &Wait) -> Vec<Cause> {
        let causes = self.causes(rank, wait);
        let known = self.ranks.entry(rank).or_default();
        // What several threads wait at once is waited once.
        let begin = known.back().map_or(wait.begin, |last| last.end.max(wait.begin));
        if begin < wait.end {
            known.push_back(Known { begin, end: wait.end, causes: causes.clone() });
            if known.len() > REMEMBERED {
                known.pop_front();
            }
        }
        causes
    }

    fn causes(&self, rank: u32, wait: &Wait) -> Vec<Cause> {
        let Wait { begin, end, culprit, site, .. } = *wait;
        let all = vec![Cause { rank: culprit, site, part: 1.0 }];
        let since = wait.since.min(begin);
        let waited: u64 = self.waits(culprit, (since, end)).map(|(length, _)| length).sum();
        if culprit == rank || waited == 0 || end <= begin {
            return all;
        }
        let waited_before: u64 = self.waits(rank, (since, begin)).map(|(length, _)| length).sum();
        let busy = (end - since).saturating_sub(waited);
        let busy_before = (begin - since).saturating_sub(waited_before);
        let own = busy.saturating_sub(busy_before).min(end - begin) as f64 / (end - begin) as f64;
        let mut causes = vec![Cause { part: own, ..all[0] }];
        for (length, known) in self.waits(culprit, (since, end)) {
            let part = (1.0 - own) * length as f64 / waited as f64;
            for cause in &known.causes {
                // A rank is no cause of its own waiting: it is the one that it waited for that was late.
                let cause = if cause.rank == rank { all[0] } else { *cause };
                add(&mut causes, cause, part * cause.part);
            }
        }
        keep_largest(&mut causes);
        if causes.is_empty() { all } else { causes }
    }

    /// What is known of a rank's waits in an interval: how long each lasted in it.
    fn waits(&self, rank: u32, (since, until): (u64, u64)) -> impl Iterator<Item = (u64, &Known)> {
        let known = self.ranks.get(&rank);
        let first = known.map_or(0, |known| known.partition_point(|known| known.end <= since));
        let waits = known.into_iter().flat_map(move |known| known.range(first..));
        waits.take_while(move |known| known.begin < until).map(move |known| {
            let length = known.end.min(until).saturating_sub(known.begin.max(since));
            (length, known)
        })
    }
}

fn add(causes: &mut Vec<Cause>, cause: Cause, part: f64) {
    match causes.iter_mut().find(|known| (known.rank, known.site) == (cause.rank, cause.site)) {
        Some(known) => known.part += part,
        None => causes.push(Cause { part, ..cause }),
    }
}

/// Leaves the causes with the largest parts, which add up to 1.
fn keep_largest(causes: &mut Vec<Cause>) {
    causes.retain(|cause| cause.part > 1e-6);
    causes.sort_by(|a, b| b.part.total_cmp(&a.part));
    causes.truncate(MOST_CAUSES);
    let sum: f64 = causes.iter().map(|cause| cause.part).sum();
    causes.iter_mut().for_each(|cause| cause.part /= sum);
}

/// The causes of all waits in lists by rank, in the same order.
pub fn blame(waits: &[Vec<Wait>]) -> Vec<Vec<Vec<Cause>>> {
    let mut order: Vec<(usize, usize)> = waits
        .iter()
        .enumerate()
        .flat_map(|(rank, of)| (0..of.len()).map(move |place| (rank, place)))
        .collect();
    order.sort_by_key(|&(rank, place)| waits[rank][place].end);
    let mut found: Vec<Vec<Vec<Cause>>> = waits.iter().map(|of| vec![Vec::new(); of.len()]).collect();
    let mut blame = Blame::new();
    for (rank, place) in order {
        found[rank][place] = blame.wait(rank as u32, &waits[rank][place]);
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wait((begin, end): (u64, u64), since: u64, culprit: u32) -> Wait {
        Wait { begin, end, since, culprit, site: culprit * 10 }
    }

    fn part_of(causes: &[Cause], rank: u32) -> f64 {
        causes.iter().filter(|cause| cause.rank == rank).map(|cause| cause.part).sum()
    }

    #[test]
    fn who_computes_longer_is_the_cause() {
        let found = blame(&[vec![wait((10, 50), 0, 1)], vec![]]);
        assert_eq!(found[0][0], [Cause { rank: 1, site: 10, part: 1.0 }]);
    }

    #[test]
    fn the_first_of_a_chain_is_the_cause_of_all() {
        // Rank 0 sends at 100, 1 sends on at 101, 2 at 102; nobody computes.
        let waits =
            [vec![], vec![wait((0, 100), 0, 0)], vec![wait((0, 101), 0, 1)], vec![wait((0, 102), 0, 2)]];
        let found = blame(&waits);
        assert_eq!(found[1][0], [Cause { rank: 0, site: 0, part: 1.0 }]);
        for (rank, of_rank) in found.iter().enumerate().skip(2) {
            assert!(part_of(&of_rank[0], 0) > 0.97, "{rank}: {of_rank:?}");
        }
    }

    #[test]
    fn without_an_earlier_meeting_what_overlaps_is_passed_on() {
        // Rank 1 waited for rank 0 until 60 and was busy until 100.
        let found = blame(&[vec![], vec![wait((20, 60), 20, 0)], vec![wait((40, 100), 40, 1)]]);
        assert!((part_of(&found[2][0], 0) - 20.0 / 60.0).abs() < 1e-9, "{found:?}");
        assert!((part_of(&found[2][0], 1) - 40.0 / 60.0).abs() < 1e-9);
    }

    #[test]
    fn the_slow_rank_of_a_stencil_is_the_cause_of_waits_far_away() {
        // Rank 0 computes 30 per step, all others 10; each waits for the one below it. Rank 1 waits from 10 to 30 in each
        // step, rank n the same later by 10 for each rank in between.
        let (steps, ranks) = (40, 5);
        let mut waits = vec![Vec::new(); ranks];
        for step in 1..steps {
            for rank in 1..ranks as u64 {
                let end = 30 * step + 10 * (rank - 1);
                waits[rank as usize].push(wait((end - 20, end), end - 30, rank as u32 - 1));
            }
        }
        let found = blame(&waits);
        for (rank, found) in found.iter().enumerate().skip(1) {
            let last = found.last().unwrap();
            assert!(part_of(last, 0) > 0.99, "{rank}: {last:?}");
        }
    }

    #[test]
    fn a_rank_that_is_slow_and_waits_has_its_own_part() {
        // Since 0 rank 1 waited 30 and was busy for 70, rank 2 was busy for 40.
        let found = blame(&[vec![], vec![wait((0, 30), 0, 0)], vec![wait((40, 100), 0, 1)]]);
        assert!((part_of(&found[2][0], 1) - 0.5).abs() < 1e-9, "{found:?}");
        assert!((part_of(&found[2][0], 0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn ranks_that_wait_for_each_other_in_turn_are_no_circle() {
        let mut waits = vec![Vec::new(), Vec::new()];
        for step in 0..100u64 {
            let rank = (step % 2) as usize;
            waits[rank].push(wait((step * 10, step * 10 + 10), step * 10, 1 - rank as u32));
        }
        for of_wait in blame(&waits).into_iter().flatten() {
            assert!((of_wait.iter().map(|cause| cause.part).sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_threads_wait_at_once_counts_once() {
        let mut known = Blame::new();
        known.wait(1, &wait((0, 40), 0, 0));
        known.wait(1, &wait((10, 50), 0, 0));
        let causes = known.wait(2, &wait((0, 100), 0, 1));
        assert!((part_of(&causes, 0) - 0.5).abs() < 1e-9, "{causes:?}");
    }

    proptest! {
        #[test]
        fn parts_add_up_and_nobody_is_the_cause_of_its_own_waits(
            waits in prop::collection::vec((0u32..6, 0u32..6, 0u64..1000, 0u64..200, 0u64..300), 1..200),
        ) {
            let mut lists = vec![Vec::new(); 6];
            for (rank, culprit, begin, length, before) in waits {
                if rank != culprit {
                    let since = begin.saturating_sub(before);
                    lists[rank as usize].push(wait((begin, begin + length), since, culprit));
                }
            }
            for (rank, found) in blame(&lists).into_iter().enumerate() {
                for causes in found {
                    let sum: f64 = causes.iter().map(|cause| cause.part).sum();
                    prop_assert!((sum - 1.0).abs() < 1e-9);
                    prop_assert!(causes.len() <= MOST_CAUSES);
                    prop_assert!(causes.iter().all(|cause| cause.rank != rank as u32));
                }
            }
        }
    }
}
