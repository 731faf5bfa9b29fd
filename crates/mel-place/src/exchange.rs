//! What is left to gain by exchanging the places of two ranks.

use fastrand::Rng;

use crate::slots::INSIDE;
use crate::{Graph, Slots};

/// How many partners are tried for a rank near one of its neighbours.
const PARTNERS: usize = 12;
/// How many neighbours of a rank, those with the most bytes first, it is brought near to.
const NEIGHBOURS: usize = 8;

/// Exchanges pairs of ranks as long as that lowers Σ bytes × distance. It stops when nothing is left to gain among the pairs that it tries,
/// or after so many `steps`: one is the distance of one pair of ranks; a hundred million take about a second. The cost never rises.
pub fn exchange(graph: &Graph, slots: &Slots, placement: &mut [u32], steps: u64) {
    let graph = &graph.scaled();
    let mut rank_at = vec![0_u32; placement.len()];
    placement.iter().enumerate().for_each(|(rank, slot)| rank_at[*slot as usize] = rank as u32);
    let groups = groups(slots);
    let mut random = Rng::with_seed(1);
    let mut left = steps;
    let mut order: Vec<u32> = (0..placement.len() as u32).collect();
    loop {
        let mut gained = 0;
        random.shuffle(&mut order);
        for rank in &order {
            for partner in partners(graph, slots, &groups, placement, &rank_at, *rank, &mut random) {
                let work = graph.neighbours(*rank).len() + graph.neighbours(partner).len() + 1;
                let Some(rest) = left.checked_sub(work as u64) else { return };
                left = rest;
                let gain = gain(graph, slots, placement, *rank, partner);
                if gain > 0 {
                    gained += gain;
                    placement.swap(*rank as usize, partner as usize);
                    rank_at[placement[*rank as usize] as usize] = *rank;
                    rank_at[placement[partner as usize] as usize] = partner;
                }
            }
        }
        if gained == 0 {
            return;
        }
    }
}

/// For each slot and each level, the slots that have this level in common with it: they stand in a row.
fn groups(slots: &Slots) -> Vec<Vec<(u32, u32)>> {
    (0..=INSIDE)
        .map(|level| {
            let mut of_level = vec![(0, 0); slots.len()];
            let mut ranges = std::iter::once(0..slots.len()).collect::<Vec<_>>();
            for outer in 0..=level {
                ranges = ranges.into_iter().flat_map(|range| slots.children(range, outer)).collect();
            }
            for range in ranges {
                of_level[range.clone()].fill((range.start as u32, range.end as u32));
            }
            of_level
        })
        .collect()
}

/// Ranks that a rank may change places with: those that are near its neighbours.
fn partners(
    graph: &Graph,
    slots: &Slots,
    groups: &[Vec<(u32, u32)>],
    placement: &[u32],
    rank_at: &[u32],
    rank: u32,
    random: &mut Rng,
) -> Vec<u32> {
    let here = placement[rank as usize];
    let mut neighbours: Vec<(u64, u32)> =
        graph.neighbours(rank).iter().map(|(other, bytes)| (*bytes, *other)).collect();
    if neighbours.len() > NEIGHBOURS {
        neighbours.select_nth_unstable_by(NEIGHBOURS - 1, |a, b| b.cmp(a));
        neighbours.truncate(NEIGHBOURS);
    }
    let mut partners = Vec::new();
    for (_, other) in neighbours {
        let there = placement[other as usize];
        // The largest group in which the neighbour is and the rank is not: anywhere there is nearer.
        let common = slots.common(here, there) as usize;
        let Some(of_level) = groups.get(common) else { continue };
        let (start, end) = of_level[there as usize];
        let number = (end - start) as usize;
        if number <= PARTNERS {
            partners.extend((start..end).map(|slot| rank_at[slot as usize]));
        } else {
            let any = (0..PARTNERS).map(|_| start + random.usize(..number) as u32);
            partners.extend(any.map(|slot| rank_at[slot as usize]));
        }
    }
    partners.retain(|partner| *partner != rank);
    partners.sort_unstable();
    partners.dedup();
    partners
}

/// By how much the cost falls when two ranks change places.
fn gain(graph: &Graph, slots: &Slots, placement: &[u32], a: u32, b: u32) -> i64 {
    let (at_a, at_b) = (placement[a as usize], placement[b as usize]);
    let of = |rank: u32, from: u32, to: u32| {
        let others = graph.neighbours(rank).iter().filter(|(other, _)| *other != a && *other != b);
        others
            .map(|(other, bytes)| {
                let there = placement[*other as usize];
                (slots.distance(from, there) as i64 - slots.distance(to, there) as i64) * *bytes as i64
            })
            .sum::<i64>()
    };
    of(a, at_a, at_b) + of(b, at_b, at_a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cost, topology::synthetic};

    #[test]
    fn a_pair_that_is_torn_comes_together() {
        let slots = Slots::new(&synthetic::parse("node:2 pack:1 core:2").unwrap(), &["a"; 4], &[]);
        let graph = Graph::new(4, [(0, 2, 10), (1, 3, 10), (0, 1, 1)]);
        let mut placement = slots.run().clone();
        exchange(&graph, &slots, &mut placement, 1000);
        assert_eq!(cost(&graph, &slots, &placement).between_nodes, 1);
        let mut without_time = slots.run().clone();
        exchange(&graph, &slots, &mut without_time, 0);
        assert_eq!(&without_time, slots.run());
    }
}
