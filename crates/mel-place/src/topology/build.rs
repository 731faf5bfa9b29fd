//! Machines from objects that open and close.

use super::{Leaf, Machine};
use crate::slots::INSIDE;

/// What objects of a topology are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A node.
    Machine,
    /// A package.
    Socket,
    /// A die, a group, a NUMA node that has cores.
    Die,
    /// A cache of the third level, or a greater one.
    L3,
    /// A cache of the second level.
    L2,
    /// A core.
    Core,
    /// A hardware thread.
    Pu,
    /// Anything else: it has no meaning for distances.
    Other,
}

impl Kind {
    /// Its place in [`Leaf::groups`].
    fn level(self) -> Option<usize> {
        [Kind::Socket, Kind::Die, Kind::L3, Kind::L2, Kind::Core].iter().position(|kind| *kind == self)
    }

    /// By the name that hwloc gives it, with the depth of caches where it says that apart (hwloc 1).
    pub fn of_hwloc(name: &str, depth: Option<u32>) -> Kind {
        match name.to_ascii_lowercase().as_str() {
            "machine" => Kind::Machine,
            "package" | "pack" | "socket" | "sock" => Kind::Socket,
            "die" | "group" | "numanode" | "numa" => Kind::Die,
            "l3cache" | "l3" | "l4cache" | "l4" => Kind::L3,
            "l2cache" | "l2" => Kind::L2,
            "cache" if depth == Some(2) => Kind::L2,
            "cache" if depth.is_some_and(|depth| depth > 2) => Kind::L3,
            "core" => Kind::Core,
            "pu" => Kind::Pu,
            _ => Kind::Other,
        }
    }
}

/// Makes machines of objects in the order of the topology.
#[derive(Debug, Default)]
pub struct Builder {
    machines: Vec<Machine>,
    /// The innermost open object of each level.
    open: [Option<u32>; INSIDE],
    /// What was open before each object that is open.
    outer: Vec<[Option<u32>; INSIDE]>,
    /// The next number of a group. Numbers are unique over all levels.
    next: u32,
}

impl Builder {
    /// A hardware thread, for which the operating system has this number, begins.
    pub fn open_processor(&mut self, of_system: Option<u32>) {
        self.open(Kind::Pu);
        if let Some(leaf) = self.machines.last_mut().and_then(|machine| machine.leaves.last_mut()) {
            leaf.of_system = of_system;
        }
    }

    /// An object begins.
    pub fn open(&mut self, kind: Kind) {
        self.outer.push(self.open);
        self.next += 1;
        if kind == Kind::Machine {
            self.machines.push(Machine::default());
            self.open = [None; INSIDE];
        }
        if let Some(level) = kind.level() {
            self.open[level] = Some(self.next);
        }
        if kind == Kind::Pu {
            self.leaf();
        }
    }

    /// The innermost object ends.
    pub fn close(&mut self) {
        if let Some(open) = self.outer.pop() {
            self.open = open;
        }
    }

    /// All machines.
    pub fn finish(self) -> Vec<Machine> {
        self.machines
    }

    /// A hardware thread. Of a level that is not there each object of the next deeper one is a group of its own; a node without sockets
    /// is one socket.
    fn leaf(&mut self) {
        let mut groups = [0; INSIDE];
        let mut deeper = self.next;
        for level in (1..INSIDE).rev() {
            deeper = self.open[level].unwrap_or(deeper);
            groups[level] = deeper;
        }
        groups[0] = self.open[0].unwrap_or(0);
        if self.machines.is_empty() {
            self.machines.push(Machine::default());
        }
        let Some(machine) = self.machines.last_mut() else { return };
        let (mut socket, mut core, mut core_in_socket) = (0, 0, 0);
        if let Some(last) = machine.leaves.last() {
            let is_new = |level: usize| last.groups[level] != groups[level];
            (socket, core, core_in_socket) = (last.socket, last.core, last.core_in_socket);
            if is_new(INSIDE - 1) {
                (core, core_in_socket) = (core + 1, core_in_socket + 1);
            }
            if is_new(0) {
                (socket, core_in_socket) = (socket + 1, 0);
            }
        }
        machine.leaves.push(Leaf { socket, core, core_in_socket, of_system: None, groups });
    }
}
