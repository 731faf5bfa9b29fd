//! A bounded ring of envelopes: many processes write, its owner reads, nobody ever waits.
//!
//! Layout: a header (the positions of both ends, each on its own cache lines), then a power of two
//! of slots of half a cache line each: what a message costs is mostly the lines that travel between
//! processors. A writer claims the next position with a compare-and-swap, fills the slot and publishes
//! it with the number of the lap, which is stored last. The owner reads slots in order for as long as
//! their lap has come, and publishes how far it has read; a writer looks at that only when the ring
//! seems full. Where it is full the envelope is counted as lost:
//! the receiver learns of it by the gap in the sequence numbers.
//!
//! A writer that is taken off the processor between claiming and publishing holds up all that comes after it: the owner
//! can [pass over](Ring::pass_over) that place, and finds out later what has been written there.
//!
//! Everything in the shared memory is a number whose every value is valid, so that a writer that
//! dies or errs cannot hurt the owner. A writer that dies between claiming and publishing stops the
//! ring once it is full; the job is ending then.

use std::cell::Cell;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use in_process::prefetch;
use mpit_events::Ticks;

use super::segment::{Address, Segment};
use crate::matching::Envelope;
use crate::progress_model::Incoming;

/// Envelopes that a ring holds.
pub const CAPACITY: u64 = 1 << 14;
const BYTES: usize = size_of::<Header>() + CAPACITY as usize * size_of::<Slot>();

#[repr(C, align(128))]
struct Line<T>(T);

#[repr(C)]
struct Header {
    /// The next position to be claimed by a writer.
    tail: Line<AtomicU64>,
    /// The first position that the owner has yet to read.
    head: Line<AtomicU64>,
    /// Envelopes that did not fit.
    lost: Line<AtomicU64>,
    /// Whether somebody listens: of one ring of the node only.
    heard: Line<AtomicU8>,
}

/// An envelope in four words.
///
/// | word | bits, from the highest |
/// |---|---|
/// | 0 | lap 16, source 24, communicator (high) 24 |
/// | 1 | tag 32, sequence number 32 |
/// | 2 | context of the send 12, time of sending (low) 52 |
/// | 3 | communicator (low) 24, bytes 40 |
///
/// A source has at most 24 bits, as no job is larger; a message of more than a tebibyte counts as one. The owner knows the upper bits of
/// the time: 52 bits of it last for days.
#[repr(C, align(32))]
struct Slot([AtomicU64; 4]);

/// Bits of each half of a communicator's identity.
const HALF: u32 = 24;
const HALF_MASK: u64 = (1 << HALF) - 1;
const BYTES_MASK: u64 = (1 << 40) - 1;

/// Bits of a time that a slot keeps.
const TIME_BITS: u32 = 52;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// How far before the time that was read last a time may lie.
const BEFORE: u64 = 1 << (TIME_BITS - 2);

/// Bits of a communicator's identity that a slot keeps.
pub const CONTEXT_BITS: u32 = 2 * HALF;

impl Slot {
    /// Whether the envelope of this position is there.
    #[inline(always)]
    fn holds(&self, position: u64) -> bool {
        self.0[0].load(Ordering::Acquire) >> 48 == lap(position)
    }

    /// When it was sent, given a time that is not after that, and at most days before.
    #[inline(always)]
    fn sent(&self, base: u64) -> Ticks {
        time_since(base, self.0[2].load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn envelope(&self, base: u64) -> Envelope {
        let [first, second, third, last] =
            [0, 1, 2, 3].map(|word: usize| self.0[word].load(Ordering::Relaxed));
        Envelope {
            context: (first & HALF_MASK) << HALF | last >> 40,
            source: (first >> HALF & HALF_MASK) as i32,
            tag: (second >> 32) as i32,
            sequence: second as u32,
            bytes: last & BYTES_MASK,
            sent: time_since(base, third),
            context_of_send: (third >> TIME_BITS) as u16,
        }
    }

    #[inline(always)]
    fn publish(&self, position: u64, envelope: &Envelope) {
        let Envelope { context, source, tag, sequence, bytes, sent, context_of_send } = *envelope;
        let third = u64::from(context_of_send) << TIME_BITS | sent.0 & TIME_MASK;
        self.0[1].store(u64::from(tag as u32) << 32 | u64::from(sequence), Ordering::Relaxed);
        self.0[2].store(third, Ordering::Relaxed);
        self.0[3].store((context & HALF_MASK) << 40 | bytes.min(BYTES_MASK), Ordering::Relaxed);
        let source = (source as u64 & HALF_MASK) << HALF;
        self.0[0].store(lap(position) << 48 | source | context >> HALF & HALF_MASK, Ordering::Release);
    }
}

/// The first time from `base` on with these low bits.
#[inline(always)]
fn time_since(base: u64, word: u64) -> Ticks {
    Ticks(base.wrapping_add(word.wrapping_sub(base) & TIME_MASK))
}

/// The lap of a position, from 1 on, in 16 bits: a slot that was not written in this lap has the number
/// of the lap before, or zero.
#[inline(always)]
fn lap(position: u64) -> u64 {
    (position / CAPACITY + 1) & 0xffff
}

/// The mapped ring, for its owner or a writer.
#[derive(Clone, Debug)]
struct Shared {
    start: NonNull<u8>,
    segment: Arc<Segment>,
}

// SAFETY: all that is in the memory is atomic, and it is there for as long as the segment.
unsafe impl Send for Shared {}
// SAFETY: all that is in the memory is atomic: any number of threads may use it at the same time.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(segment: Segment) -> io::Result<Self> {
        let start = NonNull::new(segment.start()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Shared { start, segment: Arc::new(segment) })
    }

    fn header(&self) -> &Header {
        // SAFETY: the segment has `BYTES` bytes (checked when it was made or opened), is aligned to
        // a page, and holds only atomics, for which every bit pattern is valid.
        unsafe { self.start.cast::<Header>().as_ref() }
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> &Slot {
        // Neighbours in a line are eight positions apart: one envelope alone does not share its line with
        // the next one, which is perhaps being written while this one is read.
        let place = (position & !15) | (position & 7) << 1 | (position >> 3 & 1);
        let index = (place & (CAPACITY - 1)) as usize;
        // SAFETY: the index is below CAPACITY, so the slot lies within `BYTES`; otherwise as above.
        unsafe { self.start.add(size_of::<Header>()).cast::<Slot>().add(index).as_ref() }
    }
}

/// The owner's end of a ring. One thread at a time (the caller's lock).
#[derive(Debug)]
pub struct Ring {
    shared: Shared,
    /// The next position to read.
    position: u64,
    /// Earlier ones that had been claimed and not been written; at most [`MOST_PASSED`].
    passed: Vec<u64>,
    /// A time before all that are read.
    base: u64,
}

/// Places that are passed over at one time: as many writers are in the middle of an envelope.
const MOST_PASSED: usize = 16;
/// How far is looked for envelopes behind such a place.
const LOOKED_BEHIND: u64 = 64;

impl Ring {
    /// A new, empty ring: half a MiB of shared memory, of which only what is used takes space.
    ///
    /// # Errors
    /// Those of [`Segment::create`].
    pub fn create() -> io::Result<Ring> {
        let shared = Shared::new(Segment::create(BYTES)?)?;
        Ok(Ring { shared, position: 0, passed: Vec::with_capacity(MOST_PASSED), base: 0 })
    }

    /// Times from now on are near this one: before anything is read.
    pub fn set_time(&mut self, now: Ticks) {
        self.base = now.0.saturating_sub(BEFORE);
    }

    /// Where writers find it.
    pub fn address(&self) -> Option<Address> {
        self.shared.segment.address()
    }

    /// Takes the next envelope, if one has come.
    #[inline]
    pub fn pop(&mut self) -> Option<Envelope> {
        self.pop_until(Ticks(u64::MAX))
    }

    /// The position of the next envelope, if one has come.
    #[inline(always)]
    fn next(&self) -> u64 {
        if self.passed.is_empty() { self.position } else { self.next_passed() }
    }

    /// Whether no envelope has come that could be taken.
    #[inline(always)]
    pub fn has_none(&self) -> bool {
        let position = self.next();
        !self.shared.slot(position).holds(position)
    }

    /// One that was passed over and has been written since comes before what is after it.
    #[cold]
    #[inline(never)]
    fn next_passed(&self) -> u64 {
        let written = |position: &&u64| self.shared.slot(**position).holds(**position);
        self.passed.iter().find(written).copied().unwrap_or(self.position)
    }

    #[cold]
    #[inline(never)]
    fn take_passed(&mut self, position: u64) {
        if position == self.position {
            self.position += 1;
        } else {
            self.passed.retain(|&passed| passed != position);
            self.free_until(self.passed.first().copied().unwrap_or(self.position));
        }
    }

    /// Writers may use the places before this one again.
    #[inline(always)]
    fn free_until(&self, position: u64) {
        self.shared.header().head.0.store(position, Ordering::Release);
    }

    /// Whether the next place has been claimed, and not been written yet.
    pub fn is_held_up(&self) -> bool {
        let claimed = self.shared.header().tail.0.load(Ordering::Relaxed) > self.position;
        claimed && !self.shared.slot(self.position).holds(self.position)
    }

    /// Passes over that place, where envelopes are behind it: whether it does. Of one writer none is, so that what each has
    /// written comes out in order all the same.
    pub fn pass_over(&mut self) -> bool {
        let mut behind = self.position + 1..self.position + LOOKED_BEHIND;
        let passes = self.passed.len() < MOST_PASSED
            && self.is_held_up()
            && behind.any(|position| self.shared.slot(position).holds(position));
        if passes {
            self.passed.push(self.position);
            self.position += 1;
        }
        passes
    }

    /// When the last of the envelopes was sent that were sent at `until` or before; `None` where there are none, or
    /// more than a few hundred.
    pub fn latest_until(&self, until: Ticks) -> Option<Ticks> {
        let mut latest = None;
        for position in self.position..self.position + 256 {
            let slot = self.shared.slot(position);
            if !slot.holds(position) || slot.sent(self.base) > until {
                return latest;
            }
            latest = Some(slot.sent(self.base));
        }
        None
    }

    /// Whether the next envelope has come, and was sent at `until` or before.
    #[inline(always)]
    pub fn has_until(&self, until: Ticks) -> bool {
        let position = self.next();
        let slot = self.shared.slot(position);
        slot.holds(position) && slot.sent(self.base) <= until
    }

    /// The next envelope, if one has come; it stays in the ring.
    pub fn peek(&self) -> Option<Envelope> {
        let position = self.next();
        let slot = self.shared.slot(position);
        slot.holds(position).then(|| slot.envelope(self.base))
    }

    /// Brings what is probably there from the caches of the writers. Only where several envelopes are
    /// waiting: a slot that is still to be written would be taken away from its writer.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch::for_reading(self.shared.slot(self.position + 10));
    }

    /// Brings the next envelope, which should have been written by now.
    #[inline(always)]
    pub fn prefetch_next(&self) {
        prefetch::for_reading(self.shared.slot(self.position));
    }

    /// The byte of this ring that says whether somebody listens. The memory stays.
    pub fn heard(&self) -> &'static AtomicU8 {
        heard(&self.shared)
    }

    /// A view of the ring for all threads of its owner.
    pub fn view(&self) -> RingView {
        RingView { shared: self.shared.clone() }
    }

    /// Envelopes that found no room, over the whole run.
    pub fn lost(&self) -> u64 {
        self.shared.header().lost.0.load(Ordering::Relaxed)
    }
}

impl Incoming for Ring {
    #[inline(always)]
    fn pop_until(&mut self, until: Ticks) -> Option<Envelope> {
        let position = self.next();
        let slot = self.shared.slot(position);
        if !slot.holds(position) || slot.sent(self.base) > until {
            return None;
        }
        let envelope = slot.envelope(self.base);
        if self.position.is_multiple_of(CAPACITY) {
            self.base = self.base.max(envelope.sent.0.saturating_sub(BEFORE));
        }
        if self.passed.is_empty() {
            self.position += 1;
            self.free_until(self.position);
        } else {
            self.take_passed(position);
        }
        Some(envelope)
    }
}

/// Says to any thread of a ring's owner, without a lock, whether an envelope waits.
#[derive(Debug)]
pub struct RingView {
    shared: Shared,
}

impl RingView {
    /// Envelopes that wait, but no more than `most`. One that another thread is just taking may be among them. Of their times nothing is known.
    pub fn waiting(&self, most: usize) -> Vec<Envelope> {
        let header = self.shared.header();
        let (head, tail) = (header.head.0.load(Ordering::Acquire), header.tail.0.load(Ordering::Acquire));
        let places = (head..tail.max(head)).take(most);
        let slots = places.map(|position| (position, self.shared.slot(position)));
        slots.filter(|(position, slot)| slot.holds(*position)).map(|(_, slot)| slot.envelope(0)).collect()
    }

    /// Whether the next envelope has not come yet. One that another thread is just taking may still count as waiting; while a
    /// place is [passed over](Ring::pass_over), what is behind it does not.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        let position = self.shared.header().head.0.load(Ordering::Relaxed);
        !self.shared.slot(position).holds(position)
    }
}

fn heard(shared: &Shared) -> &'static AtomicU8 {
    &Box::leak(Box::new(shared.clone())).header().heard.0
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
            shared: Shared::new(Segment::open(address, BYTES)?)?,
            head: Cell::new(0),
            next: Cell::new(0),
        })
    }

    /// Puts an envelope in. `false`: the ring was full, the envelope is lost and counted.
    #[inline(always)]
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
        slot.publish(position, envelope);
        self.next.set(position + 1);
        // Stores become visible in order: a slot that has to be fetched first would hold up the message that follows its
        // envelope.
        prefetch::for_writing(self.shared.slot(position + 4));
        true
    }

    /// The same byte as [`Ring::heard`].
    pub fn heard(&self) -> &'static AtomicU8 {
        heard(&self.shared)
    }

    /// Prepares for the next envelope: its slot, which the owner may have looked at in vain, comes
    /// back to this processor.
    #[inline(always)]
    pub fn prepare(&self) {
        prefetch::for_writing(self.shared.slot(self.next.get()));
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
    use crate::matching::MAX_CONTEXT;

    fn envelope(source: i32, sequence: u32) -> Envelope {
        Envelope { context: 1, source, tag: 3, sequence, bytes: 8, sent: Ticks(9), context_of_send: 5 }
    }

    #[test]
    fn envelopes_come_out_as_they_went_in() {
        let mut ring = Ring::create().unwrap();
        let writer = RingWriter::open(ring.address().unwrap()).unwrap();
        assert_eq!(ring.pop(), None);
        let lookout = ring.view();
        for sequence in 0..40_000 {
            assert!(lookout.is_empty());
            assert!(writer.push(&envelope(2, sequence)));
            assert!(!lookout.is_empty());
            assert_eq!(ring.peek(), Some(envelope(2, sequence)));
            assert_eq!(ring.pop(), Some(envelope(2, sequence)));
            assert_eq!(ring.pop(), None);
        }
    }

    #[test]
    fn extreme_envelopes_fit() {
        let mut ring = Ring::create().unwrap();
        let writer = RingWriter::open(ring.address().unwrap()).unwrap();
        let largest = Envelope {
            context: (1 << CONTEXT_BITS) - 1,
            source: (1 << 24) - 1,
            tag: i32::MAX,
            sequence: u32::MAX,
            bytes: (1 << 40) - 1,
            sent: Ticks(TIME_MASK),
            context_of_send: MAX_CONTEXT - 1,
        };
        let context = 0x1234_5678_9abc;
        for envelope in [largest, Envelope { context, tag: 0, sent: largest.sent, ..Envelope::default() }] {
            assert!(writer.push(&envelope));
            assert_eq!(ring.pop(), Some(envelope));
        }
        assert!(writer.push(&Envelope { bytes: 1 << 50, ..largest }));
        assert_eq!(ring.pop(), Some(largest));
    }

    #[test]
    fn times_are_whole_however_late_it_is() {
        for start in [0, 1 << 40, TIME_MASK - 1000, 5 << TIME_BITS, u64::MAX >> 1] {
            let mut ring = Ring::create().unwrap();
            let writer = RingWriter::open(ring.address().unwrap()).unwrap();
            ring.set_time(Ticks(start));
            for number in 0..3 * CAPACITY {
                let sent = Ticks(start + number * (1 << 36));
                writer.push(&Envelope { sent, ..envelope(1, 0) });
                assert_eq!(ring.pop().map(|envelope| envelope.sent), Some(sent));
            }
        }
    }

    #[test]
    fn every_position_of_a_lap_has_a_slot_of_its_own() {
        let ring = Ring::create().unwrap();
        let mut places: Vec<_> = (0..CAPACITY).map(|p| std::ptr::from_ref(ring.shared.slot(p))).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len() as u64, CAPACITY);
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
    fn a_place_that_is_not_written_yet_is_passed_over() {
        let mut ring = Ring::create().unwrap();
        let writer = RingWriter::open(ring.address().unwrap()).unwrap();
        let shared = ring.shared.clone();
        let claim = || shared.header().tail.0.fetch_add(1, Ordering::Relaxed);
        assert!(!ring.pass_over(), "nothing is there");
        writer.push(&envelope(2, 0));
        assert!(!ring.pass_over(), "nothing holds it up");
        assert_eq!(ring.pop(), Some(envelope(2, 0)));
        let (first, second) = (claim(), claim());
        assert!(ring.is_held_up() && !ring.pass_over(), "nothing is behind it");
        writer.push(&envelope(2, 1));
        assert_eq!(ring.pop(), None);
        assert!(ring.pass_over() && ring.is_held_up() && ring.pass_over() && !ring.is_held_up());
        assert_eq!((ring.peek(), ring.pop()), (Some(envelope(2, 1)), Some(envelope(2, 1))));
        assert_eq!((ring.pop(), ring.pass_over()), (None, false));
        writer.push(&envelope(2, 2));
        shared.slot(second).publish(second, &envelope(4, 0));
        assert_eq!(ring.peek(), Some(envelope(4, 0)), "what was passed over comes first");
        assert_eq!(ring.pop(), Some(envelope(4, 0)));
        assert_eq!(ring.pop(), Some(envelope(2, 2)));
        let room = (0..CAPACITY as u32).filter(|sequence| writer.push(&envelope(2, 3 + sequence))).count();
        assert_eq!(
            room as u64,
            CAPACITY - 4,
            "from the place on that is still to be written, none is used again"
        );
        shared.slot(first).publish(first, &envelope(5, 0));
        assert_eq!(ring.pop(), Some(envelope(5, 0)));
        assert!(writer.push(&envelope(2, 77_777)));
        let sources: Vec<_> = std::iter::from_fn(|| ring.pop()).map(|one| one.source).collect();
        assert_eq!(sources, vec![2; room + 1]);
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
