//! What the kernel counts of a connection over TCP (`TCP_INFO`), and where it leads.

use std::net::IpAddr;

use in_process::own_file::Identity;

use super::own;

/// What a connection has carried since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Bytes sent: of TCP those that the other end has acknowledged.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Segments with data that were sent; of verbs the work requests.
    pub segments_sent: u64,
    /// Segments with data that have come.
    pub segments_received: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// The shortest round trip in microseconds; 0 where it is not known.
    pub round_trip_min_us: u64,
    /// The smoothed round trip in microseconds; 0 where it is not known.
    pub round_trip_us: u64,
}

impl Numbers {
    /// What has been added since `before`. Round trips are those of now.
    #[must_use]
    pub fn since(&self, before: &Numbers) -> Numbers {
        Numbers {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
            segments_sent: self.segments_sent.saturating_sub(before.segments_sent),
            segments_received: self.segments_received.saturating_sub(before.segments_received),
            retransmissions: self.retransmissions.saturating_sub(before.retransmissions),
            ..*self
        }
    }

    /// Whether nothing has been carried.
    pub fn is_empty(&self) -> bool {
        let Numbers { sent, received, segments_sent, segments_received, retransmissions, .. } = *self;
        [sent, received, segments_sent, segments_received, retransmissions] == [0; 5]
    }
}

/// The kernel's structure up to where this module reads it; a kernel that has less gives less.
#[derive(Clone, Copy)]
#[repr(C)]
struct TcpInfo {
    states: [u8; 8],
    /// From `rto` to `last_ack_recv`.
    first: [u32; 13],
    path_mtu: u32,
    receive_threshold: u32,
    round_trip: u32,
    /// From `rttvar` to `rcv_space`.
    second: [u32; 7],
    retransmissions: u32,
    rates: [u64; 2],
    bytes_acked: u64,
    bytes_received: u64,
    segments_out: u32,
    segments_in: u32,
    unsent: u32,
    round_trip_min: u32,
    data_segments_in: u32,
    data_segments_out: u32,
}

const _: () = {
    assert!(std::mem::offset_of!(TcpInfo, round_trip) == 68);
    assert!(std::mem::offset_of!(TcpInfo, retransmissions) == 100);
    assert!(std::mem::offset_of!(TcpInfo, bytes_acked) == 120);
    assert!(std::mem::offset_of!(TcpInfo, round_trip_min) == 148);
    assert!(size_of::<TcpInfo>() == 160);
};

/// Bytes of the structure from which on bytes are counted: Linux 4.1.
const WITH_BYTES: usize = 136;

/// The numbers of the connection behind a descriptor; `None` where it is none over TCP, or the kernel is too old to count bytes.
pub(super) fn numbers(descriptor: i32) -> Option<Numbers> {
    let mut info = std::mem::MaybeUninit::<TcpInfo>::zeroed();
    let mut size = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: valid outputs of this size; the system checks the descriptor.
    let code = unsafe {
        libc::getsockopt(
            descriptor,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    if code != 0 || (size as usize) < WITH_BYTES {
        return None;
    }
    // SAFETY: numbers, for which zeros are valid; the kernel has written some of them.
    let info = unsafe { info.assume_init() };
    Some(Numbers {
        sent: info.bytes_acked,
        received: info.bytes_received,
        segments_sent: info.data_segments_out.into(),
        segments_received: info.data_segments_in.into(),
        retransmissions: info.retransmissions.into(),
        // All bits set: not known.
        round_trip_min_us: if info.round_trip_min == u32::MAX { 0 } else { info.round_trip_min.into() },
        round_trip_us: info.round_trip.into(),
    })
}

/// An address and a port.
pub(super) type End = (IpAddr, u16);

/// The own end of a connection and the other one; `None` where it is no connection of IPv4 or IPv6.
pub(super) fn ends(descriptor: i32) -> Option<(End, End)> {
    type Ask = unsafe extern "C" fn(libc::c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> libc::c_int;
    let end = |ask: Ask| {
        // SAFETY: plain data, for which zeros are valid.
        let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let mut size = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: valid outputs; the system checks the descriptor.
        let code = unsafe { ask(descriptor, (&raw mut address).cast(), &raw mut size) };
        if code != 0 {
            return None;
        }
        // SAFETY: an address of the system's, as large as its family says.
        let (address, port) = unsafe { own::address_of((&raw const address).cast()) }?;
        Some((address.to_canonical(), port))
    };
    Some((end(libc::getsockname)?, end(libc::getpeername)?))
}

/// The number that the system has given to the file behind a descriptor; a later file of the same descriptor has another one. `None`
/// where the descriptor is closed.
pub(super) fn inode(descriptor: i32) -> Option<u64> {
    Identity::of(descriptor).map(|found| found.inode)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_connection_counts_its_bytes_and_a_file_none() {
        let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return };
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[7; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        server.write_all(b"so").unwrap();
        client.read_exact(&mut [0; 2]).unwrap();
        // The answer carries the acknowledgement.
        let numbers = numbers(client.as_raw_fd()).unwrap();
        assert!((1000..=1001).contains(&numbers.sent) && numbers.received == 2, "{numbers:?}");
        let own = ends(client.as_raw_fd()).unwrap();
        let other = ends(server.as_raw_fd()).unwrap();
        assert_eq!(own, (other.1, other.0));
        assert_ne!(inode(client.as_raw_fd()), inode(server.as_raw_fd()));
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert_eq!((super::numbers(file.as_raw_fd()), ends(file.as_raw_fd())), (None, None));
        assert_eq!(inode(-1), None);
    }

    #[test]
    fn what_was_added_is_the_difference() {
        let before = Numbers { sent: 10, round_trip_us: 5, ..Numbers::default() };
        let after = Numbers { sent: 30, received: 1, round_trip_us: 4, ..Numbers::default() };
        let more = after.since(&before);
        assert_eq!((more.sent, more.received, more.round_trip_us, more.is_empty()), (20, 1, 4, false));
        assert!(after.since(&after).is_empty());
    }
}
