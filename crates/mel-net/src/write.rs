//! The load of link ends as comma-separated values.

use std::io;

use mel_log::csv::Writer;
use mel_log::profile::phases::name_of;

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, LinkEnd};
use crate::levels::level_of;
use crate::load::Load;

/// Writes a line for each end of a link that carries anything, in each phase, in the order of links: `from`, `port`, `to`, `to_port`, `plane`,
/// `from_level`, `to_level`, `phase` (empty where the program has named none), `bytes`, `capacity_bytes_per_s` (empty where it is not known),
/// and `cable`, the number of the link among those between the same two nodes, from 1.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: impl io::Write, fabric: &Fabric, load: &Load, phases: &[String]) -> io::Result<()> {
    let mut writer = Writer::new(out);
    writer.write_record([
        "from",
        "port",
        "to",
        "to_port",
        "plane",
        "from_level",
        "to_level",
        "phase",
        "bytes",
        "capacity_bytes_per_s",
        "cable",
    ])?;
    let cables = cables(fabric);
    let mut rows: Vec<_> = load.by_phase.iter().collect();
    rows.sort_unstable();
    for ((end, phase), bytes) in rows {
        let [from, to] = fabric.nodes_of(*end).map(|node| &fabric.graph[node]);
        let link = &fabric.graph[end.edge()];
        let port =
            |side: usize| if link.ports[side] == 0 { String::new() } else { link.ports[side].to_string() };
        let phase = name_of(phases, *phase);
        writer.write_record([
            &from.name,
            &port(end.side()),
            &to.name,
            &port(1 - end.side()),
            &fabric.planes[level_of(fabric, *end).plane as usize].name,
            &from.level.to_string(),
            &to.level.to_string(),
            phase,
            &bytes.to_string(),
            &link.capacity.map_or(String::new(), |capacity| capacity.to_string()),
            &cables[end.edge().index()].to_string(),
        ])?;
    }
    writer.flush()
}

/// Of each link its number among those between the same two nodes.
fn cables(fabric: &Fabric) -> Vec<u32> {
    let mut seen: FxHashMap<[NodeIndex; 2], u32> = FxHashMap::default();
    let number = |edge| {
        let mut nodes = fabric.nodes_of(LinkEnd::new(edge, 0));
        nodes.sort_unstable();
        let number = seen.entry(nodes).or_default();
        *number += 1;
        *number
    };
    fabric.graph.edge_indices().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Flow;
    use crate::planes::Shares;
    use crate::testing::{network, two_levels};

    #[test]
    fn each_end_has_a_line_in_each_phase() {
        let fabric = network(&two_levels(1, 2, 1));
        let hosts = [fabric.node("node1"), fabric.node("node2")];
        let flow = |phase, bytes| Flow { from: 0, to: 1, phase, bytes };
        let load = crate::load(&fabric, &hosts, &[flow(0, 5), flow(1, 9)], &Shares::default());
        let mut out = Vec::new();
        csv(&mut out, &fabric, &load, &[String::new(), "solve".into()]).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[2], "node1,,leaf1,,net,0,1,solve,9,12500000000,1");
        assert_eq!(lines[3], "leaf1,,node2,,net,1,0,(no phase),5,12500000000,1");
    }

    #[test]
    fn cables_between_the_same_nodes_have_numbers() {
        let text = "[[host]]\nname = \"a,b\"\n[[switch]]\nname = \"s\"\n[[link]]\nfrom = \"a,b\"\nto = \"s\"\ncount = 2\n";
        assert_eq!(cables(&network(text)), [1, 2, 1, 2]);
    }
}
