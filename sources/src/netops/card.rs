//! What a process says of itself at the start, so that others know it by its process number and its sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytemuck::{Pod, Zeroable};

use super::fabric::Address;

/// How many addresses of a process are known at most.
const ADDRESSES: usize = 6;
/// How many addresses of its host on InfiniBand and RoCE are known at most.
const FABRIC: usize = 8;
/// How many workers of UCX of a process are known at most.
const WORKERS: usize = 4;
/// How many ports that it listens on are known at most.
const PORTS: usize = 8;

/// A process, in a form that is sent as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Card {
    /// The node ([`node_identity`](crate::transport::memory::node_identity)).
    node: [i32; 2],
    /// The addresses of its hosts, IPv4 as IPv6 has it; zeros where there are no more.
    addresses: [[u8; 16]; ADDRESSES],
    /// The ports that it listens on; 0 where there are no more.
    ports: [u16; PORTS],
    /// 1 for each of these that is of a socket of IPv6, which may hear IPv4, too.
    of_ipv6: [u8; PORTS],
    /// Where its host is reached over InfiniBand and RoCE; zeros where there are no more.
    fabric: [[u8; 16]; FABRIC],
    pid: i32,
    /// A hash of the network namespace: processes of the same one reach each other by `localhost`.
    network: i32,
    /// Its workers of UCX; zeros where there are no more.
    workers: [u64; WORKERS],
}

impl Card {
    pub(super) fn new(
        node: [i32; 2],
        network: i32,
        pid: i32,
        addresses: impl Iterator<Item = IpAddr>,
        ports: impl Iterator<Item = Listening>,
    ) -> Card {
        let mut card = Card { node, network, pid, ..Card::default() };
        let addresses = addresses.filter(|address| !address.is_loopback());
        card.addresses.iter_mut().zip(addresses).for_each(|(place, address)| *place = bytes(address));
        for (place, listening) in ports.take(PORTS).enumerate() {
            card.ports[place] = listening.port;
            card.of_ipv6[place] = u8::from(listening.is_ipv6);
        }
        card
    }

    /// The same, reached by these addresses over InfiniBand and RoCE, too.
    pub(super) fn with_fabric(mut self, addresses: impl Iterator<Item = Address>) -> Card {
        self.fabric.iter_mut().zip(addresses).for_each(|(place, address)| *place = address.key());
        self
    }

    /// The same, reached by UCX as these workers, too.
    pub(super) fn with_workers(mut self, workers: impl Iterator<Item = u64>) -> Card {
        self.workers.iter_mut().zip(workers).for_each(|(place, worker)| *place = worker);
        self
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = u64> {
        self.workers.into_iter().filter(|worker| *worker != 0)
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

    pub(super) fn ports(&self) -> impl Iterator<Item = Listening> {
        let all = self.ports.into_iter().zip(self.of_ipv6);
        let all = all.map(|(port, of_ipv6)| Listening { port, is_ipv6: of_ipv6 != 0 });
        all.filter(|listening| listening.port != 0)
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

/// A socket that a process listens on. A socket of IPv4 and one of IPv6, of two processes, may have the same port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Listening {
    pub(super) port: u16,
    pub(super) is_ipv6: bool,
}

/// An address as 16 bytes: IPv4 as IPv6 has it, and for all addresses of `localhost` in a family the same.
pub(super) fn bytes(address: IpAddr) -> [u8; 16] {
    match address.to_canonical() {
        IpAddr::V4(address) if address.is_loopback() => LOCALHOSTS[0],
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Whether an address as [`bytes`] has it is one of IPv6.
pub(super) fn is_ipv6(address: [u8; 16]) -> bool {
    Ipv6Addr::from(address).to_ipv4_mapped().is_none()
}

/// `localhost` in IPv4 and IPv6, as [`bytes`] has it.
pub(super) const LOCALHOSTS: [[u8; 16]; 2] =
    [Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets(), Ipv6Addr::LOCALHOST.octets()];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_the_same_in_both_families() {
        let ip = |text: &str| bytes(text.parse().unwrap());
        assert_eq!(ip("10.0.0.1"), ip("::ffff:10.0.0.1"));
        assert_ne!(ip("10.0.0.1"), ip("10.0.0.2"));
        assert_eq!(
            (ip("127.0.0.1"), ip("127.0.1.1"), ip("::1")),
            (LOCALHOSTS[0], LOCALHOSTS[0], LOCALHOSTS[1])
        );
        assert_eq!(LOCALHOSTS.map(is_ipv6), [false, true]);
    }

    #[test]
    fn a_card_has_what_fits_and_no_localhost() {
        let addresses = ["127.0.0.1", "10.0.0.1", "fe80::1"].map(|text| text.parse().unwrap());
        let ports = (1..=20).map(|port| Listening { port, is_ipv6: port == 2 });
        let card = Card::new([1, 2], 3, 4, addresses.into_iter(), ports);
        assert_eq!(card.addresses().count(), 2);
        assert!(card.ports().map(|listening| listening.port).eq(1..=8));
        assert_eq!(card.ports().position(|listening| listening.is_ipv6), Some(1));
        assert_eq!(card.pid(), 4);
        let other = Card::new([1, 2], 4, 5, [].into_iter(), [].into_iter());
        assert!(card.is_on_node_of(&other) && !card.is_in_network_of(&other));
    }
}
