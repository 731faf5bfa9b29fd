//! What each end of each link is loaded with: what the node at that end sends into it.

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, LinkEnd};
use crate::flows::Flow;
use crate::planes::Shares;
use crate::routes::{How, NoRoute, Route, Routes};

/// So many pairs of ranks are kept for each end.
pub const PAIRS: usize = 8;

/// Two ranks, and bytes from the first to the second.
pub type Pair = (u32, u32, u64);

/// What the links carry. Modelled: what goes between ranks follows routes; retransmissions, headers and other jobs are not in it.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Bytes at each end.
    pub ends: Vec<u64>,
    /// The same by phase: end and phase, where there are any.
    pub by_phase: FxHashMap<(LinkEnd, u32), u64>,
    /// The pairs of ranks that load each end most, the greatest first, at most [`PAIRS`] of them.
    pub pairs: Vec<Vec<Pair>>,
    /// Number of pairs of ranks that load each end.
    pub pair_counts: Vec<u32>,
    /// Bytes between ranks of the same host.
    pub within: u64,
    /// Bytes between hosts that have a route.
    pub between: u64,
    /// Bytes of or to ranks that are on no host of the network.
    pub unplaced: u64,
    /// Bytes without a route, why, and the first two hosts that it happened to.
    pub lost: FxHashMap<NoRoute, (u64, NodeIndex, NodeIndex)>,
    /// Bytes by the highest level on their way.
    pub by_top_level: Vec<u64>,
    /// Bytes by plane.
    pub by_plane: Vec<u64>,
    /// Bytes whose way is longer than a shortest one, by how many links it is longer at most; and an example.
    pub detours: Option<Detours>,
    /// Where the routes are from, by bytes.
    pub by_how: FxHashMap<How, u64>,
}

/// Ways that are longer than they need be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detours {
    /// Bytes on them.
    pub bytes: u64,
    /// The pair of hosts with the most bytes.
    pub example: (NodeIndex, NodeIndex),
    /// Links of its way, and of a shortest one.
    pub links: (usize, usize),
    /// Its bytes.
    pub of_example: u64,
}

/// Sends what goes between ranks over the links.
pub fn load(fabric: &Fabric, host_of_rank: &[Option<NodeIndex>], flows: &[Flow], shares: &Shares) -> Load {
    let ends = fabric.graph.edge_count() * 2;
    let mut load = Load {
        ends: vec![0; ends],
        pairs: vec![Vec::new(); ends],
        pair_counts: vec![0; ends],
        by_top_level: vec![0; fabric.levels() as usize + 1],
        by_plane: vec![0; fabric.planes.len()],
        ..Load::default()
    };
    let host = |rank: u32| host_of_rank.get(rank as usize).copied().flatten();
    let mut between_hosts = FxHashMap::<(NodeIndex, NodeIndex), Vec<(u32, u64)>>::default();
    let mut between_ranks = FxHashMap::<(u32, u32), u64>::default();
    for flow in flows {
        match (host(flow.from), host(flow.to)) {
            (Some(from), Some(to)) if from == to => load.within = load.within.saturating_add(flow.bytes),
            (Some(from), Some(to)) => {
                let phases = between_hosts.entry((from, to)).or_default();
                match phases.iter_mut().find(|(phase, _)| *phase == flow.phase) {
                    Some((_, bytes)) => *bytes = bytes.saturating_add(flow.bytes),
                    None => phases.push((flow.phase, flow.bytes)),
                }
                let bytes = between_ranks.entry((flow.from, flow.to)).or_default();
                *bytes = bytes.saturating_add(flow.bytes);
            }
            _ => load.unplaced = load.unplaced.saturating_add(flow.bytes),
        }
    }
    let mut sorted: Vec<_> = between_hosts.into_iter().collect();
    sorted.sort_unstable();
    let mut routes = Routes::new(fabric);
    let mut known = FxHashMap::<(NodeIndex, NodeIndex), Vec<(u32, Route)>>::default();
    for ((from, to), phases) in sorted {
        for (phase, bytes) in phases {
            let parts = shares.divide(fabric, from, to, bytes);
            if parts.is_empty() {
                load.lose(NoRoute::NotConnected, bytes, from, to);
            }
            for (plane, part) in parts {
                let of_pair = known.entry((from, to)).or_default();
                let route = match of_pair.iter().find(|(of, _)| *of == plane) {
                    Some((_, route)) => route,
                    None => match routes.route(from, to, plane) {
                        Ok(route) => {
                            of_pair.push((plane, route));
                            &of_pair[of_pair.len() - 1].1
                        }
                        Err(why) => {
                            load.lose(why, part, from, to);
                            continue;
                        }
                    },
                };
                load.add(fabric, route, (plane, phase, part));
                if let Some(least) = routes.least(from, to, plane).filter(|least| *least < route.ends.len()) {
                    load.detour((from, to), (route.ends.len(), least), part);
                }
            }
        }
    }
    load.keep_pairs(fabric, between_ranks, &host, &known, shares);
    load
}

/// Whether the capacity of each link is known.
pub fn is_by_time(fabric: &Fabric) -> bool {
    fabric.graph.edge_weights().all(|link| link.capacity.is_some())
}

impl Load {
    fn lose(&mut self, why: NoRoute, bytes: u64, from: NodeIndex, to: NodeIndex) {
        let lost = self.lost.entry(why).or_insert((0, from, to));
        lost.0 = lost.0.saturating_add(bytes);
    }

    fn add(&mut self, fabric: &Fabric, route: &Route, (plane, phase, bytes): (u32, u32, u64)) {
        self.between = self.between.saturating_add(bytes);
        let mut top = 0;
        for end in &route.ends {
            let sum = &mut self.ends[end.place()];
            *sum = sum.saturating_add(bytes);
            let of_phase = self.by_phase.entry((*end, phase)).or_default();
            *of_phase = of_phase.saturating_add(bytes);
            top = top.max(fabric.graph[fabric.nodes_of(*end)[1]].level);
        }
        let sums = [
            &mut self.by_top_level[top as usize],
            &mut self.by_plane[plane as usize],
            self.by_how.entry(route.how).or_default(),
        ];
        for sum in sums {
            *sum = sum.saturating_add(bytes);
        }
    }

    fn detour(&mut self, example: (NodeIndex, NodeIndex), links: (usize, usize), bytes: u64) {
        let new = Detours { bytes, example, links, of_example: bytes };
        match &mut self.detours {
            None => self.detours = Some(new),
            Some(known) => {
                let all = known.bytes.saturating_add(bytes);
                if bytes > known.of_example {
                    *known = new;
                }
                known.bytes = all;
            }
        }
    }

    /// Finds the greatest pairs at each end.
    fn keep_pairs(
        &mut self,
        fabric: &Fabric,
        between: FxHashMap<(u32, u32), u64>,
        host: &dyn Fn(u32) -> Option<NodeIndex>,
        known: &FxHashMap<(NodeIndex, NodeIndex), Vec<(u32, Route)>>,
        shares: &Shares,
    ) {
        let mut between: Vec<_> = between.into_iter().collect();
        between.sort_unstable_by_key(|(pair, bytes)| (std::cmp::Reverse(*bytes), *pair));
        for ((from, to), bytes) in between {
            let (Some(a), Some(b)) = (host(from), host(to)) else { continue };
            let parts = shares.divide(fabric, a, b, bytes);
            for (plane, route) in known.get(&(a, b)).into_iter().flatten() {
                let Some((_, part)) = parts.iter().find(|(of, _)| of == plane) else { continue };
                for end in &route.ends {
                    self.pair_counts[end.place()] += 1;
                    let kept = &mut self.pairs[end.place()];
                    if kept.len() < PAIRS {
                        kept.push((from, to, *part));
                    }
                }
            }
        }
        // Planes divide pairs in different ways.
        self.pairs.iter_mut().for_each(|kept| kept.sort_by_key(|pair| std::cmp::Reverse(pair.2)));
    }

    /// The ends that carry anything, the most loaded first: by the time that the link needs at least, where the capacity of all links is
    /// known, else by bytes.
    pub fn hottest(&self, fabric: &Fabric) -> Vec<LinkEnd> {
        let mut ends: Vec<LinkEnd> = fabric.ends().filter(|end| self.ends[end.place()] > 0).collect();
        let by_time = is_by_time(fabric);
        let weight = |end: &LinkEnd| self.weight(fabric, *end, by_time);
        ends.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
        ends
    }

    /// The seconds that an end takes at least, or its bytes.
    pub fn weight(&self, fabric: &Fabric, end: LinkEnd, by_time: bool) -> f64 {
        let bytes = self.ends[end.place()] as f64;
        match fabric.graph[end.edge()].capacity.filter(|_| by_time) {
            Some(capacity) => bytes / capacity,
            None => bytes,
        }
    }

    /// The weight of the most loaded end.
    pub fn peak(&self, fabric: &Fabric) -> f64 {
        let by_time = is_by_time(fabric);
        fabric.ends().map(|end| self.weight(fabric, end, by_time)).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, two_levels};

    #[test]
    fn an_end_has_what_its_node_sends_and_nothing_is_lost() {
        let fabric = network(&two_levels(2, 2, 2));
        let host = |number: u32| fabric.node(&format!("node{number}"));
        let hosts: Vec<_> = (1..=4).map(host).chain([None]).collect();
        let flow = |from, to, bytes| Flow { from, to, phase: 0, bytes };
        let flows = [flow(0, 2, 100), flow(2, 0, 7), flow(0, 1, 10), flow(4, 0, 3), flow(1, 1, 5)];
        let load = load(&fabric, &hosts, &flows, &Shares::default());
        let edge = |a: &str, b: &str| {
            fabric.graph.find_edge(fabric.node(a).unwrap(), fabric.node(b).unwrap()).unwrap()
        };
        let at = |a: &str, b: &str| load.ends[fabric.end_at(edge(a, b), fabric.node(a).unwrap()).place()];
        assert_eq!((at("node1", "leaf1"), at("leaf1", "node1")), (110, 7));
        assert_eq!((at("node3", "leaf2"), at("leaf2", "node3")), (7, 100));
        // The third host goes over the first spine, and so does the first.
        assert_eq!((at("leaf1", "spine1"), at("spine1", "leaf2"), at("leaf2", "spine1")), (100, 100, 7));
        assert_eq!((load.between, load.within, load.unplaced), (117, 5, 3));
        assert_eq!(load.by_top_level, [0, 10, 107]);
        let top = load.hottest(&fabric)[0];
        assert_eq!(fabric.graph[fabric.nodes_of(top)[0]].name, "node1");
        assert_eq!(load.pairs[top.place()], [(0, 2, 100), (0, 1, 10)]);
        assert!(load.detours.is_none() && load.lost.is_empty());
    }

    #[test]
    fn a_way_that_is_too_long_is_noticed() {
        let text = two_levels(2, 2, 1)
            + "[[route]]\nfrom = \"node1\"\nto = \"node2\"\nvia = [\"leaf1\", \"spine1\", \"leaf1\"]\n";
        let fabric = network(&text);
        let hosts = [fabric.node("node1"), fabric.node("node2")];
        let load = load(&fabric, &hosts, &[Flow { from: 0, to: 1, phase: 0, bytes: 9 }], &Shares::default());
        let detours = load.detours.unwrap();
        assert_eq!((detours.bytes, detours.links), (9, (4, 2)));
    }
}
