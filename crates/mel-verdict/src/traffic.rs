//! Traffic: the rows of a rank's table, with numbers that hold for the run. Rows of its threads are added up.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mel_log::Members;
use mel_log::profile::{Traffic, TrafficKind};
use mel_log::table::layout::STOPPED;
use mel_log::table::{TrafficKey, TrafficRow};

/// What the numbers in a rank's rows stand for.
pub(crate) struct Names<'a> {
    /// MPI functions.
    pub(crate) functions: &'a HashMap<u16, Rc<str>>,
    /// Places of communicators in the run.
    pub(crate) communicators: &'a HashMap<u32, u32>,
    /// Places of phases in the run.
    pub(crate) phases: &'a HashMap<u16, u32>,
    /// Paths of regions of the rank.
    pub(crate) regions: &'a HashMap<u16, &'a str>,
    /// World ranks of those whom ranks in a communicator mean: of the remote group, for an intercommunicator.
    pub(crate) members: &'a BTreeMap<u32, Members>,
}

/// The traffic of a rank, in the order of phases, regions, kinds, communicators and peers. Rows of communicators that are not defined are left out.
pub(crate) fn of(rows: &[TrafficRow], names: &Names<'_>) -> Vec<Traffic> {
    let mut all: BTreeMap<_, (Traffic, BTreeMap<u8, u64>)> = BTreeMap::new();
    let counts = |row: &&TrafficRow| row.messages > 0 && row.key.phase != STOPPED;
    for row in rows.iter().filter(counts) {
        let Some(found) = named(row.key, names) else { continue };
        let key = (
            (found.phase, found.region.clone(), found.kind, found.communicator),
            (found.peer, found.operation.clone(), found.root, found.function.clone()),
        );
        let (traffic, sizes) = all.entry(key).or_insert_with(|| (found, BTreeMap::new()));
        traffic.messages = traffic.messages.saturating_add(row.messages);
        traffic.bytes = traffic.bytes.saturating_add(row.bytes);
        for (bin, count) in &row.sizes {
            let known = sizes.entry(*bin).or_default();
            *known = known.saturating_add(*count);
        }
    }
    let whole = |(traffic, sizes): (Traffic, BTreeMap<u8, u64>)| Traffic {
        sizes: sizes.into_iter().collect(),
        ..traffic
    };
    all.into_values().map(whole).collect()
}

fn named(key: TrafficKey, names: &Names<'_>) -> Option<Traffic> {
    let has_communicator = key.communicator != 0;
    let communicator =
        if has_communicator { Some(*names.communicators.get(&key.communicator)?) } else { None };
    let peer = match u32::try_from(key.peer) {
        Err(_) => None,
        Ok(peer) if has_communicator => {
            Some(u32::try_from(names.members.get(&key.communicator)?.get(peer)?).ok()?)
        }
        Ok(peer) => Some(peer),
    };
    let operation = match key.kind {
        TrafficKind::Collective => names.functions.get(&key.function)?.to_string(),
        _ => String::new(),
    };
    let carried = key.kind >= TrafficKind::Internal;
    let function = key.function.checked_sub(1).filter(|_| carried);
    let function = function.and_then(|number| names.functions.get(&number));
    let function = function.map_or_else(String::new, |name| name.to_string());
    Some(Traffic {
        kind: key.kind,
        phase: names.phases.get(&key.phase).copied().unwrap_or(0),
        region: names.regions.get(&key.region).map_or_else(String::new, |path| (*path).to_owned()),
        communicator,
        peer,
        operation,
        function,
        root: u32::try_from(key.root).ok(),
        ..Traffic::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_threads_are_one_and_peers_are_world_ranks() {
        let functions = HashMap::from([(7, "MPI_Bcast".into())]);
        let communicators = HashMap::from([(2, 0)]);
        let phases = HashMap::from([(0, 0), (1, 3)]);
        let members = BTreeMap::from([(2, Members::from_ranks([4, 6, 8]))]);
        let names = Names {
            functions: &functions,
            communicators: &communicators,
            phases: &phases,
            regions: &HashMap::from([(4, "main/solve")]),
            members: &members,
        };
        let key = TrafficKey::with_peer(TrafficKind::P2p, 2, 1);
        let row =
            |thread, sizes| TrafficRow { key: TrafficKey { thread, ..key }, messages: 2, bytes: 10, sizes };
        let unknown = TrafficKey { communicator: 9, ..key };
        let rows = [
            row(0, vec![(3, 2)]),
            row(1, vec![(0, 1), (3, 1)]),
            TrafficRow { key: TrafficKey::collective(2, 7, 1), messages: 5, bytes: 40, sizes: Vec::new() },
            TrafficRow { key: unknown, messages: 1, ..TrafficRow::default() },
            TrafficRow {
                key: TrafficKey { function: 8, ..TrafficKey::with_peer(TrafficKind::Carried, 0, 3) },
                messages: 1,
                ..row(0, vec![])
            },
            TrafficRow {
                key: TrafficKey::with_peer(TrafficKind::Carried, 0, 3),
                messages: 1,
                ..row(0, vec![])
            },
            TrafficRow { key, ..TrafficRow::default() },
            TrafficRow { key: TrafficKey { phase: 1, ..key }, messages: 1, ..TrafficRow::default() },
        ];
        let found = of(&rows, &names);
        assert_eq!(found.len(), 5);
        assert_eq!((found[4].phase, found[4].messages), (3, 1));
        let messages = &found[0];
        assert_eq!((messages.peer, messages.messages, messages.bytes), (Some(6), 4, 20));
        assert_eq!(messages.sizes, [(0, 1), (3, 3)]);
        let collective = &found[1];
        assert_eq!((collective.peer, collective.root, &*collective.operation), (None, Some(1), "MPI_Bcast"));
        assert_eq!((found[2].kind, found[2].peer, &*found[2].function), (TrafficKind::Carried, Some(3), ""));
        assert_eq!((found[3].kind, &*found[3].function), (TrafficKind::Carried, "MPI_Bcast"));
    }
}
