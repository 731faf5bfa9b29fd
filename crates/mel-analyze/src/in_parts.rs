//! How well the ranks are used in each part of the run, a phase or a region of the program: how long they are outside of MPI there, and the
//! longest path of which that alone counts.
//!
//! A part that all ranks begin and end together takes on an ideal network as long as that path. Where the path is longer than any rank is in
//! it, ranks go through it one after the other: how long it would take alone is not known then.

use mel_log::profile::efficiency::nested;
use mel_log::profile::{Basis, Efficiency};
use rustc_hash::FxHashMap;

use crate::judge::Recorded;
use crate::model::Change;
use crate::names::Names;
use crate::report::Span;

/// A path is followed for at most this many phases, and for as many regions.
const MOST: usize = 32;

/// A path that is longer than a part by less than this part of it is as long.
const NEAR: u64 = 20;

/// One time that a rank was in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Within {
    begin: u64,
    end: u64,
    /// How long it was outside of MPI until it began and until it ended, and in the part before that.
    computed: (u64, u64),
    before: u64,
}

/// The times that a rank was in a part, by all its changes, in the order of time.
fn within(is_in: impl Fn(Option<u32>) -> bool, changes: &[Change]) -> Vec<Within> {
    let mut all: Vec<Within> = Vec::new();
    let mut since = Change::default();
    let last = Change { time: u64::MAX, place: None, computed: u64::MAX };
    for next in changes.iter().chain([&last]) {
        if is_in(since.place) && since.time < next.time {
            let computed = (since.computed, next.computed.max(since.computed));
            match all.last_mut().filter(|of| of.end == since.time && of.computed.1 == computed.0) {
                // It has only gone from one place of it to another one.
                Some(latest) => (latest.end, latest.computed.1) = (next.time, computed.1),
                None => {
                    let before = all.last().map_or(0, |of| of.before + (of.computed.1 - of.computed.0));
                    all.push(Within { begin: since.time, end: next.time, computed, before });
                }
            }
        }
        since = *next;
    }
    all
}

/// Of the time outside of MPI until a time what was in the part.
fn counted(within: &[Within], time: u64, computed: u64) -> u64 {
    let next = within.partition_point(|of| of.begin <= time);
    let Some(of) = next.checked_sub(1).and_then(|place| within.get(place)) else { return 0 };
    of.before + computed.clamp(of.computed.0, of.computed.1) - of.computed.0
}

/// The parts of a run by name, and to which of them each place belongs; some are parts of others.
struct Parts {
    names: Vec<String>,
    of_none: Vec<usize>,
    of_places: Vec<Vec<usize>>,
}

impl Parts {
    /// The first is what belongs to no place.
    fn new(names: &[String], of_places: Vec<Vec<usize>>) -> Parts {
        let names = std::iter::once(String::new()).chain(names.iter().cloned()).collect();
        Parts { names, of_none: vec![0], of_places }
    }

    /// Those that a place belongs to; none for what counts nowhere.
    fn of(&self, place: Option<u32>) -> &[usize] {
        let of_place = |place| self.of_places.get(place as usize).map_or(&[][..], Vec::as_slice);
        place.map_or(&self.of_none, of_place)
    }
}

/// A rank's changes from one place to another, by rank.
type Changes = FxHashMap<u32, Vec<Change>>;

/// The efficiencies of the phases in which a rank was outside of MPI, by name; empty is what belongs to none.
pub(crate) fn of_phases(
    names: &Names,
    changes: &Changes,
    recorded: &Recorded,
    spans: &[Span],
) -> Vec<(String, Efficiency)> {
    let parts = Parts::new(&names.phases, (1..=names.phases.len()).map(|part| vec![part]).collect());
    efficiencies(&parts, changes, recorded, spans)
}

/// The same of the regions, with all that lies in them, by path, each before those in it; empty is what lies in none.
pub(crate) fn of_regions(
    names: &Names,
    changes: &Changes,
    recorded: &Recorded,
    spans: &[Span],
) -> Vec<(String, Efficiency)> {
    let with_outer = |path: &String| {
        let all = std::iter::successors(Some(path.as_str()), |inner| Some(inner.rsplit_once('/')?.0));
        all.filter_map(|path| Some(names.region(path)? as usize + 1)).collect()
    };
    let parts = Parts::new(&names.regions, names.regions.iter().map(with_outer).collect());
    let mut all = efficiencies(&parts, changes, recorded, spans);
    all.sort_by(|a, b| nested(&a.0, &b.0));
    all
}

/// How long a rank was in a part, and outside of MPI there, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    time: u64,
    computed: u64,
}

/// Those of each part, from a time to another, until which the rank was so long outside of MPI.
fn sums(parts: &Parts, changes: &[Change], (begin, end): (u64, u64), computed: u64) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); parts.names.len()];
    let mut since = Change::default();
    let last = Change { time: u64::MAX, place: None, computed: u64::MAX };
    for next in changes.iter().chain([&last]) {
        let time = next.time.min(end).saturating_sub(since.time.max(begin));
        let computed = next.computed.min(computed).saturating_sub(since.computed);
        for part in parts.of(since.place) {
            sums[*part].time += time;
            sums[*part].computed += computed;
        }
        since = *next;
    }
    sums
}

/// The efficiencies of all parts in which a rank was outside of MPI. What a perfect network would leave of them is known of [`MOST`], in which
/// ranks were outside longest.
fn efficiencies(
    parts: &Parts,
    changes: &Changes,
    recorded: &Recorded,
    spans: &[Span],
) -> Vec<(String, Efficiency)> {
    if changes.is_empty() {
        return Vec::new();
    }
    let of_rank = |rank: u32| changes.get(&rank).map_or(&[][..], Vec::as_slice);
    let ends: FxHashMap<u32, u64> =
        recorded.replay.all_ends().iter().map(|end| (end.rank, end.computed)).collect();
    let mut longest = vec![0u64; parts.names.len()];
    let mut useful = vec![Vec::new(); parts.names.len()];
    for span in spans {
        let computed = ends.get(&span.rank).copied();
        let sums = sums(parts, of_rank(span.rank), span.between(), computed.unwrap_or(0));
        for (part, sum) in sums.into_iter().enumerate().filter(|(_, sum)| sum.time > 0) {
            longest[part] = longest[part].max(sum.time);
            useful[part].extend(computed.map(|_| (span.rank, seconds(sum.computed))));
        }
    }
    let known = |part: usize| Efficiency::of(useful[part].iter().copied(), seconds(longest[part]));
    let mut all: Vec<(usize, Efficiency)> =
        (0..parts.names.len()).filter_map(|part| Some((part, known(part)?))).collect();
    let computing = |of: &Efficiency| of.mean_computing_s * f64::from(of.ranks);
    let mut by_time: Vec<(usize, f64)> = all.iter().map(|(part, of)| (*part, computing(of))).collect();
    by_time.sort_by(|a, b| b.1.total_cmp(&a.1));
    by_time.truncate(MOST);
    for (part, of) in &mut all {
        if !by_time.iter().any(|(kept, _)| kept == part) {
            continue;
        }
        let is_in = |place| parts.of(place).contains(part);
        let of_ranks: FxHashMap<u32, Vec<Within>> =
            spans.iter().map(|span| (span.rank, within(is_in, of_rank(span.rank)))).collect();
        let of_part = |rank: u32, time, computed| {
            of_ranks.get(&rank).map_or(0, |within| counted(within, time, computed))
        };
        let ideal = recorded.replay.longest_part(of_part);
        // Ranks do not begin and end at one time.
        if let Some(ideal) = ideal.filter(|ideal| *ideal <= longest[*part] + longest[*part] / NEAR) {
            *of = std::mem::take(of).with_ideal(seconds(ideal), Basis::Exact);
        }
    }
    all.into_iter().map(|(part, of)| (parts.names[part].clone(), of)).collect()
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> [Change; 4] {
        let change = |time, place, computed| Change { time, place, computed };
        [
            change(100, Some(0), 60),
            change(200, Some(1), 90),
            change(250, Some(0), 100),
            change(400, None, 180),
        ]
    }

    #[test]
    fn what_was_computed_in_a_phase_is_what_lies_between_its_changes() {
        let within = |phase| within(|place| place == phase, &changes());
        let first = within(Some(0));
        // Before it, in its first time, between both, in the second, and behind.
        let times = [(50, 30), (150, 80), (220, 95), (300, 150), (500, 200)];
        assert_eq!(times.map(|(time, computed)| counted(&first, time, computed)), [0, 20, 30, 80, 110]);
        assert_eq!(
            times.map(|(time, computed)| counted(&within(None), time, computed)),
            [30, 60, 60, 60, 80]
        );
        assert_eq!(
            times.map(|(time, computed)| counted(&within(Some(1)), time, computed)),
            [0, 0, 5, 10, 10]
        );
        assert_eq!(within(Some(2)), []);
    }

    #[test]
    fn a_region_goes_on_in_those_that_lie_in_it() {
        let both = within(|place| place.is_some(), &changes());
        assert_eq!(both, [Within { begin: 100, end: 400, computed: (60, 180), before: 0 }]);
    }

    #[test]
    fn a_place_counts_in_all_parts_that_it_belongs_to() {
        let names = ["a".to_owned(), "a/b".to_owned()];
        let parts = Parts::new(&names, vec![vec![1], vec![2, 1]]);
        let of = |time, computed| Sum { time, computed };
        assert_eq!(sums(&parts, &changes(), (50, 450), 190), [of(100, 70), of(300, 120), of(50, 10)]);
        // It came to its end in the second time.
        assert_eq!(sums(&parts, &changes(), (50, 300), 140), [of(50, 60), of(200, 80), of(50, 10)]);
        assert_eq!(parts.of(Some(Change::STOPPED)), [0; 0]);
    }

    #[test]
    fn a_region_comes_right_before_those_in_it() {
        let mut all = ["output", "solve-x", "solve/z", "", "init/late", "solve", "init"];
        all.sort_by(|a, b| nested(a, b));
        assert_eq!(all, ["", "init", "init/late", "output", "solve", "solve/z", "solve-x"]);
    }

    #[test]
    fn parts_add_up_to_all() {
        for (time, computed) in [(0, 0), (99, 60), (100, 60), (240, 99), (399, 170), (1000, 400)] {
            let sum: u64 = [None, Some(0), Some(1)]
                .map(|phase| counted(&within(|place| place == phase, &changes()), time, computed))
                .iter()
                .sum();
            assert_eq!(sum, computed, "{time}");
        }
    }
}
