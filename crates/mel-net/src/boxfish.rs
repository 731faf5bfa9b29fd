//! The tables of Boxfish: nodes, the ends of links, and ranks, as columns between blanks below a head in YAML.

use std::fmt::Write;

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, Kind};
use crate::load::Load;

/// Names and texts of the files, that of the run first.
///
/// A node is at `[x, y]`: `y` is its level, below 0 in every other plane, and `x` counts within it. The end of a link is a row with the
/// node that sends, `[sx, sy]`, and the one that receives, `[tx, ty]`. Nodes and links without bytes are there, too.
pub fn tables(
    fabric: &Fabric,
    host_of_rank: &[Option<NodeIndex>],
    load: &Load,
) -> Vec<(&'static str, String)> {
    let mut widths = FxHashMap::<i64, i64>::default();
    let mut at = FxHashMap::default();
    let mut sent = vec![0_u64; fabric.graph.node_count()];
    for end in fabric.ends() {
        let [from, _] = fabric.nodes_of(end);
        sent[from.index()] = sent[from.index()].saturating_add(load.ends[end.place()]);
    }
    let mut nodes =
        head(&[("nodeid", "int32"), ("x", "int32"), ("y", "int32"), ("bytes", "int64"), ("name", "S64")]);
    for node in fabric.graph.node_indices() {
        let weight = &fabric.graph[node];
        let plane = fabric.graph.edges(node).map(|edge| edge.weight().plane).min().unwrap_or(0);
        let sign = if weight.kind == Kind::Switch && plane % 2 == 1 { -1 } else { 1 };
        let y = i64::from(weight.level) * sign;
        let x = widths.entry(y).or_default();
        at.insert(node, (*x, y));
        let name = word(&weight.name);
        // Writing to a text does not fail.
        let _ = writeln!(nodes, "{} {x} {y} {} {name}", node.index(), sent[node.index()]);
        *x += 1;
    }
    let mut links = head(&[
        ("linkid", "int32"),
        ("sx", "int32"),
        ("sy", "int32"),
        ("tx", "int32"),
        ("ty", "int32"),
        ("plane", "int32"),
        ("bytes", "int64"),
    ]);
    for end in fabric.ends() {
        let [(sx, sy), (tx, ty)] = fabric.nodes_of(end).map(|node| at[&node]);
        let plane = fabric.graph[end.edge()].plane;
        let _ = writeln!(links, "{} {sx} {sy} {tx} {ty} {plane} {}", end.0, load.ends[end.place()]);
    }
    let mut ranks = head(&[("mpirank", "int32"), ("nodeid", "int32")]);
    for (rank, host) in host_of_rank.iter().enumerate() {
        if let Some(host) = host {
            let _ = writeln!(ranks, "{rank} {}", host.index());
        }
    }
    let levels = widths.keys().max().unwrap_or(&0) - widths.keys().min().unwrap_or(&0) + 1;
    let widest = widths.values().max().unwrap_or(&0);
    let meta = format!(
        "---\nkey: mel-net\nhardware: {{\n  network: fattree,\n  nodes: {},\n  coords: [x, y],\n  coords_table: nodes.yaml,\n  \
         dim: {{x: {widest}, y: {levels}}},\n  source_coords: {{x: sx, y: sy}},\n  destination_coords: {{x: tx, y: ty}},\n  \
         link_coords_table: links.yaml\n}}\n{}{}{}---\nfiletype: projection\ntype: file\nfilename: ranks.yaml\nsubdomain:\n\
         - {{ domain: COMM, type: RANK, field: mpirank }}\n- {{ domain: HW, type: NODE, field: nodeid }}\nflags: 0\n...\n",
        fabric.graph.node_count(),
        document("nodes.yaml", "HW", "NODE", "nodeid"),
        document("links.yaml", "HW", "LINK", "linkid"),
        document("ranks.yaml", "COMM", "RANK", "mpirank"),
    );
    vec![("meta.yaml", meta), ("nodes.yaml", nodes), ("links.yaml", links), ("ranks.yaml", ranks)]
}

/// What the file of the run says of a table.
fn document(file: &str, domain: &str, of: &str, field: &str) -> String {
    format!(
        "---\nfiletype: table\nfilename: {file}\ndomain: {domain}\ntype: {of}\nfield: {field}\nflags: 0\n"
    )
}

/// The columns of a table.
fn head(columns: &[(&str, &str)]) -> String {
    let columns: String = columns.iter().map(|(name, of)| format!("- [{name}, {of}]\n")).collect();
    format!("---\nkey: mel-net\n---\n{columns}...\n")
}

/// A name without blanks, which divide columns.
fn word(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Flow;
    use crate::planes::Shares;
    use crate::testing::{network, two_levels};

    #[test]
    fn each_end_is_a_row_with_both_places() {
        let fabric = network(&two_levels(2, 2, 1));
        let hosts = [fabric.node("node1"), fabric.node("node3"), None];
        let load =
            crate::load(&fabric, &hosts, &[Flow { from: 0, to: 1, phase: 0, bytes: 5 }], &Shares::default());
        let files = tables(&fabric, &hosts, &load);
        let rows = |file: usize| {
            files[file].1.split_once("...\n").unwrap().1.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!((rows(1).len(), rows(2).len(), rows(3)), (7, 12, vec!["0 0".into(), "1 2".into()]));
        assert_eq!(rows(1)[0], "0 0 0 5 node1");
        // The first leaf up to the spine, and back.
        assert_eq!(rows(2)[..2], ["0 0 1 0 2 0 5", "1 0 2 0 1 0 0"]);
        assert!(files[0].1.contains("filename: links.yaml") && files[0].1.contains("dim: {x: 4, y: 3}"));
    }
}
