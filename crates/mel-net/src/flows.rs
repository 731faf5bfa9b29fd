//! What goes between ranks on different hosts, by phase: as the library has carried it where that was seen, else as the calls say.

use std::collections::BTreeSet;

use mel_log::profile::TrafficKind;
use mel_traffic::choice::Asked;
use mel_traffic::{Choice, ChoiceError, Matrix, Rows};
use rustc_hash::FxHashMap;

/// What a rank has sent to another in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Who has sent.
    pub from: u32,
    /// Who has received.
    pub to: u32,
    /// The phase, as a place in the profile's `phases`.
    pub phase: u32,
    /// Bytes.
    pub bytes: u64,
}

/// What goes between ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// In the order of senders, receivers, phases; without what ranks send to themselves, and without what is empty.
    pub list: Vec<Flow>,
    /// What is in it.
    pub kinds: Vec<TrafficKind>,
    /// Whether it is what was seen below the calls.
    pub is_carried: bool,
    /// Calls whose receivers are not known.
    pub unplaced_calls: u64,
}

/// Finds what goes between ranks. Without a list of kinds it is what was carried, if any of that goes from a host to another, else what the
/// calls say. A transfer may be seen at both ends: of each pair the side that has seen more counts.
///
/// # Errors
/// [`ChoiceError`]: the profile does not say who sends what to whom, or nothing of such a name is there.
pub fn flows(rows: &Rows<'_>, asked: Asked<'_>, host: &[u32]) -> Result<Flows, ChoiceError> {
    if asked.kinds.is_none() {
        let carried = carried(rows, asked)?;
        let is_between = |flow: &Flow| host.get(flow.from as usize) != host.get(flow.to as usize);
        if carried.list.iter().any(is_between) {
            return Ok(carried);
        }
    }
    let choice = Choice::of(rows, asked)?;
    let (list, unplaced_calls) = by_phase(rows, &choice);
    let is_carried =
        choice.kinds.iter().any(|kind| matches!(kind, TrafficKind::Carried | TrafficKind::CarriedIn));
    Ok(Flows { list, kinds: choice.kinds, is_carried, unplaced_calls })
}

/// What was seen below the calls.
fn carried(rows: &Rows<'_>, asked: Asked<'_>) -> Result<Flows, ChoiceError> {
    let all = Choice::apart(rows, asked)?;
    let kinds: Vec<TrafficKind> = all
        .kinds
        .iter()
        .copied()
        .filter(|kind| matches!(kind, TrafficKind::Carried | TrafficKind::CarriedIn))
        .collect();
    let sides: Vec<Vec<Flow>> =
        kinds.iter().map(|kind| by_phase(rows, &all.with_kinds(&[*kind])).0).collect();
    let sum = |flows: &[Flow]| {
        let mut sums = FxHashMap::<(u32, u32), u64>::default();
        for flow in flows {
            let sum = sums.entry((flow.from, flow.to)).or_default();
            *sum = sum.saturating_add(flow.bytes);
        }
        sums
    };
    let sums: Vec<_> = sides.iter().map(|side| sum(side)).collect();
    let mut list: Vec<Flow> = Vec::new();
    for (place, side) in sides.iter().enumerate() {
        let here = |flow: &Flow, place: usize| sums[place].get(&(flow.from, flow.to)).copied().unwrap_or(0);
        let counts = |flow: &&Flow| {
            (0..sides.len()).all(|other| match other.cmp(&place) {
                std::cmp::Ordering::Less => here(flow, other) < here(flow, place),
                _ => here(flow, other) <= here(flow, place),
            })
        };
        list.extend(side.iter().filter(counts));
    }
    list.sort_unstable_by_key(|flow| (flow.from, flow.to, flow.phase));
    Ok(Flows { list, kinds, is_carried: true, unplaced_calls: 0 })
}

/// The flows of each phase, and the calls whose receivers are not known.
fn by_phase(rows: &Rows<'_>, choice: &Choice) -> (Vec<Flow>, u64) {
    let phases: BTreeSet<u32> = rows.chosen(choice).map(|(_, row)| row.phase).collect();
    let (mut list, mut unplaced) = (Vec::new(), 0);
    for phase in phases {
        let matrix = Matrix::of(rows, &choice.with_phase(phase));
        unplaced += matrix.unplaced.calls;
        let cells = matrix.cells.iter().filter(|(_, _, cell)| cell.bytes > 0);
        list.extend(cells.map(|(from, to, cell)| Flow { from: *from, to: *to, phase, bytes: cell.bytes }));
    }
    list.sort_unstable_by_key(|flow| (flow.from, flow.to, flow.phase));
    (list, unplaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{Profile, RankProfile, Traffic};

    fn profile(rows: &[(u32, TrafficKind, u32, u64, u32)]) -> Profile {
        let of = |rank| RankProfile {
            rank,
            traffic: rows
                .iter()
                .filter(|row| row.0 == rank)
                .map(|(_, kind, peer, bytes, phase)| Traffic {
                    kind: *kind,
                    peer: Some(*peer),
                    messages: 1,
                    bytes: *bytes,
                    phase: *phase,
                    ..Traffic::default()
                })
                .collect(),
            ..RankProfile::default()
        };
        Profile {
            world_size: 3,
            phases: vec![String::new(), "solve".into()],
            ranks: (0..3).map(of).collect(),
            ..Profile::default()
        }
    }

    fn bytes(flows: &Flows) -> Vec<(u32, u32, u64, u32)> {
        flows.list.iter().map(|flow| (flow.from, flow.to, flow.bytes, flow.phase)).collect()
    }

    #[test]
    fn what_was_carried_between_hosts_counts_before_the_calls_and_once() {
        use TrafficKind::{Carried, CarriedIn, P2p};
        let run = profile(&[
            (0, P2p, 1, 100, 1),
            (0, Carried, 1, 110, 1),
            (1, CarriedIn, 0, 110, 0),
            (2, CarriedIn, 0, 7, 0),
        ]);
        let rows = Rows::of(&run);
        let found = flows(&rows, Asked::default(), &[0, 1, 2]).unwrap();
        assert!(found.is_carried);
        assert_eq!(bytes(&found), [(0, 1, 110, 1), (0, 2, 7, 0)]);
        // Within a host it says nothing of the network.
        let found = flows(&rows, Asked::default(), &[0, 0, 0]).unwrap();
        assert_eq!((found.is_carried, bytes(&found)), (false, vec![(0, 1, 100, 1)]));
        let asked = Asked { kinds: Some("p2p"), ..Asked::default() };
        assert!(!flows(&rows, asked, &[0, 1, 2]).unwrap().is_carried);
        assert!(flows(&rows, Asked { phases: Some("solve"), ..asked }, &[0, 1, 2]).unwrap().list.len() == 1);
    }
}
