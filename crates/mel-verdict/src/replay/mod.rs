//! The run once more, from the calls in which one rank needs something of another: its critical path, and what it would take otherwise.
//!
//! - `path`: the longest chain of useful time.
//! - `what_if`: with times taken out.
//!
//! Who fills it knows each call of a trace (the crate `mel-analyze`), or single waits of the run ([`crate::ideal`]). Times are numbers of
//! any one unit on one clock.

mod path;
mod what_if;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

pub use path::{CriticalPath, Most, Paths, Segment};
pub use what_if::{Latest, Supposition, WhatIf};

/// Waits of a rank that are remembered, and changes of what it has.
const REMEMBERED: usize = 4096;

/// A call of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Who called.
    pub rank: u32,
    /// When it was entered.
    pub begin: u64,
    /// When it was left.
    pub end: u64,
    /// How long the rank was outside of MPI before, since it began.
    pub computed: u64,
}

/// What a call needs of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The other rank.
    pub rank: u32,
    /// When it had done that.
    pub time: u64,
    /// How long it had been outside of MPI until then; none where that is not known, or where the call waited and needed nothing.
    pub computed: Option<u64>,
}

impl Need {
    /// What another rank has done when it made this call.
    pub fn of(call: Step) -> Need {
        Need { rank: call.rank, time: call.begin, computed: Some(call.computed) }
    }
}

/// Times of one rank: what overlaps is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Ascending, apart: begin, end, and how long those before are together.
    all: Vec<(u64, u64, u64)>,
}

impl Times {
    pub(crate) fn of(mut times: Vec<(u64, u64)>) -> Times {
        times.retain(|time| time.0 < time.1);
        times.sort_unstable();
        let mut all: Vec<(u64, u64, u64)> = Vec::new();
        for (begin, end) in times {
            match all.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => all.push((begin, end, 0)),
            }
        }
        let mut before = 0;
        for time in &mut all {
            time.2 = before;
            before += time.1 - time.0;
        }
        Times { all }
    }

    /// How long they are together before a time.
    pub(crate) fn before(&self, time: u64) -> u64 {
        let place = self.all.partition_point(|of| of.0 < time);
        let Some((begin, end, before)) = place.checked_sub(1).map(|place| self.all[place]) else { return 0 };
        before + (time.min(end) - begin)
    }

    /// How long they are together between two times.
    fn between(&self, since: u64, until: u64) -> u64 {
        self.before(until.max(since)) - self.before(since)
    }
}

/// Waits of a rank for others, in the order of their ends.
#[derive(Clone, Debug, Default)]
pub struct Waited(VecDeque<(u64, u64)>);

impl Waited {
    /// It waited for another rank. Gives the part of the interval in which it has not waited already.
    pub fn add(&mut self, (begin, end): (u64, u64)) -> (u64, u64) {
        let last = self.0.back().map_or(0, |last| last.1);
        let begin = if last < end { begin.max(last) } else { begin };
        if last < end {
            self.0.push_back((begin, end));
            if self.0.len() > REMEMBERED {
                self.0.pop_front();
            }
        }
        (begin, end)
    }

    /// Those that have a part in an interval.
    pub fn within(&self, of: (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
        let first = self.0.partition_point(|one| one.1 <= of.0);
        self.0.range(first..).copied().take_while(move |one| one.0 < of.1)
    }

    /// The last `length` before a time, and not before `since`, in which it did not wait for others: the latest first.
    pub fn busy_before(&self, until: u64, since: u64, mut length: u64) -> Vec<(u64, u64)> {
        let (mut pieces, mut end) = (Vec::new(), until);
        let waits = self.0.iter().rev().copied().skip_while(|wait| wait.0 >= until);
        for (begin, until) in waits.chain([(0, since)]) {
            let first = until.max(since).max(end.saturating_sub(length));
            if first < end {
                pieces.push((first, end));
                length -= end - first;
            }
            end = end.min(begin);
            if length == 0 || end <= since {
                break;
            }
        }
        pieces
    }
}

/// Calls with what they need, to be followed as often as one likes.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    calls: Vec<(Step, usize)>,
    needs: Vec<Need>,
    /// Where what calls need together begins and ends in `needs`, and how many calls do.
    together: Vec<(usize, usize, usize)>,
    ends: Vec<Step>,
}

impl Replay {
    /// What some calls need together, for [`call`](Self::call).
    pub fn needs(&mut self, needs: impl IntoIterator<Item = Need>) -> usize {
        let first = self.needs.len();
        self.needs.extend(needs);
        self.together.push((first, self.needs.len(), 0));
        self.together.len() - 1
    }

    /// A call that needs this, in any order.
    pub fn call(&mut self, call: Step, needs: usize) {
        self.together[needs].2 += 1;
        self.calls.push((call, needs));
    }

    /// A rank comes to its end.
    pub fn ends(&mut self, call: Step) {
        self.ends.push(call);
    }

    /// How many calls there are, and things that they need.
    pub fn size(&self) -> usize {
        self.calls.len() + self.needs.len()
    }

    /// Puts the calls in the order of their ends, in which they are followed.
    pub fn sort(&mut self) {
        self.calls.sort_by_key(|(call, _)| call.end);
    }

    /// Follows all calls: `of` says what needs come to, `call` takes a call with that. Calls that need the same ask once.
    fn follow<S, T: Clone>(
        &self,
        state: &mut S,
        of: impl Fn(&mut S, &[Need]) -> T,
        call: impl Fn(&mut S, &Step, &T),
    ) {
        let mut known: FxHashMap<usize, (T, usize)> = FxHashMap::default();
        for (step, needs) in &self.calls {
            let (first, end, users) = self.together[*needs];
            let (value, asked) = match known.remove(needs) {
                Some((value, asked)) => (value, asked + 1),
                None => (of(state, &self.needs[first..end]), 1),
            };
            call(state, step, &value);
            if asked < users {
                known.insert(*needs, (value, asked));
            }
        }
    }

    /// The longest path; none where no rank comes to its end.
    pub fn path(&self) -> Option<CriticalPath> {
        self.paths(|_, _, computed| computed).longest()
    }

    /// How long the longest path is of which a part alone counts: `part` says of a rank, a time, and how long it was outside of MPI until
    /// then, how much of that is in it. None where no rank comes to its end.
    pub fn longest_part(&self, part: impl Fn(u32, u64, u64) -> u64) -> Option<u64> {
        self.paths(part).longest().map(|path| path.useful)
    }

    /// The paths to the ends of all ranks, where this part counts of what each was outside of MPI until a time.
    fn paths(&self, part: impl Fn(u32, u64, u64) -> u64) -> Paths {
        let step = |of: &Step| Step { computed: part(of.rank, of.begin, of.computed), ..*of };
        let need = |of: &Need| Need { computed: of.computed.map(|all| part(of.rank, of.time, all)), ..*of };
        let mut paths = Paths::default();
        self.follow(
            &mut paths,
            |paths, needs| paths.most(needs.iter().map(need)),
            |paths, call, most| paths.call(&step(call), most.as_ref()),
        );
        self.ends.iter().for_each(|end| paths.ends(&step(end)));
        paths
    }

    /// The ends of the ranks.
    pub fn all_ends(&self) -> &[Step] {
        &self.ends
    }

    /// By how much the run would be shorter under each supposition.
    pub fn won(&self, supposed: Vec<Supposition>) -> Vec<u64> {
        let mut what_if = WhatIf::new(supposed);
        self.follow(&mut what_if, |what_if, needs| what_if.latest(needs), WhatIf::call);
        self.ends.iter().for_each(|end| what_if.ends(end));
        what_if.won()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_once_is_not_waited_again() {
        let mut waited = Waited::default();
        assert_eq!(waited.add((100, 200)), (100, 200));
        assert_eq!(waited.add((50, 300)), (200, 300), "who polls has waited for another one in between");
        assert_eq!(waited.add((40, 60)), (40, 60), "what comes late is left as it is");
    }

    #[test]
    fn what_a_rank_did_last_is_counted_back_from_a_time_without_its_waits() {
        let mut waited = Waited::default();
        [(100, 200), (300, 350), (500, 600)].into_iter().for_each(|wait| _ = waited.add(wait));
        assert_eq!(waited.busy_before(400, 0, 30), [(370, 400)]);
        assert_eq!(waited.busy_before(400, 0, 80), [(350, 400), (270, 300)]);
        assert_eq!(waited.busy_before(400, 250, 1000), [(350, 400), (250, 300)]);
        assert_eq!(waited.busy_before(400, 0, 1000), [(350, 400), (200, 300), (0, 100)]);
        assert_eq!(waited.busy_before(320, 310, 5), [], "it waited all the time");
        assert_eq!(Waited::default().busy_before(50, 10, 100), [(10, 50)]);
    }

    #[test]
    fn calls_may_come_in_any_order_and_be_followed_again() {
        // Two steps; in each rank 1 computes 30 and rank 0 10, then both are together.
        let mut replay = Replay::default();
        let step = |rank: u32, begin, end, computed| Step { rank, begin, end, computed };
        for round in [1, 0] {
            let (begin, end) = (40 * round, 40 * round + 40);
            let calls =
                [step(0, begin + 10, end, 10 * (round + 1)), step(1, begin + 30, end, 30 * (round + 1))];
            let all = replay.needs(calls.map(Need::of));
            calls.into_iter().for_each(|call| replay.call(call, all));
        }
        [step(0, 80, 80, 20), step(1, 80, 80, 60)].into_iter().for_each(|end| replay.ends(end));
        replay.sort();
        for _ in 0..2 {
            assert_eq!(replay.path().unwrap().useful, 60);
            let slow = || Supposition::of([(1, (10, 30)), (1, (50, 70))]);
            assert_eq!(replay.won(vec![slow(), Supposition::default(), slow()]), [40, 0, 40]);
            // Of the first step alone, and of its first half.
            let first =
                |most: [u64; 2]| replay.longest_part(|rank, _, computed| computed.min(most[rank as usize]));
            assert_eq!((first([10, 30]), first([5, 15])), (Some(30), Some(15)));
        }
    }
}
