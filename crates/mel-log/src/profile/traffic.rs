//! What a rank has sent to whom: the rows of communication matrices, sparse and directed (seed: Open MPI's monitoring, MPI-5.0
//! sections 3 to 14 for the operations that count).

use serde::{Deserialize, Serialize};

/// Bins of message sizes: the first has empty messages, the one after it those of 1 byte, then 2 and 3 bytes, 4 to 7, and so on; the last
/// has all that are larger.
pub const SIZE_BINS: usize = 66;

/// The bin of a message of so many bytes.
#[inline]
pub const fn size_bin(bytes: u64) -> usize {
    (u64::BITS - bytes.leading_zeros()) as usize
}

/// The sizes of a bin, in bytes: the least and the greatest.
pub const fn sizes_of_bin(bin: usize) -> (u64, u64) {
    match bin {
        0 => (0, 0),
        1..=63 => (1 << (bin - 1), (1 << bin) - 1),
        _ => (1 << 63, u64::MAX),
    }
}

/// What kind of communication a row is about. The kinds of the first layer are what the program asks for; the others, from
/// [`Internal`](TrafficKind::Internal) on, are what the library has really moved, so that the two are not to be added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficKind {
    /// Messages between two processes that the program sends. Observed.
    #[default]
    P2p,
    /// One-sided: data that goes to the peer's window (put, and what accumulates). Observed.
    Put,
    /// One-sided: data that is fetched from the peer's window: it flows from the peer to this rank. Observed.
    Get,
    /// Collective operations by logical pairs, not by the algorithm of the library. Observed calls, estimated pairs.
    Collective,
    /// Bytes read from files; there is no peer.
    FileRead,
    /// Bytes written to files; there is no peer.
    FileWrite,
    /// Messages of the library's own, such as those that collective operations are made of, where the library reports them.
    Internal,
    /// Bytes that the library has moved to the peer, as seen below the calls.
    Carried,
    /// Bytes that the library has fetched, or received, from the peer, as seen below the calls.
    CarriedIn,
}

impl TrafficKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [TrafficKind; 9] = [
        TrafficKind::P2p,
        TrafficKind::Put,
        TrafficKind::Get,
        TrafficKind::Collective,
        TrafficKind::FileRead,
        TrafficKind::FileWrite,
        TrafficKind::Internal,
        TrafficKind::Carried,
        TrafficKind::CarriedIn,
    ];

    /// Its name, as users type it and as `profile.json` has it.
    pub const fn name(self) -> &'static str {
        match self {
            TrafficKind::P2p => "p2p",
            TrafficKind::Put => "put",
            TrafficKind::Get => "get",
            TrafficKind::Collective => "collective",
            TrafficKind::FileRead => "file-read",
            TrafficKind::FileWrite => "file-write",
            TrafficKind::Internal => "internal",
            TrafficKind::Carried => "carried",
            TrafficKind::CarriedIn => "carried-in",
        }
    }

    /// The kind of this number.
    pub fn of(number: u8) -> Option<TrafficKind> {
        TrafficKind::ALL.get(usize::from(number)).copied()
    }

    /// Whether the data flows from the peer to the rank that counts it.
    pub const fn is_inward(self) -> bool {
        matches!(self, TrafficKind::Get | TrafficKind::CarriedIn)
    }
}

/// What one rank has sent to one peer, or in one kind of collective operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// What kind of communication.
    pub kind: TrafficKind,
    /// The phase, as a place in the profile's `phases`.
    #[serde(skip_serializing_if = "is_zero")]
    pub phase: u32,
    /// The region of the program, as a path of names; empty for what is in none, and for what the library has moved.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// The communicator, as a place in the profile's `communicators`; absent for files and where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<u32>,
    /// The peer's rank in `MPI_COMM_WORLD`; absent for files, where it is not known, and for collective operations that go to all members of the
    /// communicator, or to or from its root, alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// The collective operation, for example `MPI_Bcast`; empty for all else.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// Of what the library has moved: the MPI function in which it did so; empty outside of MPI, and where that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// The root's rank in the communicator (in its remote group, of an intercommunicator, for those who are not in the root's
    /// group), where the operation has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<u32>,
    /// Messages; of a collective operation without a peer the calls; of files the calls.
    pub messages: u64,
    /// Bytes of them; of a collective operation without a peer the bytes for each of its destinations.
    pub bytes: u64,
    /// How many messages have which size: pairs of a bin ([`sizes_of_bin`]) and a count; empty bins are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<(u8, u64)>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(phase: &u32) -> bool {
    *phase == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bins_are_those_of_open_mpi() {
        for (bytes, bin) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1 << 20, 21), (u64::MAX, 64)] {
            assert_eq!(size_bin(bytes), bin);
            let (least, greatest) = sizes_of_bin(bin);
            assert!((least..=greatest).contains(&bytes));
        }
    }

    #[test]
    fn a_kind_has_one_name() {
        for (number, kind) in TrafficKind::ALL.into_iter().enumerate() {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(TrafficKind::of(number as u8), Some(kind));
            assert_eq!(kind as usize, number);
        }
    }
}
