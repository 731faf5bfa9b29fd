//! What a rank did on each communicator: its queues, calls and messages added up.

use std::collections::BTreeMap;

use mel_log::profile::{
    CallProfile, CommunicatorProfile, NamedCommunicator, OTHER_COMMUNICATORS, TrafficKind,
};

use super::run::Rank;

/// An entry for each communicator on which the rank did something, in the order in which the run knows them; last what is of those that have
/// no numbers of their own.
pub(crate) fn of(
    known: &[NamedCommunicator],
    rank: &Rank,
    calls: &[CallProfile],
) -> Vec<CommunicatorProfile> {
    let mut all: BTreeMap<u32, CommunicatorProfile> = BTreeMap::new();
    let named = |place: u32| match known.get(place as usize) {
        Some(NamedCommunicator { context, name, size, .. }) => CommunicatorProfile {
            name: name.clone(),
            context: *context,
            size: *size,
            ..CommunicatorProfile::default()
        },
        None => CommunicatorProfile { name: OTHER_COMMUNICATORS.into(), ..CommunicatorProfile::default() },
    };
    for row in &rank.rows.communicator_queues {
        let place = rank.communicators.get(&row.communicator).copied().unwrap_or(u32::MAX);
        let queues = &mut all.entry(place).or_insert_with(|| named(place)).queues;
        // Those without numbers of their own are one.
        queues.get_or_insert_default().join(&row.queues);
    }
    for call in calls {
        let Some(place) = call.communicator else { continue };
        let of = all.entry(place).or_insert_with(|| named(place));
        of.calls = of.calls.saturating_add(call.calls);
        of.in_mpi_s += call.total_s;
        of.waiting_s += call.waits.iter().map(|wait| wait.lost_s).sum::<f64>();
    }
    for row in rank.traffic.iter().filter(|row| row.kind == TrafficKind::P2p) {
        let Some(place) = row.communicator else { continue };
        let of = all.entry(place).or_insert_with(|| named(place));
        of.messages = of.messages.saturating_add(row.messages);
        of.bytes = of.bytes.saturating_add(row.bytes);
    }
    all.into_values().collect()
}
