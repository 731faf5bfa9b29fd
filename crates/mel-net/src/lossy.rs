//! A link that loses packets where others do not, from what connections had to send again: observed, without any capacity.
//!
//! TCP sends faster and faster until packets are lost. Where that happens on one link long before it does on others (it is slower than they are,
//! crowded, or faulty), all connections over it send much again, and no other does. Where more than one link would explain that, nothing is said.

use petgraph::graph::{EdgeIndex, NodeIndex};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::fabric::{Fabric, LinkEnd};
use crate::routes::{How, Routes};

/// What goes over the link sends at least this part of its segments again.
const LEAST_AGAIN: f64 = 0.02;
/// Anything else sends so many times less of its segments again.
const FACTOR: f64 = 2.0;
/// So many pairs of hosts must send again, and as many must not.
const LEAST_PAIRS: usize = 2;
/// Connections with fewer segments say nothing of a network.
const LEAST_SEGMENTS: u64 = 200;

/// What connections of a rank have sent from a host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The sender's host.
    pub from: NodeIndex,
    /// The receiver's host.
    pub to: NodeIndex,
    /// The plane.
    pub plane: u32,
    /// Segments with data.
    pub segments: u64,
    /// How many of them were sent again.
    pub again: u64,
}

/// A link that loses packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lossy {
    /// The link.
    pub edge: EdgeIndex,
    /// The only end at which it does; none where it does at both.
    pub end: Option<LinkEnd>,
    /// Pairs of hosts, with a direction, whose connections go over it.
    pub pairs: usize,
    /// Which part of its segments each of these has sent again at least.
    pub at_least: f64,
    /// Other pairs of hosts.
    pub others: usize,
    /// Which part each of those has sent again at most.
    pub others_at_most: f64,
}

/// Finds the link that loses packets, if there is one and only one that explains what was seen.
pub fn lossy_link(fabric: &Fabric, sent: &[Sent]) -> Option<Lossy> {
    let shares = shares(sent);
    let mut routes = Routes::new(fabric);
    let mut over = FxHashMap::<Part, Vec<f64>>::default();
    let mut all = Vec::with_capacity(shares.len());
    for ((from, to, plane), share) in shares {
        // A way that the model has chosen among equal ones does not show which link it was.
        let route = routes.route(from, to, plane).ok().filter(|route| route.how != How::OneOfSeveral)?;
        let mut edges = FxHashSet::default();
        for end in route.ends {
            over.entry(Part::End(end)).or_default().push(share);
            if edges.insert(end.edge()) {
                over.entry(Part::Link(end.edge())).or_default().push(share);
            }
        }
        all.push(share);
    }
    all.sort_by(f64::total_cmp);
    let mut found: Vec<Lossy> = over.iter().filter_map(|(part, of)| explained_by(*part, of, &all)).collect();
    // The whole link before one of its ends.
    found.sort_by_key(|lossy| (lossy.edge, lossy.end));
    let first = *found.first()?;
    found.iter().all(|lossy| lossy.edge == first.edge).then_some(first)
}

/// What may lose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    End(LinkEnd),
    Link(EdgeIndex),
}

/// Which part of its segments each pair of hosts has sent again.
fn shares(sent: &[Sent]) -> Vec<((NodeIndex, NodeIndex, u32), f64)> {
    let mut sums = FxHashMap::<(NodeIndex, NodeIndex, u32), (u64, u64)>::default();
    for one in sent {
        let sum = sums.entry((one.from, one.to, one.plane)).or_default();
        *sum = (sum.0.saturating_add(one.segments), sum.1.saturating_add(one.again));
    }
    let known = sums.into_iter().filter(|(_, (segments, _))| *segments >= LEAST_SEGMENTS);
    let mut shares: Vec<_> =
        known.map(|(pair, (segments, again))| (pair, again as f64 / segments as f64)).collect();
    shares.sort_unstable_by_key(|(pair, _)| *pair);
    shares
}

/// Whether all over a part send much again, and none else. `all` is in ascending order.
fn explained_by(part: Part, over: &[f64], all: &[f64]) -> Option<Lossy> {
    let at_least = over.iter().copied().fold(f64::INFINITY, f64::min);
    let limit = at_least / FACTOR;
    // All that are above the limit are those over the part.
    let others = all.partition_point(|share| *share <= limit);
    let is_it = over.len() >= LEAST_PAIRS
        && others >= LEAST_PAIRS
        && at_least >= LEAST_AGAIN
        && all.len() - others == over.len();
    let (edge, end) = match part {
        Part::End(end) => (end.edge(), Some(end)),
        Part::Link(edge) => (edge, None),
    };
    is_it.then(|| Lossy { edge, end, pairs: over.len(), at_least, others, others_at_most: all[others - 1] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

    /// Three leaves with two hosts each below a root.
    const TREE: &str = "[[host]]\nname = \"n[1-6]\"\n[[switch]]\nname = \"leaf[1-3],root\"\n[[link]]\nfrom = \"n[1-2]\"\nto = \"leaf1\"\n[[link]]\nfrom = \"n[3-4]\"\nto = \"leaf2\"\n[[link]]\nfrom = \"n[5-6]\"\nto = \"leaf3\"\n[[link]]\nfrom = \"leaf[1-3]\"\nto = \"root\"\n";

    /// The link of what goes between hosts, by numbers from 1 on: segments, and how many of them again; and whether it is one end alone.
    fn found(seen: &[(u32, u32, u64, u64)]) -> Option<(String, bool)> {
        let fabric = network(TREE);
        let host = |number: u32| fabric.node(&format!("n{number}")).unwrap();
        let sent: Vec<Sent> = seen
            .iter()
            .map(|(from, to, segments, again)| Sent {
                from: host(*from),
                to: host(*to),
                plane: 0,
                segments: *segments,
                again: *again,
            })
            .collect();
        lossy_link(&fabric, &sent).map(|lossy| {
            let end = lossy.end.unwrap_or(LinkEnd::new(lossy.edge, 0));
            let [a, b] = fabric.nodes_of(end).map(|node| fabric.graph[node].name.clone());
            (format!("{a}-{b}"), lossy.end.is_some())
        })
    }

    /// All pairs: those that the closure names send 8 % of their segments again, others 1 %.
    fn all(is_lossy: impl Fn(u32, u32) -> bool) -> Vec<(u32, u32, u64, u64)> {
        let pairs = (1..=6).flat_map(|from| (1..=6).map(move |to| (from, to)));
        let other = pairs.filter(|(from, to)| from != to);
        other.map(|(from, to)| (from, to, 1000, if is_lossy(from, to) { 80 } else { 10 })).collect()
    }

    fn leaf(host: u32) -> u32 {
        host.div_ceil(2)
    }

    fn crosses(from: u32, to: u32) -> bool {
        leaf(from) != leaf(to) && (leaf(from) == 2 || leaf(to) == 2)
    }

    #[test]
    fn the_link_that_all_lossy_pairs_share_is_named() {
        assert_eq!(found(&all(crosses)), Some(("leaf2-root".into(), false)));
        let leaves = |from: u32, to: u32| leaf(from) == 2 && leaf(to) != 2;
        assert_eq!(found(&all(leaves)), Some(("leaf2-root".into(), true)));
        assert_eq!(found(&all(|from, to| from == 4 || to == 4)), Some(("n4-leaf2".into(), false)));
    }

    #[test]
    fn nothing_is_said_where_another_link_may_be_it_or_none() {
        assert_eq!(found(&all(|_, _| false)), None);
        assert_eq!(found(&all(|_, _| true)), None);
        assert_eq!(found(&[]), None);
        // Two links lose packets; or one of two that the same pairs take.
        assert_eq!(found(&all(|from, to| [1, 4].contains(&from) || [1, 4].contains(&to))), None);
        let mut seen = vec![(1, 2, 1000, 0), (2, 1, 1000, 0), (5, 6, 1000, 0)];
        seen.extend([(1, 3, 1000, 80), (3, 1, 1000, 80), (2, 4, 1000, 80)]);
        assert_eq!(found(&seen), None);
        // A pair over it has lost nothing; or one elsewhere half as much.
        assert_eq!(found(&all(|from, to| crosses(from, to) && (from, to) != (1, 3))), None);
        let mut seen = all(crosses);
        seen.iter_mut().filter(|one| (one.0, one.1) == (1, 5)).for_each(|one| one.3 = 45);
        assert_eq!(found(&seen), None);
    }

    #[test]
    fn few_segments_say_nothing() {
        let few: Vec<_> =
            all(crosses).into_iter().map(|(from, to, _, again)| (from, to, 199, again)).collect();
        assert_eq!(found(&few), None);
        // One with few is left out, whatever it has lost.
        let mut seen = all(crosses);
        seen.iter_mut().filter(|one| (one.0, one.1) == (1, 5)).for_each(|one| one.2 = 100);
        assert_eq!(found(&seen), Some(("leaf2-root".into(), false)));
    }
}
