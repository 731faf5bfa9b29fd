//! Whose process it is, and who is at the other end of a socket: ranks in `MPI_COMM_WORLD`.
//!
//! A process of this node is known by its number. The other end of a socket is known by its address and port where a rank
//! listens there, which is so for the side that has made the connection. Of a connection that was accepted, the other end has a
//! port of no meaning: if the address is of this node, the system says to which process that belongs, once for each
//! connection; if it is of a host with one rank, it is that rank; otherwise it is not known.

use std::collections::HashMap;
use std::hash::Hasher;

use rustc_hash::{FxBuildHasher, FxHasher};

use super::card::{Card, LOCALHOSTS, is_ipv6};
use super::events::UNKNOWN;
use super::fabric::Address;
use super::own;
use super::ranks::Ranks;

/// An address and a port.
type End = ([u8; 16], u16);

/// What is known of all ranks. Nothing but the cache changes after it was made, so that any thread may ask.
#[derive(Debug)]
pub(super) struct Peers {
    /// Process numbers of the ranks of this node, and their ranks, in ascending order.
    pids: Vec<(i32, i32)>,
    /// Where ranks listen; [`UNKNOWN`] where two do.
    listening: HashMap<End, i32, FxBuildHasher>,
    /// The rank of each address; [`UNKNOWN`] where the host has several.
    hosts: HashMap<[u8; 16], i32, FxBuildHasher>,
    /// Some rank on the host of each address; [`UNKNOWN`] where several hosts have it.
    on_hosts: HashMap<[u8; 16], i32, FxBuildHasher>,
    /// The rank and some rank on the host of each address on InfiniBand and RoCE, as [`Address::key`] has them; [`UNKNOWN`] likewise.
    fabric: HashMap<[u8; 16], (i32, i32), FxBuildHasher>,
    /// The addresses of this process's own network.
    own: Vec<[u8; 16]>,
    /// The rank of each worker of UCX; [`UNKNOWN`] where two say that they have it.
    workers: HashMap<u64, i32, FxBuildHasher>,
    /// Of the ends that were asked for.
    cache: Ranks,
}

impl Peers {
    /// What the cards of all ranks say to the process of rank `own`.
    pub(super) fn new(cards: &[Card], own: usize) -> Peers {
        let mut peers = Peers {
            pids: Vec::new(),
            listening: HashMap::default(),
            hosts: HashMap::default(),
            on_hosts: HashMap::default(),
            fabric: HashMap::default(),
            own: LOCALHOSTS.to_vec(),
            workers: HashMap::default(),
            cache: Ranks::new(8 * cards.len()),
        };
        let Some(mine) = cards.get(own) else { return peers };
        let number = |rank: usize| i32::try_from(rank).unwrap_or(UNKNOWN);
        let local = |card: &Card| {
            let here = card.is_in_network_of(mine);
            LOCALHOSTS.into_iter().filter(move |_| here)
        };
        // First sockets of the family of an address, then those of IPv6 for addresses of IPv4, where nobody else has the port.
        let [same, others] = [true, false].map(|same| {
            let mut listening: HashMap<End, i32, FxBuildHasher> = HashMap::default();
            for (rank, card) in cards.iter().enumerate() {
                let addresses = || card.addresses().chain(local(card));
                for (at, address) in card.ports().flat_map(|at| addresses().map(move |address| (at, address)))
                {
                    let hears = match same {
                        true => at.is_ipv6 == is_ipv6(address),
                        false => at.is_ipv6 && !is_ipv6(address),
                    };
                    if hears {
                        let known = listening.entry((address, at.port));
                        known.and_modify(|known| *known = UNKNOWN).or_insert(number(rank));
                    }
                }
            }
            listening
        });
        peers.listening = others;
        peers.listening.extend(same);
        for (rank, card) in cards.iter().enumerate() {
            for address in card.addresses().chain(local(card)) {
                let known = peers.hosts.entry(address);
                known.and_modify(|known| *known = UNKNOWN).or_insert(number(rank));
                let on_host = peers.on_hosts.entry(address).or_insert(number(rank));
                let is_same = usize::try_from(*on_host)
                    .ok()
                    .and_then(|known| cards.get(known))
                    .is_some_and(|known| known.is_in_network_of(card));
                if !is_same {
                    *on_host = UNKNOWN;
                }
            }
        }
        for (rank, card) in cards.iter().enumerate() {
            for worker in card.workers() {
                let known = peers.workers.entry(worker);
                known.and_modify(|known| *known = UNKNOWN).or_insert(number(rank));
            }
            for address in card.fabric() {
                let known = peers.fabric.entry(address).or_insert((number(rank), number(rank)));
                if known.0 != number(rank) {
                    known.0 = UNKNOWN;
                    let first = usize::try_from(known.1).ok().and_then(|known| cards.get(known));
                    if !first.is_some_and(|first| first.is_on_node_of(card)) {
                        known.1 = UNKNOWN;
                    }
                }
            }
        }
        let on_node = cards.iter().enumerate().filter(|(_, card)| card.is_on_node_of(mine));
        peers.pids = on_node.map(|(rank, card)| (card.pid(), number(rank))).collect();
        peers.pids.sort_unstable();
        peers.own.extend(mine.addresses());
        peers
    }

    /// The rank of a process of this node; [`UNKNOWN`] for any other process. Signal-safe.
    pub(super) fn of_process(&self, pid: i32) -> i32 {
        let found = self.pids.binary_search_by_key(&pid, |known| known.0);
        found.map_or(UNKNOWN, |place| self.pids[place].1)
    }

    /// The first rank of this process's node.
    pub(super) fn first_of_node(&self) -> i32 {
        self.pids.iter().map(|known| known.1).min().unwrap_or(UNKNOWN)
    }

    /// Some rank on the host with this address; [`UNKNOWN`] where there is none, or several hosts have it. Signal-safe.
    pub(super) fn on_host(&self, address: [u8; 16]) -> i32 {
        self.on_hosts.get(&address).copied().unwrap_or(UNKNOWN)
    }

    /// The rank that is reached by this address of InfiniBand or RoCE, and some rank on its host: both [`UNKNOWN`] where that is
    /// ambiguous.
    pub(super) fn on_fabric(&self, address: &Address) -> (i32, i32) {
        self.fabric.get(&address.key()).copied().unwrap_or((UNKNOWN, UNKNOWN))
    }

    /// The rank that has this worker of UCX; [`UNKNOWN`] where none has said so. Signal-safe.
    pub(super) fn of_worker(&self, worker: u64) -> i32 {
        self.workers.get(&worker).copied().unwrap_or(UNKNOWN)
    }

    /// The rank at the other end of a connection, by its address and port there. Asks the system about an end that it has not
    /// been asked for, and then allocates.
    pub(super) fn of_end(&self, address: [u8; 16], port: u16) -> i32 {
        let end = (address, port);
        if let Some(&rank) = self.listening.get(&end) {
            return rank;
        }
        let key = key_of(end);
        if let Some(rank) = self.cache.get(key) {
            return rank;
        }
        let rank = match self.hosts.get(&address) {
            Some(&rank) if rank != UNKNOWN => rank,
            _ if self.own.contains(&address) => {
                let pids = self.pids.iter().map(|known| known.0);
                own::owner(address, port, pids).map_or(UNKNOWN, |pid| self.of_process(pid))
            }
            _ => UNKNOWN,
        };
        self.cache.put(key, rank);
        rank
    }
}

/// A number for an end, never 0. Two ends that have the same one are taken for the same, once in 10^19 pairs.
fn key_of((address, port): End) -> u64 {
    let mut hash = FxHasher::default();
    hash.write(&address);
    hash.write_u16(port);
    hash.finish() | 1
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::super::card::{Listening, bytes};
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn card(node: i32, pid: i32, address: &str, ports: &[u16]) -> Card {
        let ports = ports.iter().map(|&port| Listening { port, is_ipv6: false });
        Card::new([node, 0], node, pid, [ip(address)].into_iter(), ports)
    }

    /// Ranks 0 and 1 on this node, 2 and 3 on another one, 4 on a third.
    fn peers() -> Peers {
        let cards = [
            card(1, 100, "10.0.0.1", &[1024]),
            card(1, 101, "10.0.0.1", &[1025, 1026]),
            card(2, 100, "10.0.0.2", &[1024]),
            card(2, 102, "10.0.0.2", &[1025]),
            card(3, 103, "10.0.0.3", &[1024]),
        ];
        Peers::new(&cards, 0)
    }

    #[test]
    fn processes_are_those_of_the_node() {
        let peers = peers();
        assert_eq!([99, 100, 101, 102].map(|pid| peers.of_process(pid)), [-1, 0, 1, -1]);
    }

    #[test]
    fn an_end_is_known_by_where_a_rank_listens_or_by_its_host() {
        let peers = peers();
        let of = |address: &str, port| peers.of_end(bytes(ip(address)), port);
        assert_eq!((of("10.0.0.1", 1026), of("10.0.0.2", 1024), of("10.0.0.2", 1025)), (1, 2, 3));
        assert_eq!((of("127.0.0.1", 1024), of("127.0.0.1", 1025)), (0, 1));
        assert_eq!(of("10.0.0.3", 40_000), 4, "the only rank of its host");
        assert_eq!(of("10.0.0.2", 40_000), -1, "one of two");
        assert_eq!(of("10.0.0.2", 40_000), -1, "as before");
        assert_eq!(of("10.9.9.9", 1024), -1);
    }

    #[test]
    fn a_host_is_known_by_its_address_unless_several_have_it() {
        let peers = peers();
        let of = |address: &str| peers.on_host(bytes(ip(address)));
        assert_eq!((of("10.0.0.1"), of("127.0.0.1"), of("10.0.0.2"), of("10.0.0.3")), (0, 0, 2, 4));
        assert_eq!(of("10.9.9.9"), -1);
        let bridges = [card(1, 1, "172.17.0.1", &[7]), card(2, 2, "172.17.0.1", &[8])];
        assert_eq!(Peers::new(&bridges, 0).on_host(bytes(ip("172.17.0.1"))), -1);
    }

    #[test]
    fn where_two_listen_it_is_neither() {
        let cards =
            [card(1, 1, "10.0.0.1", &[7]), card(2, 2, "10.0.0.2", &[7]), card(3, 3, "10.0.0.2", &[7])];
        assert_eq!(Peers::new(&cards, 0).of_end(bytes(ip("10.0.0.2")), 7), -1);
        assert_eq!(Peers::new(&[], 0).of_process(1), -1);
    }

    #[test]
    fn sockets_of_two_families_may_have_the_same_port() {
        let with = |pid, ports: &[(u16, bool)]| {
            let ports = ports.iter().map(|&(port, is_ipv6)| Listening { port, is_ipv6 });
            let addresses = ["10.0.0.1", "fd00::1"].map(ip).into_iter();
            Card::new([1, 0], 1, pid, addresses, ports)
        };
        let peers = Peers::new(&[with(1, &[(7, true), (9, true)]), with(2, &[(7, false), (8, false)])], 0);
        let of = |address: &str, port| peers.of_end(bytes(ip(address)), port);
        assert_eq!((of("127.0.0.1", 7), of("10.0.0.1", 7), of("::1", 7), of("fd00::1", 7)), (1, 1, 0, 0));
        assert_eq!((of("127.0.0.1", 9), of("::1", 9), of("10.0.0.1", 8)), (0, 0, 1), "IPv6 may hear IPv4");
    }

    #[test]
    fn a_worker_is_known_by_what_its_process_has_said() {
        let with = |pid, workers: &[u64]| card(1, pid, "10.0.0.1", &[]).with_workers(workers.iter().copied());
        let peers = Peers::new(&[with(1, &[7, 8]), with(2, &[9]), with(3, &[9, 10, 11, 12, 13])], 0);
        assert_eq!([7, 8, 10, 12].map(|worker| peers.of_worker(worker)), [0, 0, 2, 2]);
        assert_eq!([9, 13, 0].map(|worker| peers.of_worker(worker)), [-1; 3], "of two, too many, none");
    }
}
