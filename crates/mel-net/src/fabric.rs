//! Hosts, switches, and the links between them: a graph, in one or several planes.

use petgraph::graph::{EdgeIndex, NodeIndex, UnGraph};
use petgraph::visit::EdgeRef;
use rustc_hash::FxHashMap;

/// What a node of the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Where ranks run, and what else is no switch.
    Host,
    /// Passes on what is for others.
    Switch,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name; no other has the same.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How far it is from the hosts: 0 for hosts, 1 for a switch with a host at it, and so on. Not below 1 for a switch.
    pub level: u32,
    /// Whether a file says which level it has.
    pub is_level_given: bool,
}

/// A cable. Its two ends are loaded apart: each with what the node at that end sends into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The ports at both ends, that of the edge's first node first; 0 where it is not known.
    pub ports: [u16; 2],
    /// Bytes per second, in each direction.
    pub capacity: Option<f64>,
    /// The plane, as a place in [`Fabric::planes`].
    pub plane: u32,
}

/// A network of its own to which hosts have an interface each: a subnet of InfiniBand, a second Ethernet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plane {
    /// Its name.
    pub name: String,
    /// The interfaces of hosts that belong to it, such as `eth0`.
    pub interfaces: Vec<String>,
    /// Whether forwarding tables are known.
    pub has_tables: bool,
    /// Whether links stand for one or several cables, as in Slurm's file.
    pub is_logical: bool,
}

/// One end of a link: what the node there sends into it is its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkEnd(pub u32);

impl LinkEnd {
    /// The end of an edge at which its first (0) or second (1) node is.
    pub fn new(edge: EdgeIndex, side: usize) -> LinkEnd {
        LinkEnd(edge.index() as u32 * 2 + side as u32)
    }

    /// The link.
    pub fn edge(self) -> EdgeIndex {
        EdgeIndex::new(self.0 as usize / 2)
    }

    /// 0 for the edge's first node, 1 for its second.
    pub fn side(self) -> usize {
        self.0 as usize % 2
    }

    /// Its place among all ends.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// By which port a switch sends on what is for a local identifier (LID).
pub(crate) type Table = Vec<Option<u16>>;

/// Where a host is attached to a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attached {
    pub(crate) edge: EdgeIndex,
    /// The local identifier of its port; 0 where there is none.
    pub(crate) lid: u16,
}

/// A network.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    /// Nodes and links.
    pub graph: UnGraph<Node, Link>,
    /// Its planes, at least one if there is a link.
    pub planes: Vec<Plane>,
    by_name: FxHashMap<String, NodeIndex>,
    /// The link at each port of each switch.
    pub(crate) ports: FxHashMap<(NodeIndex, u16), EdgeIndex>,
    /// Of each switch with forwarding tables.
    pub(crate) tables: FxHashMap<NodeIndex, Table>,
    /// The links of each host in each plane.
    pub(crate) attached: FxHashMap<(NodeIndex, u32), Vec<Attached>>,
    /// Routes that a file names: from, to, plane.
    pub(crate) named: FxHashMap<(NodeIndex, NodeIndex, u32), Vec<NodeIndex>>,
}

impl Fabric {
    /// The node of that name, which is made if it is not there. A node that has both kinds in the files is a switch.
    pub(crate) fn add_node(&mut self, name: &str, kind: Kind) -> NodeIndex {
        if let Some(known) = self.by_name.get(name) {
            let node = &mut self.graph[*known];
            node.kind = node.kind.max(kind);
            return *known;
        }
        let node = Node { name: name.to_owned(), kind, level: 0, is_level_given: false };
        let index = self.graph.add_node(node);
        self.by_name.insert(name.to_owned(), index);
        index
    }

    /// A link between two nodes. Ports that are not known are 0.
    pub(crate) fn add_link(&mut self, [a, b]: [NodeIndex; 2], link: Link, lids: [u16; 2]) -> EdgeIndex {
        let edge = self.graph.add_edge(a, b, link);
        for (side, node) in [a, b].into_iter().enumerate() {
            if link.ports[side] != 0 {
                self.ports.entry((node, link.ports[side])).or_insert(edge);
            }
            let attached = Attached { edge, lid: lids[side] };
            self.attached.entry((node, link.plane)).or_default().push(attached);
        }
        edge
    }

    /// A new plane; gives its place.
    pub(crate) fn add_plane(&mut self, plane: Plane) -> u32 {
        self.planes.push(plane);
        self.planes.len() as u32 - 1
    }

    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<NodeIndex> {
        self.by_name.get(name).copied()
    }

    /// All hosts, in the order of the files.
    pub fn hosts(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.graph.node_indices().filter(|node| self.graph[*node].kind == Kind::Host)
    }

    /// Number of switches.
    pub fn switches(&self) -> usize {
        self.graph.node_weights().filter(|node| node.kind == Kind::Switch).count()
    }

    /// The highest level.
    pub fn levels(&self) -> u32 {
        self.graph.node_weights().map(|node| node.level).max().unwrap_or(0)
    }

    /// The node that sends into a link at that end, and that which receives.
    pub fn nodes_of(&self, end: LinkEnd) -> [NodeIndex; 2] {
        let (a, b) = self.graph.edge_endpoints(end.edge()).unwrap_or_default();
        if end.side() == 0 { [a, b] } else { [b, a] }
    }

    /// The end at which a node sends into a link.
    pub fn end_at(&self, edge: EdgeIndex, node: NodeIndex) -> LinkEnd {
        let (a, _) = self.graph.edge_endpoints(edge).unwrap_or_default();
        LinkEnd::new(edge, usize::from(a != node))
    }

    /// All ends of all links.
    pub fn ends(&self) -> impl Iterator<Item = LinkEnd> + use<> {
        (0..self.graph.edge_count() as u32 * 2).map(LinkEnd)
    }

    /// The links of a node in a plane, with the node at the other end.
    pub(crate) fn links(
        &self,
        node: NodeIndex,
        plane: u32,
    ) -> impl Iterator<Item = (EdgeIndex, NodeIndex)> + '_ {
        let of_plane = move |edge: &petgraph::graph::EdgeReference<'_, Link>| edge.weight().plane == plane;
        self.graph.edges(node).filter(of_plane).map(move |edge| {
            let other = if edge.source() == node { edge.target() } else { edge.source() };
            (edge.id(), other)
        })
    }

    /// Whether a host has a link in a plane.
    pub fn is_in(&self, host: NodeIndex, plane: u32) -> bool {
        self.attached.contains_key(&(host, plane))
    }

    /// The plane to which interfaces of that name belong.
    pub fn plane_of_interface(&self, interface: &str) -> Option<u32> {
        let found =
            self.planes.iter().position(|plane| plane.interfaces.iter().any(|name| name == interface));
        found.map(|place| place as u32)
    }

    /// Finds the level of each switch: how many links it is away from the nearest host. What a file says stays.
    pub(crate) fn find_levels(&mut self) {
        let mut level: Vec<Option<u32>> =
            self.graph.node_weights().map(|node| (node.kind == Kind::Host).then_some(0)).collect();
        let mut queue: std::collections::VecDeque<NodeIndex> = self.hosts().collect();
        while let Some(node) = queue.pop_front() {
            let next = level[node.index()].unwrap_or(0) + 1;
            for other in self.graph.neighbors(node) {
                if level[other.index()].is_none() {
                    level[other.index()] = Some(next);
                    queue.push_back(other);
                }
            }
        }
        for node in self.graph.node_indices() {
            let weight = &mut self.graph[node];
            if !weight.is_level_given {
                weight.level = level[node.index()].unwrap_or(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_from_the_nearest_host() {
        let mut fabric = Fabric::default();
        let plane = fabric.add_plane(Plane::default());
        let link = Link { ports: [0, 0], capacity: None, plane };
        let [h, s1, s2, s3] =
            [("h", Kind::Host), ("s1", Kind::Switch), ("s2", Kind::Switch), ("s3", Kind::Switch)]
                .map(|(name, kind)| fabric.add_node(name, kind));
        for pair in [[h, s1], [s1, s2], [s3, s2]] {
            fabric.add_link(pair, link, [0, 0]);
        }
        fabric.find_levels();
        assert_eq!([h, s1, s2, s3].map(|node| fabric.graph[node].level), [0, 1, 2, 3]);
        let end = fabric.end_at(EdgeIndex::new(2), s2);
        assert_eq!((end, fabric.nodes_of(end)), (LinkEnd(5), [s2, s3]));
        assert_eq!((fabric.levels(), fabric.switches()), (3, 3));
    }
}
