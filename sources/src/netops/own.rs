//! What this process is to others: its addresses, and the ports that it listens on; and, on its own node, to which process a
//! socket belongs. All from the system's own tables.

use std::ffi::CStr;
use std::fs;
use std::hash::Hasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

use mpit_events::Clock;
use rustc_hash::FxHasher;

use super::card::{Card, Listening, bytes};
use super::fabric;
use crate::transport::memory::node_identity;

/// The card of this process. Allocates, and reads some files of the system.
pub(super) fn card() -> Card {
    let inodes = inodes_of("self");
    let listening = sockets().into_iter().filter(|socket| socket.listens && inodes.contains(&socket.inode));
    let listening =
        listening.map(|socket| Listening { port: socket.port, is_ipv6: socket.address.is_ipv6() });
    let mut ports: Vec<Listening> = listening.collect();
    ports.sort_unstable();
    ports.dedup();
    let pid = std::process::id() as i32;
    Card::new(node_identity(Clock::best()), network(), pid, addresses().into_iter(), ports.into_iter())
        .with_fabric(fabric::addresses().into_iter())
}

/// A hash of the network namespace of this process.
fn network() -> i32 {
    let mut hash = FxHasher::default();
    hash.write(fs::read_link("/proc/self/ns/net").unwrap_or_default().as_os_str().as_encoded_bytes());
    hash.finish() as i32
}

/// How often the system's table is read at most until a socket is found. It is read in pieces, between which sockets come and go, and
/// some may be left out.
const READINGS: usize = 3;

/// Which of these processes of this node has the socket with this address and port on its own side.
pub(super) fn owner(address: [u8; 16], port: u16, pids: impl Iterator<Item = i32> + Clone) -> Option<i32> {
    (0..READINGS).find_map(|_| {
        let open = having(&sockets(), address, port);
        let has_one = |pid: &i32| inodes_of(&pid.to_string()).iter().any(|inode| open.contains(inode));
        if open.is_empty() { None } else { pids.clone().find(has_one) }
    })
}

/// The sockets in use with this address and port on their own side, by their inodes. Several connections to different places may
/// have the same port; of one that has ended and waits (`TIME_WAIT`) the system says inode 0: no process has it.
fn having(sockets: &[Socket], address: [u8; 16], port: u16) -> Vec<u64> {
    let is_it = |socket: &&Socket| {
        !socket.listens && socket.inode != 0 && socket.port == port && bytes(socket.address) == address
    };
    sockets.iter().filter(is_it).map(|socket| socket.inode).collect()
}

/// A row of the system's tables of TCP sockets: its own side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    address: IpAddr,
    port: u16,
    listens: bool,
    inode: u64,
}

/// The TCP sockets of this network namespace.
fn sockets() -> Vec<Socket> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines()).filter_map(socket).collect()
}

/// A row: `  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 12345 1 ...`; the heading is none.
fn socket(row: &str) -> Option<Socket> {
    let mut words = row.split_ascii_whitespace().skip(1);
    let (address, port) = words.next()?.split_once(':')?;
    let state = words.nth(1)?;
    let inode = words.nth(5)?.parse().ok()?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // Words of 32 bits, each in the order of this processor.
    let word = |number: usize| u32::from_str_radix(address.get(8 * number..8 * number + 8)?, 16).ok();
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut octets = [0; 16];
            for (number, place) in octets.chunks_mut(4).enumerate() {
                place.copy_from_slice(&word(number)?.to_ne_bytes());
            }
            IpAddr::V6(Ipv6Addr::from(octets))
        }
        _ => return None,
    };
    Some(Socket { address, port, listens: state == "0A", inode })
}

/// The sockets that a process has open, by their inodes.
fn inodes_of(process: &str) -> Vec<u64> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let links = descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    links
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect()
}

/// The descriptors that this process has open.
pub(super) fn descriptors() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The addresses of this host's interfaces, as this process sees them.
fn addresses() -> Vec<IpAddr> {
    interfaces().into_iter().map(|interface| interface.address).collect()
}

/// An address of an interface of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) address: IpAddr,
}

/// The addresses of this host with their interfaces, as this process sees them.
pub(super) fn interfaces() -> Vec<Interface> {
    let mut first = ptr::null_mut();
    // SAFETY: a valid output.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = first.cast_const();
    while !next.is_null() {
        // SAFETY: an entry of the list, which lives until `freeifaddrs` below.
        let interface = unsafe { &*next };
        if !interface.ifa_addr.is_null() {
            // SAFETY: an address of the list, as large as its family says.
            let address = unsafe { address_of(interface.ifa_addr) };
            // SAFETY: a name of the list is a C string.
            let name = || unsafe { CStr::from_ptr(interface.ifa_name) }.to_string_lossy().into_owned();
            found.extend(address.map(|(address, _)| Interface { name: name(), address }));
        }
        next = interface.ifa_next;
    }
    // SAFETY: the list that was made above.
    unsafe { libc::freeifaddrs(first) };
    found
}

/// Address and port; `None` for other families than IPv4 and IPv6.
///
/// # Safety
/// `address` must be as large as its family says.
pub(super) unsafe fn address_of(address: *const libc::sockaddr) -> Option<(IpAddr, u16)> {
    // SAFETY: as the caller promises; the smallest address has a family.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: an address of this family is of this type.
            let address = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in>()) };
            let ip = Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes());
            Some((ip.into(), u16::from_be(address.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family is of this type.
            let address = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in6>()) };
            Some((Ipv6Addr::from(address.sin6_addr.s6_addr).into(), u16::from_be(address.sin6_port)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_row_is_an_own_side_of_a_socket() {
        let row = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100";
        let expected =
            Socket { address: "127.0.0.1".parse().unwrap(), port: 8080, listens: true, inode: 4711 };
        assert_eq!(socket(row), Some(expected));
        assert_eq!(
            socket("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid"),
            None
        );
        assert_eq!(socket(""), None);
        let row = "  1: 00000000000000000000000001000000:0016 0:0 01 0:0 00:0 0  0  0 7 1";
        let expected = Socket { address: "::1".parse().unwrap(), port: 22, listens: false, inode: 7 };
        assert_eq!(socket(row), Some(expected));
    }

    #[test]
    fn a_connection_that_waits_for_its_end_hides_no_other() {
        let rows = [
            "  1: 0100007F:9C40 0100007F:0016 06 0:0 03:0 0  0  0 0 3",
            "  2: 0100007F:9C40 0100007F:0400 01 0:0 00:0 0  0  0 17 1",
            "  3: 0100007F:9C40 0100007F:0401 01 0:0 00:0 0  0  0 18 1",
            "  4: 0100007F:9C41 0100007F:0401 01 0:0 00:0 0  0  0 19 1",
        ];
        let sockets: Vec<Socket> = rows.into_iter().filter_map(socket).collect();
        assert_eq!(sockets.len(), 4);
        assert_eq!(having(&sockets, bytes("127.0.0.1".parse().unwrap()), 40000), [17, 18]);
    }

    #[test]
    fn a_process_knows_its_own_sockets() {
        let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return };
        let address = listener.local_addr().unwrap();
        let own = Listening { port: address.port(), is_ipv6: false };
        assert!(card().ports().any(|listening| listening == own) || card().ports().count() == 8);
        let client = TcpStream::connect(address).unwrap();
        let own = client.local_addr().unwrap();
        let pid = std::process::id() as i32;
        assert_eq!(owner(bytes(own.ip()), own.port(), [1, pid].into_iter()), Some(pid));
        assert_eq!(owner(bytes(own.ip()), own.port(), [].into_iter()), None);
        assert_eq!(card().pid(), pid);
    }
}
