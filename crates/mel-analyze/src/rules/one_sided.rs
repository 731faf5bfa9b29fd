//! Waiting in the synchronisation of windows.
//!
//! - Fences are operations of all: each waits for the one that comes last.
//! - Of the groups of two processes the n-th access of one to the other belongs to the n-th exposure of the other: what is
//!   called in the access before MPI_Win_post waits for that (late post), and MPI_Win_wait for MPI_Win_complete (early wait).
//! - A call in a lock's epoch that overlaps with another process's lock of the same memory, and ends soon after that, has
//!   waited for it, if one of them is exclusive. One that ends soon after the target has come back into MPI has waited for its
//!   progress.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::messages::Outside;
use super::{Loss, Rule, Thresholds};
use crate::model::{Call, Entry, OnWindow};
use crate::operations::{Operation, Operations};
use mpi_functions::WindowCall;

/// Locks of a process's memory that are remembered after they were given back.
const REMEMBERED: usize = 256;
/// Epochs whose other sides are not known, at most.
const MOST: usize = 1 << 16;

/// What is under way on the windows of a run.
#[derive(Debug)]
pub struct Windows {
    thresholds: Thresholds,
    fences: Operations,
    /// By window and rank.
    fences_before: FxHashMap<(u32, u32), u64>,
    /// By window, the rank that accesses, the one that is accessed, and which time.
    pairs: FxHashMap<(u32, u32, u32, u64), Pair>,
    /// By window, that rank, the other one, and whether the first accesses: how many there were.
    pairs_before: FxHashMap<(u32, u32, u32, bool), u64>,
    /// Accesses that are under way, by window and rank.
    accesses: FxHashMap<(u32, u32), Epoch>,
    exposures: FxHashMap<(u32, u32), Epoch>,
    /// Ended, but not all of the other sides are known.
    ended: VecDeque<Ended>,
    /// Locks that are held or wanted, by window, rank, and target.
    locks: FxHashMap<(u32, u32, u32), Lock>,
    /// Locks that were given back, by window and target.
    held: FxHashMap<(u32, u32), VecDeque<Held>>,
    /// Locks of which somebody had the lock before whose call that gives it back has not returned: by window, with rank and target.
    unjudged: VecDeque<(u32, u32, u32, Lock)>,
}

/// Two processes: when the one exposed its memory, and when the other one had accessed it.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    post: Option<Call>,
    complete: Option<Call>,
}

/// An epoch of one process with others: each with how many there were before.
#[derive(Clone, Debug, Default)]
struct Epoch {
    others: Vec<(u32, u64)>,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
struct Ended {
    window: u32,
    rank: u32,
    accesses: bool,
    epoch: Epoch,
}

#[derive(Clone, Debug)]
struct Lock {
    exclusive: bool,
    /// When it was granted, as far as the process knows.
    granted: u64,
    calls: Vec<Call>,
    /// Of each call, whose memory it is about.
    targets: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    rank: u32,
    exclusive: bool,
    since: u64,
    given_back: Call,
}

impl Windows {
    /// Nothing is.
    pub fn new(thresholds: Thresholds) -> Windows {
        Windows {
            thresholds,
            fences: Operations::default(),
            fences_before: FxHashMap::default(),
            pairs: FxHashMap::default(),
            pairs_before: FxHashMap::default(),
            accesses: FxHashMap::default(),
            exposures: FxHashMap::default(),
            ended: VecDeque::new(),
            locks: FxHashMap::default(),
            held: FxHashMap::default(),
            unjudged: VecDeque::new(),
        }
    }

    /// A rank has done something to a window of these processes, in a call. To be called in the order in which the calls were
    /// left.
    pub fn step(
        &mut self,
        (window, members): (u32, &[u32]),
        (call, group): (Call, Option<WindowCall>),
        what: &OnWindow,
        outside: Outside<'_>,
        found: &mut impl FnMut(Loss),
    ) {
        match what {
            OnWindow::Fence => self.fence((window, members.len()), call, found),
            OnWindow::Group(others) => {
                if let Some(group) = group {
                    self.group(window, call, (group, others), found);
                }
            }
            OnWindow::Lock { target, exclusive } => {
                let (calls, targets) = (vec![call], vec![*target]);
                let lock = Lock { exclusive: *exclusive, granted: call.end, calls, targets };
                self.locks.insert((window, call.rank, *target), lock);
            }
            OnWindow::Operates { target } => {
                if let Some(access) = self.accesses.get_mut(&(window, call.rank)) {
                    access.calls.push(call);
                } else if let Some(lock) = self.lock((window, call.rank), *target) {
                    lock.calls.push(call);
                    lock.targets.push(*target);
                }
            }
            OnWindow::Unlock { target } => self.unlock((window, *target), call, outside, found),
        }
    }

    /// The lock of a rank, of that target or of all.
    fn lock(&mut self, (window, rank): (u32, u32), target: u32) -> Option<&mut Lock> {
        let of_all = (window, rank, u32::MAX);
        let key = if self.locks.contains_key(&of_all) { of_all } else { (window, rank, target) };
        self.locks.get_mut(&key)
    }

    fn fence(&mut self, (window, size): (u32, usize), call: Call, found: &mut impl FnMut(Loss)) {
        let before = self.fences_before.entry((window, call.rank)).or_default();
        let entry = Entry { number: *before, ..Entry::blocking(call, window) };
        *before += 1;
        let Some(Operation { entries, .. }) = self.fences.enter_last(entry, size) else { return };
        let Some(last) = entries.iter().map(|entry| entry.call).max_by_key(|call| call.begin) else { return };
        // A fence that need not wait, because nothing follows or came before it, is left before the last one comes.
        let left = entries.iter().map(|entry| entry.call.end).min().unwrap_or(0);
        if left.saturating_add(self.thresholds.clocks) < last.begin {
            return;
        }
        for entry in entries {
            self.wait(Rule::WaitAtFence, entry.call, last, found);
        }
    }

    fn wait(&self, rule: Rule, call: Call, other: Call, found: &mut impl FnMut(Loss)) {
        let until = other.begin.min(call.end);
        if call.rank != other.rank && until.saturating_sub(call.begin) >= self.thresholds.epsilon.max(1) {
            let culprit = (Some(other.rank), other.site);
            found(Loss::new(rule, (call.rank, call.site), (call.begin, until), culprit));
        }
    }

    fn group(&mut self, window: u32, call: Call, of: (WindowCall, &[u32]), found: &mut impl FnMut(Loss)) {
        let (group, others) = of;
        let (rank, accesses) = (call.rank, matches!(group, WindowCall::Start | WindowCall::Complete));
        let open = if accesses { &mut self.accesses } else { &mut self.exposures };
        match group {
            WindowCall::Start | WindowCall::Post => {
                let before = &mut self.pairs_before;
                let others = others.iter().map(|other| {
                    let before = before.entry((window, rank, *other, accesses)).or_default();
                    *before += 1;
                    (*other, *before)
                });
                let epoch = Epoch { others: others.collect(), calls: vec![call] };
                if group == WindowCall::Post {
                    for (other, number) in &epoch.others {
                        self.pairs.entry((window, *other, rank, *number)).or_default().post = Some(call);
                    }
                }
                open.insert((window, rank), epoch);
            }
            WindowCall::Complete | WindowCall::Wait => {
                let Some(mut epoch) = open.remove(&(window, rank)) else { return };
                epoch.calls.push(call);
                if group == WindowCall::Complete {
                    for (other, number) in &epoch.others {
                        self.pairs.entry((window, rank, *other, *number)).or_default().complete = Some(call);
                    }
                }
                self.ended.push_back(Ended { window, rank, accesses, epoch });
                if self.ended.len() > MOST {
                    self.ended.pop_front();
                }
            }
            _ => return,
        }
        let mut left = std::mem::take(&mut self.ended);
        left.retain(|ended| !self.judge(ended, found));
        self.ended = left;
    }

    /// Judges an epoch, if the other sides are known.
    fn judge(&mut self, ended: &Ended, found: &mut impl FnMut(Loss)) -> bool {
        let key = |(other, number): &(u32, u64)| match ended.accesses {
            true => (ended.window, ended.rank, *other, *number),
            false => (ended.window, *other, ended.rank, *number),
        };
        let others = ended.epoch.others.iter().map(|other| {
            let pair = self.pairs.get(&key(other))?;
            if ended.accesses { pair.post } else { pair.complete }
        });
        let Some(others) = others.collect::<Option<Vec<Call>>>() else { return false };
        let Some(last) = others.into_iter().max_by_key(|call| call.begin) else { return true };
        if ended.accesses {
            let waited =
                ended.epoch.calls.iter().find(|call| call.begin < last.begin && last.begin <= call.end);
            if let Some(call) = waited {
                self.wait(Rule::LatePost, *call, last, found);
            }
        } else if let Some(call) = ended.epoch.calls.last() {
            self.wait(Rule::EarlyWait, *call, last, found);
            // The access that it belongs to is known, and may still be judged by the post: that is in the epoch there.
            for other in &ended.epoch.others {
                if let Some(pair) = self.pairs.get_mut(&key(other)) {
                    pair.complete = None;
                }
            }
        }
        if ended.accesses {
            for other in &ended.epoch.others {
                if let Some(pair) = self.pairs.get_mut(&key(other)) {
                    pair.post = None;
                }
            }
        }
        for other in &ended.epoch.others {
            if self.pairs.get(&key(other)).is_some_and(|pair| pair.post.is_none() && pair.complete.is_none())
            {
                self.pairs.remove(&key(other));
            }
        }
        true
    }

    /// All calls of a lock's epoch are judged at its end, or when those have given it back who had the lock before.
    fn unlock(
        &mut self,
        (window, target): (u32, u32),
        call: Call,
        outside: Outside<'_>,
        found: &mut impl FnMut(Loss),
    ) {
        let Some(mut lock) = self.locks.remove(&(window, call.rank, target)) else { return };
        lock.calls.push(call);
        lock.targets.push(target);
        let held = Held { rank: call.rank, exclusive: lock.exclusive, since: lock.granted, given_back: call };
        let known = self.held.entry((window, target)).or_default();
        known.push_back(held);
        if known.len() > REMEMBERED {
            known.pop_front();
        }
        self.unjudged.push_back((window, call.rank, target, lock));
        for _ in 0..self.unjudged.len() {
            let Some(one) = self.unjudged.pop_front() else { return };
            // Of others nothing has changed.
            let is_another = (one.0, one.2) != (window, target);
            if (is_another || self.waits_for_judgement(&one)) && self.unjudged.len() < REMEMBERED {
                self.unjudged.push_back(one);
            } else {
                self.judge_lock(&one, outside, found);
            }
        }
    }

    /// Whether one of the calls waited, and somebody else had the lock before it returned, who is giving it back: that call may return
    /// later than those for which it makes room.
    fn waits_for_judgement(&self, (window, rank, target, lock): &(u32, u32, u32, Lock)) -> bool {
        let least = self.thresholds.epsilon.max(1);
        let waiting = lock.calls.iter().filter(|call| call.end - call.begin >= least);
        let Some(last) = waiting.map(|call| call.end).max() else { return false };
        self.locks.iter().any(|((in_window, who, whose), other)| {
            (in_window, whose) == (window, target)
                && who != rank
                && (other.exclusive || lock.exclusive)
                && other.granted < last
        })
    }

    fn judge_lock(
        &self,
        (window, _, _, lock): &(u32, u32, u32, Lock),
        outside: Outside<'_>,
        found: &mut impl FnMut(Loss),
    ) {
        let least = self.thresholds.epsilon.max(1);
        for (call, target) in lock.calls.iter().zip(&lock.targets) {
            if call.end - call.begin >= least {
                let waited = self.waited_for((*window, *target), *call, lock.exclusive);
                waited.or_else(|| self.progress(*call, *target, outside)).into_iter().for_each(&mut *found);
            }
        }
    }

    /// Nothing comes any more.
    pub fn finish(&mut self, outside: Outside<'_>, found: &mut impl FnMut(Loss)) {
        for one in std::mem::take(&mut self.unjudged) {
            self.judge_lock(&one, outside, found);
        }
    }

    /// What a call has lost because another process held the lock.
    fn waited_for(&self, key: (u32, u32), call: Call, exclusive: bool) -> Option<Loss> {
        let held =
            self.held.get(&key)?.iter().filter(|held| {
                held.rank != call.rank && (held.exclusive || exclusive) && held.since < call.end
            });
        let last =
            held.filter(|held| held.given_back.end > call.begin).max_by_key(|held| held.given_back.end)?;
        let until = last.given_back.end.min(call.end);
        let since = call.begin.max(last.since);
        let lost = until.saturating_sub(since);
        // Where it goes on for longer after that, it was not for that.
        if lost < self.thresholds.epsilon.max(1) || call.end - until > lost {
            return None;
        }
        let culprit = (Some(last.rank), last.given_back.site);
        Some(Loss::new(Rule::LockContention, (call.rank, call.site), (since, until), culprit))
    }

    /// What a call has lost because the target was outside of MPI.
    fn progress(&self, call: Call, target: u32, outside: Outside<'_>) -> Option<Loss> {
        if target == call.rank || target == u32::MAX {
            return None;
        }
        let (since, until) = outside(target, (call.begin, call.end))?;
        let since = since.max(call.begin);
        let lost = until.saturating_sub(since);
        if lost < self.thresholds.epsilon.max(1) || call.end - until > lost {
            return None;
        }
        let culprit = (Some(target), crate::model::NO_SITE);
        Some(Loss::new(Rule::WaitForProgress, (call.rank, call.site), (since, until), culprit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    const THRESHOLDS: Thresholds = Thresholds { epsilon: 10, delta_sr: 10, delta_percent: 0, clocks: 0 };

    /// Rule, rank, interval, and who was waited for.
    type Lost = (Rule, u32, (u64, u64), Option<u32>);

    /// What is found of these steps, of two processes.
    fn found(steps: &[(Call, Option<WindowCall>, OnWindow)]) -> Vec<Lost> {
        found_with(steps, &|_, _| None)
    }

    fn found_with(steps: &[(Call, Option<WindowCall>, OnWindow)], outside: Outside<'_>) -> Vec<Lost> {
        let (mut windows, mut all) = (Windows::new(THRESHOLDS), Vec::new());
        for (call, kind, what) in steps {
            let mut add = |loss: Loss| all.push((loss.rule, loss.rank, loss.interval, loss.culprit));
            windows.step((0, &[0, 1]), (*call, *kind), what, outside, &mut add);
        }
        windows.finish(outside, &mut |loss| all.push((loss.rule, loss.rank, loss.interval, loss.culprit)));
        all
    }

    #[test]
    fn a_fence_waits_for_the_last() {
        let fence = |rank, times| (call(rank, times), None, OnWindow::Fence);
        let late = [fence(0, (100, 210)), fence(1, (200, 211))];
        assert_eq!(found(&late), [(Rule::WaitAtFence, 0, (100, 200), Some(1))]);
        assert_eq!(found(&[fence(0, (195, 210)), fence(1, (200, 211))]), []);
        // One that need not wait has not waited.
        assert_eq!(found(&[fence(0, (100, 150)), fence(1, (200, 211))]), []);
    }

    fn group(group: WindowCall, rank: u32, times: (u64, u64)) -> (Call, Option<WindowCall>, OnWindow) {
        (call(rank, times), Some(group), OnWindow::Group(vec![1 - rank]))
    }

    #[test]
    fn an_access_waits_for_the_exposure_in_whichever_call() {
        let in_start = [
            group(WindowCall::Post, 1, (200, 201)),
            group(WindowCall::Start, 0, (100, 205)),
            group(WindowCall::Complete, 0, (206, 207)),
            group(WindowCall::Wait, 1, (202, 208)),
        ];
        assert_eq!(found(&in_start), [(Rule::LatePost, 0, (100, 200), Some(1))]);
        let in_complete = [
            group(WindowCall::Start, 0, (100, 101)),
            group(WindowCall::Post, 1, (200, 201)),
            group(WindowCall::Complete, 0, (103, 207)),
            group(WindowCall::Wait, 1, (202, 208)),
        ];
        assert_eq!(found(&in_complete), [(Rule::LatePost, 0, (103, 200), Some(1))]);
        let healthy = [
            group(WindowCall::Post, 1, (90, 91)),
            group(WindowCall::Start, 0, (100, 101)),
            group(WindowCall::Complete, 0, (103, 107)),
            group(WindowCall::Wait, 1, (102, 108)),
        ];
        assert_eq!(found(&healthy), []);
    }

    #[test]
    fn an_exposure_waits_until_the_access_is_complete() {
        let early = [
            group(WindowCall::Post, 1, (90, 91)),
            group(WindowCall::Start, 0, (92, 93)),
            group(WindowCall::Wait, 1, (100, 207)),
            group(WindowCall::Complete, 0, (200, 208)),
        ];
        assert_eq!(found(&early), [(Rule::EarlyWait, 1, (100, 200), Some(0))]);
    }

    fn lock(rank: u32, times: (u64, u64), exclusive: bool) -> (Call, Option<WindowCall>, OnWindow) {
        (call(rank, times), None, OnWindow::Lock { target: 0, exclusive })
    }

    fn unlock(rank: u32, times: (u64, u64)) -> (Call, Option<WindowCall>, OnWindow) {
        (call(rank, times), None, OnWindow::Unlock { target: 0 })
    }

    #[test]
    fn who_wants_a_lock_waits_for_who_has_it() {
        for (first, second, waits) in [(true, true, true), (false, true, true), (false, false, false)] {
            let steps = [
                lock(0, (90, 95), first),
                unlock(0, (195, 200)),
                lock(1, (100, 205), second),
                unlock(1, (210, 215)),
            ];
            let expected = [(Rule::LockContention, 1, (100, 200), Some(0))];
            assert_eq!(found(&steps), if waits { &expected[..] } else { &[] });
        }
    }

    #[test]
    fn who_had_the_lock_may_return_last() {
        let steps = [
            lock(0, (90, 95), true),
            lock(1, (100, 205), true),
            unlock(1, (206, 207)),
            unlock(0, (195, 210)),
            lock(1, (220, 221), true),
            unlock(1, (222, 223)),
        ];
        let outside = |rank, _| (rank == 0).then_some((50, 204));
        assert_eq!(found_with(&steps, &outside), [(Rule::LockContention, 1, (100, 205), Some(0))]);
        // Who never gives it back is not waited for in the end.
        assert_eq!(found_with(&steps[..3], &outside), [(Rule::WaitForProgress, 1, (100, 204), Some(0))]);
    }

    #[test]
    fn who_operates_waits_for_a_target_outside_of_mpi() {
        let steps = [lock(1, (100, 101), true), unlock(1, (110, 205))];
        let outside = |rank, _| (rank == 0).then_some((50, 200));
        let expected = [(Rule::WaitForProgress, 1, (110, 200), Some(0))];
        assert_eq!(found_with(&steps, &outside), expected);
        assert_eq!(found(&steps), []);
    }
}
