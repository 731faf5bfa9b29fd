//! The load of links by level, direction and plane.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::fabric::{Fabric, LinkEnd};
use crate::load::Load;

/// Which links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level {
    /// The plane.
    pub plane: u32,
    /// The level of the lower node.
    pub lower: u32,
    /// That of the higher one; the same for links within a level.
    pub upper: u32,
    /// Whether the node at this end is the lower one. Links within a level are always so.
    pub up: bool,
}

/// What the links of a level carry.
#[derive(Clone, Debug, PartialEq)]
pub struct OfLevel {
    /// Which links.
    pub level: Level,
    /// Their ends in this direction, at nodes below which anything is sent up or received: links that could have carried something.
    pub ends: u32,
    /// How many of them carry something.
    pub used: u32,
    /// All their bytes.
    pub bytes: u64,
    /// The most of one.
    pub most: u64,
    /// The end that has it.
    pub hottest: LinkEnd,
}

impl OfLevel {
    /// Bytes of an end in the mean, over those that could have carried something.
    pub fn mean(&self) -> f64 {
        if self.ends == 0 { 0.0 } else { self.bytes as f64 / f64::from(self.ends) }
    }

    /// How much more than the mean the most loaded end has: 1 where all are equal.
    pub fn imbalance(&self) -> f64 {
        if self.bytes == 0 { 1.0 } else { self.most as f64 / self.mean() }
    }
}

/// The level of an end.
pub fn level_of(fabric: &Fabric, end: LinkEnd) -> Level {
    let [from, to] = fabric.nodes_of(end).map(|node| fabric.graph[node].level);
    Level { plane: fabric.graph[end.edge()].plane, lower: from.min(to), upper: from.max(to), up: from <= to }
}

/// The levels that carry anything, from the hosts upwards, up before down.
pub fn levels(fabric: &Fabric, load: &Load) -> Vec<OfLevel> {
    // The lower node of a link decides whether its links count: a switch without a rank of the run below it could not carry anything.
    let lower_node = |end: LinkEnd, level: Level| fabric.nodes_of(end)[usize::from(!level.up)];
    let mut active = FxHashSet::default();
    for end in fabric.ends().filter(|end| load.ends[end.place()] > 0) {
        let level = level_of(fabric, end);
        active.insert((level, lower_node(end, level)));
    }
    let mut all = BTreeMap::<Level, OfLevel>::new();
    for end in fabric.ends() {
        let level = level_of(fabric, end);
        if !active.contains(&(level, lower_node(end, level))) {
            continue;
        }
        let bytes = load.ends[end.place()];
        let of =
            all.entry(level).or_insert(OfLevel { level, ends: 0, used: 0, bytes: 0, most: 0, hottest: end });
        of.ends += 1;
        of.used += u32::from(bytes > 0);
        of.bytes = of.bytes.saturating_add(bytes);
        if bytes > of.most {
            (of.most, of.hottest) = (bytes, end);
        }
    }
    let mut list: Vec<OfLevel> = all.into_values().collect();
    list.sort_by_key(|of| (of.level.lower, of.level.upper, of.level.plane, !of.level.up));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Flow;
    use crate::planes::Shares;
    use crate::testing::{network, two_levels};

    #[test]
    fn links_of_switches_without_ranks_do_not_count() {
        let fabric = network(&two_levels(8, 2, 2));
        let hosts: Vec<_> = [1, 2, 3].map(|number: u32| fabric.node(&format!("node{number}"))).to_vec();
        let flow = |from, to, bytes| Flow { from, to, phase: 0, bytes };
        let load = crate::load(&fabric, &hosts, &[flow(0, 2, 100), flow(1, 2, 100)], &Shares::default());
        let all = levels(&fabric, &load);
        let of = |lower, up| all.iter().find(|of| (of.level.lower, of.level.up) == (lower, up)).unwrap();
        assert_eq!((of(0, true).ends, of(0, true).imbalance()), (2, 1.0));
        assert_eq!((of(0, false).ends, of(0, false).most), (1, 200));
        // Both go to the same host, over one of two spines.
        assert_eq!((of(1, true).ends, of(1, true).used, of(1, true).imbalance()), (2, 1, 2.0));
    }
}
