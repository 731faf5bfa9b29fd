//! Processes that wait in a collective operation for the one that comes last; and what it takes until all have left it.

use mel_log::format::ROOT_ITSELF;
use mpi_functions::{Function, Operation as Op, Waits};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Thresholds;
use crate::loss::{Loss, Rule};
use crate::model::{Entry, NO_SITE};
use crate::names::Processes;
use crate::operations::Operation;

/// Whether the operation is one: all have called the same, and nobody has left it before all whom it waits for had come. If
/// not, calls are missing in the logs.
pub fn is_whole(operation: &Operation, of: &Processes, waits: Waits, thresholds: Thresholds) -> bool {
    let [first, ..] = &operation.entries[..] else { return false };
    // Between groups the root is another number for each of them.
    let same_root = |entry: &Entry| of.remote.is_some() || entry.root == first.root;
    let same = |entry: &Entry| entry.call.function == first.call.function && same_root(entry);
    let in_time = |leaving: &[&Entry], entering: &[&Entry]| {
        let entered = entering.iter().map(|entry| entry.call.begin).max().unwrap_or(0);
        let left = leaving.iter().map(|entry| entry.waiting.end).min().unwrap_or(u64::MAX);
        left.saturating_add(thresholds.clocks) >= entered
    };
    let (here, there) = groups(operation, of);
    operation.entries.iter().all(same)
        && match (waits, &of.remote) {
            (Waits::All, None) => in_time(&here, &here),
            (Waits::All, Some(_)) => in_time(&here, &there) && in_time(&there, &here),
            _ => true,
        }
}

/// Who takes part, and who of the other group does, if there is one: by rank.
fn groups<'a>(operation: &'a Operation, of: &Processes) -> (Vec<&'a Entry>, Vec<&'a Entry>) {
    let mut entries: Vec<&Entry> = operation.entries.iter().collect();
    entries.sort_unstable_by_key(|entry| entry.call.rank);
    if of.remote.is_none() {
        return (entries, Vec::new());
    }
    let members: FxHashSet<u32> = of.members.iter().copied().collect();
    entries.into_iter().partition(|entry| members.contains(&entry.call.rank))
}

/// The root of the operation, if it has one.
pub fn root<'a>(operation: &'a Operation, of: &Processes) -> Option<&'a Entry> {
    let mut entries = operation.entries.iter();
    match of.remote {
        Some(_) => entries.find(|entry| entry.root == ROOT_ITSELF),
        None => {
            let rank = of.members.get(usize::try_from(operation.entries.first()?.root).ok()?)?;
            entries.find(|entry| entry.call.rank == *rank)
        }
    }
}

/// What each process has lost.
pub fn judge(
    operation: &Operation,
    of: &Processes,
    function: &Function,
    thresholds: Thresholds,
    found: &mut impl FnMut(Loss),
) {
    let Some(way) = function.waits() else { return };
    let is_barrier = function.operation() == Some(Op::Barrier);
    let rule = Rule::of_waits(way, is_barrier);
    let (mut here, there) = groups(operation, of);
    let mut waits = |rule, entry: &Entry, last: &Entry| wait(rule, entry, last, thresholds, found);
    match way {
        Waits::All if of.remote.is_some() => {
            for (entries, others) in [(&here, &there), (&there, &here)] {
                let Some(last) = latest(others) else { continue };
                entries.iter().for_each(|entry| waits(rule, entry, last));
            }
        }
        Waits::All => {
            let Some(last) = latest(&here) else { return };
            here.iter().for_each(|entry| waits(rule, entry, last));
        }
        Waits::Neighbours => {
            for entry in &here {
                // Who has left before another one came has not waited for it.
                let others = here.iter().filter(|other| other.call.begin <= entry.waiting.end);
                if let Some(last) = others.max_by_key(|other| other.call.begin) {
                    waits(rule, entry, last);
                }
            }
        }
        Waits::ForRoot | Waits::RootForAll => {
            let Some(root) = root(operation, of) else { return };
            // Of the group of the root nobody else takes part.
            let takes_part = |entry: &&Entry| of.remote.is_none() || entry.root >= 0;
            let others: Vec<&Entry> = here.iter().chain(&there).copied().filter(takes_part).collect();
            if way == Waits::ForRoot {
                others.iter().for_each(|entry| waits(rule, entry, root));
            } else if let Some(last) = latest(&others) {
                waits(rule, root, last);
            }
        }
        Waits::ForLower => {
            let places: FxHashMap<u32, usize> = of.members.iter().copied().zip(0..).collect();
            here.sort_unstable_by_key(|entry| places.get(&entry.call.rank).copied().unwrap_or(usize::MAX));
            let Some(mut last) = here.first().copied() else { return };
            for entry in here {
                waits(rule, entry, last);
                last = if entry.call.begin > last.call.begin { entry } else { last };
            }
        }
    }
    if way == Waits::All {
        let rule = if is_barrier { Rule::BarrierCompletion } else { Rule::NxnCompletion };
        completion(rule, operation, thresholds, found);
    }
}

/// What it takes until all have left, from when the first one has.
fn completion(rule: Rule, operation: &Operation, thresholds: Thresholds, found: &mut impl FnMut(Loss)) {
    let entries = || operation.entries.iter();
    let last = entries().map(|entry| entry.call.begin).max().unwrap_or(0);
    let first = entries().map(|entry| entry.waiting.end).min().unwrap_or(0).max(last);
    // Only of blocking ones it is known when they are left.
    for entry in entries().filter(|entry| entry.waiting == entry.call) {
        let interval = (first, entry.call.end);
        if entry.call.end.saturating_sub(first) >= thresholds.epsilon.max(1) {
            let who = (entry.call.rank, entry.call.site);
            let communicator = entry.communicator;
            found(Loss { communicator, ..Loss::new(rule, who, interval, (None, NO_SITE)) });
        }
    }
}

fn latest<'a>(entries: &[&'a Entry]) -> Option<&'a Entry> {
    entries.iter().copied().max_by_key(|entry| entry.call.begin)
}

/// A process waits for another one, from when it is in the operation and has nothing else to do.
fn wait(rule: Rule, entry: &Entry, last: &Entry, thresholds: Thresholds, found: &mut impl FnMut(Loss)) {
    let (since, until) = (entry.waiting.begin, last.call.begin.min(entry.waiting.end));
    if entry.call.rank == last.call.rank || until.saturating_sub(since) < thresholds.epsilon.max(1) {
        return;
    }
    let culprit = (Some(last.call.rank), last.call.site);
    let who = (entry.call.rank, entry.waiting.site);
    found(Loss { communicator: entry.communicator, ..Loss::new(rule, who, (since, until), culprit) });
}

#[cfg(test)]
mod tests {
    use mel_log::format::ROOT_IN_THIS_GROUP;
    use mpi_functions::named;

    use super::*;
    use crate::testing::call;

    const THRESHOLDS: Thresholds = Thresholds { epsilon: 10, delta_sr: 10, clocks: 0 };

    #[test]
    fn a_root_is_a_rank_of_the_communicator() {
        let late = operation(0, &[100, 300, 200]);
        let mut all = Vec::new();
        let mut add = |loss: Loss| all.push((loss.rank, loss.culprit));
        // Rank 0 of the communicator is rank 1 of all.
        judge(&late, &processes(&[1, 2, 0]), named("MPI_Bcast").unwrap(), THRESHOLDS, &mut add);
        assert_eq!(all, [(0, Some(1)), (2, Some(1))]);
    }

    /// An operation in which the ranks come at these times, and all leave at 320.
    fn operation(root: i32, begins: &[u64]) -> Operation {
        let entry = |(rank, begin): (u32, &u64)| {
            let call = call(rank, (*begin, 320));
            Entry { call, waiting: call, communicator: 0, number: 0, root }
        };
        Operation { entries: (0..).zip(begins).map(entry).collect() }
    }

    fn processes(members: &[u32]) -> Processes {
        Processes { members: members.to_vec(), ..Processes::default() }
    }

    fn found(operation: &Operation, function: &str) -> Vec<(Rule, u32, u64, Option<u32>)> {
        found_among(operation, &processes(&[0, 1, 2]), function)
    }

    fn found_among(
        operation: &Operation,
        of: &Processes,
        function: &str,
    ) -> Vec<(Rule, u32, u64, Option<u32>)> {
        let mut all = Vec::new();
        let mut add = |loss: Loss| all.push((loss.rule, loss.rank, loss.nanos(), loss.culprit));
        judge(operation, of, named(function).unwrap(), THRESHOLDS, &mut add);
        all
    }

    #[test]
    fn between_groups_each_waits_for_the_other_group() {
        let of = Processes { remote: Some(vec![2, 3]), ..processes(&[0, 1]) };
        let rule = Rule::WaitAtNxn;
        // The last of its own group, rank 0, is none that rank 1 waits for.
        let late = operation(-1, &[300, 100, 200, 150]);
        let waits = [(rule, 1, 100, Some(2)), (rule, 2, 100, Some(0)), (rule, 3, 150, Some(0))];
        assert_eq!(found_among(&late, &of, "MPI_Allreduce"), waits);
        assert!(is_whole(&late, &of, Waits::All, THRESHOLDS));
        let mut left = late;
        left.entries[3].waiting.end = 290;
        assert!(!is_whole(&left, &of, Waits::All, THRESHOLDS));
        // Rank 0 is the root: rank 1 has nothing to do with it, and those of the other group have its rank.
        let mut rooted = operation(0, &[300, 100, 200, 150]);
        (rooted.entries[0].root, rooted.entries[1].root) = (ROOT_ITSELF, ROOT_IN_THIS_GROUP);
        let rule = Rule::LateBroadcast;
        assert!(is_whole(&rooted, &of, Waits::ForRoot, THRESHOLDS));
        let waits = [(rule, 2, 100, Some(0)), (rule, 3, 150, Some(0))];
        assert_eq!(found_among(&rooted, &of, "MPI_Scatter"), waits);
        rooted.entries[0].call.begin = 90;
        rooted.entries[0].waiting.begin = 90;
        assert_eq!(found_among(&rooted, &of, "MPI_Gather"), [(Rule::EarlyReduce, 0, 110, Some(2))]);
    }

    #[test]
    fn who_has_left_has_not_waited_for_who_came_later() {
        let mut late = operation(-1, &[100, 300, 200]);
        (late.entries[0].call.end, late.entries[0].waiting.end) = (250, 250);
        let rule = Rule::WaitAtNxn;
        let waits = [(rule, 0, 100, Some(2)), (rule, 2, 100, Some(1))];
        assert_eq!(found(&late, "MPI_Neighbor_allgather"), waits);
        assert!(is_whole(&late, &processes(&[0, 1, 2]), Waits::Neighbours, THRESHOLDS));
    }

    #[test]
    fn who_makes_an_object_waits_for_the_others() {
        let late = operation(-1, &[300, 295, 100]);
        for function in ["MPI_Comm_dup", "MPI_Win_create_c", "MPI_Cart_create", "MPI_File_open"] {
            assert_eq!(found(&late, function), [(Rule::WaitAtNxn, 2, 200, Some(0))], "{function}");
        }
        assert_eq!(found(&late, "MPI_Comm_free"), []);
    }

    #[test]
    fn all_wait_for_the_last() {
        for (kind, rule) in [("MPI_Barrier", Rule::WaitAtBarrier), ("MPI_Allreduce_c", Rule::WaitAtNxn)] {
            let late = operation(-1, &[100, 300, 200]);
            assert_eq!(found(&late, kind), [(rule, 0, 200, Some(1)), (rule, 2, 100, Some(1))]);
            assert_eq!(found(&operation(-1, &[310, 315, 312]), kind), []);
        }
    }

    #[test]
    fn all_wait_for_the_root_or_the_root_for_all() {
        let late = operation(1, &[100, 300, 200]);
        let rule = Rule::LateBroadcast;
        assert_eq!(found(&late, "MPI_Bcast"), [(rule, 0, 200, Some(1)), (rule, 2, 100, Some(1))]);
        assert_eq!(found(&operation(1, &[300, 100, 200]), "MPI_Bcast"), []);
        let early = operation(1, &[300, 100, 200]);
        assert_eq!(found(&early, "MPI_Reduce"), [(Rule::EarlyReduce, 1, 200, Some(0))]);
        assert_eq!(found(&late, "MPI_Reduce"), []);
    }

    #[test]
    fn in_a_scan_each_waits_for_those_before_it() {
        let rule = Rule::EarlyScan;
        let late = operation(-1, &[100, 300, 200]);
        assert_eq!(found(&late, "MPI_Scan"), [(rule, 2, 100, Some(1))]);
        assert_eq!(found(&operation(-1, &[100, 200, 300]), "MPI_Scan"), []);
    }

    #[test]
    fn who_waits_for_a_request_waits_from_then_on() {
        let mut late = operation(-1, &[100, 300, 200]);
        late.entries[0].waiting = call(0, (250, 320));
        let waits = found(&late, "MPI_Iallreduce");
        assert_eq!(waits[0], (Rule::WaitAtNxn, 0, 50, Some(1)));
    }

    #[test]
    fn leaving_takes_its_time() {
        let mut slow = operation(-1, &[100, 101, 102]);
        slow.entries[0].call.end = 110;
        slow.entries[0].waiting.end = 110;
        let rule = Rule::BarrierCompletion;
        assert_eq!(found(&slow, "MPI_Barrier"), [(rule, 1, 210, None), (rule, 2, 210, None)]);
    }

    #[test]
    fn an_operation_that_somebody_left_too_early_is_none() {
        let of = processes(&[0, 1, 2]);
        let mut operation = operation(-1, &[100, 300, 200]);
        assert!(is_whole(&operation, &of, Waits::All, THRESHOLDS));
        operation.entries[0].waiting.end = 150;
        assert!(!is_whole(&operation, &of, Waits::All, THRESHOLDS));
        assert!(is_whole(&operation, &of, Waits::ForRoot, THRESHOLDS));
        operation.entries[0].root = 2;
        assert!(!is_whole(&operation, &of, Waits::ForRoot, THRESHOLDS));
    }
}
