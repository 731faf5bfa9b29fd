//! What a process says of itself at the start, so that others know it by its process number and its sockets.

use std::net::{IpAddr, Ipv6Addr};

use bytemuck::{Pod, Zeroable};

use super::fabric::Address;

/// How many addresses of a process are known at most.
const ADDRESSES: usize = 6;
/// How many addresses of its host on InfiniBand and RoCE are known at most.
const FABRIC: usize = 8;
/// How many ports that it listens on are known at most.
const PORTS: usize = 8;

/// A process, in a form that is sent as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Card {
    /// The node ([`node_identity`](crate::transport::node::node_identity)).
    node: [i32; 2],
    /// The addresses of its hosts, IPv4 as IPv6 has it; zeros where there are no more.
    addresses: [[u8; 16]; ADDRESSES],
    /// The ports that it listens on; 0 where there are no more.
    ports: [u16; PORTS],
    /// Where its host is reached over InfiniBand and RoCE; zeros where there are no more.
    fabric: [[u8; 16]; FABRIC],
    pid: i32,
    /// A hash of the network namespace: processes of the same one reach each other by `localhost`.
    network: i32,
}

impl Card {
    pub(super) fn new(
        node: [i32; 2],
        network: i32,
        pid: i32,
        addresses: impl Iterator<Item = IpAddr>,
        ports: impl Iterator<Item = u16>,
    ) -> Card {
        let mut card = Card { node, network, pid, ..Card::default() };
        let addresses = addresses.filter(|address| !address.is_loopback());
        card.addresses.iter_mut().zip(addresses).for_each(|(place, address)| *place = bytes(address));
        card.ports.iter_mut().zip(ports).for_each(|(place, port)| *place = port);
        card
    }

    /// The same, reached by these addresses over InfiniBand and RoCE, too.
    pub(super) fn with_fabric(mut self, addresses: impl Iterator<Item = Address>) -> Card {
        self.fabric.iter_mut().zip(addresses).for_each(|(place, address)| *place = address.key());
        self
    }

    pub(super) fn fabric(&self) -> impl Iterator<Item = [u8; 16]> {
        self.fabric.into_iter().filter(|address| *address != [0; 16])
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = [u8; 16]> {
        self.addresses.into_iter().filter(|address| *address != [0; 16])
    }

    pub(super) fn ports(&self) -> impl Iterator<Item = u16> {
        self.ports.into_iter().filter(|port| *port != 0)
    }

    /// Whether process numbers mean the same to both.
    pub(super) fn is_on_node_of(&self, other: &Card) -> bool {
        self.node == other.node
    }

    /// Whether `localhost` is the same to both.
    pub(super) fn is_in_network_of(&self, other: &Card) -> bool {
        self.node == other.node && self.network == other.network
    }
}

/// An address as 16 bytes, the same for IPv4 and IPv6; for all addresses of `localhost` the same.
pub(super) fn bytes(address: IpAddr) -> [u8; 16] {
    match address.to_canonical() {
        address if address.is_loopback() => LOCALHOST,
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// `localhost` as [`bytes`] has it.
pub(super) const LOCALHOST: [u8; 16] = Ipv6Addr::LOCALHOST.octets();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_the_same_in_both_families() {
        let ip = |text: &str| bytes(text.parse().unwrap());
        assert_eq!(ip("10.0.0.1"), ip("::ffff:10.0.0.1"));
        assert_ne!(ip("10.0.0.1"), ip("10.0.0.2"));
        assert_eq!((ip("127.0.0.1"), ip("127.0.1.1"), ip("::1")), (LOCALHOST, LOCALHOST, LOCALHOST));
    }

    #[test]
    fn a_card_has_what_fits_and_no_localhost() {
        let addresses = ["127.0.0.1", "10.0.0.1", "fe80::1"].map(|text| text.parse().unwrap());
        let card = Card::new([1, 2], 3, 4, addresses.into_iter(), 1..=20);
        assert_eq!(card.addresses().count(), 2);
        assert_eq!(card.ports().collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
        assert_eq!(card.pid(), 4);
        let other = Card::new([1, 2], 4, 5, [].into_iter(), [].into_iter());
        assert!(card.is_on_node_of(&other) && !card.is_in_network_of(&other));
    }
}
