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
//! The time of a rank is of three kinds: outside of MPI, waiting by a rule, and in MPI otherwise ([`Blame::inside`]). Only the first is its
//! own work. The third is charged to it as what it is: it comes late because it was in that call.
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
    /// Where it was before that, if it was in MPI and no rule says for whom: as it was given to [`Blame::inside`]. `None`: outside of MPI.
    pub inside: Option<u32>,
    /// Its part of the time lost, 0 to 1. The parts of a wait add up to 1.
    pub part: f64,
}

/// Follows waits back, as they become known in the order of their ends. Remembers a bounded number for each rank.
#[derive(Clone, Debug, Default)]
pub struct Blame {
    ranks: FxHashMap<u32, VecDeque<Known>>,
}

/// A wait whose causes are known, or time in MPI.
#[derive(Clone, Debug)]
struct Known {
    begin: u64,
    end: u64,
    /// Whether no rule says for whom the rank was in MPI.
    is_inside: bool,
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
        self.remember(
            rank,
            Known { begin: wait.begin, end: wait.end, is_inside: false, causes: causes.clone() },
        );
        causes
    }

    /// This rank was in MPI from `begin` to `end`. What of that is no known wait is not its work: `place` says where it was. To be given
    /// with the waits in the order of the ends.
    pub fn inside(&mut self, rank: u32, (begin, end): (u64, u64), place: u32) {
        let cause = Cause { rank, site: place, inside: Some(place), part: 1.0 };
        self.remember(rank, Known { begin, end, is_inside: true, causes: vec![cause] });
    }

    fn remember(&mut self, rank: u32, more: Known) {
        let known = self.ranks.entry(rank).or_default();
        // Calls in a wait of several, as in polling, are no time in MPI besides it.
        while let Some(last) =
            known.back_mut().filter(|last| last.is_inside && !more.is_inside && last.end > more.begin)
        {
            if last.begin < more.begin {
                last.end = more.begin;
            } else {
                known.pop_back();
            }
        }
        // What several threads wait at once is waited once.
        let begin = known.back().map_or(more.begin, |last| last.end.max(more.begin));
        if begin < more.end {
            known.push_back(Known { begin, ..more });
            if known.len() > REMEMBERED {
                known.pop_front();
            }
        }
    }

    fn causes(&self, rank: u32, wait: &Wait) -> Vec<Cause> {
        let Wait { begin, end, culprit, site, .. } = *wait;
        let all = vec![Cause { rank: culprit, site, inside: None, part: 1.0 }];
        let since = wait.since.min(begin);
        let sum = |rank, interval| {
            self.waits(rank, interval).fold((0, 0), |(waited, inside), (length, known)| {
                match known.is_inside {
                    false => (waited + length, inside),
                    true => (waited, inside + length),
                }
            })
        };
        let (waited, inside) = sum(culprit, (since, end));
        if culprit == rank || waited + inside == 0 || end <= begin {
            return all;
        }
        let (waited_before, inside_before) = sum(rank, (since, begin));
        let busy = (end - since).saturating_sub(waited + inside);
        let busy_before = (begin - since).saturating_sub(waited_before + inside_before);
        let own = busy.saturating_sub(busy_before).min(end - begin) as f64 / (end - begin) as f64;
        // Of the time in MPI, too, only what the other one had more of.
        let longer = inside.saturating_sub(inside_before) as f64 / inside.max(1) as f64;
        let rest = waited as f64 + inside as f64 * longer;
        let mut causes = vec![Cause { part: own, ..all[0] }];
        for (length, known) in self.waits(culprit, (since, end)) {
            let length = length as f64 * if known.is_inside { longer } else { 1.0 };
            let part = if rest > 0.0 { (1.0 - own) * length / rest } else { 0.0 };
            for cause in &known.causes {
                // A rank is no cause of its own waiting, and the one that waited for it has not done so to keep it waiting: that is left out.
                if cause.rank != rank {
                    let of_culprit = if known.is_inside { Cause { site, ..*cause } } else { *cause };
                    add(&mut causes, of_culprit, part * cause.part);
                }
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
    match causes
        .iter_mut()
        .find(|known| (known.rank, known.site, known.inside) == (cause.rank, cause.site, cause.inside))
    {
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
        assert_eq!(found[0][0], [Cause { rank: 1, site: 10, inside: None, part: 1.0 }]);
    }

    #[test]
    fn the_first_of_a_chain_is_the_cause_of_all() {
        // Rank 0 sends at 100, 1 sends on at 101, 2 at 102; nobody computes.
        let waits =
            [vec![], vec![wait((0, 100), 0, 0)], vec![wait((0, 101), 0, 1)], vec![wait((0, 102), 0, 2)]];
        let found = blame(&waits);
        assert_eq!(found[1][0], [Cause { rank: 0, site: 0, inside: None, part: 1.0 }]);
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
    fn a_wait_for_the_victim_is_left_out() {
        // A server waited for rank 2 until 40 and for rank 0 until 80; then rank 2 waits for the server.
        let waits = [vec![], vec![wait((0, 40), 0, 2), wait((40, 80), 40, 0)], vec![wait((41, 81), 0, 1)]];
        let causes = &blame(&waits)[2][0];
        assert!(part_of(causes, 0) > 0.95 && part_of(causes, 2) == 0.0, "{causes:?}");
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
    fn who_is_in_mpi_until_then_is_late_for_that_and_not_for_work() {
        let mut known = Blame::new();
        // Rank 1 polls from 10 to 90 and computes until 100, as rank 0 did before it waited.
        known.inside(1, (10, 90), 7);
        let causes = known.wait(0, &wait((20, 100), 0, 1));
        assert_eq!(causes, [Cause { rank: 1, site: 10, inside: Some(7), part: 1.0 }]);
        // Rank 2 waited for rank 1 from there on: the same is the cause.
        let causes = known.wait(2, &wait((30, 101), 0, 0));
        assert!(causes[0].rank == 1 && causes[0].inside == Some(7) && causes[0].part > 0.9, "{causes:?}");
    }

    #[test]
    fn a_wait_that_is_known_is_no_other_time_in_mpi() {
        let mut known = Blame::new();
        known.wait(1, &wait((0, 60), 0, 2));
        known.inside(1, (0, 70), 7);
        let causes = known.wait(0, &wait((0, 70), 0, 1));
        assert!((part_of(&causes, 2) - 60.0 / 70.0).abs() < 1e-9, "{causes:?}");
        assert_eq!(causes[1].inside, Some(7));
    }

    #[test]
    fn calls_in_a_wait_of_several_are_no_other_time_in_mpi() {
        let mut known = Blame::new();
        // Rank 1 polls for rank 2 from 10 to 70, in calls of which one began before.
        known.inside(1, (0, 30), 7);
        known.inside(1, (30, 60), 7);
        known.wait(1, &wait((10, 70), 0, 2));
        let causes = known.wait(0, &wait((0, 70), 0, 1));
        assert!((part_of(&causes, 2) - 60.0 / 70.0).abs() < 1e-9, "{causes:?}");
        assert!((part_of(&causes, 1) - 10.0 / 70.0).abs() < 1e-9, "{causes:?}");
    }

    #[test]
    fn what_both_did_in_mpi_is_nobodys_fault() {
        let mut known = Blame::new();
        // Both write a file for 50; then rank 1 computes for 30 while rank 0 waits.
        known.inside(0, (0, 50), 3);
        known.inside(1, (0, 50), 3);
        let causes = known.wait(0, &wait((50, 80), 0, 1));
        assert_eq!(causes, [Cause { rank: 1, site: 10, inside: None, part: 1.0 }]);
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
