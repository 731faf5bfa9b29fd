//! Whose process it is, and who is at the other end of a socket: ranks in `MPI_COMM_WORLD`.
//!
//! A process of this node is known by its number. The other end of a socket is known by its address and port where a rank
//! listens there, which is so for the side that has made the connection. Of a connection that was accepted, the other end has a
//! port of no meaning: if the address is of this node, the system says to which process that belongs, once for each
//! connection; if it is of a host with one rank, it is that rank; otherwise it is not known.

use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use rustc_hash::{FxBuildHasher, FxHasher};

use super::card::{Card, LOCALHOST};
use super::events::UNKNOWN;
use super::fabric::Address;
use super::own;

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
    cache: Cache,
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
            own: vec![LOCALHOST],
            cache: Cache::new(cards.len()),
        };
        let Some(mine) = cards.get(own) else { return peers };
        let number = |rank: usize| i32::try_from(rank).unwrap_or(UNKNOWN);
        let mut ambiguous = |end: End, rank: i32| {
            peers.listening.entry(end).and_modify(|known| *known = UNKNOWN).or_insert(rank);
        };
        for (rank, card) in cards.iter().enumerate() {
            for port in card.ports() {
                card.addresses().for_each(|address| ambiguous((address, port), number(rank)));
                if card.is_in_network_of(mine) {
                    ambiguous((LOCALHOST, port), number(rank));
                }
            }
        }
        for (rank, card) in cards.iter().enumerate() {
            let local = card.is_in_network_of(mine).then_some(LOCALHOST);
            for address in card.addresses().chain(local) {
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

    /// The rank at the other end of a connection, by its address and port there. Asks the system about an end that it has not
    /// been asked for, and then allocates.
    pub(super) fn of_end(&self, address: [u8; 16], port: u16) -> i32 {
        let end = (address, port);
        if let Some(&rank) = self.listening.get(&end) {
            return rank;
        }
        if let Some(rank) = self.cache.get(end) {
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
        self.cache.put(end, rank);
        rank
    }
}

/// Ranks by the ends that were asked for: a table of fixed size, without a lock. What does not fit is not kept.
#[derive(Debug)]
struct Cache(Vec<(AtomicU64, AtomicI32)>);

/// Places that are searched for an end.
const PLACES: usize = 8;
/// A rank that has not been stored yet.
const PENDING: i32 = i32::MIN;

impl Cache {
    fn new(ranks: usize) -> Cache {
        let size = (8 * ranks).next_power_of_two().clamp(256, 1 << 16);
        Cache((0..size).map(|_| (AtomicU64::new(0), AtomicI32::new(PENDING))).collect())
    }

    /// A number for an end, never 0. Two ends that have the same one are taken for the same, once in 10^19 pairs.
    fn key((address, port): End) -> u64 {
        let mut hash = FxHasher::default();
        hash.write(&address);
        hash.write_u16(port);
        hash.finish() | 1
    }

    /// The places of an end, in order.
    fn places(&self, key: u64) -> impl Iterator<Item = &(AtomicU64, AtomicI32)> {
        let first = (key >> 40) as usize;
        (0..PLACES).map(move |step| &self.0[(first + step) & (self.0.len() - 1)])
    }

    fn get(&self, end: End) -> Option<i32> {
        let key = Cache::key(end);
        let (_, rank) = self.places(key).find(|(known, _)| known.load(Ordering::Acquire) == key)?;
        Some(rank.load(Ordering::Acquire)).filter(|&rank| rank != PENDING)
    }

    fn put(&self, end: End, rank: i32) {
        let key = Cache::key(end);
        for (known, place) in self.places(key) {
            match known.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return place.store(rank, Ordering::Release),
                Err(other) if other == key => return place.store(rank, Ordering::Release),
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::super::card::bytes;
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn card(node: i32, pid: i32, address: &str, ports: &[u16]) -> Card {
        Card::new([node, 0], node, pid, [ip(address)].into_iter(), ports.iter().copied())
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
    fn the_cache_keeps_what_fits() {
        let cache = Cache::new(1);
        let ends: Vec<End> = (0..10_000).map(|port| (LOCALHOST, port)).collect();
        for end in &ends {
            cache.put(*end, i32::from(end.1));
        }
        let kept = ends.iter().filter_map(|end| Some((cache.get(*end)?, i32::from(end.1))));
        let mut count = 0;
        kept.for_each(|(kept, put)| {
            count += 1;
            assert_eq!(kept, put);
        });
        assert!((100..=256).contains(&count), "{count}");
    }
}
