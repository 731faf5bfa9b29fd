//! A bounded ring of envelopes: many processes write, its owner reads, nobody ever waits.
//!
//! Layout: a header (the positions of both ends, each on its own cache lines), then a power of two
//! of slots of one cache line each. A writer claims the next position with a compare-and-swap,
//! fills the slot and publishes it by storing *position + 1* into the slot's turn. The owner reads
//! slots in order for as long as their turn has come, and publishes how far it has read; a writer
//! looks at that only when the ring seems full. Where it is full the envelope is counted as lost:
//! the receiver learns of it by the gap in the sequence numbers.
//!
//! Everything in the shared memory is a number whose every value is valid, so that a writer that
//! dies or errs cannot hurt the owner. A writer that dies between claiming and publishing stops the
//! ring; the job is ending then.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use mpit_events::Ticks;

use super::segment::{Address, Segment};
use crate::shadow::Envelope;

/// Envelopes that a ring holds.
pub const CAPACITY: u64 = 1 << 14;
const BYTES: usize = size_of::<Header>() + CAPACITY as usize * size_of::<Slot>();

#[repr(C, align(128))]
struct Line<T>(T);

#[repr(C)]
struct Header {
    /// The next position to be claimed by a writer.
    tail: Line<AtomicU64>,
    /// The next position that the owner will read.
    head: Line<AtomicU64>,
    /// Envelopes that did not fit.
    lost: Line<AtomicU64>,
}

#[repr(C, align(64))]
struct Slot {
    turn: AtomicU64,
    context: AtomicU64,
    sent: AtomicU64,
    bytes: AtomicU64,
    source: AtomicI32,
    tag: AtomicI32,
    sequence: AtomicU32,
}

/// The mapped ring, for its owner or a writer.
#[derive(Debug)]
struct Shared(Segment);

impl Shared {
    fn header(&self) -> &Header {
        // SAFETY: the segment has `BYTES` bytes (checked when it was made or opened), is aligned to
        // a page, and holds only atomics, for which every bit pattern is valid.
        unsafe { &*self.0.start().cast::<Header>() }
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> &Slot {
        let index = (position & (CAPACITY - 1)) as usize;
        // SAFETY: the index is below CAPACITY, so the slot lies within `BYTES`; otherwise as above.
        unsafe { &*self.0.start().add(size_of::<Header>()).cast::<Slot>().add(index) }
    }
}

/// The owner's end of a ring. One thread at a time (the caller's lock).
#[derive(Debug)]
pub struct Ring {
    shared: Shared,
    position: u64,
}

impl Ring {
    /// A new, empty ring: 1 MiB of shared memory, of which only what is used takes space.
    ///
    /// # Errors
    /// Those of [`Segment::create`].
    pub fn create() -> io::Result<Ring> {
        Ok(Ring { shared: Shared(Segment::create(BYTES)?), position: 0 })
    }

    /// Where writers find it.
    pub fn address(&self) -> Option<Address> {
        self.shared.0.address()
    }

    /// Takes the next envelope, if one has come.
    #[inline]
    pub fn pop(&mut self) -> Option<Envelope> {
        self.pop_until(Ticks(u64::MAX))
    }

    /// Takes the next envelope, if one has come and was sent at `until` or before.
    #[inline(always)]
    pub fn pop_until(&mut self, until: Ticks) -> Option<Envelope> {
        let slot = self.shared.slot(self.position);
        if slot.turn.load(Ordering::Acquire) != self.position + 1
            || slot.sent.load(Ordering::Relaxed) > until.0
        {
            return None;
        }
        let envelope = Envelope {
            context: slot.context.load(Ordering::Relaxed),
            source: slot.source.load(Ordering::Relaxed),
            tag: slot.tag.load(Ordering::Relaxed),
            sequence: slot.sequence.load(Ordering::Relaxed),
            bytes: slot.bytes.load(Ordering::Relaxed),
            sent: Ticks(slot.sent.load(Ordering::Relaxed)),
        };
        self.position += 1;
        self.shared.header().head.0.store(self.position, Ordering::Release);
        Some(envelope)
    }

    /// Brings what is probably there from the caches of the writers. Only where several envelopes are
    /// waiting: a slot that is still to be written would be taken away from its writer.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch_for_reading(self.shared.slot(self.position + 10));
    }

    /// Brings the next envelope from the cache of its writer. Only where one is known to have come.
    #[inline(always)]
    pub fn prefetch_next(&self) {
        prefetch_for_reading(self.shared.slot(self.position));
    }

    /// Envelopes that found no room, over the whole run.
    pub fn lost(&self) -> u64 {
        self.shared.header().lost.0.load(Ordering::Relaxed)
    }
}

/// Brings a slot into this processor's cache before it is written: stores become visible in order,
/// so a slot that has to be fetched first would hold up the message that follows its envelope.
#[inline(always)]
fn prefetch_for_writing(slot: &Slot) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch changes nothing that a program can see, at whatever address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(std::ptr::from_ref(slot).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = slot;
}

/// Brings a slot that will be read soon from the cache of its writer.
#[inline(always)]
fn prefetch_for_reading(slot: &Slot) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: as for writing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(slot).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = slot;
}

/// A writer's end of another process's ring. One thread at a time (the caller's lock).
#[derive(Debug)]
pub struct RingWriter {
    shared: Shared,
    /// How far the owner had read when we last looked.
    head: Cell<u64>,
    /// The position after our last envelope: where the next one probably goes.
    next: Cell<u64>,
}

impl RingWriter {
    /// Opens another process's ring.
    ///
    /// # Errors
    /// Those of [`Segment::open`].
    pub fn open(address: Address) -> io::Result<RingWriter> {
        Ok(RingWriter {
            shared: Shared(Segment::open(address, BYTES)?),
            head: Cell::new(0),
            next: Cell::new(0),
        })
    }

    /// Puts an envelope in. `false`: the ring was full, the envelope is lost and counted.
    #[inline]
    pub fn push(&self, envelope: &Envelope) -> bool {
        let header = self.shared.header();
        let mut position = header.tail.0.load(Ordering::Relaxed);
        loop {
            if position.wrapping_sub(self.head.get()) >= CAPACITY && !self.refresh(position) {
                header.lost.0.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            match header.tail.0.compare_exchange_weak(
                position,
                position + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => position = now,
            }
        }
        let slot = self.shared.slot(position);
        slot.context.store(envelope.context, Ordering::Relaxed);
        slot.sent.store(envelope.sent.0, Ordering::Relaxed);
        slot.bytes.store(envelope.bytes, Ordering::Relaxed);
        slot.source.store(envelope.source, Ordering::Relaxed);
        slot.tag.store(envelope.tag, Ordering::Relaxed);
        slot.sequence.store(envelope.sequence, Ordering::Relaxed);
        slot.turn.store(position + 1, Ordering::Release);
        self.next.set(position + 1);
        prefetch_for_writing(self.shared.slot(position + 12));
        true
    }

    /// Prepares for the next envelope: its slot, which the owner may have looked at in vain, comes
    /// back to this processor.
    #[inline(always)]
    pub fn prepare(&self) {
        prefetch_for_writing(self.shared.slot(self.next.get()));
    }

    /// Looks how far the owner has read; whether there is room now.
    #[cold]
    fn refresh(&self, position: u64) -> bool {
        // Acquire: the slots that the owner has read are free to be written.
        self.head.set(self.shared.header().head.0.load(Ordering::Acquire));
        position.wrapping_sub(self.head.get()) < CAPACITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(source: i32, sequence: u32) -> Envelope {
        Envelope { context: 1, source, tag: 3, sequence, bytes: 8, sent: Ticks(9) }
    }

    #[test]
    fn envelopes_come_out_as_they_went_in() {
        let mut ring = Ring::create().unwrap();
        let writer = RingWriter::open(ring.address().unwrap()).unwrap();
        assert_eq!(ring.pop(), None);
        for sequence in 0..40_000 {
            assert!(writer.push(&envelope(2, sequence)));
            assert_eq!(ring.pop(), Some(envelope(2, sequence)));
            assert_eq!(ring.pop(), None);
        }
    }

    #[test]
    fn a_full_ring_loses_and_counts_and_goes_on() {
        let mut ring = Ring::create().unwrap();
        let writer = RingWriter::open(ring.address().unwrap()).unwrap();
        let kept = (0..CAPACITY as u32 + 5).filter(|sequence| writer.push(&envelope(2, *sequence))).count();
        assert_eq!((kept as u64, ring.lost()), (CAPACITY, 5));
        assert!(ring.pop().is_some());
        assert!(writer.push(&envelope(2, 77_777)));
        let last = std::iter::from_fn(|| ring.pop()).last().unwrap();
        assert_eq!(last.sequence, 77_777);
    }

    #[test]
    fn many_writers_keep_their_own_order() {
        let mut ring = Ring::create().unwrap();
        let address = ring.address().unwrap();
        const EACH: u32 = 30_000;
        std::thread::scope(|scope| {
            for source in 0..3 {
                scope.spawn(move || {
                    let writer = RingWriter::open(address).unwrap();
                    for sequence in 0..EACH {
                        while !writer.push(&envelope(source, sequence)) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut next = [0; 3];
            while next != [EACH; 3] {
                match ring.pop() {
                    Some(envelope) => {
                        let expected = &mut next[envelope.source as usize];
                        assert_eq!(envelope.sequence, *expected);
                        *expected += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
