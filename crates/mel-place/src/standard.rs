//! The orders that launchers know by themselves.

use crate::{Placement, Slots};

/// An order of launchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Core by core, node by node: `--map-by core`.
    Core,
    /// In turns over the sockets of a node, node by node: `--map-by socket`.
    Socket,
    /// In turns over the nodes: `--map-by node`.
    Node,
}

impl Order {
    /// All of them, the usual one first.
    pub const ALL: [Order; 3] = [Order::Core, Order::Socket, Order::Node];

    /// Its name, as `mpirun --map-by` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Core => "core",
            Order::Socket => "socket",
            Order::Node => "node",
        }
    }

    /// The placement.
    pub fn placement(self, slots: &Slots) -> Placement {
        let all: Vec<u32> = (0..slots.len() as u32).collect();
        let groups = |of: &dyn Fn(u32) -> u32, slots: &[u32]| {
            let mut groups: Vec<Vec<u32>> = Vec::new();
            for slot in slots {
                match groups.last_mut() {
                    Some(last) if of(last[0]) == of(*slot) => last.push(*slot),
                    _ => groups.push(vec![*slot]),
                }
            }
            groups
        };
        let hosts = groups(&|slot| slots.slots[slot as usize].host, &all);
        match self {
            Order::Core => all,
            Order::Node => in_turns(hosts),
            Order::Socket => {
                let sockets = |host: Vec<u32>| groups(&|slot| slots.slots[slot as usize].leaf.socket, &host);
                hosts.into_iter().flat_map(|host| in_turns(sockets(host))).collect()
            }
        }
    }
}

/// One of each in turns, until all are taken.
fn in_turns(groups: Vec<Vec<u32>>) -> Placement {
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|turn| groups.iter().filter_map(move |group| group.get(turn)).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic;

    #[test]
    fn orders_are_those_of_mpirun() {
        let slots = Slots::new(&synthetic::parse("node:2 pack:2 core:2").unwrap(), &["a"; 8], &[]);
        assert_eq!(Order::Core.placement(&slots), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(Order::Socket.placement(&slots), [0, 2, 1, 3, 4, 6, 5, 7]);
        assert_eq!(Order::Node.placement(&slots), [0, 4, 1, 5, 2, 6, 3, 7]);
        let uneven = Slots::new(&synthetic::parse("pack:1 core:4").unwrap(), &["a", "a", "b"], &[]);
        assert_eq!(Order::Node.placement(&uneven), [0, 2, 1]);
    }
}
