//! A thousand ranks define what ranks of a program do.

use std::cell::Cell;

use ranks::{ThreadAsProcess, on_threads};

use super::*;
use crate::definitions::{Communicator, Definitions, Group, GroupMembers, Region, SystemTreeNode};
use crate::{Paradigm, Type};

/// Notes the longest message.
struct Measured {
    inner: ThreadAsProcess,
    messages: Cell<u32>,
    longest: Cell<usize>,
}

impl Processes for Measured {
    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn send(&self, to: u32, bytes: Vec<u8>) -> Result<(), CommunicationError> {
        self.messages.set(self.messages.get() + 1);
        self.longest.set(self.longest.get().max(bytes.len()));
        self.inner.send(to, bytes)
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, CommunicationError> {
        self.inner.receive(from)
    }
}

/// What a rank of so many defines: a world, its row of eight, a communicator without an identity, regions in another order
/// on each rank, and an attribute.
fn define(rank: u32, size: u32, definitions: &mut Definitions) {
    let node = SystemTreeNode { name: &format!("node {}", rank / 100), class: "node", parent: None };
    definitions.system_tree_node(node);
    let mut comm = |name: &str, members: Vec<u32>, identity| {
        let members = GroupMembers::CommGroup(&members);
        let group = definitions.group(Group { name: "", paradigm: Paradigm::Mpi, members });
        let (parent, create_destroy_events) = (None, false);
        definitions.communicator(Communicator { name, group, parent, create_destroy_events, identity });
    };
    // Each rank calls it something else.
    comm(&format!("world {rank}"), (0..size).collect(), Some(1));
    let row = rank / 8 * 8;
    comm("row", (row..(row + 8).min(size)).collect(), Some(2));
    comm("self", Vec::new(), None);
    for region in 0..20 {
        let name = format!("region {}", (region + rank) % 20);
        definitions.region(Region { name: &name, ..Region::default() });
    }
    definitions.attribute("source", "", if rank.is_multiple_of(2) { Type::I32 } else { Type::U64 });
}

/// For each rank what it got: messages, the longest of them, all definitions, the mapping and its own definitions.
fn unified(size: u32) -> Vec<(u32, usize, Shared, Mapping, Shared)> {
    on_threads(size, |inner| {
        let processes = Measured { inner, messages: Cell::new(0), longest: Cell::new(0) };
        let mut definitions = Definitions::default();
        define(processes.rank(), size, &mut definitions);
        let own = definitions.shared.clone();
        let (all, mapping) = unify(&processes, definitions.shared).unwrap();
        (processes.messages.get(), processes.longest.get(), all, mapping, own)
    })
}

fn text(shared: &Shared, string: StringRef) -> String {
    let (_, text) = shared.strings.iter().nth(string.0 as usize).unwrap();
    text.to_str().unwrap().to_owned()
}

#[test]
fn a_thousand_ranks_agree_and_each_finds_its_own() {
    let size = 1000;
    let ranks = unified(size);
    let all = ranks[0].2.clone();
    assert_eq!((all.regions.len(), all.attributes.len(), all.system_tree.len()), (20, 2, 10));
    // A world, rows, and one for each process alone.
    assert_eq!((all.communicators.len(), all.groups.len()), (1 + 125 + 1, 1 + 125 + 1));
    assert_eq!(text(&all, all.communicators[0].name), "world 0", "the name that the first rank knows");
    for (rank, (_, _, _, mapping, own)) in ranks.iter().enumerate() {
        for (number, region) in own.regions.iter().enumerate() {
            let global = &all.regions[mapping.regions[number] as usize];
            assert_eq!(text(own, region.name), text(&all, global.name));
        }
        let row = &all.communicators[mapping.communicators[1] as usize];
        let members: Vec<u64> = all.groups[row.group.0 as usize].members.iter().collect();
        assert!(members.contains(&(rank as u64)) && members.len() == 8, "{rank}: {members:?}");
        assert_eq!(mapping.communicators[0], 0);
        assert_eq!(all.attributes[mapping.attributes[0] as usize].value_type, own.attributes[0].value_type);
    }
}

#[test]
fn a_rank_sends_a_message_for_each_level_of_the_tree() {
    let longest = |ranks: &[(u32, usize, Shared, Mapping, Shared)]| {
        assert!(ranks.iter().all(|(messages, ..)| *messages <= 11));
        ranks.iter().map(|(_, longest, ..)| *longest).max().unwrap()
    };
    let (few, many) = (longest(&unified(125)), longest(&unified(1000)));
    // What differs from rank to rank here is a name and a row of eight: about 22 and 10 bytes.
    assert!(few < 16 << 10 && many < 64 << 10, "{few} and {many} bytes");
}

#[test]
fn the_order_is_that_of_one_process() {
    let ranks = unified(13);
    let mut expected = Unified::default();
    for (.., own) in &ranks {
        expected.add(own.clone());
    }
    let print = |shared: &Shared| format!("{shared:?}").replace("references", "").len();
    assert_eq!(ranks[0].2.regions, expected.shared.regions);
    assert_eq!(ranks[0].2.communicators, expected.shared.communicators);
    assert_eq!(ranks[0].2.groups, expected.shared.groups);
    assert_eq!(print(&ranks[0].2), print(&expected.shared));
}
