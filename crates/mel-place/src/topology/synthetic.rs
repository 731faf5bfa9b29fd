//! A topology in words: `node:2 pack:2 core:4 pu:1`: two nodes, in each of them two sockets, in each of those four cores with one hardware
//! thread. The words are those of hwloc's synthetic topologies (`lstopo -i`), but that `node` is a computer and not a part of its memory.

use super::build::{Builder, Kind};
use super::{Topology, TopologyError};

/// The most hardware threads that a description may have.
const MOST: u64 = 1 << 22;

/// Reads a description. Where it names no nodes, it is of one node, and stands for each host.
///
/// # Errors
/// [`TopologyError::NotSynthetic`], [`TopologyError::Empty`].
pub fn parse(text: &str) -> Result<Topology, TopologyError> {
    let mut levels: Vec<(Kind, u64)> = Vec::new();
    // hwloc has attributes in parentheses, and in brackets the memory that is attached to a level.
    let numbered = !text.contains("indexes=");
    let text = without(&without(text, ['(', ')']), ['[', ']']);
    for word in text.split_whitespace() {
        let wrong = |expected| TopologyError::NotSynthetic { word: word.to_owned(), expected };
        let (name, number) =
            word.split_once(':').ok_or(wrong("a name, a colon and a number are expected"))?;
        let kind = match name.to_ascii_lowercase().as_str() {
            "node" => Kind::Machine,
            name => Kind::of_hwloc(name, None),
        };
        if kind == Kind::Other && !name.to_ascii_lowercase().starts_with("l1") {
            return Err(wrong("names are node, pack, numa, group, die, l3, l2, l1, core and pu"));
        }
        let number = number.parse().ok().filter(|number| (1..=MOST).contains(number));
        levels.push((kind, number.ok_or(wrong("the number of objects is expected"))?));
        let all = levels.iter().fold(1, |all: u64, (_, number)| all.saturating_mul(*number));
        if all > MOST {
            return Err(wrong("there are more than four million processors"));
        }
        if levels[1..].iter().any(|(kind, _)| *kind == Kind::Machine) {
            return Err(wrong("nodes come first"));
        }
    }
    if levels.is_empty() {
        return Err(TopologyError::NotSynthetic { word: text, expected: "it is empty" });
    }
    if levels.iter().all(|(kind, _)| *kind != Kind::Pu) {
        levels.push((Kind::Pu, 1));
    }
    let mut builder = Builder::default();
    open(&mut builder, &levels);
    let mut machines = builder.finish();
    // As hwloc numbers them, where nothing else is said.
    for machine in machines.iter_mut().filter(|_| numbered) {
        (0..).zip(&mut machine.leaves).for_each(|(number, leaf)| leaf.of_system = Some(number));
    }
    Topology::of(machines)
}

/// A text without what stands between these two, which are not nested.
fn without(text: &str, [begin, end]: [char; 2]) -> String {
    let mut inside = false;
    let is_kept = |letter: &char| {
        inside |= *letter == begin;
        let was_inside = inside;
        inside &= *letter != end;
        !was_inside
    };
    text.chars().filter(is_kept).collect()
}

fn open(builder: &mut Builder, levels: &[(Kind, u64)]) {
    let Some(((kind, number), inner)) = levels.split_first() else { return };
    for _ in 0..*number {
        builder.open(*kind);
        open(builder, inner);
        builder.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_nodes_sockets_and_cores() {
        let Topology::Nodes(nodes) = parse("node:2 pack:2 l3:2 core:3 pu:2").unwrap() else { panic!() };
        assert_eq!(nodes.len(), 2);
        for node in &nodes {
            assert_eq!((node.leaves.len(), node.cores().len(), node.sockets()), (24, 12, 2));
            let leaf = &node.leaves[13];
            assert_eq!((leaf.socket, leaf.core, leaf.core_in_socket), (1, 6, 0));
            // Six threads share a cache, twelve a socket.
            assert_eq!(node.leaves.iter().filter(|other| other.groups[2] == leaf.groups[2]).count(), 6);
            assert_eq!(node.leaves.iter().filter(|other| other.groups[0] == leaf.groups[0]).count(), 12);
        }
        assert!(matches!(parse("pack:1 core:2"), Ok(Topology::Each(_))));
        assert!(matches!(parse("pack:2(memory=1GB) core:2"), Ok(Topology::Each(_))));
        // As lstopo writes it.
        let text = "Package:2 [NUMANode(memory=16 indexes)] L3Cache:1(size=33554432) L2Cache:2(size=1 x=2) L1dCache:1(size=1) L1iCache:1 Core:1 PU:2";
        let Topology::Each(node) = parse(text).unwrap() else { panic!() };
        assert_eq!((node.leaves.len(), node.cores().len(), node.sockets()), (8, 4, 2));
        assert_eq!(node.leaves[7].of_system, Some(7));
        let Topology::Each(node) = parse("core:2 pu:2(indexes=2*2:1*2)").unwrap() else { panic!() };
        assert_eq!(node.leaves[1].of_system, None, "their order is another one");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("pack:2 cores", "cores"),
            ("pack:0 core:2", "pack:0"),
            ("socks:2", "socks"),
            ("pack:2 node:2", "nodes come first"),
            ("core:3000000 pu:2", "pu:2"),
            ("", "empty"),
            ("pack:99999999999999999999", "number"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("for example"), "{text}: {error}");
        }
    }
}
