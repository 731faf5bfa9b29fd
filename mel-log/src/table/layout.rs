//! The layout of a profile table: a header and eleven sections at fixed places. All numbers have the byte order of the machine that
//! wrote them; every bit pattern of a row is valid.
//!
//! One thread writes a row, or one at a time does; others may read it. Each number by itself is right at any time; two numbers of
//! a row may be one call apart.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::attributed::AttributedVariable;
use super::connections::Connection;
use super::queues::{BriefQueues, Queues};
use super::sampled::Sampled;
use super::traffic::Traffic;
use crate::checksum;

/// What a file begins with.
pub const MAGIC: [u8; 8] = *b"MELTABLE";
/// The version of the layout.
pub const VERSION: u32 = 7;

/// Bytes before the first section.
pub const HEADER_BYTES: usize = 4096;
/// The most threads that have a row of their own; those beyond share the last one.
pub const MAX_THREADS: usize = 256;
/// The most sets of queues: those of the application's messages by phase, of the MPI's own, and of a second backend.
pub const MAX_QUEUES: usize = 80;
/// The most rows of queues by communicator: two of each, of which one is for what is counted while counting is stopped.
pub const MAX_COMMUNICATOR_QUEUES: usize = 1024;
/// The phase of what is not to be counted: the program has stopped counting. Readers leave it out.
pub const STOPPED: u16 = 255;
/// The most phases. The first is for what belongs to none; those beyond share the last one.
pub const MAX_PHASES: usize = STOPPED as usize;
/// The most contexts of a process. The first is for what finds no space.
pub const MAX_CONTEXTS: usize = 16 * 1024;
/// The most rows of waits.
pub const MAX_WAITS: usize = 16 * 1024;
/// The most intervals that are kept of each of the two lists.
pub const MAX_INTERVALS: usize = 32 * 1024;
/// The most rows of traffic.
pub const MAX_TRAFFIC: usize = 64 * 1024;
/// The most rows of connections.
pub const MAX_CONNECTIONS: usize = 64 * 1024;
/// The most rows of sampled variables.
pub const MAX_SAMPLED: usize = 1024;
/// The most variables that are attributed.
pub const MAX_ATTRIBUTED: usize = 128;
/// Bytes of the rows of what is attributed.
pub const ATTRIBUTED_BYTES: usize = 64 << 20;
/// The most bytes of definitions.
pub const MAX_DEFINITIONS: usize = 8 << 20;

/// Where each section begins, in bytes.
pub const THREADS_AT: usize = HEADER_BYTES;
/// Where queues begin.
pub const QUEUES_AT: usize = THREADS_AT + MAX_THREADS * size_of::<Thread>();
/// Where the queues by communicator begin.
pub const COMMUNICATOR_QUEUES_AT: usize =
    (QUEUES_AT + MAX_QUEUES * size_of::<Queues>()).next_multiple_of(4096);
/// Where contexts begin.
pub const CONTEXTS_AT: usize = COMMUNICATOR_QUEUES_AT + MAX_COMMUNICATOR_QUEUES * size_of::<BriefQueues>();
/// Where waits begin.
pub const WAITS_AT: usize = CONTEXTS_AT + MAX_CONTEXTS * size_of::<Context>();
/// Where the intervals of waits begin.
pub const WAITED_AT: usize = WAITS_AT + MAX_WAITS * size_of::<Wait>();
/// Where the intervals of collective operations begin.
pub const COLLECTIVES_AT: usize = WAITED_AT + MAX_INTERVALS * size_of::<Interval>();
/// Where definitions begin.
pub const DEFINITIONS_AT: usize = COLLECTIVES_AT + MAX_INTERVALS * size_of::<Interval>();
/// Where traffic begins: it and what comes after it are last, so that a file is short without them.
pub const TRAFFIC_AT: usize = DEFINITIONS_AT + MAX_DEFINITIONS;
/// Where connections begin.
pub const CONNECTIONS_AT: usize = TRAFFIC_AT + MAX_TRAFFIC * size_of::<Traffic>();
/// Where sampled variables begin.
pub const SAMPLED_AT: usize = CONNECTIONS_AT + MAX_CONNECTIONS * size_of::<Connection>();
/// Where variables begin that are attributed.
pub const ATTRIBUTED_VARIABLES_AT: usize = SAMPLED_AT + MAX_SAMPLED * size_of::<Sampled>();
/// Where what is attributed begins: by context, a row of its own and one of each variable.
pub const ATTRIBUTED_AT: usize = ATTRIBUTED_VARIABLES_AT + MAX_ATTRIBUTED * size_of::<AttributedVariable>();
/// Bytes of a file in which all sections are full.
pub const MAX_BYTES: usize = ATTRIBUTED_AT + ATTRIBUTED_BYTES;

/// A number that one thread at a time adds to, and that any may read.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Column(AtomicU64);

impl Column {
    /// Its value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets it.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds to it.
    #[inline(always)]
    pub fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    /// Raises it to this value, if it is less, whatever other threads do at the same time; what it was before.
    #[inline(always)]
    pub fn fetch_max(&self, value: u64) -> u64 {
        self.0.fetch_max(value, Relaxed)
    }

    /// Adds to it, whatever other threads do at the same time.
    #[inline(always)]
    pub fn fetch_add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// Raises it to this value, if it is less.
    #[inline(always)]
    pub fn raise(&self, value: u64) {
        if value > self.get() {
            self.set(value);
        }
    }
}

/// How a process ended, in [`Header::ended`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub enum Ended {
    /// It runs, or was killed.
    #[default]
    Not = 0,
    /// With `MPI_Finalize`.
    Finalised = 1,
    /// With `MPI_Abort`.
    Aborted = 2,
    /// With `exit`.
    Exited = 3,
}

/// The header. Times are ticks of the process's clock.
#[derive(Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Header {
    pub magic: Column,
    pub version: Column,
    pub rank: Column,
    pub world_size: Column,
    pub pid: Column,
    pub ended: Column,
    pub ticks_per_second: Column,
    /// The entry of `MPI_Init*`, and the same instant in nanoseconds since 1970.
    pub started: Column,
    pub started_realtime_nanos: Column,
    /// The exit of `MPI_Init*`.
    pub runs_since: Column,
    /// The entry of `MPI_Finalize`, or the end of the measurement; 0 until then.
    pub runs_until: Column,
    /// Where there are several nodes: one instant in ticks of this process, and in nanoseconds of the reference clock, which is that of
    /// rank 0's node; and how far that may be from the truth.
    pub clock_compared: Column,
    pub clock_ticks: Column,
    pub clock_nanos: Column,
    pub clock_error_nanos: Column,
    /// Rows, or bytes, that are there of each section.
    pub contexts: Column,
    pub waits: Column,
    pub waited: Column,
    pub collectives: Column,
    pub definitions: Column,
    /// Intervals are kept of one in two to the power of this many periods.
    pub level: Column,
    /// What found no space: contexts, waits, definitions.
    pub lost_contexts: Column,
    pub lost_waits: Column,
    pub lost_definitions: Column,
    pub host: [Column; 32],
    /// Bytes that the file has: one that has fewer was cut off.
    pub length: Column,
    /// Rows that are there of threads, and of queues.
    pub threads: Column,
    pub queues: Column,
    /// Rows of traffic, and those that found no space.
    pub traffic: Column,
    pub lost_traffic: Column,
    /// The phase that the process is in, and since when; the time in each phase before that. That of [`STOPPED`] is all time that
    /// does not count.
    pub phase: Column,
    pub phase_since: Column,
    pub phase_ticks: [Column; MAX_PHASES + 1],
    /// Rows of connections, and those that found no space.
    pub connections: Column,
    pub lost_connections: Column,
    /// Rows of queues by communicator.
    pub communicator_queues: Column,
    /// Rows of sampled variables, those that found no space, and samples that were lost on their way.
    pub sampled: Column,
    pub lost_sampled: Column,
    pub lost_samples: Column,
    /// Variables that are attributed, and contexts that have rows for them.
    pub attributed: Column,
    pub attributed_contexts: Column,
    /// Regions that were begun beyond the last number, and ends that have fitted no beginning.
    pub lost_regions: Column,
    pub mismatched_regions: Column,
    /// Communicators and windows beyond the last number; communicators whose queues share a row; threads that share one; times that a
    /// phase beyond the last number was named.
    pub lost_communicators: Column,
    pub shared_queues: Column,
    pub shared_threads: Column,
    pub lost_phases: Column,
    /// Checksum of the columns that say whose table it is, and by which clock.
    pub identity_checksum: Column,
    /// Checksums of the used bytes of each of [`SEALED`], once the measurement has ended.
    pub checksums: [Column; SEALED.len()],
    /// Checksum of all of the header before this: the table is final. 0 until then.
    pub sealed: Column,
}

/// The sections that have checksums: their names, and where they begin.
pub const SEALED: [(&str, usize); 13] = [
    ("threads", THREADS_AT),
    ("queues", QUEUES_AT),
    ("queues by communicator", COMMUNICATOR_QUEUES_AT),
    ("contexts", CONTEXTS_AT),
    ("waits", WAITS_AT),
    ("intervals of waits", WAITED_AT),
    ("intervals of collective operations", COLLECTIVES_AT),
    ("definitions", DEFINITIONS_AT),
    ("traffic", TRAFFIC_AT),
    ("connections", CONNECTIONS_AT),
    ("sampled variables", SAMPLED_AT),
    ("attributed variables", ATTRIBUTED_VARIABLES_AT),
    ("attribution", ATTRIBUTED_AT),
];

/// The checksum in [`Header::identity_checksum`] that belongs to the bytes of a header.
pub fn identity_checksum(header: &[u8]) -> u64 {
    let column = |at: usize, length: usize| header.get(at..at + length).unwrap_or_default();
    checksum::of([
        column(offset_of!(Header, rank), offset_of!(Header, ended) - offset_of!(Header, rank)),
        column(
            offset_of!(Header, ticks_per_second),
            offset_of!(Header, runs_since) - offset_of!(Header, ticks_per_second),
        ),
        column(offset_of!(Header, host), offset_of!(Header, length) - offset_of!(Header, host)),
    ])
    .into()
}

/// The checksum in [`Header::sealed`] that belongs to the bytes of a header.
pub(super) fn header_checksum(header: &[u8]) -> u64 {
    checksum::of([header.get(..offset_of!(Header, sealed)).unwrap_or_default()]).into()
}

/// Where a thread is: 64 bytes, which only that thread writes.
#[derive(Debug, Default)]
#[repr(C, align(64))]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Thread {
    /// When it entered the call that it has made last, and when it left it; less than the entry while it is in the call.
    pub entered: Column,
    pub left: Column,
    /// The context of that call.
    pub context: AtomicU32,
    unused: AtomicU32,
    unused_too: [Column; 5],
}

impl Thread {
    /// It enters a call.
    #[inline(always)]
    pub fn enter(&self, context: u32, entered: u64) {
        self.context.store(context, Relaxed);
        self.entered.set(entered);
    }

    /// It leaves the call.
    #[inline(always)]
    pub fn leave(&self, left: u64) {
        self.left.set(left);
    }
}

/// What a context stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContextKey {
    /// The return address of the call in the process; 0 where it is not known.
    pub site: u64,
    /// The communicator's number in the definitions; 0 for none.
    pub communicator: u32,
    /// The MPI function's number.
    pub function: u16,
    /// The thread.
    pub thread: u16,
    /// The phase.
    pub phase: u16,
    /// The region; 0 for none.
    pub region: u16,
}

/// Bins of durations: the n-th has those of less than two to the power of n + [`FIRST_BIN`] ticks that are in no bin before it.
pub const BINS: usize = 32;
/// See [`BINS`].
pub const FIRST_BIN: u32 = 6;

/// Calls of one MPI function, from one call site, on one communicator, by one thread: 256 bytes, of which a call writes two lines.
#[derive(Debug, Default)]
#[repr(C, align(64))]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Context {
    pub calls: Column,
    pub ticks: Column,
    pub longest: Column,
    pub sent: Column,
    pub received: Column,
    pub site: Column,
    pub communicator: AtomicU32,
    /// The function, and the thread in the upper half.
    pub function_and_thread: AtomicU32,
    /// From here on written by who has the model of the queues: of `search_ticks` those of searches with a wildcard.
    pub wildcard_search_ticks: Column,
    pub unexpected: Column,
    pub unexpected_bytes: Column,
    pub search_ticks: Column,
    pub longest_search: Column,
    /// The phase, and the region in the upper half.
    pub phase_and_region: AtomicU32,
    unused: AtomicU32,
    unused_too: [Column; 3],
    pub bins: [AtomicU32; BINS],
}

/// The bin of a duration.
#[inline(always)]
pub fn bin(ticks: u64) -> usize {
    ((64 - (ticks >> FIRST_BIN).leading_zeros()) as usize).min(BINS - 1)
}

/// The durations of a bin: the least, and the greatest.
pub fn bounds(bin: usize) -> (u64, u64) {
    let bin = bin.min(BINS - 1) as u32;
    let low = if bin == 0 { 0 } else { 1 << (bin - 1 + FIRST_BIN) };
    (low, (1 << (bin + FIRST_BIN)) - 1)
}

impl Context {
    /// Counts a call of so many ticks.
    #[inline(always)]
    pub fn count(&self, ticks: u64) {
        self.calls.add(1);
        self.ticks.add(ticks);
        self.longest.raise(ticks);
        let bin = &self.bins[bin(ticks)];
        bin.store(bin.load(Relaxed).saturating_add(1), Relaxed);
    }

    /// What it stands for.
    pub fn key(&self) -> ContextKey {
        let both = self.function_and_thread.load(Relaxed);
        ContextKey {
            site: self.site.get(),
            communicator: self.communicator.load(Relaxed),
            function: both as u16,
            thread: (both >> 16) as u16,
            phase: self.phase_and_region.load(Relaxed) as u16,
            region: (self.phase_and_region.load(Relaxed) >> 16) as u16,
        }
    }

    /// Forgets what was counted.
    pub(super) fn clear(&self) {
        let counts = [
            &self.calls,
            &self.ticks,
            &self.longest,
            &self.sent,
            &self.received,
            &self.wildcard_search_ticks,
            &self.unexpected,
            &self.unexpected_bytes,
            &self.search_ticks,
            &self.longest_search,
        ];
        counts.into_iter().for_each(|count| count.set(0));
        self.bins.iter().for_each(|bin| bin.store(0, Relaxed));
    }

    pub(super) fn set_key(&self, key: ContextKey) {
        self.phase_and_region.store(u32::from(key.region) << 16 | u32::from(key.phase), Relaxed);
        self.site.set(key.site);
        self.communicator.store(key.communicator, Relaxed);
        self.function_and_thread.store(u32::from(key.thread) << 16 | u32::from(key.function), Relaxed);
    }
}

/// What an interval, or a row of waits, is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum IntervalKind {
    /// Nothing that is known: of a later version.
    #[default]
    Unknown = 0,
    /// A receive waited until its message was sent: from the entry of the call that completed it.
    LateSender = 1,
    /// A send lasted for its receiver.
    LateReceiver = 2,
    /// A receive was posted late: from the sending of its message until then.
    PostedLate = 3,
    /// A collective operation, from entry to exit.
    Collective = 4,
}

impl IntervalKind {
    /// The kind of this number.
    pub fn of(number: u8) -> IntervalKind {
        use IntervalKind::{Collective, LateReceiver, LateSender, PostedLate, Unknown};
        [Unknown, LateSender, LateReceiver, PostedLate, Collective]
            .into_iter()
            .find(|kind| *kind as u8 == number)
            .unwrap_or_default()
    }
}

/// What a row of waits stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WaitKey {
    /// The context of the call that waits; of [`IntervalKind::PostedLate`], of the one that posted the receive.
    pub context: u32,
    /// The rank in the communicator of that context.
    pub peer: i32,
    /// The context of the peer's call in the peer's table, or 0 where it is not known.
    pub peer_context: u16,
    /// Why.
    pub kind: IntervalKind,
}

/// Time that calls of one context have waited for one call of one peer: 64 bytes.
#[derive(Debug, Default)]
#[repr(C, align(64))]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Wait {
    pub count: Column,
    pub ticks: Column,
    pub longest: Column,
    /// Bytes of the messages.
    pub bytes: Column,
    pub context: AtomicU32,
    pub peer: AtomicU32,
    /// The peer's context, and the kind in the upper half.
    pub peer_context_and_kind: AtomicU32,
    unused: AtomicU32,
    unused_too: [Column; 2],
}

impl Wait {
    /// Counts one that lasted so long.
    #[inline(always)]
    pub fn count(&self, ticks: u64, bytes: u64) {
        self.count.add(1);
        self.ticks.add(ticks);
        self.longest.raise(ticks);
        self.bytes.add(bytes);
    }

    /// What it stands for.
    pub fn key(&self) -> WaitKey {
        let both = self.peer_context_and_kind.load(Relaxed);
        WaitKey {
            context: self.context.load(Relaxed),
            peer: self.peer.load(Relaxed) as i32,
            peer_context: both as u16,
            kind: IntervalKind::of((both >> 16) as u8),
        }
    }

    /// Forgets what was counted.
    pub(super) fn clear(&self) {
        [&self.count, &self.ticks, &self.longest, &self.bytes].into_iter().for_each(|count| count.set(0));
    }

    pub(super) fn set_key(&self, key: WaitKey) {
        self.context.store(key.context, Relaxed);
        self.peer.store(key.peer as u32, Relaxed);
        let kind = u32::from(key.kind as u8) << 16;
        self.peer_context_and_kind.store(kind | u32::from(key.peer_context), Relaxed);
    }
}

/// One wait, or one collective operation: 32 bytes.
#[derive(Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Interval {
    pub begin: Column,
    pub end: Column,
    pub context: AtomicU32,
    /// The peer's rank in the communicator; of a collective operation its number on the communicator, from 0.
    pub peer: AtomicU32,
    /// As in [`Wait`].
    pub peer_context_and_kind: AtomicU32,
    unused: AtomicU32,
}

const _: () = {
    assert!(size_of::<Header>() <= HEADER_BYTES);
    assert!(size_of::<Thread>() == 64);
    assert!(size_of::<Queues>() == 90_368);
    assert!(size_of::<BriefQueues>() == 256 && CONTEXTS_AT.is_multiple_of(4096));
    assert!(size_of::<Context>() == 256);
    assert!(size_of::<Wait>() == 64);
    assert!(size_of::<Interval>() == 32);
    assert!(size_of::<Traffic>() == 576 && TRAFFIC_AT.is_multiple_of(4096));
    assert!(size_of::<Connection>() == 128 && CONNECTIONS_AT.is_multiple_of(4096));
    assert!(size_of::<Sampled>() == 2176 && SAMPLED_AT.is_multiple_of(4096));
    assert!(ATTRIBUTED_VARIABLES_AT.is_multiple_of(4096) && ATTRIBUTED_AT.is_multiple_of(4096));
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_one_another() {
        for number in 0..BINS {
            let (low, high) = bounds(number);
            assert_eq!((bin(low), bin(high)), (number, number));
            if number > 0 {
                assert_eq!(bounds(number - 1).1 + 1, low);
            }
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn keys_come_back() {
        let key = ContextKey {
            site: 0x7fff_1234_5678,
            communicator: 3,
            function: 399,
            thread: 7,
            phase: 254,
            region: 999,
        };
        let context = Context::default();
        context.set_key(key);
        assert_eq!(context.key(), key);
        let key = WaitKey { context: 5, peer: -1, peer_context: 4095, kind: IntervalKind::PostedLate };
        let wait = Wait::default();
        wait.set_key(key);
        assert_eq!(wait.key(), key);
    }
}
