//! A dense model, cell by cell from the words of MPI, that the sparse one is compared with.

use std::collections::BTreeMap;

use mel_log::Members;
use mel_log::profile::{NamedCommunicator, Profile, RankProfile, Traffic, TrafficKind};
use proptest::prelude::*;

use crate::{Cell, Choice, Hosts, Matrix, Parts, Rows};

/// Whether data of this row flows between two ranks.
fn flows(profile: &Profile, me: u32, row: &Traffic, from: u32, to: u32) -> bool {
    if let Some(peer) = row.peer {
        let fetched = matches!(row.kind, TrafficKind::Get | TrafficKind::CarriedIn);
        return (from, to) == if fetched { (peer, me) } else { (me, peer) };
    }
    let Some(communicator) = row.communicator.and_then(|place| profile.communicators.get(place as usize))
    else {
        return false;
    };
    let members: Vec<u32> = communicator.members.ranks().map(|rank| rank as u32).collect();
    let place = |rank: u32| members.iter().position(|member| *member == rank);
    let (Some(mine), Some(theirs)) = (place(from), place(to)) else { return false };
    if from != me || from == to {
        return false;
    }
    let root = row.root.map(|root| root as usize);
    match row.operation.as_str() {
        "MPI_Bcast" | "MPI_Iscatterv" => root == Some(mine),
        "MPI_Gather_init" | "MPI_Reduce" | "MPI_Ireduce" => root == Some(theirs),
        "MPI_Scan" | "MPI_Iexscan" => theirs > mine,
        _ => true,
    }
}

const OPERATIONS: [&str; 11] = [
    "MPI_Bcast",
    "MPI_Iscatterv",
    "MPI_Gather_init",
    "MPI_Reduce",
    "MPI_Ireduce",
    "MPI_Scan",
    "MPI_Iexscan",
    "MPI_Barrier",
    "MPI_Allreduce",
    "MPI_Alltoall_init",
    "MPI_Ireduce_scatter_block",
];

prop_compose! {
    fn any_row(ranks: u32)(
        kind in 0..TrafficKind::ALL.len() as u8,
        phase in 0..3u32,
        communicator in prop::option::weighted(0.9, 0..3u32),
        peer in prop::option::weighted(0.5, 0..ranks),
        operation in 0..OPERATIONS.len(),
        root in prop::option::weighted(0.9, 0..ranks),
        messages in 0..5u64,
        bytes in 0..100u64,
    ) -> Traffic {
        let kind = TrafficKind::of(kind).unwrap();
        let operation = OPERATIONS[operation].to_owned();
        Traffic { kind, phase, communicator, peer, operation, root, messages, bytes, ..Traffic::default() }
    }
}

prop_compose! {
    fn any_profile()(ranks in 1..7u32)(
        rows in prop::collection::vec((0..ranks, any_row(ranks)), 0..40),
        order in Just((0..ranks as i32).collect::<Vec<_>>()).prop_shuffle(),
        some in 1..=ranks as usize,
        of_host in prop::collection::vec(0..3u32, ranks as usize),
        ranks in Just(ranks),
    ) -> Profile {
        let communicator = |members: &[i32]| NamedCommunicator {
            members: Members::from_ranks(members.iter().copied()),
            size: members.len() as u32,
            ..NamedCommunicator::default()
        };
        let mut profile = Profile { world_size: ranks, ..Profile::default() };
        profile.communicators = vec![communicator(&order), communicator(&order[..some])];
        profile.ranks = (0..ranks).map(|rank| RankProfile {
            rank,
            host: format!("node{}", of_host[rank as usize]),
            traffic: rows.iter().filter(|(of, _)| *of == rank).map(|(_, row)| row.clone()).collect(),
            ..RankProfile::default()
        }).collect();
        profile
    }
}

proptest! {
    #[test]
    fn a_sparse_matrix_is_the_dense_one(profile in any_profile(), kinds in prop::sample::subsequence(TrafficKind::ALL.to_vec(), 1..9)) {
        let rows = Rows::of(&profile);
        let matrix = Matrix::of(&rows, &Choice::of_kinds(&kinds));
        let size = rows.size();
        let mut total = Cell::default();
        let hosts = Hosts::of(&profile, size);
        let by_host = matrix.grouped(&hosts.of_rank, hosts.len());
        let mut host_cells = vec![Cell::default(); (hosts.len() * hosts.len()) as usize];
        for from in 0..size {
            for to in 0..size {
                let mut dense = Cell::default();
                for rank in &profile.ranks {
                    for row in rank.traffic.iter().filter(|row| kinds.contains(&row.kind)) {
                        let is_file = matches!(row.kind, TrafficKind::FileRead | TrafficKind::FileWrite);
                        if !is_file && flows(&profile, rank.rank, row, from, to) {
                            dense.add(Cell { messages: row.messages, bytes: row.bytes });
                        }
                    }
                }
                if from == to {
                    let own = matrix.own.iter().find(|(rank, _)| *rank == from);
                    prop_assert_eq!(own.map(|(_, cell)| *cell).unwrap_or_default(), dense);
                    continue;
                }
                prop_assert_eq!(matrix.cell(from, to), dense, "{} to {}", from, to);
                total.add(dense);
                let [a, b] = [from, to].map(|rank| hosts.of_rank[rank as usize]);
                host_cells[(a * hosts.len() + b) as usize].add(dense);
            }
        }
        prop_assert_eq!(matrix.total(), total);
        prop_assert_eq!(by_host.total(), total);
        for (place, cell) in host_cells.iter().enumerate() {
            let place = place as u32;
            prop_assert_eq!(by_host.cell(place / hosts.len(), place % hosts.len()), *cell);
        }
    }
}

/// Messages and bytes of each pair of one kind, from what goes to all alike and what does not.
fn spread(parts: &Parts, kind: TrafficKind) -> BTreeMap<(u32, u32), Cell> {
    let mut cells = BTreeMap::<(u32, u32), Cell>::new();
    for (_, part) in parts.parts.iter().filter(|((of, _, _), _)| *of == kind) {
        for (pair, amount) in &part.pairs {
            cells.entry(*pair).or_default().add(amount.cell);
        }
        for together in &part.together {
            let list = &parts.lists[together.list];
            for sender in &together.senders {
                let above = list.iter().position(|rank| rank == sender).map_or(0, |place| place + 1);
                let from = if together.upwards { above } else { 0 };
                for receiver in list[from..].iter().filter(|receiver| *receiver != sender) {
                    cells.entry((*sender, *receiver)).or_default().add(together.amount.cell);
                }
            }
        }
    }
    cells
}

proptest! {
    #[test]
    fn parts_add_up_to_the_matrix(profile in any_profile()) {
        let rows = Rows::of(&profile);
        let parts = Parts::of(&rows);
        for kind in TrafficKind::ALL.into_iter().filter(|kind| crate::rows::has_pairs(*kind)) {
            let matrix = Matrix::of(&rows, &Choice::of_kinds(&[kind]));
            let mut cells: BTreeMap<(u32, u32), Cell> =
                matrix.cells.iter().map(|(from, to, cell)| ((*from, *to), *cell)).collect();
            cells.extend(matrix.own.iter().map(|(rank, cell)| ((*rank, *rank), *cell)));
            prop_assert_eq!(spread(&parts, kind), cells);
            let unplaced = parts.parts.iter().filter(|((of, _, _), _)| *of == kind).map(|(_, part)| part.unplaced.calls);
            prop_assert_eq!(unplaced.sum::<u64>(), matrix.unplaced.calls);
        }
    }
}

/// An intercommunicator of two groups, and what one of the operations on it adds up to.
fn between_groups(operation: &str, root: Option<u32>, senders: &[u32]) -> Vec<(u32, u32)> {
    let mut profile = Profile { world_size: 5, ..Profile::default() };
    profile.communicators = vec![NamedCommunicator {
        members: Members::from_ranks([0, 1]),
        remote: Some(Members::from_ranks([2, 4, 3])),
        size: 2,
        ..NamedCommunicator::default()
    }];
    let row = Traffic {
        kind: TrafficKind::Collective,
        communicator: Some(0),
        operation: operation.into(),
        root,
        messages: 1,
        ..Traffic::default()
    };
    let rank = |rank: &u32| RankProfile { rank: *rank, traffic: vec![row.clone()], ..RankProfile::default() };
    profile.ranks = senders.iter().map(rank).collect();
    let matrix = Matrix::of(&Rows::of(&profile), &Choice::of_kinds(&[TrafficKind::Collective]));
    matrix.cells.iter().map(|(from, to, _)| (*from, *to)).collect()
}

#[test]
fn between_two_groups_data_flows_to_the_other_one() {
    let all = [0, 1, 2, 3, 4];
    assert_eq!(between_groups("MPI_Bcast", Some(1), &[1]), [(1, 2), (1, 3), (1, 4)]);
    assert_eq!(between_groups("MPI_Reduce", Some(1), &[2, 3, 4]), [(2, 1), (3, 1), (4, 1)]);
    assert_eq!(between_groups("MPI_Gather", Some(1), &[0, 1]), [(0, 4), (1, 4)]);
    let barrier = between_groups("MPI_Barrier", None, &all);
    assert_eq!(barrier.len(), 12);
    assert!(barrier.iter().all(|(from, to)| (*from < 2) != (*to < 2)));
}
