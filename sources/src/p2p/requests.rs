//! The application's requests, by the value of their handle.
//!
//! Cost: one hash lookup per nonblocking call and one per completion; no allocation once the table
//! has grown to the largest number of requests that are open at one time.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::shadow::{CommIndex, Envelope, ReceiveIndex};

/// What a persistent request does each time it is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Persistent {
    /// The communicator's handle.
    pub comm: usize,
    /// Source of a receive, destination of a send.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// Size of a send in bytes.
    pub bytes: u64,
    /// Whether it sends.
    pub sends: bool,
}

/// What is known of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tracked {
    /// A receive under way.
    Receive { receive: ReceiveIndex, comm: CommIndex, request: u64 },
    /// A receive of a message that a matched probe took, under way.
    Probed { comm: CommIndex, request: u64, envelope: Option<Envelope> },
    /// A send under way.
    Send { comm: CommIndex, request: u64, bytes: u64 },
    /// A persistent request; `active` when it is started and not complete.
    Persistent { spec: Persistent, active: Option<Active> },
    /// A communicator is being duplicated; its handle will be at this address.
    Duplicate { context: u64, new: usize },
}

/// The active part of a persistent request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Active {
    /// A receive.
    Receive { receive: ReceiveIndex, comm: CommIndex, request: u64 },
    /// A send.
    Send { comm: CommIndex, request: u64, bytes: u64 },
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct Requests(HashMap<usize, Tracked, FxBuildHasher>);

impl Requests {
    /// Remembers a request.
    #[inline]
    pub(super) fn insert(&mut self, handle: usize, tracked: Tracked) {
        self.0.insert(handle, tracked);
    }

    /// What is known of a request.
    #[inline]
    pub(super) fn get(&self, handle: usize) -> Option<Tracked> {
        self.0.get(&handle).copied()
    }

    /// Forgets a request.
    #[inline]
    pub(super) fn remove(&mut self, handle: usize) -> Option<Tracked> {
        self.0.remove(&handle)
    }
}
