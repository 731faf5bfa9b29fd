//! Verbs: where queue pairs and address handles lead, and what was posted to each.
//!
//! A post is counted without a lock in a table of fixed size, which is changed under a lock that is only ever tried or held for a moment.
//! What finds no place there has no target and is in no connection.

use std::collections::HashMap;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use mpi_intercept::io::verbs::{Leads, Posted, Verb};
use rustc_hash::FxBuildHasher;

use super::connections::{Link, Observer};
use super::events::UNKNOWN;
use super::fabric::{self, Address};
use super::peers::Peers;
use super::tcp_info::Numbers;

/// How many ways have a place; a power of two.
const PLACES: usize = 1 << 13;
/// How many places are searched for a way.
const SEARCHED: usize = 32;
/// A place whose way has ended; no address of an object.
const ENDED: usize = 1;

/// What was posted to a way. Any thread may add.
struct Place {
    /// The way, 0 for none, or [`ENDED`].
    way: AtomicUsize,
    target: AtomicI32,
    sent: AtomicU64,
    received: AtomicU64,
    requests: AtomicU64,
    reads: AtomicU64,
}

/// The ways of this process, of which there is one set.
pub(super) struct Verbs {
    places: OnceLock<Box<[Place]>>,
    observer: OnceLock<&'static dyn Observer>,
    /// Between begin and finish.
    runs: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    ways: HashMap<usize, Way, FxBuildHasher>,
    count: u64,
    /// From the names of ports to what the system says of them.
    ports: Vec<fabric::Port>,
}

struct Way {
    number: u64,
    leads: Leads,
    link: Option<Link>,
    counted: Numbers,
    is_told: bool,
}

impl Verbs {
    pub(super) const fn new() -> Verbs {
        Verbs {
            places: OnceLock::new(),
            observer: OnceLock::new(),
            runs: AtomicBool::new(false),
            known: Mutex::new(Known {
                ways: HashMap::with_hasher(FxBuildHasher),
                count: 0,
                ports: Vec::new(),
            }),
        }
    }

    pub(super) fn observe(&self, observer: &'static dyn Observer) {
        let _ = self.observer.set(observer);
    }

    /// A way leads somewhere from now on. Allocates.
    pub(super) fn leads(&self, leads: &Leads, peers: Option<&Peers>) {
        let mut known = self.lock();
        self.tell(&mut known, leads.way);
        let link = peers.map(|peers| known.link(leads, peers));
        let Some(place) = self.add(leads.way) else { return };
        place.target.store(link.as_ref().map_or(UNKNOWN, |link| link.peer), Ordering::Relaxed);
        known.count += 1;
        let way = Way { number: known.count, leads: *leads, link, counted: place.numbers(), is_told: false };
        known.ways.insert(leads.way, way);
    }

    /// A way is about to end.
    pub(super) fn ends(&self, way: usize) {
        let mut known = self.lock();
        self.tell(&mut known, way);
        known.ways.remove(&way);
        if let Some(place) = self.place(way) {
            place.way.store(ENDED, Ordering::Release);
        }
    }

    /// A request was posted; its target.
    pub(super) fn posted(&self, posted: &Posted) -> i32 {
        let Some(place) = self.place(posted.way) else { return UNKNOWN };
        let (bytes, requests) = match posted.verb {
            Verb::Read => (&place.received, &place.reads),
            Verb::Write | Verb::Send | Verb::Atomic => (&place.sent, &place.requests),
        };
        bytes.fetch_add(posted.bytes, Ordering::Relaxed);
        requests.fetch_add(1, Ordering::Relaxed);
        place.target.load(Ordering::Relaxed)
    }

    /// From here on posts count. What was connected before has its targets now.
    pub(super) fn begin(&self, peers: &Peers) {
        let mut known = self.lock();
        let ways: Vec<(usize, Leads)> = known.ways.iter().map(|(way, known)| (*way, known.leads)).collect();
        for (way, leads) in ways {
            let link = known.link(&leads, peers);
            let (Some(place), Some(known)) = (self.place(way), known.ways.get_mut(&way)) else { continue };
            place.target.store(link.peer, Ordering::Relaxed);
            known.counted = place.numbers();
            known.link = Some(link);
        }
        self.runs.store(true, Ordering::Release);
    }

    /// Tells the observer what was posted since the last time, unless another thread does.
    pub(super) fn read(&self) {
        let Some(mut known) = self.try_lock() else { return };
        let ways: Vec<usize> = known.ways.keys().copied().collect();
        ways.into_iter().for_each(|way| self.tell(&mut known, way));
    }

    /// Reads for the last time.
    pub(super) fn finish(&self) {
        if self.runs.load(Ordering::Acquire) {
            self.read();
            self.runs.store(false, Ordering::Release);
        }
    }

    fn tell(&self, known: &mut Known, way: usize) {
        let Some(observer) = self.observer.get().filter(|_| self.runs.load(Ordering::Acquire)) else {
            return;
        };
        let (Some(place), Some(known)) = (self.place(way), known.ways.get_mut(&way)) else { return };
        let Some(link) = &known.link else { return };
        let now = place.numbers();
        let more = now.since(&known.counted);
        if !more.is_empty() || !known.is_told {
            observer.carried(OF_VERBS | known.number, link, &more);
            known.is_told = true;
            known.counted = now;
        }
    }

    fn place(&self, way: usize) -> Option<&Place> {
        let places = self.places.get()?;
        for number in searched(way) {
            match places[number].way.load(Ordering::Acquire) {
                0 => return None,
                known if known == way => return Some(&places[number]),
                _ => {}
            }
        }
        None
    }

    /// The place of a way, made if there is none. Under the lock.
    fn add(&self, way: usize) -> Option<&Place> {
        let places = self.places.get_or_init(|| (0..PLACES).map(|_| Place::empty()).collect());
        if let Some(known) = self.place(way) {
            return Some(known);
        }
        let free = searched(way).find(|number| places[*number].way.load(Ordering::Relaxed) <= ENDED)?;
        places[free].way.store(way, Ordering::Release);
        Some(&places[free])
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Known>> {
        match self.known.try_lock() {
            Ok(known) => Some(known),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Connections over verbs have numbers of their own.
const OF_VERBS: u64 = 1 << 63;

fn searched(way: usize) -> impl Iterator<Item = usize> {
    let first = (way as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES.ilog2());
    (0..SEARCHED).map(move |step| (first as usize + step) % PLACES)
}

impl Place {
    fn empty() -> Place {
        Place {
            way: AtomicUsize::new(0),
            target: AtomicI32::new(UNKNOWN),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            reads: AtomicU64::new(0),
        }
    }

    fn numbers(&self) -> Numbers {
        Numbers {
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            segments_sent: self.requests.load(Ordering::Relaxed),
            segments_received: self.reads.load(Ordering::Relaxed),
            ..Numbers::default()
        }
    }
}

impl Known {
    fn link(&mut self, leads: &Leads, peers: &Peers) -> Link {
        let device = CStr::from_bytes_until_nul(&leads.device).unwrap_or_default().to_string_lossy();
        let port = self.port(&device, leads.port);
        // Within one fabric by its LIDs, otherwise by GIDs, as over RoCE.
        let (own, other) = match leads.gid {
            Some(gid) if leads.lid == 0 => {
                (Address::Gid(port.gid(leads.own_gid).unwrap_or_default()), Address::Gid(gid))
            }
            _ => (Address::Lid(port.lid, port.prefix()), Address::Lid(leads.lid, port.prefix())),
        };
        let (peer, on_peer_host) = peers.on_fabric(&other);
        Link {
            is_control: false,
            is_verbs: true,
            interface: format!("{device}/{}", leads.port),
            address: own.shown(),
            peer_address: other.shown(),
            peer,
            on_peer_host,
        }
    }

    /// What the system says of a port: read once.
    fn port(&mut self, device: &str, port: u8) -> fabric::Port {
        let is_it = |known: &&fabric::Port| known.device == device && known.port == port;
        if let Some(known) = self.ports.iter().find(is_it) {
            return known.clone();
        }
        let folder: PathBuf = super::ports::folder_of_infiniband();
        let found = fabric::Port::read(&folder, device, port);
        self.ports.push(found.clone());
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::card::Card;
    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<(u64, Link, Numbers)>>);

    impl Observer for Heard {
        fn carried(&self, connection: u64, link: &Link, more: &Numbers) {
            self.0.lock().unwrap().push((connection & !OF_VERBS, link.clone(), *more));
        }
    }

    fn to(way: usize, lid: u16) -> Leads {
        let mut device = [0; 64];
        device[..5].copy_from_slice(b"mlx_9");
        Leads { way, device, port: 1, own_gid: 0, lid, gid: None }
    }

    fn post(way: usize, verb: Verb, bytes: u64) -> Posted {
        Posted { verb, bytes, local: 1, remote: 2, way }
    }

    fn peers() -> Peers {
        let card = |lid| Card::new([i32::from(lid), 1], 1, 1, [].into_iter(), [].into_iter());
        let on = |lid: u16| card(lid).with_fabric([Address::Lid(lid, 0)].into_iter());
        Peers::new(&[on(4), on(5)], 0)
    }

    #[test]
    fn what_was_posted_counts_from_the_begin_to_where_the_way_leads() {
        let verbs = Verbs::new();
        let heard: &'static Heard = Box::leak(Box::default());
        verbs.observe(heard);
        let peers = peers();
        assert_eq!(verbs.posted(&post(4096, Verb::Write, 1)), UNKNOWN);
        assert!(verbs.places.get().is_none());
        verbs.leads(&to(4096, 5), None);
        assert_eq!(verbs.posted(&post(4096, Verb::Write, 100)), UNKNOWN);
        verbs.begin(&peers);
        assert_eq!(verbs.posted(&post(4096, Verb::Write, 7)), 1);
        assert_eq!(verbs.posted(&post(4096, Verb::Read, 9)), 1);
        verbs.read();
        let (number, link, more) = heard.0.lock().unwrap()[0].clone();
        assert_eq!((number, link.interface.as_str(), link.peer, link.is_verbs), (1, "mlx_9/1", 1, true));
        assert_eq!(link.peer_address[12..], [0, 0, 0, 5]);
        assert_eq!((more.sent, more.segments_sent, more.received, more.segments_received), (7, 1, 9, 1));
        // It leads to another one from now on, and then it ends.
        verbs.posted(&post(4096, Verb::Send, 3));
        verbs.leads(&to(4096, 4), Some(&peers));
        assert_eq!(verbs.posted(&post(4096, Verb::Send, 11)), 0);
        verbs.ends(4096);
        assert_eq!(verbs.posted(&post(4096, Verb::Send, 1)), UNKNOWN);
        verbs.finish();
        let told: Vec<(u64, i32, u64)> = heard
            .0
            .lock()
            .unwrap()
            .iter()
            .map(|(number, link, more)| (*number, link.peer, more.sent))
            .collect();
        assert_eq!(told, [(1, 1, 7), (1, 1, 3), (2, 0, 11)]);
    }

    #[test]
    fn more_ways_than_places_have_no_target_and_places_are_used_again() {
        let verbs = Verbs::new();
        let peers = peers();
        verbs.begin(&peers);
        for round in 1..=3 {
            let ways = (0..3 * PLACES / 4).map(|number| (round << 32) + 64 * (number + 1));
            let found = ways
                .clone()
                .filter(|way| {
                    verbs.leads(&to(*way, 5), Some(&peers));
                    verbs.posted(&post(*way, Verb::Send, 1)) == 1
                })
                .count();
            assert!(found > PLACES / 2, "{round}: {found}");
            ways.for_each(|way| verbs.ends(way));
        }
        assert!(verbs.lock().ways.is_empty());
    }
}
