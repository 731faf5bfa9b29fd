//! Envelopes to other nodes: batches in messages of a communicator of our own.
//!
//! A batch goes out as a synchronous nonblocking send, so that it is known when all batches have
//! been received: the end is found by the nonblocking consensus of Hoefler, Siebert and Lumsdaine
//! (PPoPP 2010), which takes O(log P) steps and memory only for the peers talked to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use mpi_abi::{Abi, Comm, Request, pmpi};
use mpit_events::Ticks;

use super::clocks::NodeClock;
use super::wire::Wire;
use crate::shadow::Envelope;

const TAG: i32 = 7;

/// Batches on their way, at most; more are lost (and seen as lost by the receiver).
const MAX_OUTSTANDING: usize = 4096;

/// The private communicator and what is on its way.
#[derive(Debug, Default)]
pub struct Mail {
    open: AtomicBool,
    inner: Mutex<Option<Inner>>,
}

#[derive(Debug)]
struct Inner {
    abi: &'static Abi,
    comm: Comm,
    clock: NodeClock,
    outgoing: Vec<(Request, Vec<Wire>)>,
    incoming: Vec<Wire>,
}

impl Mail {
    /// From now on batches are sent and received on `comm`, a duplicate of `MPI_COMM_WORLD` that
    /// nobody else uses. Times are converted by `clock`.
    pub fn open(&self, abi: &'static Abi, comm: Comm, clock: NodeClock) {
        *self.lock() = Some(Inner { abi, comm, clock, outgoing: Vec::new(), incoming: Vec::new() });
        self.open.store(true, Ordering::Release);
    }

    /// Whether there may be batches.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// The communicator of the batches, for what processes have to tell each other while nobody else uses it.
    pub fn comm(&self) -> Option<Comm> {
        self.lock().as_ref().map(|inner| inner.comm)
    }

    /// Sends a batch to a rank of `MPI_COMM_WORLD`.
    pub fn post(&self, world_rank: i32, batch: Vec<Wire>) {
        if let Some(inner) = self.lock().as_mut() {
            inner.reap();
            inner.post(world_rank, batch);
        }
    }

    /// Takes in every batch that is there.
    pub fn collect(&self, mut take: impl FnMut(Envelope)) {
        if let Some(inner) = self.lock().as_mut() {
            inner.reap();
            inner.collect(&mut take);
        }
    }

    /// All processes together: waits until every batch of every process has been taken in.
    pub fn close(&self, mut take: impl FnMut(Envelope)) {
        self.open.store(false, Ordering::Release);
        let Some(mut inner) = self.lock().take() else { return };
        let mut barrier: Option<Request> = None;
        loop {
            inner.collect(&mut take);
            inner.reap();
            // An error ends it too: there is nothing more to wait for.
            let over = match &mut barrier {
                Some(request) => !matches!(pmpi::test(request), Ok(None)),
                None if inner.outgoing.is_empty() => {
                    barrier = pmpi::ibarrier(inner.comm).ok();
                    barrier.is_none()
                }
                None => false,
            };
            if over {
                break;
            }
        }
        let _ = pmpi::comm_free(inner.comm);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Inner>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn post(&mut self, world_rank: i32, mut batch: Vec<Wire>) {
        if self.outgoing.len() >= MAX_OUTSTANDING {
            return;
        }
        let now = self.clock.now();
        for wire in &mut batch {
            wire.convert_time(|sent| self.clock.to_reference(now, Ticks(sent)) as u64);
        }
        let bytes: &[u8] = bytemuck::cast_slice(&batch);
        // SAFETY: the batch is kept, unchanged and at the same place on the heap, in `outgoing`
        // until its request is complete (`reap`).
        let request = unsafe { pmpi::issend(bytes.as_ptr(), bytes.len(), world_rank, TAG, self.comm) };
        if let Ok(request) = request {
            self.outgoing.push((request, batch));
        }
    }

    /// Forgets the batches that were received.
    fn reap(&mut self) {
        self.outgoing.retain_mut(|(request, _)| matches!(pmpi::test(request), Ok(None)));
    }

    fn collect(&mut self, take: &mut impl FnMut(Envelope)) {
        while let Ok(Some(found)) = pmpi::iprobe(self.abi.constants.any_source, TAG, self.comm) {
            let count = found.bytes / size_of::<Wire>();
            self.incoming.resize(count, bytemuck::Zeroable::zeroed());
            let buffer: &mut [u8] = bytemuck::cast_slice_mut(&mut self.incoming);
            if pmpi::recv(buffer, found.source, TAG, self.comm).is_err() {
                return;
            }
            let now = self.clock.now();
            for wire in &mut self.incoming {
                wire.convert_time(|sent| self.clock.to_local(now, sent as i64).0);
                take(Envelope::from(*wire));
            }
        }
    }
}
