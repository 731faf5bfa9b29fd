//! The critical path: the longest chain of useful time, over calls in which one rank needs something of another; and who did what on it.
//!
//! Useful is the time outside of MPI. Each rank has the largest useful time on a path that leads to it: computing adds to it, and a call that
//! needs what another rank has done takes the larger of its own and of the other's when that was done, whether it had to wait for it or
//! not. What the last rank has at its end is what the run would take on a network without any cost: `T_ideal` of POP's metrics (the longest
//! path through Hollingsworth's program activity graph).
//!
//! A call is known when it is over, in the order of time. What another rank had at a time before that is looked up among its last changes.
//! The path itself is a list of where it came from another rank; what no rank has any more is forgotten.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{Need, REMEMBERED, Step};

/// A part of the path: this rank, from the first time to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Which rank.
    pub rank: u32,
    /// From when.
    pub begin: u64,
    /// Until when.
    pub end: u64,
}

/// The longest chain of useful time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The useful time on it, in nanoseconds.
    pub useful: u64,
    /// Its parts, the first one first.
    pub segments: Vec<Segment>,
}

/// Where the path of a rank came from another one.
#[derive(Debug)]
struct Turn {
    rank: u32,
    since: u64,
    /// The way of the other rank, and when it left that.
    from: Option<(Rc<Turn>, u64)>,
}

impl Drop for Turn {
    /// A long path is taken apart without as many calls on the stack.
    fn drop(&mut self) {
        let mut next = self.from.take();
        while let Some((turn, _)) = next {
            next = Rc::try_unwrap(turn).ok().and_then(|mut turn| turn.from.take());
        }
    }
}

/// What a rank has since a time.
#[derive(Clone, Debug)]
struct Has {
    since: u64,
    useful: u64,
    computed: u64,
    turn: Rc<Turn>,
}

impl Has {
    fn at(&self, computed: u64) -> u64 {
        self.useful.saturating_add(computed.saturating_sub(self.computed))
    }
}

/// The longest path to something that is needed.
#[derive(Clone, Debug)]
pub struct Most {
    useful: u64,
    turn: Rc<Turn>,
    left: u64,
}

/// Follows the paths of all ranks.
#[derive(Debug, Default)]
pub struct Paths {
    ranks: FxHashMap<u32, VecDeque<Has>>,
    /// By rank: how long it was outside of MPI, and what it has, at its end.
    ends: FxHashMap<u32, (u64, u64)>,
    longest: Option<(u64, u64, Rc<Turn>)>,
    /// Whether it is not known what some calls need.
    is_unknown: bool,
}

impl Paths {
    fn of(&mut self, rank: u32) -> &mut VecDeque<Has> {
        self.ranks.entry(rank).or_insert_with(|| {
            let turn = Rc::new(Turn { rank, since: 0, from: None });
            [Has { since: 0, useful: 0, computed: 0, turn }].into()
        })
    }

    /// The longest path to what is needed; none where there is nothing on any.
    pub fn most(&mut self, needs: impl IntoIterator<Item = Need>) -> Option<Most> {
        let mut most: Option<Most> = None;
        for need in needs {
            let of = self.of(need.rank);
            let place = of.partition_point(|has| has.since <= need.time);
            // What was before all that is remembered is smaller than anything since.
            let has = place.checked_sub(1).and_then(|place| of.get(place));
            let Some((has, computed)) = has.zip(need.computed) else { continue };
            let useful = has.at(computed);
            if most.as_ref().is_none_or(|most| useful > most.useful) {
                most = Some(Most { useful, turn: Rc::clone(&has.turn), left: need.time });
            }
        }
        most
    }

    /// A call is over that needed this. To be given in the order of the ends.
    pub fn call(&mut self, call: &Step, most: Option<&Most>) {
        let of = self.of(call.rank);
        let own = of.back().map_or(0, |has| has.at(call.computed));
        let Some(Most { useful, turn, left }) = most.filter(|most| most.useful > own) else { return };
        let turn = Rc::new(Turn { rank: call.rank, since: call.end, from: Some((Rc::clone(turn), *left)) });
        of.push_back(Has { since: call.end, useful: *useful, computed: call.computed, turn });
        if of.len() > REMEMBERED {
            of.pop_front();
        }
    }

    /// It is not known what a call needs: then there is no path.
    pub fn not_known(&mut self) {
        self.is_unknown = true;
    }

    /// A rank enters `MPI_Finalize`.
    pub fn ends(&mut self, call: &Step) {
        let Some(has) = self.of(call.rank).back().cloned() else { return };
        let useful = has.at(call.computed);
        self.ends.insert(call.rank, (call.computed, useful));
        if self.longest.as_ref().is_none_or(|longest| useful > longest.0) {
            self.longest = Some((useful, call.begin, has.turn));
        }
    }

    /// How long each rank that has come to `MPI_Finalize` was outside of MPI, in nanoseconds.
    pub fn computed(&self) -> impl Iterator<Item = (u32, u64)> {
        self.ends.iter().map(|(rank, (computed, _))| (*rank, *computed))
    }

    /// The longest path to the end of any rank; none where none has come there, or it is not known.
    pub fn longest(&self) -> Option<CriticalPath> {
        let (useful, mut end, turn) = self.longest.clone().filter(|_| !self.is_unknown)?;
        let (mut segments, mut next) = (Vec::new(), Some(turn));
        while let Some(turn) = next {
            segments.push(Segment { rank: turn.rank, begin: turn.since, end });
            next = turn.from.as_ref().map(|(from, left)| {
                end = *left;
                Rc::clone(from)
            });
        }
        segments.reverse();
        Some(CriticalPath { useful, segments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rank: u32, (begin, end): (u64, u64), computed: u64) -> Step {
        Step { rank, begin, end, computed }
    }

    /// A call that needs what another rank has done when it made a call.
    fn needs(paths: &mut Paths, call: &Step, other: Step) {
        let most = paths.most([Need::of(other)]);
        paths.call(call, most.as_ref());
    }

    #[test]
    fn ranks_that_work_in_turn_are_one_path() {
        // Rank 0 computes for 100, then 1 for 100, then 2 for 50; each waits for the one before.
        let mut paths = Paths::default();
        needs(&mut paths, &at(1, (0, 105), 0), at(0, (100, 101), 100));
        needs(&mut paths, &at(2, (0, 210), 0), at(1, (205, 206), 100));
        [at(0, (101, 101), 100), at(1, (206, 206), 100), at(2, (260, 260), 50)]
            .iter()
            .for_each(|end| paths.ends(end));
        let path = paths.longest().unwrap();
        let segments = [(0, 0, 100), (1, 105, 205), (2, 210, 260)];
        let segments = segments.map(|(rank, begin, end)| Segment { rank, begin, end });
        assert_eq!((path.useful, &path.segments[..]), (250, &segments[..]));
        let mut computed: Vec<_> = paths.computed().collect();
        computed.sort_unstable();
        assert_eq!(computed, [(0, 100), (1, 100), (2, 50)]);
    }

    #[test]
    fn the_path_is_by_what_is_needed_and_not_by_who_waited() {
        // What rank 1 needs had come long before. It has computed less until then, and goes on.
        let mut paths = Paths::default();
        needs(&mut paths, &at(1, (500, 501), 50), at(0, (100, 101), 100));
        paths.ends(&at(0, (101, 101), 100));
        paths.ends(&at(1, (601, 601), 150));
        assert_eq!(paths.longest().unwrap().useful, 200);
        // It has computed more: what came does not matter.
        let mut paths = Paths::default();
        needs(&mut paths, &at(1, (500, 501), 450), at(0, (100, 101), 100));
        paths.ends(&at(1, (601, 601), 550));
        let path = paths.longest().unwrap();
        assert_eq!((path.useful, path.segments.len()), (550, 1));
    }

    #[test]
    fn what_another_rank_had_then_counts_and_not_what_it_has_now() {
        let mut paths = Paths::default();
        // Rank 1 sends at 10, having computed 10, and then gets what took 1000.
        needs(&mut paths, &at(1, (20, 1010), 10), at(0, (1000, 1001), 1000));
        needs(&mut paths, &at(2, (0, 1020), 0), at(1, (10, 12), 10));
        paths.ends(&at(2, (1030, 1030), 10));
        assert_eq!(paths.longest().unwrap().useful, 20);
    }

    #[test]
    fn a_long_path_is_taken_apart_without_a_deep_stack() {
        let mut paths = Paths::default();
        for turn in 0..200_000u64 {
            let (from, to) = ((turn % 2) as u32, ((turn + 1) % 2) as u32);
            let time = 10 * turn + 10;
            let computed = |rank: u32| 10 * turn.div_ceil(2) + if rank == from { 10 } else { 0 };
            needs(
                &mut paths,
                &at(to, (time, time + 1), computed(to) / 2),
                at(from, (time, time), computed(from)),
            );
        }
        paths.ends(&at(0, (3_000_000, 3_000_000), 2_000_000));
        assert!(paths.longest().is_some());
    }
}
