//! Processes and their streams of events; the system tree: the machine, its nodes, and what they consist of.

use serde::{Deserialize, Serialize};

use super::{Definitions, next_number};
use crate::refs::{LocationGroupRef, LocationRef, StringRef, SystemTreeNodeRef};

/// The owner of locations.
#[derive(Clone, Copy, Debug)]
pub struct LocationGroup<'a> {
    /// Its name, such as "MPI Rank 0".
    pub name: &'a str,
    /// What it is.
    pub kind: LocationGroupKind,
    /// Where it runs.
    pub node: SystemTreeNodeRef,
    /// The process that started it, where that is known.
    pub creator: Option<LocationGroupRef>,
}

impl<'a> LocationGroup<'a> {
    /// A process of this name, on this host. It must get at least one thread.
    pub const fn process(name: &'a str, node: SystemTreeNodeRef) -> Self {
        Self { name, kind: LocationGroupKind::Process, node, creator: None }
    }
}

/// What owns locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum LocationGroupKind {
    /// A process.
    Process = otf2_sys::OTF2_LOCATION_GROUP_TYPE_PROCESS as u8,
    /// The context of an accelerator.
    Accelerator = otf2_sys::OTF2_LOCATION_GROUP_TYPE_ACCELERATOR as u8,
}

/// A stream of events.
#[derive(Clone, Copy, Debug)]
pub struct Location<'a> {
    /// Its name, such as "Master thread".
    pub name: &'a str,
    /// What it is.
    pub kind: LocationKind,
    /// Its owner.
    pub group: LocationGroupRef,
}

impl<'a> Location<'a> {
    /// A thread of this name, in this process.
    pub const fn thread(name: &'a str, group: LocationGroupRef) -> Self {
        Self { name, kind: LocationKind::CpuThread, group }
    }
}

/// What records a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum LocationKind {
    /// A thread, or another control flow of a CPU. Only these may enter regions.
    CpuThread = otf2_sys::OTF2_LOCATION_TYPE_CPU_THREAD as u8,
    /// A stream of an accelerator.
    AcceleratorStream = otf2_sys::OTF2_LOCATION_TYPE_ACCELERATOR_STREAM as u8,
    /// A source of metrics only.
    Metric = otf2_sys::OTF2_LOCATION_TYPE_METRIC as u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct LocationGroupRecord {
    pub(crate) reference: LocationGroupRef,
    pub(crate) name: String,
    pub(crate) kind: LocationGroupKind,
    pub(crate) node: SystemTreeNodeRef,
    pub(crate) creator: Option<LocationGroupRef>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct LocationRecord {
    pub(crate) reference: LocationRef,
    pub(crate) name: String,
    pub(crate) kind: LocationKind,
    pub(crate) group: LocationGroupRef,
}

impl Definitions {
    /// Defines a process, or another owner of locations, with the next free number: for one process that writes alone.
    pub fn location_group(&mut self, group: LocationGroup<'_>) -> LocationGroupRef {
        let reference = LocationGroupRef(next_number(&self.own.location_groups));
        self.location_group_as(reference, group);
        reference
    }

    /// Defines a process, or another owner of locations, with a number that no other one has, in none of the processes
    /// that write the archive.
    pub fn location_group_as(&mut self, reference: LocationGroupRef, group: LocationGroup<'_>) {
        let LocationGroup { name, kind, node, creator } = group;
        let name = without_nul(name);
        self.own.location_groups.push(LocationGroupRecord { reference, name, kind, node, creator });
    }

    /// Defines a stream of events with the next free number: for one process that writes alone. How many events it holds
    /// is filled in when the archive is finished.
    pub fn location(&mut self, location: Location<'_>) -> LocationRef {
        let reference = LocationRef(self.own.locations.len() as u64);
        self.location_as(reference, location);
        reference
    }

    /// Defines a stream of events with a number that no other one has, in none of the processes that write the archive.
    /// This process writes it.
    pub fn location_as(&mut self, reference: LocationRef, location: Location<'_>) {
        let Location { name, kind, group } = location;
        self.own.locations.push(LocationRecord { reference, name: without_nul(name), kind, group });
    }
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// A part of the system on which processes run.
#[derive(Clone, Copy, Debug)]
pub struct SystemTreeNode<'a> {
    /// Its name, such as the host's.
    pub name: &'a str,
    /// What it is: "machine", "node".
    pub class: &'a str,
    /// What it is part of; `None` for the root.
    pub parent: Option<SystemTreeNodeRef>,
}

/// What the parts of a node of the system tree have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum SystemTreeDomain {
    /// They belong to one machine.
    Machine = otf2_sys::OTF2_SYSTEM_TREE_DOMAIN_MACHINE as u8,
    /// They share memory: the node is a host.
    SharedMemory = otf2_sys::OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY as u8,
    /// They are near to the same memory.
    Numa = otf2_sys::OTF2_SYSTEM_TREE_DOMAIN_NUMA as u8,
    /// They are in one socket.
    Socket = otf2_sys::OTF2_SYSTEM_TREE_DOMAIN_SOCKET as u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SystemTreeNodeRecord {
    pub(crate) name: StringRef,
    pub(crate) class: StringRef,
    pub(crate) parent: Option<SystemTreeNodeRef>,
    pub(crate) domains: Vec<SystemTreeDomain>,
}

impl Definitions {
    /// Defines a node of the system tree. Parents are defined before their children.
    pub fn system_tree_node(&mut self, node: SystemTreeNode<'_>) -> SystemTreeNodeRef {
        let reference = SystemTreeNodeRef(next_number(&self.shared.system_tree));
        let (name, class) = (self.string(node.name), self.string(node.class));
        let parent = node.parent;
        self.shared.system_tree.push(SystemTreeNodeRecord { name, class, parent, domains: Vec::new() });
        reference
    }

    /// Says what a node of the system tree is. Does nothing for a node that is not defined here.
    pub fn system_tree_node_domain(&mut self, node: SystemTreeNodeRef, domain: SystemTreeDomain) {
        if let Some(record) = self.shared.system_tree.get_mut(node.0 as usize) {
            record.domains.push(domain);
        }
    }
}
