//! Rows of traffic: what a process has sent to one peer, or in one kind of collective operation.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::row::{Column, row};
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
    /// The region's number in the definitions; 0 for what is in none.
    pub region: u16,
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

row! {
    /// Communication of one kind with one peer, in one region of one phase, on one communicator, by one thread: 576 bytes, of which a message writes
    /// two lines.
    #[repr(C, align(64))]
    pub struct Traffic =>
    /// A row as plain values.
    #[derive(Clone, Debug, Default, PartialEq)]
    TrafficRow of TrafficKey;
    /// Messages.
    sum messages;
    /// Their bytes.
    sum bytes;
    /// The communicator's number in the definitions; 0 for none.
    key communicator: AtomicU32;
    /// The peer's rank in the communicator, in `MPI_COMM_WORLD` where there is none; negative for none.
    key peer: AtomicU32;
    /// The function of a collective operation (of the kinds from `internal` on the number and 1 of the function that was under way, 0 for none), and the
    /// phase in the upper half.
    key function_and_phase: AtomicU32;
    /// The thread, and the kind in the upper half, in the order of [profile.md](profile.md#traffic) from 0.
    key thread_and_kind: AtomicU32;
    /// The root of a collective operation; negative for none.
    key root: AtomicU32;
    /// The region's number in the definitions; 0 for what is in none.
    key region: AtomicU32;
    /// Not used.
    unused unused_too: Column;
    /// Messages by size: empty ones, 1 byte, 2 and 3 bytes, and so on.
    filled sizes: [Column; SIZE_BINS];
}

impl Traffic {
    /// Counts a message of so many bytes.
    #[inline(always)]
    pub fn count(&self, bytes: u64) {
        self.messages.add(1);
        self.bytes.add(bytes);
        self.sizes[size_bin(bytes)].add(1);
    }

    /// What it stands for; `None` where its kind is of a later version.
    pub(super) fn key(&self) -> Option<TrafficKey> {
        let function_and_phase = self.function_and_phase.load(Relaxed);
        let thread_and_kind = self.thread_and_kind.load(Relaxed);
        Some(TrafficKey {
            kind: TrafficKind::of((thread_and_kind >> 16) as u8)?,
            communicator: self.communicator.load(Relaxed),
            peer: self.peer.load(Relaxed) as i32,
            root: self.root.load(Relaxed) as i32,
            function: function_and_phase as u16,
            phase: (function_and_phase >> 16) as u16,
            region: self.region.load(Relaxed) as u16,
            thread: thread_and_kind as u16,
        })
    }

    pub(super) fn set_key(&self, key: TrafficKey) {
        self.communicator.store(key.communicator, Relaxed);
        self.peer.store(key.peer as u32, Relaxed);
        self.function_and_phase.store(u32::from(key.phase) << 16 | u32::from(key.function), Relaxed);
        self.thread_and_kind.store((key.kind as u32) << 16 | u32::from(key.thread), Relaxed);
        self.root.store(key.root as u32, Relaxed);
        self.region.store(key.region.into(), Relaxed);
    }
}
