//! The ways to the other processes: whose ring, whose batch.

use std::io;
use std::sync::atomic::AtomicU8;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::comms::Route;
use crate::matching::Envelope;
use crate::transport::ring::{Ring, RingWriter};
use crate::transport::segment::Address;

/// The rings of this process and its node.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// This process's own ring; `None` where envelopes only come in batches.
    pub ring: Option<Ring>,
    /// Rank in `MPI_COMM_WORLD` → member of the node.
    node: HashMap<i32, u32, FxBuildHasher>,
    writers: Vec<Writer>,
    /// The ring that was last written to.
    last: u32,
    /// This process's rank in `MPI_COMM_WORLD`.
    pub world_rank: i32,
}

/// A ring that is opened when it is first needed.
#[derive(Debug)]
enum Writer {
    At(Address),
    Open(RingWriter),
    Failed,
}

impl Routes {
    /// The members of this node, each with its rank in `MPI_COMM_WORLD` and its ring.
    pub(crate) fn set_node(&mut self, members: impl IntoIterator<Item = (i32, Address)>) {
        for (world_rank, address) in members {
            self.node.insert(world_rank, self.writers.len() as u32);
            self.writers.push(Writer::At(address));
        }
    }

    /// Whether every process of the job is of this node.
    pub(crate) fn node_is_world(&self, world_size: i32) -> bool {
        self.node.len() == world_size as usize
    }

    /// Shared memory cannot be used: every other process is reached by batches.
    pub(crate) fn forget_node(&mut self) {
        self.node.clear();
        self.writers.clear();
        self.ring = None;
    }

    /// The byte that all processes of the node look at, to see whether somebody listens.
    pub(crate) fn heard(&mut self) -> Option<&'static AtomicU8> {
        if self.node.get(&self.world_rank) == Some(&0) {
            return self.ring.as_ref().map(Ring::heard);
        }
        self.open(0).ok()?;
        match &self.writers[0] {
            Writer::Open(ring) => Some(ring.heard()),
            _ => None,
        }
    }

    /// The way to a rank of `MPI_COMM_WORLD`.
    pub(crate) fn find(&mut self, world_rank: i32) -> Route {
        if world_rank == self.world_rank {
            return Route::Own;
        }
        match self.node.get(&world_rank) {
            Some(&member) => match self.open(member) {
                Ok(()) => Route::Ring(member),
                Err(_) => Route::None,
            },
            None => Route::Batch(world_rank),
        }
    }

    /// Opens a ring, to see whether that is possible.
    pub(crate) fn open(&mut self, member: u32) -> io::Result<()> {
        let writer = &mut self.writers[member as usize];
        if let Writer::At(address) = *writer {
            match RingWriter::open(address) {
                Ok(ring) => *writer = Writer::Open(ring),
                Err(error) => {
                    *writer = Writer::Failed;
                    return Err(error);
                }
            }
        }
        match writer {
            Writer::Failed => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        }
    }

    /// Sends an envelope through a ring; a full ring counts the loss.
    #[inline]
    pub(crate) fn push(&mut self, member: u32, envelope: &Envelope) {
        if let Some(Writer::Open(ring)) = self.writers.get(member as usize) {
            ring.push(envelope);
            self.last = member;
        }
    }

    /// Prepares for a further envelope to the same process.
    #[inline(always)]
    pub(crate) fn prepare(&self) {
        if let Some(Writer::Open(ring)) = self.writers.get(self.last as usize) {
            ring.prepare();
        }
    }
}
