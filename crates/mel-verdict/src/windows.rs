//! Who waits for whom in calls that synchronise a window: for a post, for the end of an access, for a lock.
//!
//! Of these calls single ones are kept: those that others wait for all, those that wait where they lasted long. Which processes belong to
//! a group is not known. Hence a call has waited for another process's only where it ends soon after that: the last needed one ends a wait.

use std::collections::BTreeMap;

use mel_log::table::{IntervalKind, IntervalRow};
use mpi_functions::{Kind, WindowCall};

use crate::findings::Rule;
use crate::run::{Rank, Run};

/// A call has waited for another one if it ends this many nanoseconds after that, at most, or after this part of the wait.
const SOON: u64 = 200_000;
const SOON_OF_WAIT: u64 = 10;
/// Shorter waits are not looked for, in nanoseconds: calls that lasted no longer are not kept.
const LEAST: u64 = 100_000;
/// What `peer_context` of an interval is where a lock is exclusive.
pub(crate) const EXCLUSIVE: u16 = 1;

/// A wait of one call. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowWait {
    pub(crate) rule: Rule,
    pub(crate) rank: u32,
    /// The context of the call that waits.
    pub(crate) context: u32,
    pub(crate) culprit: u32,
    /// The call site of the culprit's call.
    pub(crate) site: Option<u32>,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// A call on a window.
#[derive(Clone, Copy, Debug)]
struct Made {
    rank: u32,
    context: u32,
    site: Option<u32>,
    begin: u64,
    end: u64,
    /// The target of a lock; negative for all, or where it is not known.
    target: i32,
    is_exclusive: bool,
}

/// A lock that a process had: of which target, since when, until the call that gives it back.
#[derive(Clone, Copy, Debug)]
struct Held {
    lock: Made,
    unlock: Made,
}

/// The calls on one window.
#[derive(Debug, Default)]
struct OfWindow {
    posts: Vec<Made>,
    completes: Vec<Made>,
    /// Locks and unlocks of each rank, in order.
    locks: BTreeMap<u32, Vec<(WindowCall, Made)>>,
    /// Calls that lasted long.
    long: Vec<(WindowCall, Made)>,
}

/// All waits of which single calls are known, of those periods that `keeps`.
pub(crate) fn waits(run: &Run, keeps: impl Fn(u64) -> bool) -> Vec<WindowWait> {
    let mut windows: BTreeMap<u32, OfWindow> = BTreeMap::new();
    for rank in &run.ranks {
        for interval in rank.rows.waited.iter().filter(|interval| keeps(interval.begin)) {
            add(rank, interval, &mut windows);
        }
    }
    windows.into_values().flat_map(|window| window.waits()).collect()
}

fn add(rank: &Rank, interval: &IntervalRow, windows: &mut BTreeMap<u32, OfWindow>) {
    let (is_single, is_long) =
        (interval.key.kind == IntervalKind::Window, interval.key.kind == IntervalKind::Long);
    if !is_single && !is_long {
        return;
    }
    let Some(context) = rank.context(interval.key.context) else { return };
    let Some(window) = context.communicator else { return };
    let what = match mpi_functions::named(&context.function).map(|function| function.kind) {
        Some(Kind::Window(call)) => call,
        // An operation may wait for what its epoch waits for.
        Some(Kind::OneSided(_)) => WindowCall::Flush,
        _ => return,
    };
    let made = Made {
        rank: rank.rank,
        context: interval.key.context,
        site: context.site,
        begin: rank.nanos(interval.begin),
        end: rank.nanos(interval.end),
        target: interval.key.peer,
        is_exclusive: interval.key.peer_context == EXCLUSIVE,
    };
    let of = windows.entry(window).or_default();
    match what {
        _ if is_long => of.long.push((what, made)),
        WindowCall::Post => of.posts.push(made),
        WindowCall::Complete => of.completes.push(made),
        WindowCall::Lock | WindowCall::Unlock => of.locks.entry(made.rank).or_default().push((what, made)),
        _ => {}
    }
}

impl OfWindow {
    fn waits(mut self) -> Vec<WindowWait> {
        let held = self.held();
        self.posts.sort_by_key(|made| made.begin);
        self.completes.sort_by_key(|made| made.begin);
        let mut waits = Vec::new();
        for (what, long) in &self.long {
            let of_lock = || self.lock_before(long).and_then(|lock| waits_for_lock(long, lock, &held));
            let found = match what {
                WindowCall::Start | WindowCall::Complete => last(Rule::LatePost, long, &self.posts),
                WindowCall::Wait => last(Rule::EarlyWait, long, &self.completes),
                WindowCall::Lock | WindowCall::Unlock => of_lock(),
                WindowCall::Flush => of_lock().or_else(|| last(Rule::LatePost, long, &self.posts)),
                _ => None,
            };
            waits.extend(found.filter(|wait| wait.end.saturating_sub(wait.begin) >= LEAST));
        }
        waits
    }

    /// All locks that were given back.
    fn held(&self) -> Vec<Held> {
        let mut held = Vec::new();
        for calls in self.locks.values() {
            let mut open: BTreeMap<i32, Made> = BTreeMap::new();
            for (what, made) in calls {
                if *what == WindowCall::Lock {
                    open.insert(made.target, *made);
                } else if let Some(lock) = open.remove(&made.target) {
                    held.push(Held { lock, unlock: *made });
                }
            }
        }
        held.sort_by_key(|held| held.unlock.begin);
        held
    }

    /// The lock under which a process makes a call, as far as it is known: it may be this call itself.
    fn lock_before(&self, call: &Made) -> Option<Made> {
        let calls = self.locks.get(&call.rank)?;
        let before = calls.iter().filter(|(_, made)| made.begin <= call.begin);
        match before.max_by_key(|(_, made)| made.begin)? {
            (WindowCall::Lock, lock) => Some(*lock),
            // It is given back by this call.
            (_, unlock) if unlock.begin == call.begin => {
                let of_it = |(what, made): &&(WindowCall, Made)| {
                    *what == WindowCall::Lock && made.target == unlock.target && made.begin < unlock.begin
                };
                calls.iter().filter(of_it).max_by_key(|(_, made)| made.begin).map(|(_, lock)| *lock)
            }
            _ => None,
        }
    }
}

/// Whether a call that began at `begin` and ended at `end` ended because of what another process did at `done`.
fn ends_soon_after((begin, end): (u64, u64), done: u64) -> bool {
    begin < done && done <= end && end - done <= SOON.max((done - begin) / SOON_OF_WAIT)
}

/// The wait of a call for the last of these of another process, by which it ended; they are in the order of their begins.
fn last(rule: Rule, call: &Made, others: &[Made]) -> Option<WindowWait> {
    let until = others.partition_point(|other| other.begin <= call.end);
    let culprit = others[..until].iter().rev().find(|other| other.rank != call.rank)?;
    ends_soon_after((call.begin, call.end), culprit.begin).then_some(WindowWait {
        rule,
        rank: call.rank,
        context: call.context,
        culprit: culprit.rank,
        site: culprit.site,
        begin: call.begin,
        end: culprit.begin,
    })
}

/// The wait of a call under a lock for another process to give back what conflicts with it. Locks are in the order in which they were given
/// back.
fn waits_for_lock(call: &Made, lock: Made, held: &[Held]) -> Option<WindowWait> {
    let until = held.partition_point(|held| held.unlock.begin <= call.end);
    let conflicts = |held: &&Held| {
        let same = held.lock.target == lock.target || held.lock.target < 0 || lock.target < 0;
        let begin = call.begin.max(held.lock.end);
        held.lock.rank != call.rank
            && same
            && (held.lock.is_exclusive || lock.is_exclusive)
            // Who gives it back and waits long for that waits itself.
            && held.unlock.end - held.unlock.begin <= SOON.max((held.unlock.begin.saturating_sub(begin)) / SOON_OF_WAIT)
            && ends_soon_after((begin, call.end), held.unlock.begin)
    };
    let held = held[..until].iter().rev().find(conflicts)?;
    Some(WindowWait {
        rule: Rule::LockContention,
        rank: call.rank,
        context: call.context,
        culprit: held.lock.rank,
        site: held.unlock.site,
        begin: call.begin.max(held.lock.end),
        end: held.unlock.begin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn made(rank: u32, (begin, end): (u64, u64)) -> Made {
        Made { rank, context: rank, site: Some(rank), begin, end, target: 0, is_exclusive: true }
    }

    fn found(window: OfWindow) -> Vec<(Rule, u32, u32, u64)> {
        let waits = window.waits().into_iter();
        waits.map(|wait| (wait.rule, wait.rank, wait.culprit, wait.end - wait.begin)).collect()
    }

    #[test]
    fn an_epoch_waits_for_the_last_post_and_for_the_last_end_of_an_access() {
        let early_and_late = [made(1, (MS, MS)), made(2, (20 * MS, 20 * MS)), made(0, (20 * MS, 20 * MS))];
        let long = |what| vec![(what, made(0, (0, 20 * MS + 50)))];
        for what in [WindowCall::Start, WindowCall::Complete, WindowCall::Flush] {
            let window = OfWindow { posts: early_and_late.into(), long: long(what), ..OfWindow::default() };
            assert_eq!(found(window), [(Rule::LatePost, 0, 2, 20 * MS)]);
        }
        let window = OfWindow {
            completes: early_and_late.into(),
            long: long(WindowCall::Wait),
            ..OfWindow::default()
        };
        assert_eq!(found(window), [(Rule::EarlyWait, 0, 2, 20 * MS)]);
    }

    #[test]
    fn a_call_that_goes_on_long_after_a_post_has_not_waited_for_it() {
        let posts = vec![made(1, (5 * MS, 5 * MS))];
        let long = vec![(WindowCall::Start, made(0, (0, 20 * MS)))];
        assert_eq!(found(OfWindow { posts, long, ..OfWindow::default() }), []);
    }

    /// Rank 1 has the lock until 20 ms, rank 0 wants it.
    fn contention(of_holder: (bool, i32), of_other: (bool, i32), unlock: (u64, u64)) -> OfWindow {
        let of = |(is_exclusive, target): (bool, i32), made: Made| Made { is_exclusive, target, ..made };
        let holder = [(WindowCall::Lock, (0, 10)), (WindowCall::Unlock, unlock)];
        let (lock, give_back) = (made(0, (MS, 20 * MS + 50)), made(0, (20 * MS + 60, 20 * MS + 70)));
        let other = [(WindowCall::Lock, lock), (WindowCall::Unlock, give_back)];
        OfWindow {
            locks: BTreeMap::from([
                (1, holder.map(|(what, times)| (what, of(of_holder, made(1, times)))).into()),
                (0, other.map(|(what, made)| (what, of(of_other, made))).into()),
            ]),
            long: vec![(WindowCall::Lock, lock)],
            ..OfWindow::default()
        }
    }

    #[test]
    fn who_wants_a_lock_waits_for_who_has_it_where_they_conflict() {
        let unlock = (20 * MS, 20 * MS + 40);
        let wait = [(Rule::LockContention, 0, 1, 19 * MS)];
        assert_eq!(found(contention((true, 0), (true, 0), unlock)), wait);
        assert_eq!(found(contention((false, 0), (true, 0), unlock)), wait);
        assert_eq!(found(contention((true, -1), (false, 0), unlock)), wait);
        assert_eq!(found(contention((false, 0), (false, 0), unlock)), [], "both are shared");
        assert_eq!(found(contention((true, 1), (true, 0), unlock)), [], "of another target");
        // Both wait for the target.
        assert_eq!(found(contention((true, 0), (true, 0), (2 * MS, 20 * MS))), []);
    }
}
