//! The network of a run as a page shows it: nodes in levels with few crossings, and the load of each link end.

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::table::columns;
use mel_log::profile::phases::shown;
use mel_net::advice::Finding;
use mel_net::load::PAIRS;
use mel_net::{Fabric, Kind, LinkEnd, Load};

use mel_net::of_run::Found;

/// More link ends than that are not shown.
const MOST_ENDS: usize = 20_000;
/// How often the order of the levels is improved.
const SWEEPS: usize = 8;
/// So many MPI functions are told of a link end.
const MOST_FUNCTIONS: usize = 5;

/// A node that a link of the run is at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// 0 for hosts.
    pub level: u32,
    /// The plane of a switch, 0 for hosts.
    pub plane: u32,
    /// Where it stands in its level, from 0 to 1.
    pub x: f64,
}

/// One end of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct End {
    /// The node that sends, as a place in the nodes.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// Which of several links between the two, from 0 on.
    pub lane: u32,
    /// The plane.
    pub plane: u32,
    /// Seconds that its bytes take at least, where the capacity is known.
    pub at_least_s: Option<f64>,
    /// What goes in here.
    #[serde(flatten)]
    pub sent: Sent,
    /// What a second run has here, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Sent>,
}

/// What a run sends into a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sent {
    /// Bytes.
    pub bytes: u64,
    /// The same bytes by phase.
    #[serde(serialize_with = "columns")]
    pub phases: Vec<OfPhase>,
    /// The greatest pairs of ranks.
    #[serde(serialize_with = "columns")]
    pub pairs: Vec<Pair>,
    /// How many pairs there are.
    pub all_pairs: u32,
    /// The MPI functions that load it most.
    #[serde(serialize_with = "columns")]
    pub functions: Vec<OfFunction>,
}

/// Bytes in a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfPhase {
    /// A place in [`Network::phases`].
    pub phase: u32,
    /// Bytes.
    pub bytes: u64,
}

/// Bytes from one rank to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// Bytes.
    pub bytes: u64,
}

/// Bytes of an MPI function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfFunction {
    /// Its name.
    pub function: String,
    /// Bytes.
    pub bytes: u64,
}

/// A second run beside the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Second {
    /// What both runs are called.
    pub names: [String; 2],
    /// Bytes between its hosts.
    pub between: u64,
    /// What stands out in it.
    pub findings: Vec<Finding>,
}

/// The network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Network {
    /// Nodes with a link that carries something.
    pub nodes: Vec<Node>,
    /// Ends that carry something, the most loaded first.
    pub ends: Vec<End>,
    /// Names of planes.
    pub planes: Vec<String>,
    /// Names of phases; empty without any.
    pub phases: Vec<String>,
    /// Bytes between hosts.
    pub between: u64,
    /// Links that carry nothing, and are not shown.
    pub unused_links: usize,
    /// Ends that carry something and are not shown.
    pub left_out: usize,
    /// What stands out.
    pub findings: Vec<Finding>,
    /// The second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Second>,
}

/// What there is to show of a run on its network.
pub fn network(found: &Found<'_>) -> Network {
    of_runs(found, None)
}

/// The same of two runs beside each other, with what each is called: what carries something in one of them is shown.
pub fn network_of_two(found: [&Found<'_>; 2], names: [String; 2]) -> Network {
    of_runs(found[0], Some((found[1], names)))
}

fn of_runs(found: &Found<'_>, second: Option<(&Found<'_>, [String; 2])>) -> Network {
    let (fabric, load) = (&found.network.fabric, &found.load);
    let beside = second.as_ref().map(|(beside, _)| *beside);
    let mut hottest = load.hottest(fabric);
    if let Some(beside) = beside {
        let is_new = |end: &LinkEnd| load.ends[end.place()] == 0;
        hottest.extend(beside.load.hottest(fabric).into_iter().filter(is_new));
    }
    let left_out = hottest.len().saturating_sub(MOST_ENDS);
    hottest.truncate(MOST_ENDS);
    let loads: Vec<&Load> = [Some(load), beside.map(|beside| &beside.load)].into_iter().flatten().collect();
    let used = |edge: usize| loads.iter().any(|load| load.ends[edge * 2] > 0 || load.ends[edge * 2 + 1] > 0);
    let positions = positions(fabric, &hottest);
    let mut order: Vec<NodeIndex> = positions.keys().copied().collect();
    order.sort_unstable();
    let places: FxHashMap<NodeIndex, u32> = (0..).zip(&order).map(|(place, node)| (*node, place)).collect();
    let nodes = order
        .iter()
        .map(|node| {
            let weight = &fabric.graph[*node];
            Node {
                name: weight.name.clone(),
                level: weight.level,
                plane: plane_of(fabric, *node),
                x: positions[node],
            }
        })
        .collect();
    let mut names: Vec<String> = found.profile.phases.iter().map(|name| shown(name).to_owned()).collect();
    let mut phases = by_end(load, &|phase| phase);
    let mut of_second = beside.map(|beside| {
        let numbers = numbers(&mut names, &beside.profile.phases, load);
        by_end(&beside.load, &|phase| numbers.get(phase as usize).copied().unwrap_or(phase))
    });
    let mut lanes = FxHashMap::<(NodeIndex, NodeIndex), Vec<usize>>::default();
    let ends = hottest
        .iter()
        .map(|end| {
            let [from, to] = fabric.nodes_of(*end);
            let link = &fabric.graph[end.edge()];
            let parallel = lanes.entry((from.min(to), from.max(to))).or_default();
            let edge = end.edge().index();
            let lane = parallel.iter().position(|known| *known == edge).unwrap_or_else(|| {
                parallel.push(edge);
                parallel.len() - 1
            });
            let beside = beside.zip(of_second.as_mut()).map(|(beside, phases)| sent(beside, *end, phases));
            End {
                from: places[&from],
                to: places[&to],
                lane: lane as u32,
                plane: link.plane,
                at_least_s: link.capacity.map(|capacity| load.ends[end.place()] as f64 / capacity),
                sent: sent(found, *end, &mut phases),
                beside,
            }
        })
        .collect();
    Network {
        nodes,
        ends,
        planes: fabric.planes.iter().map(|plane| plane.name.clone()).collect(),
        phases: names,
        between: load.between,
        unused_links: (0..fabric.graph.edge_count()).filter(|edge| !used(*edge)).count(),
        left_out,
        findings: found.findings.clone(),
        second: second.map(|(beside, names)| Second {
            names,
            between: beside.load.between,
            findings: beside.findings.clone(),
        }),
    }
}

/// What a run sends into a link; takes what it sends by phase.
fn sent(found: &Found<'_>, end: LinkEnd, phases: &mut Phases) -> Sent {
    let (load, place) = (&found.load, end.place());
    let function = |(name, bytes): (&str, u64)| OfFunction { function: name.to_owned(), bytes };
    Sent {
        bytes: load.ends[place],
        phases: phases.remove(&end).unwrap_or_default(),
        pairs: load.pairs[place]
            .iter()
            .take(PAIRS)
            .map(|&(from, to, bytes)| Pair { from, to, bytes })
            .collect(),
        all_pairs: load.pair_counts[place],
        functions: found.functions.at(end).take(MOST_FUNCTIONS).map(function).collect(),
    }
}

/// The bytes of link ends by phase.
type Phases = FxHashMap<LinkEnd, Vec<OfPhase>>;

/// The bytes of each end by phase, in ascending order of what its number becomes.
fn by_end(load: &Load, number: &dyn Fn(u32) -> u32) -> Phases {
    let mut phases = Phases::default();
    for ((end, phase), bytes) in &load.by_phase {
        phases.entry(*end).or_default().push(OfPhase { phase: number(*phase), bytes: *bytes });
    }
    phases.values_mut().for_each(|list| list.sort_unstable_by_key(|of| of.phase));
    phases
}

/// The numbers that the phases of a second run have among those of both. Where only one of the runs has names, the other is without any.
fn numbers(names: &mut Vec<String>, second: &[String], first: &Load) -> Vec<u32> {
    if names.is_empty() && !second.is_empty() && !first.by_phase.is_empty() {
        names.push(shown("").to_owned());
    }
    let number = |name: &String| {
        let place = names.iter().position(|known| known == shown(name)).unwrap_or_else(|| {
            names.push(shown(name).to_owned());
            names.len() - 1
        });
        place as u32
    };
    second.iter().map(number).collect()
}

/// The plane of a switch: that of its first link. Hosts belong to all.
fn plane_of(fabric: &Fabric, node: NodeIndex) -> u32 {
    if fabric.graph[node].kind == Kind::Host {
        return 0;
    }
    fabric.graph.edges(node).map(|edge| edge.weight().plane).min().unwrap_or(0)
}

/// Where each node stands in its level: switches above the middle of what is below them, and hosts below their switches, in turns, so that
/// links cross little.
fn positions(fabric: &Fabric, ends: &[LinkEnd]) -> FxHashMap<NodeIndex, f64> {
    let mut neighbours = FxHashMap::<NodeIndex, Vec<NodeIndex>>::default();
    for end in ends {
        let [from, to] = fabric.nodes_of(*end);
        neighbours.entry(from).or_default().push(to);
        neighbours.entry(to).or_default().push(from);
    }
    let mut rows = std::collections::BTreeMap::<(u32, u32), Vec<NodeIndex>>::new();
    for node in neighbours.keys() {
        rows.entry((fabric.graph[*node].level, plane_of(fabric, *node))).or_default().push(*node);
    }
    let mut at = FxHashMap::default();
    let spread = |row: &[NodeIndex], at: &mut FxHashMap<NodeIndex, f64>| {
        for (place, node) in row.iter().enumerate() {
            at.insert(*node, (place as f64 + 0.5) / row.len() as f64);
        }
    };
    for row in rows.values_mut() {
        row.sort_unstable();
        spread(row, &mut at);
    }
    for sweep in 0..SWEEPS {
        let keys: Vec<(u32, u32)> = if sweep % 2 == 0 {
            rows.keys().copied().collect()
        } else {
            rows.keys().rev().copied().collect()
        };
        for key in keys {
            let Some(row) = rows.get_mut(&key) else { continue };
            let middle = |node: &NodeIndex| {
                let lower = |other: &&NodeIndex| {
                    let level = fabric.graph[**other].level;
                    if sweep % 2 == 0 {
                        level < key.0
                    } else {
                        level > key.0 && plane_of(fabric, **other) == key.1
                    }
                };
                let (mut sum, mut count) = (0.0, 0.0);
                for other in neighbours[node].iter().filter(lower) {
                    sum += at[other];
                    count += 1.0;
                }
                if count > 0.0 { sum / count } else { at[node] }
            };
            let mut keyed: Vec<(f64, NodeIndex)> = row.iter().map(|node| (middle(node), *node)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(at[&a.1].total_cmp(&at[&b.1])));
            *row = keyed.into_iter().map(|(_, node)| node).collect();
            spread(row, &mut at);
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_net::read::of_texts;
    use std::path::PathBuf;

    /// How many pairs of links between two levels cross.
    fn crossings(fabric: &Fabric, at: &FxHashMap<NodeIndex, f64>) -> usize {
        let links: Vec<[NodeIndex; 2]> = fabric
            .graph
            .edge_indices()
            .map(|edge| fabric.nodes_of(LinkEnd::new(edge, 0)))
            .map(|[a, b]| if fabric.graph[a].level < fabric.graph[b].level { [a, b] } else { [b, a] })
            .collect();
        let level = |node: NodeIndex| fabric.graph[node].level;
        let crosses = |a: &[NodeIndex; 2], b: &[NodeIndex; 2]| {
            level(a[0]) == level(b[0]) && (at[&a[0]] - at[&b[0]]) * (at[&a[1]] - at[&b[1]]) < 0.0
        };
        (0..links.len()).map(|i| (0..i).filter(|j| crosses(&links[i], &links[*j])).count()).sum()
    }

    #[test]
    fn a_tree_whose_hosts_are_named_crosswise_is_drawn_without_a_crossing() {
        let mut text = "[[host]]\nname = \"h[0-15]\"\n[[switch]]\nname = \"leaf[0-3],top\"\n[[link]]\nfrom = \"leaf[0-3]\"\nto = \"top\"\n".to_owned();
        for host in 0..16 {
            text += &format!("[[link]]\nfrom = \"h{host}\"\nto = \"leaf{}\"\n", host % 4);
        }
        let fabric = of_texts(&[(PathBuf::from("t.toml"), text)]).unwrap().fabric;
        let ends: Vec<LinkEnd> = fabric.ends().collect();
        assert_eq!(crossings(&fabric, &positions(&fabric, &ends)), 0);
    }
}
