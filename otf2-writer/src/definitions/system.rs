//! The system tree: the machine, its nodes, and what they consist of.

use serde::{Deserialize, Serialize};

use super::{Definitions, next_number};
use crate::refs::{StringRef, SystemTreeNodeRef};

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
