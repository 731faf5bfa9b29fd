//! Ranks arranged on hosts so that the hottest links cool down.
//!
//! Pairs of ranks change hosts as long as that lowers the sum over all link ends of their loads to the fourth power: the hottest count most,
//! and what need not cross a link at all is saved, too. The load of an end is what it takes at least where all capacities are known, else
//! its bytes.

use fastrand::Rng;
use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::fabric::Fabric;
use crate::flows::Flow;
use crate::load::is_by_time;
use crate::planes::Shares;
use crate::routes::Routes;

/// Up to so many ranks, each tries all others, and several beginnings are tried.
const FEW: usize = 64;
/// Else so many.
const PARTNERS: usize = 24;
/// Shuffled beginnings for few ranks.
const BEGINNINGS: usize = 24;
/// What is less is rounding.
const LEAST_GAIN: f64 = 1e-9;

/// Finds a better place for each rank, from `placement` on: the slot of each rank. `host_of_slot` says where slots are. About so many `steps`
/// are made at most; one is a link end on the way of a pair of ranks, and ten million take about a second. The result is the same for the
/// same input, and its sum is never greater.
pub fn arrange(
    fabric: &Fabric,
    host_of_slot: &[NodeIndex],
    placement: &[u32],
    flows: &[Flow],
    steps: u64,
) -> Vec<u32> {
    let beginnings = if placement.len() <= FEW { BEGINNINGS } else { 0 };
    let mut random = Rng::with_seed(1);
    let mut search = Search::new(fabric, host_of_slot, placement, flows);
    let each = steps / (beginnings as u64 + 1);
    let mut best = (search.improve(each, &mut random), search.placement.clone());
    for _ in 0..beginnings {
        let mut shuffled = placement.to_vec();
        random.shuffle(&mut shuffled);
        search.begin(&shuffled);
        let sum = search.improve(each, &mut random);
        if sum < best.0 * (1.0 - LEAST_GAIN) {
            best = (sum, search.placement.clone());
        }
    }
    best.1
}

/// Link ends, and what a byte adds to each.
type Way = Vec<(u32, f64)>;

struct Search<'a> {
    fabric: &'a Fabric,
    routes: Routes<'a>,
    host_of_slot: &'a [NodeIndex],
    by_time: bool,
    /// Of each rank: the other, bytes, whether it is the sender.
    neighbours: Vec<Vec<(u32, f64, bool)>>,
    ways: FxHashMap<(NodeIndex, NodeIndex), Way>,
    placement: Vec<u32>,
    rank_at: Vec<u32>,
    ends: Vec<f64>,
    /// What an end's load is divided by.
    unit: f64,
    changes: FxHashMap<u32, f64>,
}

impl<'a> Search<'a> {
    fn new(
        fabric: &'a Fabric,
        host_of_slot: &'a [NodeIndex],
        placement: &[u32],
        flows: &[Flow],
    ) -> Search<'a> {
        let ranks = placement.len();
        let mut sums = FxHashMap::<(u32, u32), u64>::default();
        for flow in flows.iter().filter(|flow| flow.from.max(flow.to) < ranks as u32 && flow.from != flow.to)
        {
            let sum = sums.entry((flow.from, flow.to)).or_default();
            *sum = sum.saturating_add(flow.bytes);
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable();
        let mut neighbours = vec![Vec::new(); ranks];
        for ((from, to), bytes) in sums {
            neighbours[from as usize].push((to, bytes as f64, true));
            neighbours[to as usize].push((from, bytes as f64, false));
        }
        let mut search = Search {
            fabric,
            routes: Routes::new(fabric),
            host_of_slot,
            by_time: is_by_time(fabric),
            neighbours,
            ways: FxHashMap::default(),
            placement: Vec::new(),
            rank_at: Vec::new(),
            ends: Vec::new(),
            unit: 1.0,
            changes: FxHashMap::default(),
        };
        search.begin(placement);
        search.unit = search.ends.iter().copied().fold(0.0, f64::max);
        search
    }

    /// Takes a placement, and loads the links as it says.
    fn begin(&mut self, placement: &[u32]) {
        self.placement = placement.to_vec();
        self.rank_at = vec![0; placement.len()];
        placement.iter().enumerate().for_each(|(rank, slot)| self.rank_at[*slot as usize] = rank as u32);
        self.ends = vec![0.0; self.fabric.graph.edge_count() * 2];
        self.changes.clear();
        for rank in 0..placement.len() as u32 {
            self.change(rank, 1.0, None, true);
        }
        let changes = std::mem::take(&mut self.changes);
        changes.iter().for_each(|(end, change)| self.ends[*end as usize] += change);
    }

    fn host(&self, rank: u32) -> NodeIndex {
        self.host_of_slot[self.placement[rank as usize] as usize]
    }

    /// Adds, or takes away, what a rank exchanges with others, but with one of them; or only what it sends. Gives the steps.
    fn change(&mut self, rank: u32, sign: f64, without: Option<u32>, only_sent: bool) -> u64 {
        let here = self.host(rank);
        let mut steps = 1;
        for place in 0..self.neighbours[rank as usize].len() {
            let (other, bytes, is_sender) = self.neighbours[rank as usize][place];
            let there = self.host(other);
            if there == here || Some(other) == without || only_sent && !is_sender {
                continue;
            }
            let (from, to) = if is_sender { (here, there) } else { (there, here) };
            if !self.ways.contains_key(&(from, to)) {
                let way = self.way(from, to);
                self.ways.insert((from, to), way);
            }
            for (end, each) in &self.ways[&(from, to)] {
                *self.changes.entry(*end).or_default() += sign * bytes * each;
                steps += 1;
            }
        }
        steps
    }

    /// The ends on the way between two hosts, over all planes.
    fn way(&mut self, from: NodeIndex, to: NodeIndex) -> Way {
        const WHOLE: u64 = 1 << 32;
        let mut way = Way::new();
        for (plane, part) in Shares::default().divide(self.fabric, from, to, WHOLE) {
            let Ok(route) = self.routes.route(from, to, plane) else { continue };
            for end in route.ends {
                let capacity = self.fabric.graph[end.edge()].capacity.filter(|_| self.by_time);
                way.push((end.0, part as f64 / WHOLE as f64 / capacity.unwrap_or(1.0)));
            }
        }
        way
    }

    fn power(&self, load: f64) -> f64 {
        let share = (load / self.unit).max(0.0);
        share.powi(4) + share * 1e-6
    }

    /// Exchanges ranks as long as it helps; gives the sum that is left.
    fn improve(&mut self, steps: u64, random: &mut Rng) -> f64 {
        let ranks = self.placement.len();
        let mut left = steps;
        loop {
            let mut is_better = false;
            for rank in 0..ranks as u32 {
                for place in 0..if ranks <= FEW { ranks } else { PARTNERS } {
                    let partner = self.partner(rank, place, random);
                    if self.host(partner) == self.host(rank) {
                        continue;
                    }
                    let (gain, work) = self.exchange(rank, partner);
                    is_better |= gain;
                    let Some(rest) = left.checked_sub(work) else { return self.sum() };
                    left = rest;
                }
            }
            if !is_better {
                return self.sum();
            }
        }
    }

    /// Whom a rank may change places with: of few all; else half of them any, half of them from the host of a neighbour.
    fn partner(&self, rank: u32, place: usize, random: &mut Rng) -> u32 {
        let ranks = self.placement.len();
        let neighbours = &self.neighbours[rank as usize];
        if ranks <= FEW {
            return place as u32;
        }
        if place.is_multiple_of(2) || neighbours.is_empty() {
            return random.usize(..ranks) as u32;
        }
        // Slots of a host lie in a row.
        let (other, ..) = neighbours[random.usize(..neighbours.len())];
        let slot = self.placement[other as usize] as usize;
        let beside = (slot + random.usize(..9)).saturating_sub(4).min(ranks - 1);
        self.rank_at[beside]
    }

    /// Exchanges two ranks if that lowers the sum. Gives whether it does, and the steps.
    fn exchange(&mut self, a: u32, b: u32) -> (bool, u64) {
        self.changes.clear();
        let mut work = self.change(a, -1.0, None, false) + self.change(b, -1.0, Some(a), false);
        self.swap(a, b);
        work += self.change(a, 1.0, None, false) + self.change(b, 1.0, Some(a), false);
        let of = |(end, change): (&u32, &f64)| {
            let load = self.ends[*end as usize];
            self.power(load + change) - self.power(load)
        };
        let change: f64 = self.changes.iter().map(of).sum();
        if change < -LEAST_GAIN {
            self.changes.iter().for_each(|(end, change)| self.ends[*end as usize] += change);
            return (true, work);
        }
        self.swap(a, b);
        (false, work)
    }

    fn swap(&mut self, a: u32, b: u32) {
        self.placement.swap(a as usize, b as usize);
        for rank in [a, b] {
            self.rank_at[self.placement[rank as usize] as usize] = rank;
        }
    }

    fn sum(&self) -> f64 {
        self.ends.iter().map(|load| self.power(*load)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

    /// Leaves with two hosts each; the second leaf's link upwards is slow.
    fn tree(leaves: u32) -> Fabric {
        let mut text = format!(
            "[[host]]\nname = \"n[1-{}]\"\n[[switch]]\nname = \"leaf[1-{leaves}],root\"\n",
            leaves * 2
        );
        for leaf in 1..=leaves {
            let up = if leaf == 2 { "20 Mbit/s" } else { "200 Mbit/s" };
            text += &format!(
                "[[link]]\nfrom = \"n[{}-{}]\"\nto = \"leaf{leaf}\"\ncapacity = \"100 Mbit/s\"\n",
                leaf * 2 - 1,
                leaf * 2
            );
            text += &format!("[[link]]\nfrom = \"leaf{leaf}\"\nto = \"root\"\ncapacity = \"{up}\"\n");
        }
        network(&text)
    }

    fn peak(fabric: &Fabric, hosts: &[NodeIndex], placement: &[u32], flows: &[Flow]) -> f64 {
        let of_rank: Vec<_> = placement.iter().map(|slot| Some(hosts[*slot as usize])).collect();
        crate::load(fabric, &of_rank, flows, &Shares::default()).peak(fabric)
    }

    #[test]
    fn pairs_come_to_one_leaf_and_nothing_crosses_the_slow_link() {
        let fabric = tree(4);
        let hosts: Vec<_> = fabric.hosts().collect();
        let flow = |from, to| Flow { from, to, phase: 0, bytes: 25_000_000 };
        let flows: Vec<Flow> = (0..4).flat_map(|rank| [flow(rank, rank + 4), flow(rank + 4, rank)]).collect();
        let before: Vec<u32> = (0..8).collect();
        assert_eq!(peak(&fabric, &hosts, &before, &flows), 20.0);
        let after = arrange(&fabric, &hosts, &before, &flows, 1_000_000);
        assert_eq!(peak(&fabric, &hosts, &after, &flows), 2.0, "{after:?}");
        let mut taken = after.clone();
        taken.sort_unstable();
        assert_eq!(taken, before);
        let crossing =
            flows.iter().filter(|flow| after[flow.from as usize] / 2 != after[flow.to as usize] / 2);
        assert_eq!(crossing.count(), 0, "{after:?}");
        // What is best stays as it is.
        assert_eq!(arrange(&fabric, &hosts, &after, &flows, 1_000_000), after);
    }

    #[test]
    fn hundreds_of_ranks_avoid_the_slow_link() {
        let fabric = tree(16);
        let hosts: Vec<_> = fabric.hosts().flat_map(|host| [host; 8]).collect();
        let ranks = hosts.len() as u32;
        let flow = |from, to| Flow { from, to, phase: 0, bytes: 1_000_000 };
        // Groups of eight, scattered.
        let flows: Vec<Flow> = (0..ranks)
            .flat_map(|rank| (1..8).map(move |step| flow(rank, (rank + step * 32) % ranks)))
            .collect();
        let before: Vec<u32> = (0..ranks).collect();
        let after = arrange(&fabric, &hosts, &before, &flows, 20_000_000);
        let [old, new] = [&before, &after].map(|placement| peak(&fabric, &hosts, placement, &flows));
        assert!(new < 0.3 * old, "{old} {new}");
    }
}
