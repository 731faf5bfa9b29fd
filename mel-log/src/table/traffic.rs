//! Rows of traffic: what a process has sent to one peer, or in one kind of collective operation.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::layout::Column;
use crate::profile::TrafficKind;
use crate::profile::traffic::{SIZE_BINS, size_bin};

/// What a row of traffic stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrafficKey {
    /// What kind of communication.
    pub kind: TrafficKind,
    /// The communicator's number in the definitions; 0 for none.
    pub communicator: u32,
    /// The peer's rank in the communicator, or in its remote group; in `MPI_COMM_WORLD` where there is no communicator. Negative for
    /// none.
    pub peer: i32,
    /// Of collective operations the root's rank in the communicator; negative for none.
    pub root: i32,
    /// Of collective operations the MPI function's number; of the kinds from [`TrafficKind::Internal`] on the number and 1 of the function
    /// that was under way, and 0 outside of MPI.
    pub function: u16,
    /// The phase.
    pub phase: u16,
    /// The thread that writes the row.
    pub thread: u16,
}

impl TrafficKey {
    /// Messages to or from a peer.
    pub fn with_peer(kind: TrafficKind, communicator: u32, peer: i32) -> TrafficKey {
        TrafficKey { kind, communicator, peer, root: -1, ..TrafficKey::default() }
    }

    /// Calls of a collective operation in which the pairs follow from the function and the root.
    pub fn collective(communicator: u32, function: u16, root: i32) -> TrafficKey {
        let kind = TrafficKind::Collective;
        TrafficKey { kind, communicator, peer: -1, root, function, ..TrafficKey::default() }
    }
}

/// Communication of one kind with one peer, in one phase, on one communicator, by one thread: 576 bytes, of which a message writes
/// two lines.
#[derive(Debug)]
#[repr(C, align(64))]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Traffic {
    pub messages: Column,
    pub bytes: Column,
    pub communicator: AtomicU32,
    pub peer: AtomicU32,
    /// The function, and the phase in the upper half.
    pub function_and_phase: AtomicU32,
    /// The thread, and the kind in the upper half.
    pub thread_and_kind: AtomicU32,
    pub root: AtomicU32,
    unused: AtomicU32,
    unused_too: Column,
    pub sizes: [Column; SIZE_BINS],
}

impl Traffic {
    /// Counts a message of so many bytes.
    #[inline(always)]
    pub fn count(&self, bytes: u64) {
        self.messages.add(1);
        self.bytes.add(bytes);
        self.sizes[size_bin(bytes)].add(1);
    }

    /// Sets what was counted to zero.
    pub(super) fn clear(&self) {
        [&self.messages, &self.bytes].into_iter().chain(&self.sizes).for_each(|column| column.set(0));
    }

    pub(super) fn set_key(&self, key: TrafficKey) {
        self.communicator.store(key.communicator, Relaxed);
        self.peer.store(key.peer as u32, Relaxed);
        self.function_and_phase.store(u32::from(key.phase) << 16 | u32::from(key.function), Relaxed);
        self.thread_and_kind.store((key.kind as u32) << 16 | u32::from(key.thread), Relaxed);
        self.root.store(key.root as u32, Relaxed);
    }
}

/// A row as plain values.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the column of that name")]
pub struct TrafficRow {
    pub key: TrafficKey,
    pub messages: u64,
    pub bytes: u64,
    /// Bins that are not empty, and how many messages they have.
    pub sizes: Vec<(u8, u64)>,
}

impl TrafficRow {
    /// From the words of a row; `None` where its kind is of a later version.
    pub(super) fn of_words(row: &[u64]) -> Option<TrafficRow> {
        let halves = |word: u64| -> (u32, u32) {
            let bytes = word.to_ne_bytes();
            let half = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().unwrap_or_default());
            (half(&bytes[..4]), half(&bytes[4..]))
        };
        let (communicator, peer) = halves(row[2]);
        let (function_and_phase, thread_and_kind) = halves(row[3]);
        let (root, _) = halves(row[4]);
        let sizes = row.iter().skip(std::mem::offset_of!(Traffic, sizes) / 8).zip(0..);
        Some(TrafficRow {
            key: TrafficKey {
                kind: TrafficKind::of((thread_and_kind >> 16) as u8)?,
                communicator,
                peer: peer as i32,
                root: root as i32,
                function: function_and_phase as u16,
                phase: (function_and_phase >> 16) as u16,
                thread: thread_and_kind as u16,
            },
            messages: row[0],
            bytes: row[1],
            sizes: sizes.filter(|(count, _)| **count > 0).map(|(count, bin)| (bin, *count)).collect(),
        })
    }
}
