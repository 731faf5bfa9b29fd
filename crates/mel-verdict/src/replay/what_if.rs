//! What would be won: the run once more, with the time that is the cause of something taken out.
//!
//! Each supposition takes some times of some ranks out. Then each rank is earlier by a time of its own: it gains what is taken out, and in a
//! call that needs something of another rank it is as early as the last thing that it needs: its own coming, or what the other has done.
//! What the call takes after that stays as it was. Calls are known when they are over, in the order of time.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::{Need, REMEMBERED, Step, Times};

/// Times that are taken out, by rank.
#[derive(Clone, Debug, Default)]
pub struct Supposition {
    ranks: FxHashMap<u32, Times>,
}

impl Supposition {
    /// These times of these ranks are taken out.
    pub fn of(times: impl IntoIterator<Item = (u32, (u64, u64))>) -> Supposition {
        let mut by_rank: FxHashMap<u32, Vec<(u64, u64)>> = FxHashMap::default();
        for (rank, time) in times {
            by_rank.entry(rank).or_default().push(time);
        }
        Supposition { ranks: by_rank.into_iter().map(|(rank, times)| (rank, Times::of(times))).collect() }
    }

    fn between(&self, rank: u32, since: u64, until: u64) -> u64 {
        self.ranks.get(&rank).map_or(0, |removed| removed.between(since, until))
    }
}

/// By how much each rank is earlier, under one supposition.
#[derive(Debug)]
struct Replayed {
    supposed: Supposition,
    /// By rank: since when by how much, ascending.
    ranks: FxHashMap<u32, VecDeque<(u64, u64)>>,
    /// The last end of a rank.
    last: u64,
}

impl Replayed {
    /// By how much a rank is earlier at a time.
    fn earlier(&self, rank: u32, time: u64) -> u64 {
        let known = self.ranks.get(&rank);
        let place = known.map_or(0, |known| known.partition_point(|of| of.0 <= time));
        let of = place.checked_sub(1).and_then(|place| known?.get(place).copied());
        let (since, earlier) = of.unwrap_or((0, 0));
        earlier.saturating_add(self.supposed.between(rank, since, time))
    }

    /// The latest of what is needed.
    fn latest(&self, needs: &[Need]) -> u64 {
        let earlier = |need: &Need| need.time - self.earlier(need.rank, need.time).min(need.time);
        needs.iter().map(earlier).max().unwrap_or(0)
    }

    /// A call is over of which what it needs was there at one time, and would have been at another.
    fn call(&mut self, call: &Step, (real, supposed): (u64, u64)) {
        let own = call.begin - self.earlier(call.rank, call.begin).min(call.begin);
        // What clocks say that came after the call was there before its end.
        let real = real.clamp(call.begin, call.end.max(call.begin));
        let earlier = real
            .saturating_sub(supposed.max(own))
            .saturating_add(self.supposed.between(call.rank, real, call.end));
        if earlier == self.earlier(call.rank, call.end) {
            return;
        }
        let known = self.ranks.entry(call.rank).or_default();
        known.push_back((call.end, earlier));
        if known.len() > REMEMBERED {
            known.pop_front();
        }
    }

    fn ends(&mut self, call: &Step) {
        let end = call.begin - self.earlier(call.rank, call.begin).min(call.begin);
        self.last = self.last.max(end);
    }
}

/// When the last of what a call needs was there, and would have been under each supposition.
#[derive(Clone, Debug, Default)]
pub struct Latest {
    real: u64,
    supposed: Vec<u64>,
}

/// The run under some suppositions.
#[derive(Debug, Default)]
pub struct WhatIf {
    all: Vec<Replayed>,
    last: u64,
}

impl WhatIf {
    /// From the beginning.
    pub fn new(suppositions: Vec<Supposition>) -> WhatIf {
        let replayed = |supposed| Replayed { supposed, ranks: FxHashMap::default(), last: 0 };
        WhatIf { all: suppositions.into_iter().map(replayed).collect(), last: 0 }
    }

    /// When the last of what is needed was there, and would have been.
    pub fn latest(&self, needs: &[Need]) -> Latest {
        Latest {
            real: needs.iter().map(|need| need.time).max().unwrap_or(0),
            supposed: self.all.iter().map(|of| of.latest(needs)).collect(),
        }
    }

    /// A call is over that needed this. To be given in the order of the ends.
    pub fn call(&mut self, call: &Step, latest: &Latest) {
        for (of, supposed) in self.all.iter_mut().zip(&latest.supposed) {
            of.call(call, (latest.real, *supposed));
        }
    }

    /// A rank enters `MPI_Finalize`.
    pub fn ends(&mut self, call: &Step) {
        self.last = self.last.max(call.begin);
        self.all.iter_mut().for_each(|of| of.ends(call));
    }

    /// By how much the run would be shorter under each supposition, in nanoseconds.
    pub fn won(&self) -> Vec<u64> {
        self.all.iter().map(|of| self.last.saturating_sub(of.last)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(rank: u32, (begin, end): (u64, u64)) -> Step {
        Step { rank, begin, end, computed: 0 }
    }

    /// What is won where these times are taken out: calls with what they need, in the order of their ends, then the ends of the ranks.
    fn won(removed: &[(u32, (u64, u64))], calls: &[(Step, &[(u32, u64)])], ends: &[(u32, u64)]) -> u64 {
        let mut what_if = WhatIf::new(vec![Supposition::of(removed.iter().copied())]);
        for (call, needs) in calls {
            let need = |(rank, time): &(u32, u64)| Need { rank: *rank, time: *time, computed: None };
            let latest = what_if.latest(&needs.iter().map(need).collect::<Vec<_>>());
            what_if.call(call, &latest);
        }
        ends.iter().for_each(|(rank, time)| what_if.ends(&call(*rank, (*time, *time))));
        what_if.won()[0]
    }

    #[test]
    fn a_delay_that_all_wait_for_is_won_once() {
        // Rank 1 computes 100 longer than the others, twice; then a barrier takes 5.
        let barrier = |begin: [u64; 3], end: u64| {
            (0..3).map(move |rank| (call(rank, (begin[rank as usize], end)), begin))
        };
        let calls: Vec<(Step, Vec<(u32, u64)>)> = barrier([50, 150, 50], 155)
            .chain(barrier([205, 305, 205], 310))
            .map(|(call, begins)| (call, (0..).zip(begins).collect()))
            .collect();
        let calls: Vec<(Step, &[(u32, u64)])> =
            calls.iter().map(|(call, needs)| (*call, &needs[..])).collect();
        let ends = [(0, 310), (1, 310), (2, 310)];
        assert_eq!(won(&[(1, (50, 150))], &calls, &ends), 100);
        assert_eq!(won(&[(1, (50, 150)), (1, (205, 305))], &calls, &ends), 200);
        assert_eq!(won(&[(1, (40, 150))], &calls, &ends), 100, "then the others are the last");
        assert_eq!(won(&[(0, (0, 50))], &calls, &ends), 0, "nobody waits for rank 0");
        assert_eq!(won(&[(1, (50, 100)), (1, (60, 150))], &calls, &ends), 100, "once, though for two");
    }

    #[test]
    fn what_was_waited_for_is_not_won_where_something_else_comes_late() {
        // Rank 0 needs what 1 does at 200 and what 2 does at 180.
        let calls = [(call(0, (50, 205)), &[(1, 200), (2, 180)][..])];
        let ends = [(0, 205), (1, 200), (2, 180)];
        assert_eq!(won(&[(1, (0, 200))], &calls, &ends), 20);
        assert_eq!(won(&[(1, (0, 200)), (2, (0, 180))], &calls, &ends), 150);
    }

    #[test]
    fn what_a_call_takes_by_itself_is_won_where_nobody_was_waited_for() {
        // In a call from 50 on 40 of its time are taken out; what it needs has come before it.
        let early = [(call(0, (50, 100)), &[(1, 20)][..])];
        assert_eq!(won(&[(0, (50, 90))], &early, &[(0, 100)]), 40);
        let late = [(call(0, (50, 100)), &[(1, 85)][..])];
        assert_eq!(won(&[(0, (50, 90))], &late, &[(0, 100)]), 5, "it would have waited instead");
    }
}
