//! Envelopes to other nodes: batches in messages of a communicator of our own.
//!
//! A batch goes out as a synchronous nonblocking send, so that it is known when all batches have
//! been received: the end is found by the nonblocking consensus of Hoefler, Siebert and Lumsdaine
//! (PPoPP 2010), which takes O(log P) steps and memory only for the peers talked to.
//!
//! What waits to be sent ([`Outbox`]) belongs to the caller's state and is touched under its lock; what calls MPI
//! ([`Mail`]) is used by one thread at a time, without that lock, and nobody waits for it.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use bytemuck::{Pod, Zeroable};
use mpi_abi::{Abi, Comm, Request, pmpi};
use mpit_events::{Clock, Ticks};
use rustc_hash::FxHashMap;

use super::clocks::NodeClock;
use crate::matching::Envelope;

const TAG: i32 = 7;

/// Envelopes in one batch.
const BATCH: usize = 64;

/// Batches on their way, at most; more are lost (and seen as lost by the receiver).
const MAX_OUTSTANDING: usize = 4096;

/// Batches kept for reuse.
const MAX_SPARE: usize = 64;

/// Envelopes go out without delay if none has for so long: a program that computes between its sends makes no
/// progress in which they could go. In nanoseconds.
const PAUSE: u64 = 50_000;

/// Envelopes that wait to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    /// By rank in `MPI_COMM_WORLD`.
    batches: FxHashMap<i32, Vec<Wire>>,
    /// The destinations whose batches are not empty.
    waiting: Vec<i32>,
    spare: Vec<Vec<Wire>>,
    /// When batches were last taken out.
    taken: Ticks,
    /// [`PAUSE`] in ticks; zero until the first use.
    pause: u64,
}

impl Outbox {
    /// Puts an envelope in; whether it should go now, and not only when the process next makes progress. Asks for
    /// memory at the first envelope to a destination, and where more batches are on their way than ever before.
    pub fn put(&mut self, world_rank: i32, envelope: Envelope) -> bool {
        if self.pause == 0 {
            self.pause = (Clock::best().ticks_per_second() / (1_000_000_000 / PAUSE)).max(1);
        }
        let batch = self.batches.entry(world_rank).or_default();
        if batch.is_empty() {
            self.waiting.push(world_rank);
            if batch.capacity() == 0 {
                *batch = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(BATCH));
            }
        }
        batch.push(envelope.into());
        batch.len() >= BATCH || envelope.sent.since(self.taken) >= self.pause
    }

    /// Takes all batches out, for the one whose turn it is to send them.
    pub fn take(&mut self, now: Ticks, turn: &mut Turn<'_>) {
        self.taken = now;
        let Inner { ready, spare, .. } = &mut *turn.inner;
        let room = MAX_SPARE.saturating_sub(self.spare.len()).min(spare.len());
        self.spare.extend(spare.drain(..room));
        for world_rank in self.waiting.drain(..) {
            if let Some(batch) = self.batches.get_mut(&world_rank) {
                ready.push((world_rank, std::mem::take(batch)));
            }
        }
    }
}

/// The private communicator and what is on its way.
#[derive(Debug, Default)]
pub struct Mail {
    open: AtomicBool,
    /// Somebody wanted the turn while another thread had it.
    wanted: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    link: Option<Link>,
    /// Batches to be sent.
    ready: Vec<(i32, Vec<Wire>)>,
    /// Batches on their way.
    outgoing: Vec<(Request, Vec<Wire>)>,
    /// Batches that were received, for reuse.
    spare: Vec<Vec<Wire>>,
    /// A batch as it comes in.
    incoming: Vec<Wire>,
    /// Envelopes that came in.
    arrived: Vec<Envelope>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    abi: &'static Abi,
    comm: Comm,
    clock: NodeClock,
}

/// The right to call MPI for the mail.
#[derive(Debug)]
pub struct Turn<'a> {
    mail: &'a Mail,
    inner: MutexGuard<'a, Inner>,
}

impl Mail {
    /// From now on batches are sent and received on `comm`, a duplicate of `MPI_COMM_WORLD` that
    /// nobody else uses. Times are converted by `clock`.
    pub fn open(&self, abi: &'static Abi, comm: Comm, clock: NodeClock) {
        self.lock().link = Some(Link { abi, comm, clock });
        self.open.store(true, Ordering::Release);
    }

    /// Whether there may be batches.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// The communicator of the batches, for what processes have to say to each other while nobody else uses it.
    pub fn comm(&self) -> Option<Comm> {
        self.lock().link.map(|link| link.comm)
    }

    /// The turn; none where another thread has it, which will then take one more for us. Not to be called while a
    /// lock is held that MPI calls of other threads need.
    pub fn turn(&self) -> Option<Turn<'_>> {
        self.wanted.store(true, Ordering::Relaxed);
        // Either we get the turn, or its holder sees that we wanted it (`Turn::end`, which has the other fence).
        fence(Ordering::SeqCst);
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.wanted.store(false, Ordering::Relaxed);
        Some(Turn { mail: self, inner })
    }

    /// All processes together: sends what is ready and waits until every batch of every process has been given to
    /// `take`. No other thread calls MPI any more.
    pub fn close(&self, mut take: impl FnMut(&mut Vec<Envelope>)) {
        self.open.store(false, Ordering::Release);
        let mut inner = self.lock();
        let Some(link) = inner.link else { return };
        inner.send(link);
        let mut barrier: Option<Request> = None;
        loop {
            inner.receive(link);
            take(&mut inner.arrived);
            inner.reap();
            // An error ends it too: there is nothing more to wait for.
            let over = match &mut barrier {
                Some(request) => !matches!(pmpi::test(request), Ok(None)),
                None if inner.outgoing.is_empty() => {
                    barrier = pmpi::ibarrier(link.comm).ok();
                    barrier.is_none()
                }
                None => false,
            };
            if over {
                break;
            }
        }
        inner.link = None;
        let _ = pmpi::comm_free(link.comm);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Sends the batches that were taken out of the outbox. Calls MPI; does not wait.
    pub fn send(&mut self) {
        if let Some(link) = self.inner.link {
            self.inner.send(link);
        }
    }

    /// Takes in every batch that is there: gives the envelopes, which the caller drains. Calls MPI.
    pub fn receive(&mut self) -> &mut Vec<Envelope> {
        if let Some(link) = self.inner.link {
            self.inner.reap();
            self.inner.receive(link);
        }
        &mut self.inner.arrived
    }

    /// Ends the turn; whether it should be taken once more, for somebody who wanted it.
    pub fn end(self) -> bool {
        let Turn { mail, inner } = self;
        drop(inner);
        fence(Ordering::SeqCst);
        mail.wanted.load(Ordering::Relaxed)
    }
}

impl Inner {
    fn send(&mut self, Link { comm, clock, .. }: Link) {
        if self.ready.is_empty() {
            return;
        }
        let now = clock.now();
        for (world_rank, mut batch) in self.ready.drain(..) {
            if self.outgoing.len() >= MAX_OUTSTANDING {
                continue;
            }
            for wire in &mut batch {
                wire.convert_time(|sent| clock.to_reference(now, Ticks(sent)) as u64);
            }
            let bytes: &[u8] = bytemuck::cast_slice(&batch);
            // SAFETY: the batch is kept, unchanged and at the same place on the heap, in `outgoing`
            // until its request is complete (`reap`).
            let request = unsafe { pmpi::issend(bytes.as_ptr(), bytes.len(), world_rank, TAG, comm) };
            if let Ok(request) = request {
                self.outgoing.push((request, batch));
            }
        }
    }

    /// Keeps the batches that were received for reuse.
    fn reap(&mut self) {
        let Inner { outgoing, spare, .. } = self;
        outgoing.retain_mut(|(request, batch)| {
            let on_its_way = matches!(pmpi::test(request), Ok(None));
            if !on_its_way && spare.len() < MAX_SPARE {
                batch.clear();
                spare.push(std::mem::take(batch));
            }
            on_its_way
        });
    }

    fn receive(&mut self, Link { abi, comm, clock }: Link) {
        while let Ok(Some(found)) = pmpi::iprobe(abi.constants.any_source, TAG, comm) {
            let count = found.bytes / size_of::<Wire>();
            self.incoming.resize(count, bytemuck::Zeroable::zeroed());
            let buffer: &mut [u8] = bytemuck::cast_slice_mut(&mut self.incoming);
            if pmpi::recv(buffer, found.source, TAG, comm).is_err() {
                return;
            }
            let now = clock.now();
            self.arrived.extend(self.incoming.iter_mut().map(|wire| {
                wire.convert_time(|sent| clock.to_local(now, sent as i64).0);
                Envelope::from(*wire)
            }));
        }
    }
}

/// The message's form of an [`Envelope`]: 40 bytes, in the byte order of the machine (a job's
/// processes share one).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Wire {
    context: u64,
    sent: u64,
    bytes: u64,
    source: i32,
    tag: i32,
    sequence: u32,
    context_of_send: u16,
    /// Nothing: the size is a multiple of eight.
    unused: u16,
}

impl Wire {
    /// Replaces the time of sending: on its way it is in nanoseconds of the reference's clock.
    pub fn convert_time(&mut self, convert: impl FnOnce(u64) -> u64) {
        self.sent = convert(self.sent);
    }
}

impl From<Envelope> for Wire {
    fn from(envelope: Envelope) -> Wire {
        let Envelope { context, source, tag, sequence, bytes, sent, context_of_send } = envelope;
        Wire { context, sent: sent.0, bytes, source, tag, sequence, context_of_send, unused: 0 }
    }
}

impl From<Wire> for Envelope {
    fn from(wire: Wire) -> Envelope {
        let Wire { context, sent, bytes, source, tag, sequence, context_of_send, .. } = wire;
        Envelope { context, source, tag, sequence, bytes, sent: Ticks(sent), context_of_send }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(sent: u64) -> Envelope {
        Envelope { sent: Ticks(sent), ..Envelope::default() }
    }

    #[test]
    fn envelopes_go_at_once_after_a_pause_and_together_otherwise() {
        let mail = Mail::default();
        let mut outbox = Outbox { pause: 100, ..Outbox::default() };
        assert!(outbox.put(3, envelope(1_000)));
        outbox.take(Ticks(1_001), &mut mail.turn().unwrap());
        assert!(!outbox.put(3, envelope(1_010)));
        assert!(!outbox.put(4, envelope(1_020)));
        assert!(outbox.put(3, envelope(1_101)));
        let mut turn = mail.turn().unwrap();
        outbox.take(Ticks(1_102), &mut turn);
        let ready: Vec<_> = turn.inner.ready.iter().map(|(rank, batch)| (*rank, batch.len())).collect();
        assert_eq!(ready, [(3, 1), (3, 2), (4, 1)]);
    }

    #[test]
    fn a_full_batch_goes_without_a_pause() {
        let mut outbox = Outbox { pause: u64::MAX, ..Outbox::default() };
        let full = (0..BATCH as u64 + 1).position(|time| outbox.put(1, envelope(time)));
        assert_eq!(full, Some(BATCH - 1));
    }

    #[test]
    fn who_does_not_get_the_turn_is_not_forgotten() {
        let mail = Mail::default();
        let turn = mail.turn().unwrap();
        assert!(mail.turn().is_none());
        assert!(turn.end());
        assert!(!mail.turn().unwrap().end());
    }
}
