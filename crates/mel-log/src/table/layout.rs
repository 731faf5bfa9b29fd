//! The layout of a profile table: a header and the [sections](Section) at fixed places. All numbers have the byte order of the machine that
//! wrote them; every bit pattern of a row is valid.
//!
//! One thread writes a row, or one at a time does; others may read it. Each number by itself is right at any time; two numbers of
//! a row may be one call apart.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::attributed::{self, AttributedVariable};
use super::connections::Connection;
use super::counted::Counted;
use super::queues::{BriefQueues, Queues};
use super::regions::TimeInRegion;
use super::row::{ColumnOf, Row, row};
use super::sampled::Sampled;
use super::stacks::Stack;
use super::traffic::Traffic;
use super::windows::{ThreadOfWindow, Window};
use crate::checksum;

pub use super::row::Column;

/// What a file begins with.
pub const MAGIC: [u8; 8] = *b"MELTABLE";
/// The version of the layout. A reader takes no other one.
pub const VERSION: u32 = 16;

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
/// The most rows of windows: those beyond share the last one.
pub const MAX_WINDOWS: usize = 65;
/// The most threads of a window: those beyond share rows.
pub const MAX_THREADS_OF_WINDOW: usize = 64;
/// The most rows of what holds calls up.
pub const MAX_HOLDS: usize = 1024;
/// The most rows of stacks.
pub const MAX_STACKS: usize = 16 * 1024;
/// The most rows of what the processor counted: two for each phase, and regions in them.
pub const MAX_COUNTED: usize = MAX_COUNTED_IN_REGIONS + 2 * (MAX_PHASES + 1);
/// The most of them that are of a region.
pub const MAX_COUNTED_IN_REGIONS: usize = 2 * (MAX_PHASES + 1);
/// The most rows of times in regions.
pub const MAX_TIMES_IN_REGIONS: usize = 8 * 1024;
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

/// Sections begin at multiples of this.
const PAGE: usize = 4096;

/// Declares the sections in the order of the file: what each is called, its rows, the most of them, and the columns of the header that have how
/// many there are, and how many found no space.
macro_rules! sections {
    ($($(#[$meta:meta])* $name:ident $title:literal: [$row:ty; $most:expr], $count:ident $(, $lost:ident)?;)*) => {
        /// A section of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Section { $($(#[$meta])* $name,)* }

        impl Section {
            /// All of them, in the order of the file.
            pub const ALL: [Section; [$(Section::$name),*].len()] = [$(Section::$name),*];

            /// Where it is, and what is in it.
            const PLACES: [Place; Section::ALL.len()] = {
                let mut end = HEADER_BYTES;
                [$({
                    let begin = end.next_multiple_of(PAGE);
                    end = begin + $most * size_of::<$row>();
                    let lost = [$(offset_of!(Header, $lost),)? usize::MAX][0];
                    Place { title: $title, begin, end, most: $most, row: size_of::<$row>(), count: offset_of!(Header, $count), lost }
                }),*]
            };
        }

        impl Header {
            /// How many rows a section has, as the header says.
            fn rows_of(&self, section: Section) -> u64 {
                match section { $(Section::$name => self.$count.get(),)* }
            }
        }
    };
}

/// Where a section is, in bytes, and what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// What it is called.
    pub title: &'static str,
    /// Its first byte.
    pub begin: usize,
    /// Its end.
    pub end: usize,
    /// The most rows.
    pub most: usize,
    /// Bytes of a row.
    pub row: usize,
    /// Where the header has how many rows there are.
    pub(super) count: usize,
    /// Where it has how many found no space; `usize::MAX` where it does not.
    pub(super) lost: usize,
}

sections! {
    /// Where each thread is.
    Threads "threads": [Thread; MAX_THREADS], threads;
    /// The message queues.
    Queues "queues": [Queues; MAX_QUEUES], queues;
    /// Those of each communicator.
    CommunicatorQueues "queues by communicator": [BriefQueues; MAX_COMMUNICATOR_QUEUES], communicator_queues;
    /// What calls are made in.
    Contexts "contexts": [Context; MAX_CONTEXTS], contexts, lost_contexts;
    /// Sums of waits.
    Waits "waits": [Wait; MAX_WAITS], waits, lost_waits;
    /// Single waits.
    Waited "intervals of waits": [Interval; MAX_INTERVALS], waited;
    /// Single collective operations.
    Collectives "intervals of collective operations": [Interval; MAX_INTERVALS], collectives;
    /// Text.
    Definitions "definitions": [u8; MAX_DEFINITIONS], definitions, lost_definitions;
    /// Epochs of windows.
    Windows "windows": [Window; MAX_WINDOWS], windows;
    /// What threads did with windows.
    ThreadsOfWindows "threads of windows": [ThreadOfWindow; MAX_WINDOWS * MAX_THREADS_OF_WINDOW], threads_of_windows;
    /// What holds up calls that last long.
    Holds "what holds calls up": [Hold; MAX_HOLDS], holds;
    /// Stacks of the program.
    Stacks "stacks": [Stack; MAX_STACKS], stacks, lost_stacks;
    /// What the processor counted.
    Counted "counters of the processor": [Counted; MAX_COUNTED], counted;
    /// How long threads were in regions.
    Regions "times in regions": [TimeInRegion; MAX_TIMES_IN_REGIONS], regions, lost_times_in_regions;
    /// Who has sent what to whom. It and what comes after it are last, so that a file is short without them.
    Traffic "traffic": [Traffic; MAX_TRAFFIC], traffic, lost_traffic;
    /// What went over the network.
    Connections "connections": [Connection; MAX_CONNECTIONS], connections, lost_connections;
    /// Performance variables over time.
    Sampled "sampled variables": [Sampled; MAX_SAMPLED], sampled, lost_sampled;
    /// Performance variables that are attributed.
    AttributedVariables "attributed variables": [AttributedVariable; MAX_ATTRIBUTED], attributed;
    /// What these did: by context a row of its own, and one of each variable.
    Attributed "attribution": [u8; ATTRIBUTED_BYTES], attributed_contexts;
}

impl Section {
    /// Where it is, and what is in it.
    #[inline(always)]
    pub const fn place(self) -> Place {
        Section::PLACES[self as usize]
    }

    /// Its first byte.
    pub const fn begin(self) -> usize {
        self.place().begin
    }

    /// Bytes of it that are used, as the header says, and no more than there is space for.
    pub fn used(self, header: &Header) -> usize {
        if self == Section::Attributed {
            return header.attributed_bytes();
        }
        let Place { most, row, .. } = self.place();
        header.rows_of(self).min(most as u64) as usize * row
    }
}

/// Bytes of a file in which all sections are full.
pub const MAX_BYTES: usize = Section::Attributed.place().end;

row! {
    /// The header. Times are ticks of the process's clock.
    #[repr(C)]
    pub struct Header =>
    /// The header as plain values.
    #[derive(Clone, Debug, Default)]
    HeaderRow;
    /// `MELTABLE`.
    key magic;
    /// Of the layout.
    key version;
    /// The rank in `MPI_COMM_WORLD`.
    key rank;
    /// How many ranks that has.
    key world_size;
    /// The process.
    key pid;
    /// How it ended: 0 not, 1 with `MPI_Finalize`, 2 with `MPI_Abort`, 3 with `exit`.
    key ended;
    /// Of the process's clock.
    key ticks_per_second;
    /// The entry of `MPI_Init*`.
    key started;
    /// The same instant in nanoseconds since 1970.
    key started_realtime_nanos;
    /// The exit of `MPI_Init*`.
    key runs_since;
    /// The entry of `MPI_Finalize`, or the end of the measurement; 0 until then.
    key runs_until;
    /// 1 where there are several nodes, and clocks were compared.
    key clock_compared;
    /// Then: an instant in ticks of this process.
    key clock_ticks;
    /// The same in nanoseconds of the reference clock, which is that of rank 0's node.
    key clock_nanos;
    /// How far that may be from the truth.
    key clock_error_nanos;
    /// Rows of contexts.
    key contexts;
    /// Rows of waits.
    key waits;
    /// Intervals of waits.
    key waited;
    /// Intervals of collective operations.
    key collectives;
    /// Bytes of definitions.
    key definitions;
    /// Intervals are kept of one in two to the power of this many periods.
    key level;
    /// Contexts that found no space.
    key lost_contexts;
    /// Rows of waits that found no space.
    key lost_waits;
    /// Definitions that found no space.
    key lost_definitions;
    /// The name of the node, filled up with zeros.
    key host: [Column; 32];
    /// Bytes that the file has: one that has fewer was cut off.
    key length;
    /// Rows of threads.
    key threads;
    /// Rows of queues.
    key queues;
    /// Rows of traffic.
    key traffic;
    /// Rows of traffic that found no space.
    key lost_traffic;
    /// The phase that the process is in.
    key phase;
    /// Since when.
    key phase_since;
    /// The time in each phase before that. That of phase 255 is all time that does not count.
    key phase_ticks: [Column; MAX_PHASES + 1];
    /// Rows of stacks.
    key stacks;
    /// Rows of stacks that found no space.
    key lost_stacks;
    /// How many hundredths of a second each sample of a stack stands for.
    key stack_step;
    /// Rows of what the processor counted.
    key counted;
    /// Rows of connections.
    key connections;
    /// Rows of connections that found no space.
    key lost_connections;
    /// Rows of queues by communicator.
    key communicator_queues;
    /// Rows of sampled variables.
    key sampled;
    /// Rows of sampled variables that found no space.
    key lost_sampled;
    /// Samples that were lost on their way.
    key lost_samples;
    /// Variables that are attributed.
    key attributed;
    /// Contexts that have rows for them.
    key attributed_contexts;
    /// Regions that were begun beyond the last number.
    key lost_regions;
    /// Ends of regions that have fitted no beginning.
    key mismatched_regions;
    /// Rows of times in regions.
    key regions;
    /// Rows of times in regions that found no space.
    key lost_times_in_regions;
    /// Communicators and windows beyond the last number.
    key lost_communicators;
    /// Communicators and windows beyond the last number of the event log.
    key lost_logged;
    /// Communicators whose queues share a row.
    key shared_queues;
    /// Threads that share a row.
    key shared_threads;
    /// Times that a phase beyond the last number was named.
    key lost_phases;
    /// Rows of windows.
    key windows;
    /// Rows of threads of windows.
    key threads_of_windows;
    /// Rows of what holds calls up.
    key holds;
    /// Receives that the MPI completed with the message that the model had matched. This and what follows is stored once for 64 receives.
    key matched;
    /// With another message; the model followed it.
    key rematched;
    /// Receives that completed although no envelope of their message ever came.
    key envelopes_lost;
    /// Envelopes of messages that no receive ever took.
    key never_received;
    /// Envelopes that were lost because a ring was full.
    key dropped;
    /// Communicators that are not followed.
    key communicators_not_followed;
    /// Calls that are not followed.
    key calls_not_followed;
    /// Partitioned operations, which are not followed.
    key partitioned_not_followed;
    /// Receives that are not counted in the queues, because all would take more of the run than the model may take.
    key receives_not_followed;
    /// Bursts, receives that one call has completed, since there were such.
    key bursts;
    /// Those of them that are counted.
    key bursts_followed;
    /// Where clocks were compared: how far this node's is behind that of rank 0's, in nanoseconds, signed.
    key clock_offset_nanos;
    /// Checksum of the columns that say whose table it is, and by which clock.
    key identity_checksum;
    /// Checksums of the used bytes of each section, once the measurement has ended.
    key checksums: [Column; Section::ALL.len()];
    /// Checksum of all of the header before this: the table is final. 0 until then.
    key sealed;
}

impl Header {
    /// Bytes of what is attributed; none where the counts make no sense.
    fn attributed_bytes(&self) -> usize {
        let (variables, contexts) = (self.attributed.get(), self.attributed_contexts.get());
        if variables == 0 || variables > MAX_ATTRIBUTED as u64 {
            return 0;
        }
        attributed::bytes_of(contexts.min(MAX_CONTEXTS as u64), variables as usize).unwrap_or(0)
    }
}

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

row! {
    /// Where a thread is: 64 bytes, which only that thread writes.
    #[repr(C, align(64))]
    pub struct Thread =>
    /// Where a thread is.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    ThreadRow;
    /// When it entered the call that it has made last.
    kept entered;
    /// When it left it: less than `entered` while it is in the call.
    kept left;
    /// The context of that call.
    kept context: AtomicU32;
    /// Not used.
    unused unused: AtomicU32;
    /// Not used.
    unused unused_too: [Column; 5];
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

row! {
    /// Calls of one MPI function, from one call site, on one communicator, by one thread: 256 bytes, of which a call writes two lines.
    #[repr(C, align(64))]
    pub struct Context =>
    /// A context's row as plain values.
    #[derive(Clone, Debug, Default, PartialEq)]
    ContextRow of ContextKey;
    /// Calls.
    sum calls;
    /// Time in them.
    sum ticks;
    /// The longest.
    max longest;
    /// Bytes sent.
    sum sent;
    /// Bytes received.
    sum received;
    /// The return address of the call in the process; 0 where it is not known.
    key site;
    /// The communicator's number in the definitions; 0 for none.
    key communicator: AtomicU32;
    /// The MPI function's number (65 535 for what a thread does outside of MPI), and the thread in the upper half.
    key function_and_thread: AtomicU32;
    /// The part of `search_ticks` of receives with a wildcard.
    sum wildcard_search_ticks;
    /// Unexpected messages that receives posted here have found.
    sum unexpected;
    /// Their bytes.
    sum unexpected_bytes;
    /// Time in the searches for them.
    sum search_ticks;
    /// The longest.
    max longest_search;
    /// The phase, and the region in the upper half.
    key phase_and_region: AtomicU32;
    /// Not used.
    unused unused: AtomicU32;
    /// Of collective operations: bytes of the data as the program gives it, count times type.
    sum given;
    /// Not used.
    unused unused_too: [Column; 2];
    /// Calls by duration: below 64 ticks, below 128, and so on.
    sum bins: [AtomicU32; BINS];
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

    pub(super) fn set_key(&self, key: ContextKey) {
        self.phase_and_region.store(u32::from(key.region) << 16 | u32::from(key.phase), Relaxed);
        self.site.set(key.site);
        self.communicator.store(key.communicator, Relaxed);
        self.function_and_thread.store(u32::from(key.thread) << 16 | u32::from(key.function), Relaxed);
    }
}

impl ContextRow {
    /// Adds a call of so many ticks.
    pub fn count(&mut self, ticks: u64) {
        self.calls = self.calls.saturating_add(1);
        self.ticks = self.ticks.saturating_add(ticks);
        self.longest = self.longest.max(ticks);
        self.bins.resize(BINS, 0);
        self.bins[bin(ticks)] = self.bins[bin(ticks)].saturating_add(1);
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
    /// A thread polled for something: from the first test without success until the one that had it. The peer is not known.
    Polled = 5,
    /// A call that lasted long, from entry to exit, whatever it did. The peer is not known.
    Long = 6,
    /// A collective operation that has a request is started, from entry to exit of the call.
    Started = 7,
    /// The operation is waited for: from the entry of the call that completes it, or from the first test without success, until it is
    /// complete.
    Completed = 8,
    /// A call that synchronises a window, from entry to exit: all that others may wait for. The peer is the target of a lock, or negative;
    /// the peer's context is 1 where the lock is exclusive, else 0.
    Window = 9,
    /// A long message was sent and its receive posted, while the receiver was elsewhere: from then until it entered the call that
    /// completed the receive.
    LeftWaiting = 10,
}

impl IntervalKind {
    /// The kind of this number.
    pub fn of(number: u8) -> IntervalKind {
        use IntervalKind::{
            Collective, Completed, LateReceiver, LateSender, LeftWaiting, Long, Polled, PostedLate, Started,
            Unknown, Window,
        };
        let of_messages = [LateSender, LateReceiver, PostedLate, LeftWaiting];
        let others = [Unknown, Collective, Polled, Long, Started, Completed, Window];
        (of_messages.into_iter().chain(others)).find(|kind| *kind as u8 == number).unwrap_or_default()
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

impl WaitKey {
    fn of(context: u32, peer: u32, peer_context_and_kind: u32) -> WaitKey {
        WaitKey {
            context,
            peer: peer as i32,
            peer_context: peer_context_and_kind as u16,
            kind: IntervalKind::of((peer_context_and_kind >> 16) as u8),
        }
    }
}

row! {
    /// Time that calls of one context have waited for one call of one peer: 64 bytes.
    #[repr(C, align(64))]
    pub struct Wait =>
    /// A row of waits as plain values.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    WaitRow of WaitKey;
    /// Waits.
    sum count;
    /// Time in them.
    sum ticks;
    /// The longest.
    max longest;
    /// Bytes of the messages; of polling the part of the time that is outside of MPI, between the tests.
    sum bytes;
    /// The context of the call that waits.
    key context: AtomicU32;
    /// The peer's rank in the communicator of that context.
    key peer: AtomicU32;
    /// The context of the peer's call in the peer's table (0 where it is not known), and why in the upper half: 1 late sender, 2 late receiver, 3 a
    /// receive that was posted late, 5 polling, 8 a collective operation that has a request, 10 a receiver that was elsewhere.
    key peer_context_and_kind: AtomicU32;
    /// Not used.
    unused unused: AtomicU32;
    /// Not used.
    unused unused_too: [Column; 2];
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
        WaitKey::of(self.context.load(Relaxed), self.peer.load(Relaxed), both)
    }

    pub(super) fn set_key(&self, key: WaitKey) {
        self.context.store(key.context, Relaxed);
        self.peer.store(key.peer as u32, Relaxed);
        let kind = u32::from(key.kind as u8) << 16;
        self.peer_context_and_kind.store(kind | u32::from(key.peer_context), Relaxed);
    }
}

row! {
    /// One wait, or one collective operation: 32 bytes.
    #[repr(C)]
    pub struct Interval =>
    /// One wait, or one collective operation: then `key.peer` is its number on the communicator, from 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    IntervalRow of WaitKey;
    /// When it began.
    kept begin;
    /// When it ended.
    kept end;
    /// The context of the call.
    key context: AtomicU32;
    /// The peer's rank in the communicator; of a collective operation its number on the communicator, from 0.
    key peer: AtomicU32;
    /// As of waits; of a collective operation the root plus one (0 where there is none), and 4 in the upper half, or 7 and 8 of the start and
    /// the wait of one that has a request; of any other long call 6 there.
    key peer_context_and_kind: AtomicU32;
    /// Not used.
    unused unused: AtomicU32;
}

impl Interval {
    /// What it stands for.
    pub fn key(&self) -> WaitKey {
        let both = self.peer_context_and_kind.load(Relaxed);
        WaitKey::of(self.context.load(Relaxed), self.peer.load(Relaxed), both)
    }
}

/// What a row of [`Hold`] says of a call that lasts long, or of its rank meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum HoldKind {
    /// Nothing that is known: of a later version.
    #[default]
    Unknown = 0,
    /// The call waits for a message, which a receive or a probe asks for.
    Receive = 1,
    /// The call sends a message.
    Send = 2,
    /// A message has come that no receive has asked for.
    Message = 3,
    /// Requests that the call waits for of which more is not known: the peer is how many.
    Others = 4,
    /// The call has this root.
    Root = 5,
    /// The call was still under way at this time, in place of bytes.
    Lasts = 6,
}

impl HoldKind {
    /// The kind of this number.
    pub fn of(number: u8) -> HoldKind {
        use HoldKind::{Lasts, Message, Others, Receive, Root, Send, Unknown};
        [Receive, Send, Message, Others, Root, Lasts]
            .into_iter()
            .find(|kind| *kind as u8 == number)
            .unwrap_or(Unknown)
    }
}

row! {
    /// What holds up a call that lasts long, or has come to its rank meanwhile: 40 bytes, written by a thread that looks now and then.
    #[repr(C)]
    pub struct Hold =>
    /// What holds up a call that lasts long, or has come to its rank meanwhile.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    HoldRow;
    /// When the call was entered, as the row of its thread has it: that of a later call is another one. Of a thread that was in no call, when it
    /// left the last one.
    kept entered;
    /// The identity of the communicator of the message or the root, the same in all of its processes.
    kept communicator;
    /// Bytes of the message; of a call that was still under way, when that was.
    kept bytes;
    /// The peer's rank in the communicator, or the root; signed, negative for any.
    kept peer: AtomicU32;
    /// The tag; signed, negative for any.
    kept tag: AtomicU32;
    /// The thread, and in the upper half what it is: 1 a message that is waited for, 2 one that is sent, 3 one that has come and that no receive
    /// has asked for, 4 requests of which more is not known, 5 a root, 6 that it was still under way.
    kept thread_and_kind: AtomicU32;
    /// Not used.
    unused unused: AtomicU32;
}

impl HoldRow {
    /// That of a call of this thread, which was entered then.
    pub fn new(kind: HoldKind, thread: u16, entered: u64) -> HoldRow {
        let thread_and_kind = u32::from(kind as u8) << 16 | u32::from(thread);
        HoldRow { entered, thread_and_kind, ..HoldRow::default() }
    }

    /// What it is.
    pub fn kind(&self) -> HoldKind {
        HoldKind::of((self.thread_and_kind >> 16) as u8)
    }

    /// The thread of the call.
    pub fn thread(&self) -> u16 {
        self.thread_and_kind as u16
    }
}

impl Hold {
    /// Sets it to a row of plain values.
    pub(super) fn set(&self, row: &HoldRow) {
        self.entered.set(row.entered);
        self.communicator.set(row.communicator);
        self.bytes.set(row.bytes);
        self.peer.store(row.peer, Relaxed);
        self.tag.store(row.tag, Relaxed);
        self.thread_and_kind.store(row.thread_and_kind, Relaxed);
    }
}

/// Columns of each kind of row, by what it is called, for the documentation. Queues and text have none that are declared.
pub const COLUMNS: [(&str, &[ColumnOf]); 17] = [
    ("Header", Header::COLUMNS),
    ("Threads", Thread::COLUMNS),
    ("Contexts", Context::COLUMNS),
    ("Waits", Wait::COLUMNS),
    ("Intervals", Interval::COLUMNS),
    ("Windows", Window::COLUMNS),
    ("Threads of windows", ThreadOfWindow::COLUMNS),
    ("What holds calls up", Hold::COLUMNS),
    ("Traffic", Traffic::COLUMNS),
    ("Connections", Connection::COLUMNS),
    ("Stacks", Stack::COLUMNS),
    ("Counters of the processor", Counted::COLUMNS),
    ("Times in regions", TimeInRegion::COLUMNS),
    ("Sampled variables", Sampled::COLUMNS),
    ("Attributed variables", AttributedVariable::COLUMNS),
    ("Attribution: a context", attributed::AttributedContext::COLUMNS),
    ("Attribution: a variable in a context", attributed::Attributed::COLUMNS),
];

const _: () = {
    assert!(size_of::<Header>() <= HEADER_BYTES);
    assert!(size_of::<Thread>() == 64);
    assert!(size_of::<Queues>() == 90_368);
    assert!(size_of::<BriefQueues>() == 256);
    assert!(size_of::<Context>() == 256);
    assert!(size_of::<Wait>() == 64);
    assert!(size_of::<Interval>() == 32);
    assert!(size_of::<Traffic>() == 576);
    assert!(size_of::<Connection>() == 128);
    assert!(size_of::<Sampled>() == 2176);
    assert!(size_of::<Counted>() == 64);
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of docs/profile-table.md: the sections, and the columns of each kind of row.
    fn documented(with_meaning: bool) -> String {
        let mut text = String::from("| section | at byte | rows | bytes of a row |\n|---|---|---|---|\n");
        text += &format!("| header | 0 | 1 | {HEADER_BYTES} |\n");
        for section in Section::ALL {
            let Place { title, begin, most, row, .. } = section.place();
            text += &format!("| {title} | {begin} | {most} | {row} |\n");
        }
        for (row, columns) in COLUMNS {
            text += &format!(
                "\n### Columns: {row}\n\n| column | at byte | what | together | meaning |\n|---|---|---|---|---|\n"
            );
            let mut at = 0;
            for ColumnOf { name, cell: (cell, count), bytes, fold, meaning } in columns {
                let times = if *count > 1 { format!("{count} × ") } else { String::new() };
                let meaning = meaning.iter().filter(|_| with_meaning).map(|line| line.trim());
                if *fold != "unused" {
                    let meaning = meaning.collect::<Vec<_>>().join(" ");
                    text += &format!("| `{name}` | {at} | {times}{cell} | {fold} | {meaning} |\n");
                }
                at += bytes;
            }
        }
        text
    }

    /// Tables of another layout must not be taken for those of this one.
    #[test]
    fn the_version_is_that_of_the_layout() {
        let layout = checksum::of([documented(false).as_bytes()]);
        assert_eq!(
            (VERSION, layout),
            (16, 3_162_740_648),
            "the layout has changed: raise VERSION, and put its checksum here"
        );
    }

    #[test]
    fn the_documentation_has_the_layout() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/profile-table.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (begin, end) = ("<!-- made of crates/mel-log/src/table -->\n", "<!-- end -->\n");
        let (before, rest) = text.split_once(begin).expect("the documentation says where the tables begin");
        let (there, after) = rest.split_once(end).expect("and where they end");
        if std::env::var_os("MEL_WRITE_DOCS").is_some() {
            return std::fs::write(path, format!("{before}{begin}{}{end}{after}", documented(true))).unwrap();
        }
        assert!(
            there == documented(true),
            "MEL_WRITE_DOCS=1 cargo test -p mel-log the_documentation writes it anew"
        );
    }

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
