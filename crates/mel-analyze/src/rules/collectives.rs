//! Processes that wait in a collective operation for the one that comes last; and what it takes until all have left it. Each is judged when
//! it leaves: who comes later harms it no more.

use mel_log::format::{ROOT_IN_THIS_GROUP, ROOT_ITSELF};
use mpi_functions::{Function, Operation as Op, Waits};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Loss, Rule, Thresholds};
use crate::model::{Entry, NO_SITE};
use crate::names::Processes;
use crate::operations::Operation;

/// What one process that leaves an operation has lost in it, given who has entered until then. `shortest` is how long the operation takes
/// where nobody waits. Says whether the operation is one: all have come for whom the process has to wait. If not, calls are missing in
/// the logs.
pub fn judge(
    operation: &Operation,
    entry: &Entry,
    (of, function): (&Processes, &Function),
    (thresholds, shortest): (Thresholds, u64),
    found: &mut impl FnMut(Loss),
) -> bool {
    let Some(way) = function.waits() else { return true };
    let had_come = |other: &&Entry| {
        let other = other.call;
        other.rank != entry.call.rank && other.begin <= entry.waiting.end.saturating_add(thresholds.clocks)
    };
    let others = operation.entries.iter().filter(had_come);
    let direct = match (way, &of.remote) {
        (Waits::All, None) => {
            let latest =
                operation.latest().filter(|latest| latest.call.rank == entry.call.rank || had_come(latest));
            if latest.is_none() || operation.entries.len() < of.members.len() {
                return false;
            }
            latest
        }
        (Waits::All, Some(remote)) => {
            let is_here = of.members.contains(&entry.call.rank);
            let whom: FxHashSet<u32> = if is_here { remote } else { &of.members }.iter().copied().collect();
            let others: Vec<&Entry> =
                others.clone().filter(|other| whom.contains(&other.call.rank)).collect();
            if others.len() < whom.len() {
                return false;
            }
            latest(others)
        }
        (Waits::Neighbours, _) => latest(others.clone()),
        // Of the group of the root nobody else takes part.
        (Waits::ForRoot | Waits::RootForAll, Some(_)) if entry.root == ROOT_IN_THIS_GROUP => return true,
        (Waits::ForRoot | Waits::RootForAll, _) => {
            let takes_part = |other: &&Entry| of.remote.is_none() || other.root >= 0;
            match root(&operation.entries, of).filter(|root| *root == entry || had_come(root)) {
                Some(root) if of.remote.is_none() && root.root != entry.root => return false,
                Some(root) if root == entry && way == Waits::RootForAll => {
                    latest(others.clone().filter(takes_part))
                }
                Some(root) if root != entry && way == Waits::ForRoot => Some(root),
                None if way == Waits::ForRoot => return false,
                _ => None,
            }
        }
        (Waits::ForLower, _) => {
            let places: FxHashMap<u32, usize> = of.members.iter().copied().zip(0..).collect();
            let place = |entry: &Entry| places.get(&entry.call.rank);
            latest(others.clone().filter(|other| place(other) < place(entry)))
        }
    };
    if let Some(last) = direct {
        let rule = Rule::of_waits(way, function.operation() == Some(Op::Barrier));
        wait(rule, entry, (entry.waiting.begin, last), thresholds, found);
    }
    // Only of blocking ones it is known when they are left.
    if entry.waiting != entry.call {
        return true;
    }
    match way {
        Waits::All => completion(operation, entry, function, thresholds, found),
        Waits::ForRoot | Waits::RootForAll | Waits::ForLower if of.remote.is_none() => {
            let since = direct.map_or(0, |last| last.call.begin).max(entry.call.begin);
            if let Some(last) = latest(others.filter(|other| other.call.begin > since))
                && was_waited_for(entry, (since, last), shortest)
            {
                wait(Rule::LateMember, entry, (since, last), thresholds, found);
            }
        }
        _ => {}
    }
    true
}

/// Whom a process that leaves an operation needs by what the operation means, of those who have come.
#[derive(Clone, Debug, PartialEq)]
pub enum Needed<'a> {
    /// Everybody, itself too.
    All,
    /// These.
    These(Vec<&'a Entry>),
    /// That is not known.
    Unknown,
}

/// Whom a process needs that leaves an operation.
pub fn needed<'a>(
    operation: &'a Operation,
    entry: &Entry,
    (of, function): (&Processes, &Function),
) -> Needed<'a> {
    let Some(way) = function.waits() else { return Needed::These(Vec::new()) };
    let others = || operation.entries.iter().filter(|other| other.call.rank != entry.call.rank);
    let is_in = |group: &[u32], other: &Entry| group.contains(&other.call.rank);
    match (way, &of.remote) {
        (Waits::All, None) => Needed::All,
        (Waits::All, Some(remote)) => {
            let whom = if is_in(&of.members, entry) { remote } else { &of.members };
            Needed::These(others().filter(|other| is_in(whom, other)).collect())
        }
        (Waits::Neighbours, _) => Needed::Unknown,
        (Waits::ForRoot | Waits::RootForAll, Some(_)) if entry.root == ROOT_IN_THIS_GROUP => {
            Needed::These(Vec::new())
        }
        (Waits::ForRoot | Waits::RootForAll, _) => match root(&operation.entries, of) {
            Some(root) if root.call.rank == entry.call.rank => Needed::These(match way {
                Waits::RootForAll => {
                    others().filter(|other| of.remote.is_none() || other.root >= 0).collect()
                }
                _ => Vec::new(),
            }),
            Some(root) => Needed::These(if way == Waits::ForRoot { vec![root] } else { Vec::new() }),
            None if way == Waits::ForRoot => Needed::Unknown,
            None => Needed::These(Vec::new()),
        },
        (Waits::ForLower, _) => {
            let place = |entry: &Entry| of.members.iter().position(|rank| *rank == entry.call.rank);
            let own = place(entry);
            Needed::These(others().filter(|other| place(other) < own).collect())
        }
    }
}

/// Whether a process that had all that it needs by the meaning of the operation waited for another one nevertheless: because data is large, or
/// because that one passes it on. It left soon after the other one had come, and stayed for longer than the operation takes where nobody
/// waits.
fn was_waited_for(entry: &Entry, (since, last): (u64, &Entry), shortest: u64) -> bool {
    let waited = last.call.begin.saturating_sub(since);
    let after = entry.call.end.saturating_sub(last.call.begin);
    after <= waited && waited + after >= 2 * shortest
}

/// The root of the operation, if it has one and it is known.
pub fn root<'a>(entries: &'a [Entry], of: &Processes) -> Option<&'a Entry> {
    match of.remote {
        Some(_) => entries.iter().find(|entry| entry.root == ROOT_ITSELF),
        None => {
            let rank = of.members.get(usize::try_from(entries.first()?.root).ok()?)?;
            entries.iter().find(|entry| entry.call.rank == *rank)
        }
    }
}

/// Who of these came last.
fn latest<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Option<&'a Entry> {
    entries.into_iter().max_by_key(|entry| (entry.call.begin, entry.call.rank))
}

/// What it takes until a process has left, from when the first one has.
fn completion(
    operation: &Operation,
    entry: &Entry,
    function: &Function,
    thresholds: Thresholds,
    found: &mut impl FnMut(Loss),
) {
    let last = operation.latest().map_or(0, |latest| latest.call.begin);
    let first = operation.first_left.unwrap_or(entry.call.end).max(last);
    if entry.call.end.saturating_sub(first) >= thresholds.epsilon.max(1) {
        let is_barrier = function.operation() == Some(Op::Barrier);
        let rule = if is_barrier { Rule::BarrierCompletion } else { Rule::NxnCompletion };
        let who = (entry.call.rank, entry.call.site);
        let communicator = entry.communicator;
        found(Loss { communicator, ..Loss::new(rule, who, (first, entry.call.end), (None, NO_SITE)) });
    }
}

/// A process waits for another one, from when it is in the operation and has nothing else to do.
fn wait(
    rule: Rule,
    entry: &Entry,
    (since, last): (u64, &Entry),
    thresholds: Thresholds,
    found: &mut impl FnMut(Loss),
) {
    let until = last.call.begin.min(entry.waiting.end);
    if until.saturating_sub(since) < thresholds.epsilon.max(1) {
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

    const THRESHOLDS: Thresholds = Thresholds { epsilon: 10, delta_sr: 10, delta_percent: 0, clocks: 0 };

    /// The rule, who has lost, how much, and who came last.
    type Wait = (Rule, u32, u64, Option<u32>);

    #[test]
    fn a_root_is_a_rank_of_the_communicator() {
        let late = operation(0, &[100, 300, 200]);
        // Rank 0 of the communicator is rank 1 of all.
        let waits = found_among(&late, &processes(&[1, 2, 0]), "MPI_Bcast").unwrap();
        assert_eq!(
            waits.iter().map(|wait| (wait.1, wait.3)).collect::<Vec<_>>(),
            [(0, Some(1)), (2, Some(1))]
        );
    }

    /// An operation in which the ranks come at these times, and all leave at 320.
    fn operation(root: i32, begins: &[u64]) -> Operation {
        let entry = |(rank, begin): (u32, &u64)| {
            let call = call(rank, (*begin, 320));
            Entry { root, ..Entry::blocking(call, 0) }
        };
        let mut operation = Operation::default();
        (0..).zip(begins).map(entry).for_each(|entry| operation.enter(entry));
        operation
    }

    fn processes(members: &[u32]) -> Processes {
        Processes { members: members.to_vec(), ..Processes::default() }
    }

    fn found(operation: &Operation, function: &str) -> Vec<Wait> {
        found_among(operation, &processes(&[0, 1, 2]), function).expect("it is an operation")
    }

    /// What all have lost, by rank; nothing where it is no operation.
    fn found_among(operation: &Operation, of: &Processes, function: &str) -> Option<Vec<Wait>> {
        let mut all = Vec::new();
        let mut add = |loss: Loss| all.push((loss.rule, loss.rank, loss.nanos(), loss.culprit));
        let mut operation = operation.clone();
        let mut leaving = operation.entries.clone();
        leaving.sort_by_key(|entry| entry.waiting.end);
        for entry in leaving {
            let about = named(function).unwrap();
            if !judge(&operation, &entry, (of, about), (THRESHOLDS, 0), &mut add) {
                return None;
            }
            operation.first_left.get_or_insert(entry.waiting.end);
        }
        all.sort_by_key(|loss| loss.1);
        Some(all)
    }

    #[test]
    fn who_is_needed_is_what_the_operation_means() {
        let operation = operation(1, &[100, 300, 200]);
        let of = processes(&[0, 1, 2]);
        let needs = |rank: usize, function: &str| -> Option<Vec<u32>> {
            match needed(&operation, &operation.entries[rank], (&of, named(function).unwrap())) {
                Needed::All => None,
                Needed::These(entries) => Some(entries.iter().map(|entry| entry.call.rank).collect()),
                Needed::Unknown => Some(vec![99]),
            }
        };
        assert_eq!(needs(0, "MPI_Allreduce"), None);
        assert_eq!([needs(0, "MPI_Bcast"), needs(1, "MPI_Bcast")], [Some(vec![1]), Some(vec![])]);
        assert_eq!([needs(0, "MPI_Reduce"), needs(1, "MPI_Reduce")], [Some(vec![]), Some(vec![0, 2])]);
        assert_eq!([needs(0, "MPI_Scan"), needs(2, "MPI_Scan")], [Some(vec![]), Some(vec![0, 1])]);
        assert_eq!(needs(0, "MPI_Neighbor_alltoall"), Some(vec![99]));
    }

    #[test]
    fn between_groups_each_waits_for_the_other_group() {
        let of = Processes { remote: Some(vec![2, 3]), ..processes(&[0, 1]) };
        let rule = Rule::WaitAtNxn;
        // The last of its own group, rank 0, is none that rank 1 waits for.
        let late = operation(-1, &[300, 100, 200, 150]);
        let waits = [(rule, 1, 100, Some(2)), (rule, 2, 100, Some(0)), (rule, 3, 150, Some(0))];
        assert_eq!(found_among(&late, &of, "MPI_Allreduce").unwrap(), waits);
        let mut left = late;
        left.entries[3].waiting.end = 290;
        assert_eq!(found_among(&left, &of, "MPI_Allreduce"), None);
        // Rank 0 is the root: rank 1 has nothing to do with it, and those of the other group have its rank.
        let mut rooted = operation(0, &[300, 100, 200, 150]);
        (rooted.entries[0].root, rooted.entries[1].root) = (ROOT_ITSELF, ROOT_IN_THIS_GROUP);
        let rule = Rule::LateBroadcast;
        let waits = [(rule, 2, 100, Some(0)), (rule, 3, 150, Some(0))];
        assert_eq!(found_among(&rooted, &of, "MPI_Scatter").unwrap(), waits);
        rooted.entries[0].call.begin = 90;
        rooted.entries[0].waiting.begin = 90;
        assert_eq!(found_among(&rooted, &of, "MPI_Gather").unwrap(), [(Rule::EarlyReduce, 0, 110, Some(2))]);
    }

    #[test]
    fn who_has_left_has_not_waited_for_who_came_later() {
        let mut late = operation(-1, &[100, 300, 200]);
        (late.entries[0].call.end, late.entries[0].waiting.end) = (250, 250);
        let rule = Rule::WaitAtNxn;
        let waits = [(rule, 0, 100, Some(2)), (rule, 2, 100, Some(1))];
        assert_eq!(found(&late, "MPI_Neighbor_allgather"), waits);
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
        let early = operation(1, &[300, 100, 200]);
        let passes_on = (Rule::LateMember, 2, 100, Some(0));
        assert_eq!(found(&early, "MPI_Reduce"), [(Rule::EarlyReduce, 1, 200, Some(0)), passes_on]);
    }

    #[test]
    fn in_a_scan_each_waits_for_those_before_it() {
        let rule = Rule::EarlyScan;
        let late = operation(-1, &[100, 300, 200]);
        let others = (Rule::LateMember, 0, 200, Some(1));
        assert_eq!(found(&late, "MPI_Scan"), [others, (rule, 2, 100, Some(1))]);
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
        let mut operation = operation(0, &[100, 300, 200]);
        operation.entries[0].waiting.end = 150;
        assert_eq!(found_among(&operation, &of, "MPI_Barrier"), None);
        assert!(found_among(&operation, &of, "MPI_Bcast").is_some(), "the root waits for nobody");
        operation.entries[0].root = 2;
        assert_eq!(found_among(&operation, &of, "MPI_Bcast"), None);
    }

    #[test]
    fn who_needs_no_data_of_a_late_one_may_wait_for_it() {
        // The root of a large broadcast has to wait for rank 1, from which rank 2 gets the data that it passes on.
        let late = operation(0, &[100, 300, 200]);
        let rule = Rule::LateMember;
        assert_eq!(found(&late, "MPI_Bcast"), [(rule, 0, 200, Some(1)), (rule, 2, 100, Some(1))]);
        // The root of a reduction is late: leaves of large data wait for it.
        let late = operation(1, &[100, 300, 200]);
        assert_eq!(found(&late, "MPI_Reduce"), [(rule, 0, 200, Some(1)), (rule, 2, 100, Some(1))]);
    }

    #[test]
    fn who_stays_as_long_as_the_data_needs_has_not_waited() {
        let of = (&processes(&[0, 1, 2]), named("MPI_Bcast").unwrap());
        let late = operation(0, &[100, 300, 200]);
        let found = |operation: &Operation, shortest| {
            let mut all = Vec::new();
            judge(operation, &operation.entries[0], of, (THRESHOLDS, shortest), &mut |loss| {
                all.push(loss.rule)
            });
            all
        };
        assert_eq!(found(&late, 100), [Rule::LateMember]);
        assert_eq!(found(&late, 111), [], "it takes 111 at least, and took 220");
        let mut long = late;
        (long.entries[0].call.end, long.entries[0].waiting.end) = (600, 600);
        assert_eq!(found(&long, 0), [], "it went on for longer after the late one had come");
    }
}
