//! The connections of this process, by interface and peer: which they are, and what they have carried since they were read last.
//!
//! A connection is the MPI library's if one of its modules has moved data through the descriptor while that was observed; it is
//! control if it leads to where the launcher has said. All others, those of the program and of its other libraries, are left alone.
//!
//! Readings take a lock that is only ever tried: whoever finds it taken leaves the reading to whoever has it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

use rustc_hash::FxBuildHasher;

use super::card::bytes;
use super::events::UNKNOWN;
use super::launcher::Launcher;
use super::own::{self, Interface};
use super::peers::Peers;
use super::tcp_info::{self, End, Numbers};

/// Where connections lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// Whether it is control, and not the MPI library's.
    pub is_control: bool,
    /// Whether it is a queue pair or an address handle of InfiniBand or RoCE, and not a connection over TCP. Addresses then are GIDs, or
    /// 12 zeros and a LID in the order of the network.
    pub is_verbs: bool,
    /// The interface with the own address, or that of `localhost` where the peer is on this host; empty where it is not known.
    pub interface: String,
    /// The own address, as IPv6 or as IPv6 has it.
    pub address: [u8; 16],
    /// The peer's.
    pub peer_address: [u8; 16],
    /// The peer's rank in `MPI_COMM_WORLD`; [`UNKNOWN`] where it is not known, and of control.
    pub peer: i32,
    /// Some rank on the peer's host, or [`UNKNOWN`].
    pub on_peer_host: i32,
}

/// Hears what connections have carried. One thread at a time calls it, possibly inside MPI with locks of the library held: it must
/// not call MPI, wait or panic.
pub trait Observer: Sync {
    /// A connection, by a number that no other has, has carried so much more. Also called when nothing has been carried, once for
    /// each connection.
    fn carried(&self, connection: u64, link: &Link, more: &Numbers);

    /// What was told until now is as of this time: all connections were read, or one that is about to be closed.
    fn has_read(&self) {}
}

/// The most descriptors that are noted; those with greater numbers are left alone.
const DESCRIPTORS: usize = 1 << 16;

/// The connections, of which there is one set in a process.
pub(super) struct Connections {
    observer: OnceLock<&'static dyn Observer>,
    /// A bit for each descriptor that has been looked at.
    noted: [AtomicU64; DESCRIPTORS / 64],
    /// Between begin and finish.
    runs: AtomicBool,
    /// When the next reading is due, in ticks.
    due: AtomicU64,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    open: HashMap<i32, Connection, FxBuildHasher>,
    /// What those had carried that were there at the begin, by inode.
    before: HashMap<u64, Numbers, FxBuildHasher>,
    interfaces: Vec<Interface>,
    launcher: Launcher,
    /// How many there have been.
    count: u64,
}

struct Connection {
    number: u64,
    inode: u64,
    link: Link,
    counted: Numbers,
}

impl Connections {
    pub(super) fn new() -> Connections {
        Connections {
            observer: OnceLock::new(),
            noted: [const { AtomicU64::new(0) }; DESCRIPTORS / 64],
            runs: AtomicBool::new(false),
            due: AtomicU64::new(u64::MAX),
            known: Mutex::default(),
        }
    }

    pub(super) fn observe(&self, observer: &'static dyn Observer) {
        let _ = self.observer.set(observer);
    }

    /// Whether somebody observes them.
    pub(super) fn are_observed(&self) -> bool {
        self.observer.get().is_some()
    }

    /// From here on connections count, where somebody observes them.
    pub(super) fn begin(&self, peers: &Peers, next: u64) {
        if !self.are_observed() {
            return;
        }
        if let Some(mut known) = self.try_lock() {
            known.interfaces = own::interfaces();
            known.launcher = Launcher::of_environment();
            for descriptor in own::descriptors() {
                let Some(numbers) = tcp_info::numbers(descriptor) else { continue };
                let Some(inode) = tcp_info::inode(descriptor) else { continue };
                known.before.insert(inode, numbers);
                if let Some((own, other)) = tcp_info::ends(descriptor)
                    && known.launcher.has(descriptor, other)
                {
                    self.note_first(descriptor);
                    known.add(descriptor, (own, other), peers);
                }
            }
        }
        self.due.store(next, Ordering::Relaxed);
        self.runs.store(true, Ordering::Release);
    }

    /// The MPI library has moved data through this descriptor.
    pub(super) fn note(&self, descriptor: i32, peers: &Peers) {
        if !self.runs.load(Ordering::Relaxed) || !self.note_first(descriptor) {
            return;
        }
        match self.try_lock() {
            Some(mut known) => {
                if let (Some(ends), Some(_)) = (tcp_info::ends(descriptor), tcp_info::numbers(descriptor)) {
                    known.add(descriptor, ends, peers);
                }
            }
            // The next time.
            None => self.forget(descriptor),
        }
    }

    /// Whether it is time to read all connections: once between two values of `next`.
    pub(super) fn is_due(&self, now: u64, next: u64) -> bool {
        let due = self.due.load(Ordering::Relaxed);
        now >= due && self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Reads all connections, unless another thread does.
    pub(super) fn read(&self) {
        let Some(observer) = self.observer.get() else { return };
        let Some(mut known) = self.try_lock() else { return };
        known.open.retain(|&descriptor, connection| {
            if connection.read(descriptor, *observer) {
                return true;
            }
            // Another one has its place: if that is of the MPI library, it will be noted.
            self.forget(descriptor);
            false
        });
        observer.has_read();
    }

    /// The MPI library is about to close this descriptor.
    pub(super) fn closing(&self, descriptor: i32) {
        if !self.is_noted(descriptor) {
            return;
        }
        let Some(observer) = self.observer.get() else { return };
        // Whoever has the lock needs microseconds; this thread may have interrupted it, and then waiting is in vain.
        for _ in 0..1000 {
            if let Some(mut known) = self.try_lock() {
                if let Some(mut connection) = known.open.remove(&descriptor) {
                    connection.read(descriptor, *observer);
                    observer.has_read();
                }
                break;
            }
            std::hint::spin_loop();
        }
        self.forget(descriptor);
    }

    /// Reads for the last time.
    pub(super) fn finish(&self) {
        if self.runs.swap(false, Ordering::AcqRel) {
            self.read();
        }
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Known>> {
        match self.known.try_lock() {
            Ok(known) => Some(known),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn bit(&self, descriptor: i32) -> Option<(&AtomicU64, u64)> {
        let number = usize::try_from(descriptor).ok()?;
        Some((self.noted.get(number / 64)?, 1 << (number % 64)))
    }

    fn is_noted(&self, descriptor: i32) -> bool {
        self.bit(descriptor).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Notes a descriptor; whether it had not been noted.
    fn note_first(&self, descriptor: i32) -> bool {
        !self.is_noted(descriptor)
            && self
                .bit(descriptor)
                .is_some_and(|(word, bit)| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }

    fn forget(&self, descriptor: i32) {
        if let Some((word, bit)) = self.bit(descriptor) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

impl Known {
    fn add(&mut self, descriptor: i32, (own, other): (End, End), peers: &Peers) {
        let Some(inode) = tcp_info::inode(descriptor) else { return };
        let is_control = self.launcher.has(descriptor, other);
        let peer = if is_control { UNKNOWN } else { peers.of_end(bytes(other.0), other.1) };
        let on_peer_host = if peer == UNKNOWN { peers.on_host(bytes(other.0)) } else { peer };
        let link = Link {
            is_control,
            is_verbs: false,
            interface: self.interface(own.0, other.0),
            address: as_ipv6(own.0),
            peer_address: as_ipv6(other.0),
            peer,
            on_peer_host,
        };
        let counted = self.before.get(&inode).copied().unwrap_or_default();
        self.count += 1;
        self.open.insert(descriptor, Connection { number: self.count, inode, link, counted });
    }

    /// The interface over which a connection between these addresses goes, as far as addresses say it.
    fn interface(&mut self, own: IpAddr, other: IpAddr) -> String {
        let of = |known: &[Interface], address: IpAddr| {
            known.iter().find(|interface| interface.address == address).map(|found| found.name.clone())
        };
        if of(&self.interfaces, own).is_none() {
            // It may have come since the begin.
            self.interfaces = own::interfaces();
        }
        if of(&self.interfaces, other).is_some() || own.is_loopback() {
            // What goes to an own address does not leave the host.
            let local = self.interfaces.iter().find(|interface| interface.address.is_loopback());
            return local.map_or_else(String::new, |local| local.name.clone());
        }
        of(&self.interfaces, own).unwrap_or_default()
    }
}

impl Connection {
    /// Tells the observer what has been carried since the last time; whether the connection is still there.
    fn read(&mut self, descriptor: i32, observer: &dyn Observer) -> bool {
        if tcp_info::inode(descriptor) != Some(self.inode) {
            return false;
        }
        let Some(numbers) = tcp_info::numbers(descriptor) else { return false };
        observer.carried(self.number, &self.link, &numbers.since(&self.counted));
        self.counted = numbers;
        true
    }
}

fn as_ipv6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::super::card::{Card, Listening};
    use super::*;

    #[derive(Default)]
    struct Sums(Mutex<HashMap<u64, (Link, Numbers)>>);

    impl Observer for Sums {
        fn carried(&self, connection: u64, link: &Link, more: &Numbers) {
            let mut sums = self.0.lock().unwrap();
            let (_, sum) = sums.entry(connection).or_insert_with(|| (link.clone(), Numbers::default()));
            sum.sent += more.sent;
            sum.received += more.received;
        }
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn pass(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
        from.write_all(&vec![1; bytes]).unwrap();
        to.read_exact(&mut vec![0; bytes]).unwrap();
        to.write_all(&[1]).unwrap();
        from.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn connections_of_the_library_count_from_the_begin_to_their_close_and_no_others() {
        let observer: &'static Sums = Box::leak(Box::default());
        let connections = Connections::new();
        connections.observe(observer);
        let (mut a, mut b) = pair();
        let (mut other_a, mut other_b) = pair();
        pass(&mut a, &mut b, 5000);
        let listening = Listening { port: b.local_addr().unwrap().port(), is_ipv6: false };
        let cards = [Card::new([1, 1], 1, 1, [].into_iter(), [listening].into_iter())];
        let peers = Peers::new(&cards, 0);
        connections.begin(&peers, 100);
        connections.note(a.as_raw_fd(), &peers);
        pass(&mut a, &mut b, 700);
        pass(&mut other_a, &mut other_b, 9000);
        assert!(!connections.is_due(99, 200));
        assert!(observer.0.lock().unwrap().is_empty(), "not yet");
        assert!(connections.is_due(100, 200) && !connections.is_due(100, 300));
        connections.read();
        let sums = || observer.0.lock().unwrap().clone();
        assert_eq!(sums().len(), 1);
        let (link, numbers) = sums()[&1].clone();
        assert_eq!((link.interface.as_str(), link.peer, link.is_control), ("lo", 0, false));
        assert_eq!((numbers.sent, numbers.received), (700, 1));
        pass(&mut a, &mut b, 50);
        connections.closing(a.as_raw_fd());
        assert_eq!(sums()[&1].1.sent, 750);
        // The descriptor of what was closed belongs to another one that is not the library's.
        let descriptor = a.as_raw_fd();
        // SAFETY: both are open descriptors of this test.
        assert_eq!(unsafe { libc::dup2(other_a.as_raw_fd(), descriptor) }, descriptor);
        connections.read();
        assert_eq!(sums().len(), 1);
        // And then it is.
        connections.note(descriptor, &peers);
        pass(&mut other_a, &mut other_b, 3);
        connections.finish();
        assert_eq!(sums()[&2].1.sent, 9003, "since the begin");
    }

    #[test]
    fn nothing_is_read_where_nobody_observes() {
        let connections = Connections::new();
        let peers = Peers::new(&[], 0);
        connections.begin(&peers, 0);
        connections.note(0, &peers);
        connections.note(-1, &peers);
        connections.note(i32::MAX, &peers);
        connections.closing(i32::MAX);
        connections.read();
        connections.finish();
        assert!(connections.known.lock().unwrap().open.is_empty());
    }
}
