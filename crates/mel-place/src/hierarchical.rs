//! The ranks divided over the machine as it is made: first over the nodes, then in each node over the sockets, then over the caches, so that
//! at each level few bytes go between the parts. The idea is TreeMatch's (Jeannot, Mercier and Tessier, IEEE TPDS 25, 2014): the tree of the
//! machine decides who comes together. It goes from the root down, because what crosses nodes costs most, and each level is divided by
//! [`bisect`](mod@crate::bisect).

use std::ops::Range;

use fastrand::Rng;

use crate::bisect::{Weighted, bisect};
use crate::slots::INSIDE;
use crate::{Graph, Placement, Slots};

/// A placement. Another `seed` gives another one, about as good.
pub fn hierarchical(graph: &Graph, slots: &Slots, seed: u64) -> Placement {
    let scaled = graph.scaled();
    let mut division = Division {
        graph: &scaled,
        slots,
        random: Rng::with_seed(seed),
        number: vec![u32::MAX; scaled.ranks()],
        placement: vec![0; scaled.ranks()],
    };
    division.over_level((0..scaled.ranks() as u32).collect(), 0..slots.len(), 0);
    division.placement
}

struct Division<'a> {
    graph: &'a Graph,
    slots: &'a Slots,
    random: Rng,
    /// The number of a rank in the part that is being divided.
    number: Vec<u32>,
    placement: Placement,
}

impl Division<'_> {
    /// Divides ranks over slots that have a level in common.
    fn over_level(&mut self, ranks: Vec<u32>, range: Range<usize>, level: usize) {
        if level > INSIDE || range.len() < 2 {
            for (rank, slot) in ranks.into_iter().zip(range) {
                self.placement[rank as usize] = slot as u32;
            }
            return;
        }
        let children = self.slots.children(range, level);
        self.over_children(ranks, &children, level);
    }

    /// Divides them over parts, by halves.
    fn over_children(&mut self, ranks: Vec<u32>, children: &[Range<usize>], level: usize) {
        if let [child] = children {
            return self.over_level(ranks, child.clone(), level + 1);
        }
        let (left, right) = children.split_at(children.len() / 2);
        let first = left.iter().map(Range::len).sum();
        for (number, rank) in ranks.iter().enumerate() {
            self.number[*rank as usize] = number as u32;
        }
        let part = Weighted::of(ranks.iter().map(|rank| {
            let inside = |(other, bytes): &(u32, u64)| {
                let number = self.number[*other as usize];
                (number != u32::MAX).then_some((number, *bytes as i64))
            };
            self.graph.neighbours(*rank).iter().filter_map(inside).collect()
        }));
        let side = bisect(&part, first, &mut self.random);
        for rank in &ranks {
            self.number[*rank as usize] = u32::MAX;
        }
        let of_side = |wanted: bool| {
            let chosen = ranks.iter().zip(&side).filter(|(_, side)| **side == wanted);
            chosen.map(|(rank, _)| *rank).collect::<Vec<_>>()
        };
        let (of_left, of_right) = (of_side(false), of_side(true));
        self.over_children(of_left, left, level);
        self.over_children(of_right, right, level);
    }
}
