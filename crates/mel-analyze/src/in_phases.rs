//! How well the ranks are used in each phase: how long they are outside of MPI there, and the longest path of which that alone counts.
//!
//! A phase that all ranks begin and end together takes on an ideal network as long as that path. Where the path is longer than any rank is in
//! the phase, ranks go through it one after the other: how long it would take alone is not known then.

use mel_log::profile::{Basis, Efficiency};
use rustc_hash::FxHashMap;

use crate::judge::Recorded;
use crate::model::Change;
use crate::names::Names;
use crate::report::Span;

/// So many phases are looked at, of which ranks were outside of MPI longest.
const MOST: usize = 32;

/// A path that is longer than a phase by less than this part of it is as long.
const NEAR: u64 = 20;

/// One time that a rank was in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Within {
    begin: u64,
    end: u64,
    /// How long it was outside of MPI until it began and until it ended, and in the phase before that.
    computed: (u64, u64),
    before: u64,
}

/// The times that a rank was in a phase, by all its changes, in the order of time.
fn within(phase: Option<u32>, changes: &[Change]) -> Vec<Within> {
    let mut all: Vec<Within> = Vec::new();
    let mut since = Change::default();
    let last = Change { time: u64::MAX, phase: None, computed: u64::MAX };
    for next in changes.iter().chain([&last]) {
        if since.phase == phase && since.time < next.time {
            let before = all.last().map_or(0, |of| of.before + (of.computed.1 - of.computed.0));
            let computed = (since.computed, next.computed.max(since.computed));
            all.push(Within { begin: since.time, end: next.time, computed, before });
        }
        since = *next;
    }
    all
}

/// Of the time outside of MPI until a time what was in the phase.
fn part(within: &[Within], time: u64, computed: u64) -> u64 {
    let next = within.partition_point(|of| of.begin <= time);
    let Some(of) = next.checked_sub(1).and_then(|place| within.get(place)) else { return 0 };
    of.before + computed.clamp(of.computed.0, of.computed.1) - of.computed.0
}

/// A phase in which ranks were outside of MPI.
struct Phase {
    name: String,
    of: Efficiency,
    /// The longest time of a rank in it.
    longest: u64,
    of_ranks: FxHashMap<u32, Vec<Within>>,
}

impl Phase {
    fn part(&self, rank: u32, time: u64, computed: u64) -> u64 {
        self.of_ranks.get(&rank).map_or(0, |within| part(within, time, computed))
    }
}

/// The efficiencies of the phases in which a rank was outside of MPI, by name; empty is what belongs to none. Of many those in which ranks
/// were outside longest.
pub(crate) fn efficiencies(
    names: &Names,
    changes: &FxHashMap<u32, Vec<Change>>,
    recorded: &Recorded,
    spans: &[Span],
) -> Vec<(String, Efficiency)> {
    if changes.is_empty() {
        return Vec::new();
    }
    let named = (0..names.phases.len() as u32).map(Some);
    let all = std::iter::once(None).chain(named);
    let mut phases: Vec<Phase> =
        all.filter_map(|phase| phase_of(names, phase, (changes, recorded, spans))).collect();
    if phases.len() > MOST {
        let computing = |of: &Efficiency| of.mean_computing_s * f64::from(of.ranks);
        let mut times: Vec<f64> = phases.iter().map(|phase| computing(&phase.of)).collect();
        times.sort_by(|a, b| b.total_cmp(a));
        phases.retain(|phase| computing(&phase.of) >= times[MOST - 1]);
        phases.truncate(MOST);
    }
    let with_ideal = |phase: Phase| {
        let ideal = recorded.replay.longest_part(|rank, time, computed| phase.part(rank, time, computed));
        // Ranks do not begin and end at one time.
        let of = match ideal.filter(|ideal| *ideal <= phase.longest + phase.longest / NEAR) {
            Some(ideal) => phase.of.with_ideal(seconds(ideal), Basis::Exact),
            None => phase.of,
        };
        (phase.name, of)
    };
    phases.into_iter().map(with_ideal).collect()
}

/// A phase without what a perfect network would leave of it; none where no rank was outside of MPI in it.
fn phase_of(
    names: &Names,
    phase: Option<u32>,
    (changes, recorded, spans): (&FxHashMap<u32, Vec<Change>>, &Recorded, &[Span]),
) -> Option<Phase> {
    let mut longest = 0u64;
    let mut of_ranks: FxHashMap<u32, Vec<Within>> = FxHashMap::default();
    for span in spans {
        let within = within(phase, changes.get(&span.rank).map_or(&[][..], |changes| changes));
        let (begin, end) = span.between();
        let length = |of: &Within| of.end.min(end).saturating_sub(of.begin.max(begin));
        let in_phase: u64 = within.iter().map(length).sum();
        longest = longest.max(in_phase);
        if in_phase > 0 {
            of_ranks.insert(span.rank, within);
        }
    }
    let useful = recorded.replay.all_ends().iter().filter_map(|end| {
        let within = of_ranks.get(&end.rank)?;
        Some((end.rank, seconds(part(within, end.begin, end.computed))))
    });
    let of = Efficiency::of(useful, seconds(longest))?;
    let name = phase.and_then(|phase| names.phases.get(phase as usize)).cloned().unwrap_or_default();
    Some(Phase { name, of, longest, of_ranks })
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> [Change; 4] {
        let change = |time, phase, computed| Change { time, phase, computed };
        [
            change(100, Some(0), 60),
            change(200, Some(1), 90),
            change(250, Some(0), 100),
            change(400, None, 180),
        ]
    }

    #[test]
    fn what_was_computed_in_a_phase_is_what_lies_between_its_changes() {
        let within = |phase| within(phase, &changes());
        let first = within(Some(0));
        // Before it, in its first time, between both, in the second, and behind.
        let times = [(50, 30), (150, 80), (220, 95), (300, 150), (500, 200)];
        assert_eq!(times.map(|(time, computed)| part(&first, time, computed)), [0, 20, 30, 80, 110]);
        assert_eq!(times.map(|(time, computed)| part(&within(None), time, computed)), [30, 60, 60, 60, 80]);
        assert_eq!(times.map(|(time, computed)| part(&within(Some(1)), time, computed)), [0, 0, 5, 10, 10]);
        assert_eq!(within(Some(2)), []);
    }

    #[test]
    fn parts_add_up_to_all() {
        for (time, computed) in [(0, 0), (99, 60), (100, 60), (240, 99), (399, 170), (1000, 400)] {
            let sum: u64 = [None, Some(0), Some(1)]
                .map(|phase| part(&within(phase, &changes()), time, computed))
                .iter()
                .sum();
            assert_eq!(sum, computed, "{time}");
        }
    }
}
