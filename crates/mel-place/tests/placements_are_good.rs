//! On patterns whose best placement is known the result is near it, and it is never worse than what the run had.

use mel_place::advice::advise;
use mel_place::topology::synthetic;
use mel_place::{Graph, Slots, cost};
use proptest::prelude::*;

/// A list of numbers in an order that has nothing to do with them.
fn shuffled(ranks: u32) -> Vec<u32> {
    let mut list: Vec<u32> = (0..ranks).collect();
    list.sort_by_key(|rank| rank.wrapping_add(7).wrapping_mul(2_654_435_761) ^ (rank >> 3));
    list
}

/// The pairs of a stencil whose ranks are shuffled: each point sends to its neighbours along each axis.
fn stencil(shape: &[u32]) -> Graph {
    let ranks = shape.iter().product();
    let names = shuffled(ranks);
    let mut entries = Vec::new();
    for point in 0..ranks {
        let mut stride = 1;
        for length in shape {
            if point / stride % length + 1 < *length {
                let (a, b) = (names[point as usize], names[(point + stride) as usize]);
                entries.extend([(a, b, 1000), (b, a, 1000)]);
            }
            stride *= length;
        }
    }
    Graph::new(ranks, entries)
}

/// What the best placement is compared with: `blocks` gives the slot of each point of the stencil.
fn within(shape: &[u32], topology: &str, slot_of: impl Fn(u32) -> u32) {
    let graph = stencil(shape);
    let ranks = graph.ranks();
    let slots = Slots::new(&synthetic::parse(topology).unwrap(), &vec!["a"; ranks], &[]);
    let names = shuffled(ranks as u32);
    let mut known = vec![0; ranks];
    (0..ranks as u32).for_each(|point| known[names[point as usize] as usize] = slot_of(point));
    let known = cost(&graph, &slots, &known).bytes_times_distance as f64;
    let advice = advise(&graph, &slots);
    let hierarchical = advice.candidates.iter().find(|one| one.name == "hierarchical").unwrap();
    assert!(hierarchical.cost.bytes_times_distance as f64 <= 1.05 * known, "{shape:?} {topology}");
    assert!(advice.is_worth_it(), "it was shuffled");
}

/// The slot of a point if blocks of shape `inner` take a group each, and blocks in a grid follow in order.
fn blocks(shape: Vec<u32>, levels: Vec<Vec<u32>>) -> impl Fn(u32) -> u32 {
    move |point| {
        let mut place: Vec<u32> = Vec::new();
        let mut rest = point;
        for length in &shape {
            place.push(rest % length);
            rest /= length;
        }
        // Levels from the innermost out: each is the shape of a block, in points.
        let mut slot = 0;
        let mut below = 1;
        let mut inner = vec![1; shape.len()];
        for block in levels.iter().chain([&shape]) {
            let mut stride = below;
            for axis in 0..shape.len() {
                slot += place[axis] % block[axis] / inner[axis] * stride;
                stride *= block[axis] / inner[axis];
            }
            below = stride;
            inner.clone_from(block);
        }
        slot
    }
}

#[test]
fn two_dimensional_stencils_come_together() {
    within(&[4, 4], "node:2 pack:2 core:4 pu:1", blocks(vec![4, 4], vec![vec![2, 2], vec![4, 2]]));
    within(&[8, 4], "node:4 pack:2 core:4 pu:1", blocks(vec![8, 4], vec![vec![2, 2], vec![4, 2]]));
    within(&[8, 4], "node:2 pack:2 core:8", blocks(vec![8, 4], vec![vec![2, 4], vec![4, 4]]));
    within(&[8, 8], "node:4 pack:2 core:8", blocks(vec![8, 8], vec![vec![2, 4], vec![4, 4]]));
    within(&[16, 16], "node:4 pack:2 core:32", blocks(vec![16, 16], vec![vec![4, 8], vec![8, 8]]));
}

#[test]
fn three_dimensional_stencils_come_together() {
    within(
        &[4, 2, 2],
        "node:2 pack:2 core:4 pu:1",
        blocks(vec![4, 2, 2], vec![vec![1, 2, 2], vec![2, 2, 2]]),
    );
    within(
        &[4, 4, 2],
        "node:4 pack:2 core:4 pu:1",
        blocks(vec![4, 4, 2], vec![vec![2, 2, 1], vec![2, 2, 2]]),
    );
    within(&[4, 4, 4], "node:2 pack:2 core:16", blocks(vec![4, 4, 4], vec![vec![2, 2, 4], vec![2, 4, 4]]));
    within(&[8, 8, 8], "node:8 pack:2 core:32", blocks(vec![8, 8, 8], vec![vec![2, 4, 4], vec![4, 4, 4]]));
}

/// All-to-all in shuffled groups: what crosses nodes, and what crosses sockets.
fn of_groups(ranks: u32, group: u32, topology: &str) -> (u128, u128) {
    let names = shuffled(ranks);
    let pairs =
        (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))).filter(|(a, b)| a / group == b / group);
    let graph = Graph::new(ranks, pairs.map(|(a, b)| (names[a as usize], names[b as usize], 100)));
    let slots = Slots::new(&synthetic::parse(topology).unwrap(), &vec!["a"; ranks as usize], &[]);
    let best = advise(&graph, &slots).after().cost;
    (best.between_nodes, best.between_sockets)
}

#[test]
fn groups_that_talk_come_together() {
    assert_eq!(of_groups(64, 8, "node:4 pack:2 core:8"), (0, 0));
    assert_eq!(of_groups(16, 4, "node:2 pack:2 core:4 pu:1"), (0, 0));
    assert_eq!(of_groups(32, 4, "node:4 pack:2 core:4 pu:1"), (0, 0));
    // A group fills a node: half of each pair of its ranks are on different sockets.
    assert_eq!(of_groups(32, 8, "node:4 pack:2 core:4 pu:1"), (0, 4 * 4 * 4 * 200));
}

#[test]
fn what_is_good_is_kept() {
    let graph = Graph::new(16, (0..15).map(|rank| (rank, rank + 1, 1)));
    let slots = Slots::new(&synthetic::parse("node:2 pack:2 core:4").unwrap(), &["a"; 16], &[]);
    let advice = advise(&graph, &slots);
    assert_eq!((advice.best, advice.is_worth_it()), (0, false));
    let silent = advise(&Graph::new(16, []), &slots);
    assert_eq!((silent.best, silent.is_worth_it(), silent.is_silent), (0, false, true));
}

#[test]
fn thousands_of_ranks_are_placed() {
    let graph = stencil(&[48, 48]);
    let slots = Slots::new(&synthetic::parse("node:48 pack:2 core:24").unwrap(), &vec!["a"; 2304], &[]);
    let advice = advise(&graph, &slots);
    assert!(advice.gain() > 0.5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_placement_is_worse_than_the_run_s(
        ranks in 1..40_u32,
        entries in proptest::collection::vec((0..40_u32, 0..40_u32, 0..u64::MAX / 4), 0..200),
        hosts in proptest::collection::vec(0..4_usize, 40),
        topology in 0..4_usize,
    ) {
        let topology = ["node:3 pack:2 core:4", "pack:2 l3:2 core:2 pu:2", "core:1", "pack:1 core:6"][topology];
        let host_of: Vec<&str> = hosts[..ranks as usize].iter().map(|host| ["a", "b", "c", "d"][*host]).collect();
        let slots = Slots::new(&synthetic::parse(topology).unwrap(), &host_of, &[]);
        let graph = Graph::new(ranks, entries);
        let advice = advise(&graph, &slots);
        prop_assert!(advice.after().cost.bytes_times_distance <= advice.before().cost.bytes_times_distance);
        prop_assert!((0.0..=1.0).contains(&advice.gain()));
        for candidate in &advice.candidates {
            let mut taken = candidate.placement.clone();
            taken.sort_unstable();
            prop_assert_eq!(taken, (0..ranks).collect::<Vec<_>>(), "{}", candidate.name);
        }
    }
}
