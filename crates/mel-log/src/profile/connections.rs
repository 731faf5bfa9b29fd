//! What went over the network: the connections of a rank by interface and peer, and what the interfaces of a host have counted
//! themselves.

use serde::{Deserialize, Serialize};

/// What a connection is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The MPI library moves the program's data, and its own headers, between ranks.
    #[default]
    Mpi,
    /// The process talks to the daemon of its launcher.
    Control,
}

impl Purpose {
    /// The purpose of this number.
    pub fn of(number: u8) -> Option<Purpose> {
        [Purpose::Mpi, Purpose::Control].get(usize::from(number)).copied()
    }

    /// Its name, as `profile.json` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Mpi => "mpi",
            Purpose::Control => "control",
        }
    }
}

/// What a connection is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP; the numbers are the kernel's (`TCP_INFO`).
    #[default]
    Tcp,
    /// Queue pairs of InfiniBand and RoCE; the numbers are what was posted for sending.
    Verbs,
}

impl Protocol {
    /// The protocol of this number.
    pub fn of(number: u8) -> Option<Protocol> {
        [Protocol::Tcp, Protocol::Verbs].get(usize::from(number)).copied()
    }

    /// Its name, as `profile.json` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Verbs => "verbs",
        }
    }
}

/// The connections of a rank to one peer over one interface, in one phase, between the exit of `MPI_Init*` and the entry of
/// `MPI_Finalize`. All of it is observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connection {
    /// What it is for.
    pub purpose: Purpose,
    /// What it is made of.
    pub protocol: Protocol,
    /// The phase, as a place in the profile's `phases`.
    #[serde(skip_serializing_if = "is_zero")]
    pub phase: u32,
    /// The interface of this host that has the own address: `eth0`, `mlx5_0/1`; that of `localhost` where the peer is on this
    /// host; empty where it is not known. An interface of each host is a plane of the network.
    pub interface: String,
    /// The own address, without the port.
    pub address: String,
    /// The peer's address, without the port; of InfiniBand without addresses `LID 12`.
    pub peer_address: String,
    /// The peer's host by its name in `ranks`; empty where it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub peer_host: String,
    /// The peer's rank in `MPI_COMM_WORLD`; absent where it is not known, and of control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// How many connections these are.
    pub connections: u64,
    /// Bytes sent: of TCP those that the peer's host has acknowledged.
    pub bytes_sent: u64,
    /// Bytes received; not known of verbs, and 0.
    pub bytes_received: u64,
    /// Segments of TCP with data that were sent; of verbs the work requests.
    pub segments_sent: u64,
    /// Segments of TCP with data that have come.
    pub segments_received: u64,
    /// Segments that were sent again.
    #[serde(skip_serializing_if = "is_none")]
    pub retransmissions: u64,
    /// The shortest round trip since the connection was made, in microseconds; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_min_us: Option<u64>,
    /// The smoothed round trip at the last reading, in microseconds, of the connection that was read last. Absent where it is
    /// not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<u64>,
}

/// What an interface of a host has counted itself during the run: all that has passed it, of this program or of others. In the
/// profile of the first rank of each host, from the exit of `MPI_Init*` to the entry of `MPI_Finalize`. Observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Port {
    /// The interface, as in [`Connection::interface`]: `eth0`; of InfiniBand device and port, `mlx5_0/1`.
    pub interface: String,
    /// What it is: `ethernet`, `infiniband`, `loopback`.
    pub link: String,
    /// Bytes out, with the headers of all layers that the interface counts.
    pub bytes_sent: u64,
    /// Bytes in.
    pub bytes_received: u64,
    /// Packets out.
    pub packets_sent: u64,
    /// Packets in.
    pub packets_received: u64,
    /// Packets that were wrong.
    #[serde(skip_serializing_if = "is_none")]
    pub errors: u64,
    /// Packets that were dropped.
    #[serde(skip_serializing_if = "is_none")]
    pub dropped: u64,
    /// Of InfiniBand: how often data was ready and there was no credit to send it (`port_xmit_wait`, in ticks of the port).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<u64>,
    /// Of InfiniBand: the local identifier by which others reach it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lid: Option<u32>,
    /// Its rate in bits per second, where the system says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_per_s: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(phase: &u32) -> bool {
    *phase == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purpose_and_a_protocol_have_one_name_and_one_number() {
        for (number, purpose) in [Purpose::Mpi, Purpose::Control].into_iter().enumerate() {
            assert_eq!(serde_json::to_value(purpose).unwrap(), purpose.name());
            assert_eq!((Purpose::of(number as u8), purpose as usize), (Some(purpose), number));
        }
        for (number, protocol) in [Protocol::Tcp, Protocol::Verbs].into_iter().enumerate() {
            assert_eq!(serde_json::to_value(protocol).unwrap(), protocol.name());
            assert_eq!((Protocol::of(number as u8), protocol as usize), (Some(protocol), number));
        }
        assert_eq!((Purpose::of(2), Protocol::of(2)), (None, None));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let written = serde_json::to_string(&Connection::default()).unwrap();
        for absent in ["peer\"", "peer_host", "round_trip", "retransmissions", "phase"] {
            assert!(!written.contains(absent), "{written}");
        }
        assert_eq!(serde_json::from_str::<Connection>(&written).unwrap(), Connection::default());
    }
}
