//! What the run would take otherwise, from single waits: on a network without any cost, and without what a finding is about. Estimated.
//!
//! Each rank keeps single waits and operations, with their times; of long runs those of the same periods. Between them it was outside of
//! MPI for the most part: its calls that are not known one by one are spread evenly over that time, so that the sum is what the rank has
//! computed. Only what was waited for is needed here, and in operations what their members give each other: where a message had come long
//! before its receive, its sender is on no path.

use std::collections::HashMap;

use mel_log::profile::Ended;
use mel_log::table::writer::PERIOD;
use mel_log::table::{IntervalKind, IntervalRow};

use crate::budget;
use crate::findings::{Gain, Rule};
use crate::losses::keeps;
use crate::places;
use crate::replay::{Need, Replay, Step, Supposition, Times, Waited};
use crate::run::{Clock, Rank, Run};

/// So many calls that wait are followed at most; of more those of fewer periods.
const MOST: usize = 1 << 15;
/// So many times that are taken out are kept.
const MOST_REMOVED: usize = 1 << 18;
/// From this part on of the waits that reach beyond the periods that are kept the others do not stand for all.
const MOST_CUT: f64 = 0.25;

/// A time in a part of the run is right if no more than this share of it is missing, or too much.
const NEAR: f64 = 0.05;

/// What belongs together of what was lost: why, who has lost it, its context, and the cause.
pub(crate) type Key = (Rule, u32, u32, u32);

/// Something that was lost.
#[derive(Clone, Debug, Default)]
struct Without {
    /// How many seconds of it are known one by one, and how many reach beyond what is kept.
    seconds: f64,
    cut: f64,
    /// The times of ranks without which it would not be.
    times: Vec<(u32, (u64, u64))>,
}

impl Without {
    /// Whether what is known of it stands for all.
    fn is_known(&self) -> bool {
        !self.times.is_empty() && self.cut <= MOST_CUT * (self.seconds + self.cut)
    }
}

/// The periods that are kept, as time without gaps.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// One in two to the power of this many.
    level: u64,
}

impl Kept {
    fn keeps(self, ticks: u64) -> bool {
        keeps(self.level, ticks)
    }

    /// A time in ticks, without what is not kept before it.
    fn place(self, ticks: u64) -> u64 {
        if self.level == 0 {
            return ticks;
        }
        let period = ticks >> PERIOD;
        let whole = (period >> self.level.min(40)) << PERIOD;
        whole + if self.keeps(ticks) { ticks & ((1 << PERIOD) - 1) } else { 1 << PERIOD }
    }
}

/// When a rank was in MPI, as far as that is known.
#[derive(Debug, Default)]
struct OfRank {
    begin: u64,
    end: u64,
    in_mpi: Times,
    /// How long it was outside of MPI in the whole run, in seconds.
    computing_s: f64,
    /// The share of the time that is in no known call that it was outside of MPI.
    outside: f64,
    waited: Waited,
}

impl OfRank {
    fn of(rank: &Rank, kept: Kept) -> OfRank {
        let place = |ticks| kept.place(ticks);
        let (begin, end) = (place(rank.rows.runs_since), place(rank.until()));
        let rows = calls(rank).filter(|row| kept.keeps(row.begin));
        let times = rows.map(|row| (place(row.begin).max(begin), place(row.end).min(end)));
        let in_mpi = Times::of(times.collect());
        // The share of the run that is kept.
        let all = rank.seconds(end - begin.min(end)) / rank.run_s().max(f64::MIN_POSITIVE);
        let rest = rank.seconds((end - begin.min(end)).saturating_sub(in_mpi.before(end)));
        let computing_s = budget::computing_s(rank);
        let outside = (computing_s * all / rest.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        OfRank { begin, end, in_mpi, computing_s, outside, waited: Waited::default() }
    }

    /// How long it was outside of MPI until a time.
    fn computed(&self, time: u64) -> u64 {
        let time = time.clamp(self.begin, self.end.max(self.begin));
        ((time - self.begin).saturating_sub(self.in_mpi.before(time)) as f64 * self.outside) as u64
    }
}

/// What was observed of a part of the run.
pub(crate) struct InPart<'a> {
    /// Whether a context of a rank belongs to it.
    pub(crate) is_in: &'a dyn Fn(u32, u32) -> bool,
    /// The longest time of a rank in it, in seconds.
    pub(crate) run_s: f64,
    /// How long each rank was outside of MPI there, in seconds.
    pub(crate) computing_s: HashMap<u32, f64>,
    /// How long ranks have waited there, and in the whole run, in seconds.
    pub(crate) lost_s: f64,
    pub(crate) lost_in_all_s: f64,
}

/// The calls of a rank that are known one by one.
fn calls(rank: &Rank) -> impl Iterator<Item = &IntervalRow> {
    use IntervalKind::{Collective, Completed, LateReceiver, LateSender, Long, Polled, Started, Window};
    let kinds = [Collective, Completed, LateReceiver, LateSender, Long, Polled, Started, Window];
    let rows = rank.rows.waited.iter().chain(&rank.rows.collectives);
    rows.filter(move |row| kinds.contains(&row.key.kind))
}

/// A call that is known one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    /// How long its rank was outside of MPI until it, and of that in a part of the run.
    computed: u64,
    counted: u64,
    /// Whether it belongs to that part.
    is_in: bool,
}

/// The calls of a rank in the order of time: how long it was outside of MPI until each, and the context of that. What is before a call belongs
/// to what that does.
fn known(calls: &[(u64, u32)], is_in: impl Fn(u32) -> bool) -> Vec<Known> {
    let mut last = Known::default();
    let next = |&(computed, context): &(u64, u32)| {
        let is_in = is_in(context);
        let counted = last.counted + if is_in { computed - last.computed } else { 0 };
        last = Known { computed, counted, is_in };
        last
    };
    calls.iter().map(next).collect()
}

/// Of the time outside of MPI what was in the part.
fn counted(known: &[Known], computed: u64) -> u64 {
    let next = known.partition_point(|call| call.computed < computed);
    let last = next.checked_sub(1).map_or(Known::default(), |place| known[place]);
    let is_in = known.get(next).or(known.last()).is_some_and(|call| call.is_in);
    last.counted + if is_in { computed - last.computed } else { 0 }
}

/// The run as it can be followed once more. Times given to it are nanoseconds of the clock of all ranks.
#[derive(Debug)]
pub(crate) struct Ideal {
    kept: Kept,
    clock: Clock,
    ranks: HashMap<u32, OfRank>,
    replay: Replay,
    /// Ticks in a second.
    per_second: f64,
    /// How long the run took, in seconds.
    run_s: f64,
    /// What was lost, and without which times it would not be.
    removed: HashMap<Key, Without>,
    /// How many these are; too many are none.
    count: usize,
    /// Ticks of waits that are followed, and of those that reach beyond what is kept.
    followed: u64,
    cut: u64,
    /// Whether it is not known what some calls need.
    is_unknown: bool,
}

/// A process in an operation: its rank, when it takes part, and the call that waits, if it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) rank: u32,
    pub(crate) starts: u64,
    pub(crate) waits: Option<(u64, u64)>,
}

/// Whose data a process needs in an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// Everybody's.
    All,
    /// That of these, by their places.
    These(Vec<usize>),
    /// It is not known.
    Unknown,
}

impl Ideal {
    /// Of a run whose intervals are kept at this level; none where ranks are missing, were not followed all the time, or have no clock in
    /// common.
    pub(crate) fn of(run: &Run, level: u64) -> Option<Ideal> {
        let first = run.ranks.first()?;
        let is_whole = |rank: &Rank| {
            // Of several nodes the same periods are not the same times.
            rank.rows.how_it_ended() == Ended::Finalised
                && rank.rows.stopped == 0
                && places::threads(&places::times(rank)) == 1
                && rank.rows.clock.is_none()
                && rank.rows.host == first.rows.host
        };
        let has_all = first.rows.world_size as usize == run.ranks.len() && run.ranks.len() > 1;
        if !has_all || !run.ranks.iter().all(is_whole) {
            return None;
        }
        let rows = run.ranks.iter().flat_map(|rank| rank.rows.waited.iter().chain(&rank.rows.collectives));
        // A period is kept up to as many levels as it has zeros at its end.
        let mut up_to = [0usize; 65];
        rows.for_each(|row| up_to[(row.begin >> PERIOD).trailing_zeros() as usize] += 1);
        let count = |level: u64| up_to.iter().skip(level as usize).sum::<usize>();
        let kept = (level..40).find(|level| count(*level) <= MOST).map(|level| Kept { level })?;
        Some(Ideal {
            kept,
            clock: first.clock,
            ranks: run.ranks.iter().map(|rank| (rank.rank, OfRank::of(rank, kept))).collect(),
            replay: Replay::default(),
            per_second: first.rows.ticks_per_second.max(1) as f64,
            run_s: run.ranks.iter().map(Rank::run_s).fold(0.0, f64::max),
            removed: HashMap::new(),
            count: 0,
            followed: 0,
            cut: 0,
            is_unknown: false,
        })
    }

    fn place(&self, nanos: u64) -> u64 {
        self.kept.place(self.clock.ticks(nanos))
    }

    fn keeps(&self, nanos: u64) -> bool {
        self.kept.keeps(self.clock.ticks(nanos))
    }

    /// Whether an interval lies in one period that is kept, or in several without any between them.
    fn is_within(&self, begin: u64, end: u64) -> bool {
        let ticks = self.clock.ticks(end).saturating_sub(self.clock.ticks(begin));
        // What lies between periods that are kept is no time here.
        self.keeps(begin) && self.keeps(end) && self.place(end).saturating_sub(self.place(begin)) == ticks
    }

    fn need(&self, rank: u32, nanos: u64) -> Option<Need> {
        let time = self.place(nanos);
        Some(Need { rank, time, computed: Some(self.ranks.get(&rank)?.computed(time)) })
    }

    fn step(&self, rank: u32, (begin, end): (u64, u64)) -> Option<Step> {
        let (begin, end) = (self.place(begin), self.place(end));
        Some(Step { rank, begin, end, computed: self.ranks.get(&rank)?.computed(begin) })
    }

    /// It is not known what some calls need: then there is no path.
    pub(crate) fn not_known(&mut self) {
        self.is_unknown = true;
    }

    /// This interval may be a wait, of which the rest lies beyond what is kept.
    pub(crate) fn is_cut(&mut self, (begin, end): (u64, u64)) {
        if self.keeps(begin) {
            let ticks = self.clock.ticks(end).saturating_sub(self.clock.ticks(begin));
            self.cut = self.cut.saturating_add(ticks);
        }
    }

    /// Whether what is known wait by wait stands for all.
    fn stands_for_all(&self) -> bool {
        self.cut as f64 <= MOST_CUT * (self.followed as f64 + self.cut as f64)
    }

    /// A rank has waited until another one had done something.
    pub(crate) fn waited(&mut self, rank: u32, (begin, end): (u64, u64), culprit: u32) {
        if !self.is_within(begin, end) {
            return;
        }
        if let Some((step, need)) = self.step(rank, (begin, end)).zip(self.need(culprit, end)) {
            let needs = self.replay.needs([need]);
            self.replay.call(step, needs);
        }
    }

    /// An operation: of each member whose data it needs, and when those came that it waited for without needing their data.
    pub(crate) fn operation(&mut self, members: &[Member], of: impl Fn(usize) -> (Needed, Vec<(u32, u64)>)) {
        if members.iter().any(|member| !self.keeps(member.starts)) {
            return;
        }
        let all: Vec<Need> =
            members.iter().filter_map(|member| self.need(member.rank, member.starts)).collect();
        let mut of_all = None;
        for (place, member) in members.iter().enumerate() {
            let (needed, waited) = of(place);
            let Some(step) = member.waits.and_then(|waits| self.step(member.rank, waits)) else { continue };
            if needed == Needed::All && waited.is_empty() {
                let needs = *of_all.get_or_insert_with(|| self.replay.needs(all.iter().copied()));
                self.replay.call(step, needs);
                continue;
            }
            let mut needs: Vec<Need> = match needed {
                Needed::All => all.clone(),
                Needed::These(places) => places.iter().filter_map(|place| all.get(*place)).copied().collect(),
                Needed::Unknown => {
                    self.is_unknown = true;
                    Vec::new()
                }
            };
            needs.extend(waited.into_iter().map(|(rank, nanos)| Need {
                rank,
                time: self.place(nanos),
                computed: None,
            }));
            let needs = self.replay.needs(needs);
            self.replay.call(step, needs);
        }
    }

    /// A rank has waited for another one, in the order of the ends, which is due to these: each with its part, and, if it was waited for
    /// itself, since when what it did is the cause. What a rank waited for that was not waited for here has times of its own.
    pub(crate) fn charge(
        &mut self,
        rank: u32,
        (begin, end): (u64, u64),
        causes: impl Iterator<Item = (Key, f64, Option<u64>)>,
    ) {
        if !self.keeps(begin) {
            return;
        }
        let ticks = self.clock.ticks(end).saturating_sub(self.clock.ticks(begin));
        if !self.is_within(begin, end) {
            self.cut = self.cut.saturating_add(ticks);
            for (key, part, _) in causes {
                self.removed.entry(key).or_default().cut += ticks as f64 * part / self.per_second;
            }
            return;
        }
        self.followed = self.followed.saturating_add(ticks);
        let interval = (self.place(begin), self.place(end));
        // What it has waited for already it has not waited for again.
        let Some((begin, end)) = self.ranks.get_mut(&rank).map(|of| of.waited.add(interval)) else { return };
        for (key, part, since) in causes.take_while(|_| begin < end) {
            let length = (end - begin) as f64 * part;
            let busy_before = |since: u64| {
                let since = self.place(since).min(begin);
                Some(self.ranks.get(&key.3)?.waited.busy_before(end, since, length.round() as u64))
            };
            let times = since.and_then(busy_before).unwrap_or_default();
            self.count += times.len();
            if self.count > MOST_REMOVED {
                self.removed.clear();
                return;
            }
            let known = self.removed.entry(key).or_default();
            known.seconds += length / self.per_second;
            known.times.extend(times.into_iter().map(|time| (key.3, time)));
        }
    }

    /// Everything is known.
    pub(crate) fn finish(&mut self) {
        for (&rank, of) in &self.ranks {
            self.replay.ends(Step { rank, begin: of.end, end: of.end, computed: of.computed(of.end) });
        }
        self.replay.sort();
    }

    /// How long the run would take on a network without any cost, in seconds: the useful time on the longest path.
    pub(crate) fn seconds(&self) -> Option<f64> {
        if self.is_unknown || !self.stands_for_all() {
            return None;
        }
        self.as_seconds(self.replay.path()?.useful)
    }

    /// The seconds that this useful time stands for, by what all ranks have computed in the whole run.
    fn as_seconds(&self, useful: u64) -> Option<f64> {
        let computed: f64 = self.ranks.values().map(|of| of.computed(of.end) as f64).sum();
        let computing_s: f64 = self.ranks.values().map(|of| of.computing_s).sum();
        (computed > 0.0).then(|| computing_s * useful as f64 / computed)
    }

    /// Whether there is a path.
    pub(crate) fn has_path(&self) -> bool {
        !self.is_unknown && self.count <= MOST_REMOVED && self.stands_for_all()
    }

    /// Of each rank the calls that are known one by one, in the order of time: how long it was outside of MPI until each, and its context.
    pub(crate) fn calls(&self, run: &Run) -> HashMap<u32, Vec<(u64, u32)>> {
        let of_rank = |rank: &Rank| {
            let of = self.ranks.get(&rank.rank)?;
            let kept = calls(rank).filter(|row| self.kept.keeps(row.begin));
            let mut kept: Vec<(u64, u32)> =
                kept.map(|row| (self.kept.place(row.begin), row.key.context)).collect();
            kept.sort_unstable();
            kept.iter_mut().for_each(|(time, _)| *time = of.computed(*time));
            Some((rank.rank, kept))
        };
        run.ranks.iter().filter_map(of_rank).collect()
    }

    /// How long a part of the run would take on a network without any cost, in seconds, of these [calls](Ideal::calls). None where those that are
    /// known one by one say too little of it, and where ranks go through it one after the other.
    pub(crate) fn seconds_in(&self, calls: &HashMap<u32, Vec<(u64, u32)>>, part: &InPart<'_>) -> Option<f64> {
        let most = part.computing_s.values().copied().fold(0.0, f64::max);
        let little = NEAR * most / self.ranks.len().max(1) as f64;
        let mut known_calls = HashMap::new();
        for (rank, of) in &self.ranks {
            let known =
                known(calls.get(rank).map_or(&[], Vec::as_slice), |context| (part.is_in)(*rank, context));
            let in_it = self.as_seconds(counted(&known, of.computed(of.end)))?;
            let observed = part.computing_s.get(rank).copied().unwrap_or(0.0);
            // Along a path errors of several ranks add up.
            if (in_it - observed).abs() > NEAR * observed + little {
                return None;
            }
            known_calls.insert(*rank, known);
        }
        // As much of what was waited there is known wait by wait as in the whole run.
        let known_s = |is_in: &dyn Fn(u32, u32) -> bool| -> f64 {
            let of = self
                .removed
                .iter()
                .filter(|((rule, rank, context, _), _)| rule.is_wait() && is_in(*rank, *context));
            of.map(|(_, without)| without.seconds).sum()
        };
        let usual = known_s(&|_, _| true) / part.lost_in_all_s.max(f64::MIN_POSITIVE);
        let is_waited = part.lost_s > NEAR * part.run_s;
        if is_waited && known_s(part.is_in) < (1.0 - MOST_CUT) * usual * part.lost_s {
            return None;
        }
        let of_part =
            |rank: u32, _, computed| known_calls.get(&rank).map_or(0, |known| counted(known, computed));
        let ideal_s = self.as_seconds(self.replay.longest_part(of_part)?)?;
        let is_possible = (most * (1.0 - NEAR)..=part.run_s * (1.0 + NEAR)).contains(&ideal_s);
        is_possible.then_some(ideal_s)
    }

    /// By how many seconds the run would be shorter without each of these, which are lists of what belongs together and the seconds lost in
    /// all of it; none where the times are not known.
    pub(crate) fn won(&self, without: &[(f64, Vec<Key>)]) -> Vec<Option<f64>> {
        if self.count > MOST_REMOVED || !self.stands_for_all() {
            return vec![None; without.len()];
        }
        let known = |keys: &Vec<Key>| {
            let mut all = Without::default();
            for of in keys.iter().filter_map(|key| self.removed.get(key)) {
                all.seconds += of.seconds;
                all.cut += of.cut;
                all.times.extend_from_slice(&of.times);
            }
            all
        };
        let known: Vec<Without> = without.iter().map(|(_, keys)| known(keys)).collect();
        let supposed = known.iter().map(|of| Supposition::of(of.times.iter().copied()));
        let won = self.replay.won(supposed.collect());
        // Of what was lost only a part is known one by one.
        let seconds = |((seconds, _), (of, won)): (&(f64, Vec<Key>), (&Without, u64))| {
            let all = won as f64 / self.per_second * seconds / of.seconds;
            of.is_known().then_some(all.min(self.run_s))
        };
        without.iter().zip(known.iter().zip(won)).map(seconds).collect()
    }

    /// So many seconds that would be won.
    pub(crate) fn gain(&self, seconds: f64) -> Gain {
        Gain { seconds, run_s: self.run_s, is_sure: !self.is_unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_time_without_gaps() {
        let kept = Kept { level: 2 };
        let at = |periods: u64, rest: u64| (periods << PERIOD) + rest;
        let places = [(at(4, 7), at(1, 7)), (at(5, 0), at(2, 0)), (at(7, 9), at(2, 0)), (at(8, 3), at(2, 3))];
        for (ticks, place) in places {
            assert_eq!(kept.place(ticks), place, "{ticks}");
        }
        assert!(kept.keeps(at(8, 3)) && !kept.keeps(at(7, 9)));
        assert_eq!(Kept { level: 0 }.place(at(7, 9)), at(7, 9));
    }

    #[test]
    fn what_is_before_a_call_belongs_to_what_that_does() {
        let calls = [(10, 0), (40, 1), (50, 0), (70, 1)];
        let known = known(&calls, |context| context == 1);
        let until = [0, 5, 10, 25, 40, 45, 50, 60, 70, 100].map(|computed| counted(&known, computed));
        assert_eq!(until, [0, 0, 0, 15, 30, 30, 30, 40, 50, 80]);
        assert_eq!(counted(&[], 7), 0);
    }

    #[test]
    fn what_is_not_known_one_by_one_is_spread_over_the_rest() {
        let in_mpi = Times::of(vec![(60, 90), (20, 40), (80, 100)]);
        let of = OfRank { begin: 0, end: 200, in_mpi, outside: 0.5, ..OfRank::default() };
        let computed = [0, 10, 30, 50, 80, 200, 300].map(|time| of.computed(time));
        assert_eq!(computed, [0, 5, 10, 15, 20, 70, 70]);
    }
}
