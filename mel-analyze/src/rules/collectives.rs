//! Processes that wait in a collective operation for the one that comes last; and what it takes until all have left it.

use rustc_hash::FxHashMap;

use super::Thresholds;
use crate::functions::Collective;
use crate::loss::{Loss, Rule};
use crate::model::{Entry, NO_SITE};
use crate::operations::Operation;

/// Whether the operation is one: all have called the same, and nobody has left it before all whom it waits for had come. If
/// not, calls are missing in the logs.
pub fn is_whole(operation: &Operation, kind: Collective, thresholds: Thresholds) -> bool {
    let [first, ..] = &operation.entries[..] else { return false };
    let same = operation
        .entries
        .iter()
        .all(|entry| entry.call.function == first.call.function && entry.root == first.root);
    let entered = operation.entries.iter().map(|entry| entry.call.begin).max().unwrap_or(0);
    let left = operation.entries.iter().map(|entry| entry.waiting.end).min().unwrap_or(0);
    let together = matches!(kind, Collective::Barrier | Collective::AllToAll);
    same && (!together || left.saturating_add(thresholds.clocks) >= entered)
}

/// What each process has lost. The entries are in the order of their ranks in the communicator, `members`.
pub fn judge(
    operation: &Operation,
    members: &[u32],
    kind: Collective,
    thresholds: Thresholds,
    found: &mut impl FnMut(Loss),
) {
    let mut entries: Vec<&Entry> = operation.entries.iter().collect();
    if members.is_sorted() {
        entries.sort_unstable_by_key(|entry| entry.call.rank);
    } else {
        let places: FxHashMap<u32, usize> = members.iter().copied().zip(0..).collect();
        entries.sort_unstable_by_key(|entry| places.get(&entry.call.rank).copied().unwrap_or(usize::MAX));
    }
    let Some(last) = latest(&entries) else { return };
    let root = usize::try_from(entries[0].root).ok().and_then(|root| entries.get(root)).copied();
    let mut waits = |rule, entry: &Entry, last: &Entry| wait(rule, entry, last, thresholds, found);
    match kind {
        Collective::Barrier => entries.iter().for_each(|entry| waits(Rule::WaitAtBarrier, entry, last)),
        Collective::AllToAll => entries.iter().for_each(|entry| waits(Rule::WaitAtNxn, entry, last)),
        Collective::FromRoot => {
            if let Some(root) = root {
                entries.iter().for_each(|entry| waits(Rule::LateBroadcast, entry, root));
            }
        }
        Collective::ToRoot => {
            if let Some(root) = root {
                waits(Rule::EarlyReduce, root, last);
            }
        }
        Collective::Scan => {
            let mut last = entries[0];
            for entry in &entries {
                waits(Rule::EarlyScan, entry, last);
                last = if entry.call.begin > last.call.begin { entry } else { last };
            }
        }
    }
    let rule = match kind {
        Collective::Barrier => Rule::BarrierCompletion,
        Collective::AllToAll => Rule::NxnCompletion,
        _ => return,
    };
    // Only of blocking ones it is known when they are left.
    let first = entries.iter().map(|entry| entry.waiting.end).min().unwrap_or(0).max(last.call.begin);
    for entry in entries.iter().filter(|entry| entry.waiting == entry.call) {
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
    use super::*;
    use crate::testing::call;

    const THRESHOLDS: Thresholds = Thresholds { epsilon: 10, delta_sr: 10, clocks: 0 };

    #[test]
    fn a_root_is_a_rank_of_the_communicator() {
        let late = operation(0, &[100, 300, 200]);
        let mut all = Vec::new();
        let mut add = |loss: Loss| all.push((loss.rank, loss.culprit));
        // Rank 0 of the communicator is rank 1 of all.
        judge(&late, &[1, 2, 0], Collective::FromRoot, THRESHOLDS, &mut add);
        assert_eq!(all, [(2, Some(1)), (0, Some(1))]);
    }

    /// An operation in which the ranks come at these times, and all leave at 320.
    fn operation(root: i32, begins: &[u64]) -> Operation {
        let entry = |(rank, begin): (u32, &u64)| {
            let call = call(rank, (*begin, 320));
            Entry { call, waiting: call, communicator: 0, number: 0, root }
        };
        Operation { entries: (0..).zip(begins).map(entry).collect() }
    }

    fn found(operation: &Operation, kind: Collective) -> Vec<(Rule, u32, u64, Option<u32>)> {
        let mut all = Vec::new();
        let mut add = |loss: Loss| all.push((loss.rule, loss.rank, loss.nanos(), loss.culprit));
        judge(operation, &[0, 1, 2], kind, THRESHOLDS, &mut add);
        all
    }

    #[test]
    fn all_wait_for_the_last() {
        for (kind, rule) in
            [(Collective::Barrier, Rule::WaitAtBarrier), (Collective::AllToAll, Rule::WaitAtNxn)]
        {
            let late = operation(-1, &[100, 300, 200]);
            assert_eq!(found(&late, kind), [(rule, 0, 200, Some(1)), (rule, 2, 100, Some(1))]);
            assert_eq!(found(&operation(-1, &[310, 315, 312]), kind), []);
        }
    }

    #[test]
    fn all_wait_for_the_root_or_the_root_for_all() {
        let late = operation(1, &[100, 300, 200]);
        let rule = Rule::LateBroadcast;
        assert_eq!(found(&late, Collective::FromRoot), [(rule, 0, 200, Some(1)), (rule, 2, 100, Some(1))]);
        assert_eq!(found(&operation(1, &[300, 100, 200]), Collective::FromRoot), []);
        let early = operation(1, &[300, 100, 200]);
        assert_eq!(found(&early, Collective::ToRoot), [(Rule::EarlyReduce, 1, 200, Some(0))]);
        assert_eq!(found(&late, Collective::ToRoot), []);
    }

    #[test]
    fn in_a_scan_each_waits_for_those_before_it() {
        let rule = Rule::EarlyScan;
        let late = operation(-1, &[100, 300, 200]);
        assert_eq!(found(&late, Collective::Scan), [(rule, 2, 100, Some(1))]);
        assert_eq!(found(&operation(-1, &[100, 200, 300]), Collective::Scan), []);
    }

    #[test]
    fn who_waits_for_a_request_waits_from_then_on() {
        let mut late = operation(-1, &[100, 300, 200]);
        late.entries[0].waiting = call(0, (250, 320));
        let waits = found(&late, Collective::AllToAll);
        assert_eq!(waits[0], (Rule::WaitAtNxn, 0, 50, Some(1)));
    }

    #[test]
    fn leaving_takes_its_time() {
        let mut slow = operation(-1, &[100, 101, 102]);
        slow.entries[0].call.end = 110;
        slow.entries[0].waiting.end = 110;
        let rule = Rule::BarrierCompletion;
        assert_eq!(found(&slow, Collective::Barrier), [(rule, 1, 210, None), (rule, 2, 210, None)]);
    }

    #[test]
    fn an_operation_that_somebody_left_too_early_is_none() {
        let mut operation = operation(-1, &[100, 300, 200]);
        assert!(is_whole(&operation, Collective::Barrier, THRESHOLDS));
        operation.entries[0].waiting.end = 150;
        assert!(!is_whole(&operation, Collective::Barrier, THRESHOLDS));
        assert!(is_whole(&operation, Collective::FromRoot, THRESHOLDS));
        operation.entries[0].root = 2;
        assert!(!is_whole(&operation, Collective::FromRoot, THRESHOLDS));
    }
}
