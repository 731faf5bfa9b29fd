//! The way from a host to a host through a plane: as a file names it, as the forwarding tables lead, or the shortest.

use petgraph::graph::{EdgeIndex, NodeIndex};
use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, Kind, LinkEnd};

/// Where a route is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum How {
    /// A file names it.
    Named,
    /// The switches' forwarding tables.
    Tables,
    /// The only shortest one.
    Shortest,
    /// One of several shortest ones. Modelled: the destination says which one, as in `ftree`.
    OneOfSeveral,
}

/// A way from a host to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The ends at which its links are entered, in order.
    pub ends: Vec<LinkEnd>,
    /// Where it is from.
    pub how: How,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoRoute {
    /// A host is not in this plane, or there is no way between them.
    NotConnected,
    /// A switch has no entry for the destination.
    NoEntry,
    /// The tables lead in a circle.
    Circle,
}

impl NoRoute {
    /// Why, in words.
    pub const fn words(self) -> &'static str {
        match self {
            NoRoute::NotConnected => "no links connect them",
            NoRoute::NoEntry => "a switch has no entry for the destination in its forwarding table",
            NoRoute::Circle => "the forwarding tables lead in a circle",
        }
    }
}

/// Finds routes, and remembers what it needs for the next one.
#[derive(Debug)]
pub struct Routes<'a> {
    fabric: &'a Fabric,
    /// Of each node how many links it is away from a host in a plane.
    distances: FxHashMap<(NodeIndex, u32), Vec<u32>>,
    /// The number of each host.
    numbers: FxHashMap<NodeIndex, usize>,
}

const FAR: u32 = u32::MAX;

impl<'a> Routes<'a> {
    /// Those of a network.
    pub fn new(fabric: &'a Fabric) -> Routes<'a> {
        let numbers = fabric.hosts().enumerate().map(|(number, host)| (host, number)).collect();
        Routes { fabric, distances: FxHashMap::default(), numbers }
    }

    /// The way from a host to another. Where a host has several links to a plane, the first counts, but for shortest routes.
    ///
    /// # Errors
    /// [`NoRoute`].
    pub fn route(&mut self, from: NodeIndex, to: NodeIndex, plane: u32) -> Result<Route, NoRoute> {
        if let Some(path) = self.fabric.named.get(&(from, to, plane)) {
            return self.along(path, plane);
        }
        if self.fabric.planes.get(plane as usize).is_some_and(|plane| plane.has_tables) {
            return self.by_tables(from, to, plane);
        }
        self.shortest(from, to, plane)
    }

    fn along(&self, path: &[NodeIndex], plane: u32) -> Result<Route, NoRoute> {
        let end = |pair: &[NodeIndex]| {
            let mut links = self.fabric.links(pair[0], plane).filter(|(_, other)| *other == pair[1]);
            let edge = links.by_ref().map(|(edge, _)| edge).min().ok_or(NoRoute::NotConnected)?;
            Ok(self.fabric.end_at(edge, pair[0]))
        };
        Ok(Route { ends: path.windows(2).map(end).collect::<Result<_, _>>()?, how: How::Named })
    }

    fn by_tables(&self, from: NodeIndex, to: NodeIndex, plane: u32) -> Result<Route, NoRoute> {
        let first = |host| self.fabric.attached.get(&(host, plane)).and_then(|links| links.first());
        let (Some(start), Some(goal)) = (first(from), first(to)) else { return Err(NoRoute::NotConnected) };
        let mut ends = vec![self.fabric.end_at(start.edge, from)];
        loop {
            let [_, node] = self.fabric.nodes_of(ends[ends.len() - 1]);
            if node == to {
                return Ok(Route { ends, how: How::Tables });
            }
            if ends.len() > self.fabric.graph.node_count() {
                return Err(NoRoute::Circle);
            }
            let port = self.fabric.tables.get(&node).and_then(|table| *table.get(usize::from(goal.lid))?);
            let edge = port.and_then(|port| self.fabric.ports.get(&(node, port))).ok_or(NoRoute::NoEntry)?;
            ends.push(self.fabric.end_at(*edge, node));
        }
    }

    fn shortest(&mut self, from: NodeIndex, to: NodeIndex, plane: u32) -> Result<Route, NoRoute> {
        let fabric = self.fabric;
        let distance = self.distances.entry((to, plane)).or_insert_with(|| distances(fabric, to, plane));
        let number = self.numbers.get(&to).copied().unwrap_or(0);
        let mut node = from;
        let mut ends = Vec::new();
        let mut how = How::Shortest;
        while node != to {
            let here = distance[node.index()];
            if here == FAR {
                return Err(NoRoute::NotConnected);
            }
            let mut nearer: Vec<_> =
                fabric.links(node, plane).filter(|(_, other)| distance[other.index()] < here).collect();
            nearer.sort_unstable();
            let ways = nearer.len();
            if ways == 0 {
                return Err(NoRoute::NotConnected);
            }
            if ways > 1 {
                how = How::OneOfSeveral;
            }
            let choice = |ways: &[(EdgeIndex, NodeIndex)]| ways[spread(fabric, node, number, ways.len())];
            // Downwards over the cable by which the switch below would send upwards to this host: hosts share a cable only where the switch
            // has fewer cables than hosts.
            let level = fabric.graph[node].level;
            let is_mirror = |(edge, other): &&(EdgeIndex, NodeIndex)| {
                fabric.graph[*other].level < level && upwards(fabric, *other, plane, number) == Some(*edge)
            };
            let mirrors: Vec<_> = match ways {
                1 => Vec::new(),
                _ => nearer.iter().filter(is_mirror).copied().collect(),
            };
            let (edge, other) = choice(if mirrors.is_empty() { &nearer } else { &mirrors });
            ends.push(fabric.end_at(edge, node));
            node = other;
        }
        Ok(Route { ends, how })
    }

    /// How many links lie between two hosts at least.
    pub fn least(&mut self, from: NodeIndex, to: NodeIndex, plane: u32) -> Option<usize> {
        let fabric = self.fabric;
        let distance = self.distances.entry((to, plane)).or_insert_with(|| distances(fabric, to, plane));
        Some(distance[from.index()]).filter(|links| *links != FAR).map(|links| links as usize)
    }
}

/// The place, among `ways` links, of the link that a switch takes to the host of this number: hosts of one switch are spread over its
/// links, hosts of a group of switches over the links of the next level, and so on.
fn spread(fabric: &Fabric, switch: NodeIndex, number: usize, ways: usize) -> usize {
    let below = ways.saturating_pow(fabric.graph[switch].level.saturating_sub(1)).max(1);
    number / below % ways
}

/// The cable by which a switch would send upwards to the host of this number. A host and a switch at the top have none.
fn upwards(fabric: &Fabric, switch: NodeIndex, plane: u32, number: usize) -> Option<EdgeIndex> {
    let level = fabric.graph[switch].level;
    if fabric.graph[switch].kind == Kind::Host {
        return None;
    }
    let above = |(edge, other): (EdgeIndex, NodeIndex)| (fabric.graph[other].level > level).then_some(edge);
    let mut cables: Vec<EdgeIndex> = fabric.links(switch, plane).filter_map(above).collect();
    cables.sort_unstable();
    (!cables.is_empty()).then(|| cables[spread(fabric, switch, number, cables.len())])
}

/// How many links each node is away from a host. Hosts pass nothing on.
fn distances(fabric: &Fabric, to: NodeIndex, plane: u32) -> Vec<u32> {
    let mut distance = vec![FAR; fabric.graph.node_count()];
    distance[to.index()] = 0;
    let mut queue = std::collections::VecDeque::from([to]);
    while let Some(node) = queue.pop_front() {
        if node != to && fabric.graph[node].kind == Kind::Host {
            continue;
        }
        for (_, other) in fabric.links(node, plane) {
            if distance[other.index()] == FAR {
                distance[other.index()] = distance[node.index()] + 1;
                queue.push_back(other);
            }
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, two_levels};

    fn names(fabric: &Fabric, route: &Route) -> Vec<String> {
        let mut names: Vec<_> =
            route.ends.iter().map(|end| fabric.graph[fabric.nodes_of(*end)[0]].name.clone()).collect();
        names.extend(route.ends.last().map(|end| fabric.graph[fabric.nodes_of(*end)[1]].name.clone()));
        names
    }

    #[test]
    fn shortest_routes_are_spread_by_destination_and_always_the_same() {
        let fabric = network(&two_levels(2, 4, 2));
        let mut routes = Routes::new(&fabric);
        let host = |number: u32| fabric.node(&format!("node{number}")).unwrap();
        assert_eq!(names(&fabric, &routes.route(host(1), host(2), 0).unwrap()), ["node1", "leaf1", "node2"]);
        let mut spines = Vec::new();
        for to in 5..=8 {
            let route = routes.route(host(1), host(to), 0).unwrap();
            assert_eq!(route, Routes::new(&fabric).route(host(1), host(to), 0).unwrap());
            assert_eq!(routes.least(host(1), host(to), 0), Some(route.ends.len()));
            spines.push(names(&fabric, &route)[2].clone());
        }
        assert_eq!(spines, ["spine1", "spine2", "spine1", "spine2"]);
    }

    #[test]
    fn hosts_of_a_switch_have_a_cable_each_downwards() {
        let tree = |spines: u32, count: u32| {
            format!(
                "[[host]]\nname = \"node[1-8]\"\n[[switch]]\nname = \"leaf[1-2],spine[1-{spines}]\"\n\
                 [[link]]\nfrom = \"node[1-4]\"\nto = \"leaf1\"\n[[link]]\nfrom = \"node[5-8]\"\nto = \"leaf2\"\n\
                 [[link]]\nfrom = \"leaf[1-2]\"\nto = \"spine[1-{spines}]\"\ncount = {count}\n"
            )
        };
        for (spines, count) in [(1, 4), (2, 2), (4, 1)] {
            let fabric = network(&tree(spines, count));
            let mut routes = Routes::new(&fabric);
            let host = |number: u32| fabric.node(&format!("node{number}")).unwrap();
            for (from, to) in [(1, 5..=8), (8, 1..=4)] {
                let all: Vec<Route> = to.map(|to| routes.route(host(from), host(to), 0).unwrap()).collect();
                for hop in [1, 2] {
                    let mut cables: Vec<LinkEnd> = all.iter().map(|route| route.ends[hop]).collect();
                    cables.sort_unstable_by_key(|end| format!("{end:?}"));
                    cables.dedup();
                    assert_eq!(cables.len(), 4, "{spines} spines, {count} cables each, hop {hop}: {all:?}");
                }
            }
        }
    }

    #[test]
    fn a_named_route_is_taken_in_its_direction_only() {
        let text = two_levels(2, 2, 2)
            + "[[route]]\nfrom = \"node1\"\nto = \"node[3-4]\"\nvia = [\"leaf1\", \"spine2\", \"leaf2\"]\n";
        let fabric = network(&text);
        let mut routes = Routes::new(&fabric);
        let host = |number: u32| fabric.node(&format!("node{number}")).unwrap();
        for to in [3, 4] {
            let route = routes.route(host(1), host(to), 0).unwrap();
            assert_eq!((route.how, names(&fabric, &route)[2].as_str()), (How::Named, "spine2"));
        }
        assert_eq!(routes.route(host(3), host(1), 0).unwrap().how, How::OneOfSeveral);
        assert_eq!(routes.route(host(1), host(2), 0).unwrap().how, How::Shortest);
    }

    #[test]
    fn hosts_pass_nothing_on() {
        let text = "[[host]]\nname = \"a,b,c\"\n[[switch]]\nname = \"s,t\"\n[[link]]\nfrom = \"a,b\"\nto = \"s\"\n[[link]]\nfrom = \"b,c\"\nto = \"t\"\n";
        let fabric = network(text);
        let [a, c] = ["a", "c"].map(|name| fabric.node(name).unwrap());
        assert_eq!(Routes::new(&fabric).route(a, c, 0), Err(NoRoute::NotConnected));
    }
}
