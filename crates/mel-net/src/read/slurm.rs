//! Slurm's `topology.conf`: a tree of switches with the nodes at them, or blocks of nodes.

use super::new_plane;
use crate::error::Wrong;
use crate::fabric::{Fabric, Kind, Link, Plane};
use crate::names::expand;

/// More links than that are a mistake.
const MOST_LINKS: usize = 1 << 22;

/// Adds what a text says.
pub(crate) fn read(text: &str, name: &str, fabric: &mut Fabric) -> Result<(), Wrong> {
    let plane = new_plane(fabric, name, Plane { is_logical: true, ..Plane::default() });
    let mut blocks = Vec::new();
    for (line, text) in joined(text) {
        let mut switch: Option<String> = None;
        let mut below: Vec<(Kind, String)> = Vec::new();
        let text = text.split('#').next().unwrap_or_default();
        for word in text.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else {
                let what =
                    format!("{word} is no KEY=VALUE: wanted is, for example, SwitchName=s1 Nodes=node[1-16]");
                return Err(Wrong::new(line, what));
            };
            match key.to_ascii_lowercase().as_str() {
                "switchname" => switch = Some(value.to_owned()),
                "blockname" => {
                    switch = Some(value.to_owned());
                    blocks.push(value.to_owned());
                }
                "nodes" => below.push((Kind::Host, value.to_owned())),
                "switches" => below.push((Kind::Switch, value.to_owned())),
                // What a link can carry has no unit there, and Slurm does not use it.
                _ => (),
            }
        }
        let Some(switch) = switch else {
            if below.is_empty() {
                continue;
            }
            return Err(Wrong::new(line, "nodes without a switch: the line has no SwitchName="));
        };
        let above = fabric.add_node(&switch, Kind::Switch);
        for (kind, list) in below {
            for name in expand(&list).map_err(|what| Wrong::new(line, what))? {
                let node = fabric.add_node(&name, kind);
                if node == above {
                    return Err(Wrong::new(line, format!("{name} is below itself")));
                }
                if fabric.graph.edge_count() >= MOST_LINKS {
                    return Err(Wrong::new(line, format!("these are more than {MOST_LINKS} links")));
                }
                fabric.add_link([node, above], Link { ports: [0, 0], capacity: None, plane }, [0, 0]);
            }
        }
    }
    if !blocks.is_empty() {
        let above = fabric.add_node("(between blocks)", Kind::Switch);
        for block in blocks {
            let block = fabric.add_node(&block, Kind::Switch);
            if block != above {
                fabric.add_link([block, above], Link { ports: [0, 0], capacity: None, plane }, [0, 0]);
            }
        }
    }
    Ok(())
}

/// Lines, of which those that end with a backslash are joined with the next; each with the number of its first.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (place, line) in text.lines().enumerate() {
        let (part, more) = match line.trim_end().strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some(last) if goes_on => last.1.push_str(part),
            _ => lines.push((place + 1, part.to_owned())),
        }
        goes_on = more;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_switches_is_read_in_any_order() {
        let mut fabric = Fabric::default();
        let text = "# a tree\nSwitchName=top Switches=s[0-1] LinkSpeed=3\nswitchname=s0 nodes=tux[0-5]\nSwitchName=s1 \\\n  Nodes=tux[6-11],login\n";
        read(text, "t", &mut fabric).unwrap();
        fabric.find_levels();
        assert_eq!((fabric.hosts().count(), fabric.switches(), fabric.levels()), (13, 3, 2));
        assert_eq!(fabric.graph.edge_count(), 15);
    }

    #[test]
    fn blocks_have_a_network_between_them() {
        let mut fabric = Fabric::default();
        read("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n", "t", &mut fabric)
            .unwrap();
        assert_eq!((fabric.hosts().count(), fabric.switches(), fabric.graph.edge_count()), (4, 3, 6));
    }

    #[test]
    fn a_mistake_has_its_line() {
        let error = |text| read(text, "t", &mut Fabric::default()).unwrap_err();
        assert_eq!(error("SwitchName=a Nodes=b\nNodes=c\n").line, 2);
        assert_eq!(error("\nSwitchName=a Nodes=b[1\n").line, 2);
        assert!(error("SwitchName=a nodes\n").what.contains("KEY=VALUE"));
        assert!(error("SwitchName=a Switches=a\n").what.contains("itself"));
    }
}
