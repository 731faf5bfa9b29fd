//! How well the ranks are used in each part of the run, a phase or a region of the program: how long they are outside of MPI there, and the
//! longest path of which that alone counts.
//!
//! A part that all ranks begin and end together takes on an ideal network as long as that path. Where the path is longer than any rank is in
//! it, ranks go through it one after the other: how long it would take alone is not known then.

use mel_convert::nested::is_within;
use mel_log::profile::{Basis, Efficiency};
use rustc_hash::FxHashMap;

use crate::judge::Recorded;
use crate::model::Change;
use crate::names::Names;
use crate::report::Span;

/// So many phases are looked at, of which ranks were outside of MPI longest, and so many regions.
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

/// A part in which ranks were outside of MPI.
struct Part {
    name: String,
    of: Efficiency,
    /// The longest time of a rank in it.
    longest: u64,
    of_ranks: FxHashMap<u32, Vec<Within>>,
}

impl Part {
    fn counted(&self, rank: u32, time: u64, computed: u64) -> u64 {
        self.of_ranks.get(&rank).map_or(0, |within| counted(within, time, computed))
    }
}

/// The rank's changes from one part of the run to another.
type Changes = FxHashMap<u32, Vec<Change>>;

/// The efficiencies of the phases in which a rank was outside of MPI, by name; empty is what belongs to none.
pub(crate) fn of_phases(
    names: &Names,
    changes: &Changes,
    recorded: &Recorded,
    spans: &[Span],
) -> Vec<(String, Efficiency)> {
    let named = names.phases.iter().zip(0..).map(|(name, phase)| (name.as_str(), Some(phase)));
    let all = std::iter::once(("", None)).chain(named);
    efficiencies(all.map(|(name, phase)| (name, move |place| place == phase)), changes, recorded, spans)
}

/// The same of the regions, with all that lies in them, by path; empty is what lies in none.
pub(crate) fn of_regions(
    names: &Names,
    changes: &Changes,
    recorded: &Recorded,
    spans: &[Span],
) -> Vec<(String, Efficiency)> {
    let all = std::iter::once("").chain(names.regions.iter().map(String::as_str));
    let with_inner = all.map(|path| {
        let lies_in = |other: &String| !path.is_empty() && is_within(other, path);
        let inner: Vec<bool> = names.regions.iter().map(lies_in).collect();
        let is_in = move |place: Option<u32>| {
            place.map_or(path.is_empty(), |place| inner.get(place as usize).is_some_and(|is_in| *is_in))
        };
        (path, is_in)
    });
    efficiencies(with_inner, changes, recorded, spans)
}

/// Of many parts those in which ranks were outside longest.
fn efficiencies<'n>(
    all: impl Iterator<Item = (&'n str, impl Fn(Option<u32>) -> bool)>,
    changes: &Changes,
    recorded: &Recorded,
    spans: &[Span],
) -> Vec<(String, Efficiency)> {
    if changes.is_empty() {
        return Vec::new();
    }
    let mut parts: Vec<Part> =
        all.filter_map(|(name, is_in)| part_of(name, is_in, (changes, recorded, spans))).collect();
    if parts.len() > MOST {
        let computing = |of: &Efficiency| of.mean_computing_s * f64::from(of.ranks);
        let mut times: Vec<f64> = parts.iter().map(|part| computing(&part.of)).collect();
        times.sort_by(|a, b| b.total_cmp(a));
        parts.retain(|part| computing(&part.of) >= times[MOST - 1]);
        parts.truncate(MOST);
    }
    let with_ideal = |part: Part| {
        let ideal = recorded.replay.longest_part(|rank, time, computed| part.counted(rank, time, computed));
        // Ranks do not begin and end at one time.
        let of = match ideal.filter(|ideal| *ideal <= part.longest + part.longest / NEAR) {
            Some(ideal) => part.of.with_ideal(seconds(ideal), Basis::Exact),
            None => part.of,
        };
        (part.name, of)
    };
    parts.into_iter().map(with_ideal).collect()
}

/// A part without what a perfect network would leave of it; none where no rank was outside of MPI in it.
fn part_of(
    name: &str,
    is_in: impl Fn(Option<u32>) -> bool,
    (changes, recorded, spans): (&Changes, &Recorded, &[Span]),
) -> Option<Part> {
    let mut longest = 0u64;
    let mut of_ranks: FxHashMap<u32, Vec<Within>> = FxHashMap::default();
    for span in spans {
        let within = within(&is_in, changes.get(&span.rank).map_or(&[][..], |changes| changes));
        let (begin, end) = span.between();
        let length = |of: &Within| of.end.min(end).saturating_sub(of.begin.max(begin));
        let in_part: u64 = within.iter().map(length).sum();
        longest = longest.max(in_part);
        if in_part > 0 {
            of_ranks.insert(span.rank, within);
        }
    }
    let useful = recorded.replay.all_ends().iter().filter_map(|end| {
        let within = of_ranks.get(&end.rank)?;
        Some((end.rank, seconds(counted(within, end.begin, end.computed))))
    });
    let of = Efficiency::of(useful, seconds(longest))?;
    Some(Part { name: name.to_owned(), of, longest, of_ranks })
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
