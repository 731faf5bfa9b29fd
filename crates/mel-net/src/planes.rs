//! Over which planes the bytes between two hosts go.

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::fabric::Fabric;

/// What a rank has seen of its connections: how many bytes it has sent over an interface to a host. This is where what MEL counts by
/// interface and peer host is taken up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The rank's host.
    pub from: NodeIndex,
    /// The other host.
    pub to: NodeIndex,
    /// The interface, such as `eth0`.
    pub interface: String,
    /// Bytes that were sent.
    pub bytes: u64,
}

/// Which part of the bytes between two hosts goes over which plane.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    seen: FxHashMap<(NodeIndex, NodeIndex), Vec<u64>>,
}

impl Shares {
    /// From what ranks have seen; interfaces that belong to no plane are left out.
    pub fn of(fabric: &Fabric, seen: &[Seen]) -> Shares {
        let mut shares = Shares::default();
        for one in seen {
            if let Some(plane) = fabric.plane_of_interface(&one.interface) {
                let planes =
                    shares.seen.entry((one.from, one.to)).or_insert_with(|| vec![0; fabric.planes.len()]);
                planes[plane as usize] = planes[plane as usize].saturating_add(one.bytes);
            }
        }
        shares
    }

    /// Whether anything was seen.
    pub fn is_observed(&self) -> bool {
        self.seen.values().flatten().any(|bytes| *bytes > 0)
    }

    /// Divides bytes between two hosts over the planes that both are in: as was seen, else evenly. Empty if they have none in common.
    pub fn divide(&self, fabric: &Fabric, from: NodeIndex, to: NodeIndex, bytes: u64) -> Vec<(u32, u64)> {
        let both = |plane: &u32| fabric.is_in(from, *plane) && fabric.is_in(to, *plane);
        let planes: Vec<u32> = (0..fabric.planes.len() as u32).filter(both).collect();
        let weight = |plane: u32| self.seen.get(&(from, to)).map_or(0, |seen| seen[plane as usize]);
        let all: u128 = planes.iter().map(|plane| u128::from(weight(*plane))).sum();
        let mut rest = bytes;
        let mut parts = Vec::with_capacity(planes.len());
        for (place, plane) in planes.iter().enumerate() {
            let part = match all {
                _ if place + 1 == planes.len() && (all == 0 || weight(*plane) > 0) => rest,
                0 => bytes / planes.len() as u64,
                // A part of a 64-bit number is one.
                all => (u128::from(bytes) * u128::from(weight(*plane)) / all) as u64,
            };
            rest -= part;
            parts.push((*plane, part));
        }
        // What rounding has left, where the last plane has nothing.
        if let Some(most) = parts.iter_mut().max_by_key(|(_, part)| *part) {
            most.1 += rest;
        }
        parts.retain(|(_, part)| *part > 0);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

    const TWO: &str = "[[plane]]\nname = \"a\"\ninterfaces = [\"eth0\"]\n[[plane]]\nname = \"b\"\ninterfaces = [\"eth1\"]\n[[host]]\nname = \"x,y,z\"\n[[switch]]\nname = \"s,t\"\n[[link]]\nfrom = \"x,y,z\"\nto = \"s\"\nplane = \"a\"\n[[link]]\nfrom = \"x,y\"\nto = \"t\"\nplane = \"b\"\n";

    #[test]
    fn bytes_are_divided_as_was_seen_and_none_is_lost() {
        let fabric = network(TWO);
        let [x, y, z] = ["x", "y", "z"].map(|name| fabric.node(name).unwrap());
        let even = Shares::default();
        assert_eq!(even.divide(&fabric, x, y, 101), [(0, 50), (1, 51)]);
        assert_eq!(even.divide(&fabric, x, z, 101), [(0, 101)]);
        let seen = |interface: &str, bytes| Seen { from: x, to: y, interface: interface.into(), bytes };
        let shares = Shares::of(&fabric, &[seen("eth0", 30), seen("eth1", 10), seen("lo", 99)]);
        assert!(shares.is_observed() && !even.is_observed());
        assert_eq!(shares.divide(&fabric, x, y, 101), [(0, 75), (1, 26)]);
        assert_eq!(shares.divide(&fabric, y, x, 10), [(0, 5), (1, 5)]);
        assert_eq!(Shares::of(&fabric, &[seen("eth0", 3)]).divide(&fabric, x, y, 7), [(0, 7)]);
    }
}
