//! The writing side of a profile table. Sections grow by chunks, whose space is reserved before it is used.
//!
//! What is not reserved is mapped without access: whoever reads all memory of a process that can be read, such as valgrind when it
//! looks for what was lost, would get a `SIGBUS` for each word of it.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use in_process::own_file::{self, OwnFile};
use memmap2::{MmapOptions, MmapRaw};

use super::attributed::{self, Attributed, AttributedContext, AttributedVariable};
use super::connections::{Connection, ConnectionKey};
use super::counted::{Counted, PhaseAndRegion};
use super::layout::{
    Context, ContextKey, HEADER_BYTES, Header, Hold, HoldRow, Interval, IntervalKind, MAGIC, MAX_ATTRIBUTED,
    MAX_BYTES, MAX_CONTEXTS, MAX_DEFINITIONS, MAX_HOLDS, MAX_INTERVALS, MAX_THREADS, Section, Thread,
    VERSION, Wait, WaitKey, header_checksum, identity_checksum,
};
use super::lock;
use super::queues::{BriefQueues, Queues, QueuesKey};
use super::row::{Column, Row};
use super::sampled::Sampled;
use super::stacks::{Stack, StackKey};
use super::traffic::{Traffic, TrafficKey};
use crate::profile::Ended;
use crate::space::{map, reserve, set_accessible};
use crate::{Definition, checksum};

/// Space is reserved so many bytes at a time.
const CHUNK: usize = 64 << 10;

/// A period of the clock, as a power of two of ticks: some tens of milliseconds. Intervals are kept or left out by periods, the same
/// ones on all ranks of a node, so that what one rank waited for can be looked up in another.
pub const PERIOD: u32 = 26;

/// Who writes the table.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "each is the header's field of that name")]
pub struct Identity {
    pub rank: u32,
    pub world_size: u32,
    pub ticks_per_second: u64,
    pub started: u64,
    pub started_realtime_nanos: u64,
    pub runs_since: u64,
    pub host: String,
}

/// A profile table, for its process. Rows are added under a lock of its own; counting in a row takes none. Cloning gives another hold on
/// the same table.
#[derive(Clone, Debug)]
pub struct ProfileTable {
    /// Where the mapping begins, at hand.
    base: *mut u8,
    inner: Arc<Inner>,
}

// SAFETY: `base` leads into the mapping, which lives as long as `inner`, holds atomics and text that is written once, and is the same
// for all threads.
unsafe impl Send for ProfileTable {}
// SAFETY: as above.
unsafe impl Sync for ProfileTable {}

#[derive(Debug)]
struct Inner {
    map: MmapRaw,
    /// The file, if there is one, and up to where space is reserved in each section.
    reserved: Mutex<Reserved>,
}

#[derive(Debug)]
struct Reserved {
    file: Option<OwnFile>,
    /// The program has closed its descriptor: there is nothing to try again.
    is_taken: bool,
    /// By section: the first byte that is not reserved.
    until: [usize; Section::ALL.len()],
}

/// The header and the rows of all threads are there from the start.
const FROM_THE_START: usize = Section::Queues.begin();

impl ProfileTable {
    /// A table in a new file.
    ///
    /// # Errors
    /// Those of the file system; nothing is left behind then.
    pub fn create(path: &Path, identity: &Identity) -> io::Result<ProfileTable> {
        let file = crate::access::create(path)?;
        let made = OwnFile::keep(file).and_then(|file| {
            reserve(&file, 0, FROM_THE_START as u64)?;
            let map = map(&file, 0, MAX_BYTES)?;
            // As the mapping keeps the file open, the lock is held for as long, whoever closes the descriptor.
            file.with(|file| Ok(lock::hold(file)))?;
            Self::with(map, Some(file), identity)
        });
        if made.is_err() {
            let _ = std::fs::remove_file(path);
        }
        made
    }

    /// A table in memory only.
    ///
    /// # Errors
    /// No memory.
    pub fn in_memory(identity: &Identity) -> io::Result<ProfileTable> {
        let map = MmapOptions::new().len(MAX_BYTES).map_anon()?;
        Self::with(map.into(), None, identity)
    }

    fn with(map: MmapRaw, file: Option<OwnFile>, identity: &Identity) -> io::Result<ProfileTable> {
        // SAFETY: nobody has the mapping yet.
        unsafe { set_accessible(&map, FROM_THE_START..MAX_BYTES, false) }?;
        let reserved =
            Mutex::new(Reserved { file, is_taken: false, until: Section::ALL.map(Section::begin) });
        let base = map.as_mut_ptr();
        let table = ProfileTable { base, inner: Arc::new(Inner { map, reserved }) };
        let header = table.header();
        header.length.set(FROM_THE_START as u64);
        header.version.set(u64::from(VERSION));
        header.rank.set(identity.rank.into());
        header.world_size.set(identity.world_size.into());
        header.pid.set(std::process::id().into());
        header.ticks_per_second.set(identity.ticks_per_second);
        header.started.set(identity.started);
        header.started_realtime_nanos.set(identity.started_realtime_nanos);
        header.runs_since.set(identity.runs_since);
        header.phase_since.set(identity.runs_since);
        for (column, bytes) in header.host.iter().zip(identity.host.as_bytes().chunks(8)) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            column.set(u64::from_ne_bytes(word));
        }
        header.identity_checksum.set(identity_checksum(&table.bytes(0, HEADER_BYTES)));
        // Last: a reader takes what has it for a table.
        header.magic.set(u64::from_ne_bytes(MAGIC));
        // What finds no space counts here.
        table.add_context(ContextKey::default());
        Ok(table)
    }

    /// Where something of this type lies. `at` is within the mapping, and aligned as the sections are.
    #[inline(always)]
    fn at<T>(&self, at: usize) -> *const T {
        debug_assert!(at + size_of::<T>() <= MAX_BYTES && at.is_multiple_of(align_of::<T>()));
        // SAFETY: callers pass places of the layout, all of which lie within the mapping of `MAX_BYTES` bytes.
        unsafe { self.base.add(at).cast_const().cast() }
    }

    /// The header.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: the header is reserved since the table was made; it holds atomics only, so that every bit pattern is valid and
        // shared references may write; the mapping is page-aligned and lives as long as `self`.
        unsafe { &*self.at(0) }
    }

    /// A column of the header, by its place.
    #[inline(always)]
    fn column(&self, offset: usize) -> &Column {
        debug_assert!(offset < HEADER_BYTES);
        // SAFETY: as for the header, which has a column there: callers pass what `offset_of!` gives.
        unsafe { &*self.at(offset) }
    }

    /// A row that was added; the last one that there may be for a number beyond.
    #[inline(always)]
    pub(super) fn row<T: Row>(&self, section: Section, number: usize) -> &T {
        let place = section.place();
        debug_assert_eq!(size_of::<T>(), place.row);
        // SAFETY: rows that were given are reserved, and no others are asked for; they hold atomics only, and the mapping lives as long as
        // `self`.
        unsafe { &*self.at(place.begin + number.min(place.most - 1) * size_of::<T>()) }
    }

    /// Adds a row, of which `set_key` says what it stands for; `None` where there is no space, which is counted. One thread at a time.
    pub(super) fn add_row<T: Row>(&self, section: Section, set_key: impl FnOnce(&T)) -> Option<u32> {
        self.add(section, |number| set_key(self.row(section, number)))
    }

    /// The same, of which `set_key` is given the number.
    fn add(&self, section: Section, set_key: impl FnOnce(usize)) -> Option<u32> {
        let place = section.place();
        let count = self.column(place.count);
        let number = count.get() as usize;
        if number >= place.most || !self.reserve_until(section, (number + 1) * place.row) {
            if place.lost != usize::MAX {
                self.column(place.lost).add(1);
            }
            return None;
        }
        set_key(number);
        // The row before the count: the file's readers see whole rows.
        std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
        count.set(number as u64 + 1);
        Some(number as u32)
    }

    /// Forgets what was counted in all rows of a section.
    pub(super) fn clear_rows<T: Row>(&self, section: Section) {
        let rows = self.column(section.place().count).get() as usize;
        (0..rows).for_each(|number| self.row::<T>(section, number).clear());
    }

    /// The row of a context, which [`add_context`](ProfileTable::add_context) has given; the first one for any other number.
    #[inline(always)]
    pub fn context(&self, index: u32) -> &Context {
        self.row(Section::Contexts, if (index as usize) < MAX_CONTEXTS { index as usize } else { 0 })
    }

    /// The row of waits, which [`add_wait`](ProfileTable::add_wait) has given.
    #[inline(always)]
    pub fn wait(&self, index: u32) -> &Wait {
        self.row(Section::Waits, index as usize)
    }

    /// The row of traffic, which [`add_traffic`](ProfileTable::add_traffic) has given.
    #[inline(always)]
    pub fn traffic(&self, index: u32) -> &Traffic {
        self.row(Section::Traffic, index as usize)
    }

    /// The row of connections, which [`add_connection`](ProfileTable::add_connection) has given.
    pub fn connection(&self, index: u32) -> &Connection {
        self.row(Section::Connections, index as usize)
    }

    /// The row of a sampled variable, which [`add_sampled`](ProfileTable::add_sampled) has given.
    #[inline]
    pub fn sampled(&self, number: u32) -> &Sampled {
        self.row(Section::Sampled, number as usize)
    }

    /// The row of a variable that is attributed, after [`begin_attribution`](ProfileTable::begin_attribution).
    #[inline(always)]
    pub fn attributed_variable(&self, place: usize) -> &AttributedVariable {
        self.row(Section::AttributedVariables, place)
    }

    /// The rows of a context; those of the first one where it has none of its own. After
    /// [`begin_attribution`](ProfileTable::begin_attribution).
    #[inline(always)]
    pub fn attributed(&self, context: u32) -> attributed::OfContext<'_> {
        let header = self.header();
        let (variables, contexts) = (header.attributed.get() as usize, header.attributed_contexts.get());
        let context = if u64::from(context) < contexts { context as usize } else { 0 };
        let at = Section::Attributed.begin() + context * (variables + 1) * size_of::<Attributed>();
        let rows = self.at::<AttributedContext>(at);
        // SAFETY: the rows of as many contexts as the header says are reserved, and those of the first one since attribution has begun;
        // they hold atomics only, and the mapping lives as long as `self`. Both types have the same size.
        unsafe {
            let of_variables = std::slice::from_raw_parts(rows.add(1).cast::<Attributed>(), variables);
            attributed::OfContext { context: &*rows, variables: of_variables }
        }
    }

    /// Makes sure of the space of all variables that may be attributed.
    pub(super) fn reserve_attributed_variables(&self) -> bool {
        self.reserve_until(Section::AttributedVariables, MAX_ATTRIBUTED * size_of::<AttributedVariable>())
    }

    /// Makes sure of the space of so many contexts with so many variables.
    pub(super) fn reserve_attributed(&self, contexts: u64, variables: usize) -> bool {
        attributed::bytes_of(contexts, variables)
            .is_some_and(|bytes| self.reserve_until(Section::Attributed, bytes))
    }

    /// The row of a thread; those beyond the last one share it.
    #[inline(always)]
    pub fn thread(&self, number: u16) -> &Thread {
        self.row(Section::Threads, number.into())
    }

    /// There is a thread of this number.
    #[cold]
    pub fn add_thread(&self, number: u16) {
        let threads = u64::from(number) + 1;
        self.header().threads.raise(threads.min(MAX_THREADS as u64));
        // Those beyond share the last row.
        self.header().shared_threads.fetch_max(threads.saturating_sub(MAX_THREADS as u64));
    }

    /// Adds a set of queues; its number, or `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_queues(&self, key: QueuesKey) -> Option<usize> {
        self.add(Section::Queues, |number| self.queues(number).set_key(key)).map(|number| number as usize)
    }

    /// A set of queues that [`add_queues`](ProfileTable::add_queues) has given.
    #[inline(always)]
    pub fn queues(&self, number: usize) -> &Queues {
        let place = Section::Queues.place();
        // SAFETY: as of `row`: queues hold atomics only, too.
        unsafe { &*self.at(place.begin + number.min(place.most - 1) * size_of::<Queues>()) }
    }

    /// Adds a row for the queues of the communicator of this number, in the phase 0 or [`STOPPED`](super::layout::STOPPED); `None` where
    /// there is no space. One thread at a time.
    #[cold]
    pub fn add_communicator_queues(&self, communicator: u32, phase: u16) -> Option<u32> {
        self.add(Section::CommunicatorQueues, |number| {
            let row = self.communicator_queues(number as u32);
            row.set_key(QueuesKey { whose: 0, phase });
            row.set_communicator(communicator);
        })
    }

    /// A row that [`add_communicator_queues`](ProfileTable::add_communicator_queues) has given.
    #[inline(always)]
    pub fn communicator_queues(&self, number: u32) -> &BriefQueues {
        let place = Section::CommunicatorQueues.place();
        // SAFETY: as of `row`: queues hold atomics only, too.
        unsafe { &*self.at(place.begin + (number as usize).min(place.most - 1) * size_of::<BriefQueues>()) }
    }

    /// Makes sure of the space of a section up to this many bytes from its begin.
    fn reserve_until(&self, section: Section, bytes: usize) -> bool {
        let mut reserved = self.inner.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let Reserved { file, is_taken, until } = &mut *reserved;
        let end = section.begin() + bytes;
        let known = &mut until[section as usize];
        while *known < end {
            if *is_taken {
                return false;
            }
            if let Some(Err(error)) = file.as_ref().map(|file| reserve(file, *known as u64, CHUNK as u64)) {
                *is_taken = own_file::is_taken(&error);
                return false;
            }
            let chunk = *known..(*known + CHUNK).min(MAX_BYTES);
            // SAFETY: it has just been reserved, or is in memory.
            if unsafe { set_accessible(&self.inner.map, chunk, true) }.is_err() {
                return false;
            }
            *known += CHUNK;
            self.header().length.raise(*known as u64);
        }
        true
    }

    /// Adds a context; 0, which is for what finds no space, where there is none. One thread at a time.
    #[cold]
    pub fn add_context(&self, key: ContextKey) -> u32 {
        let index = self.header().contexts.get();
        let added = self.add_row(Section::Contexts, |row: &Context| {
            row.set_key(key);
            self.attribute_contexts(index + 1);
        });
        added.unwrap_or(0)
    }

    /// Adds a row of waits; `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_wait(&self, key: WaitKey) -> Option<u32> {
        self.add_row(Section::Waits, |row: &Wait| row.set_key(key))
    }

    /// Adds a row of traffic; `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_traffic(&self, key: TrafficKey) -> Option<u32> {
        self.add_row(Section::Traffic, |row: &Traffic| row.set_key(key))
    }

    /// Adds a row of connections; `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_connection(&self, key: &ConnectionKey) -> Option<u32> {
        self.add_row(Section::Connections, |row: &Connection| row.set_key(key))
    }

    /// Adds a row of stacks; `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_stack(&self, key: &StackKey) -> Option<u32> {
        self.add_row(Section::Stacks, |row: &Stack| row.set_key(key))
    }

    /// The row of stacks, which [`add_stack`](ProfileTable::add_stack) has given.
    pub fn stack(&self, index: u32) -> &Stack {
        self.row(Section::Stacks, index as usize)
    }

    /// Adds the row of what the processor counts in a region of a phase; `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_counted(&self, key: PhaseAndRegion) -> Option<u32> {
        self.add_row(Section::Counted, |row: &Counted| {
            row.phase.set(key.phase.into());
            row.region.set(key.region.into());
        })
    }

    /// The row that [`add_counted`](ProfileTable::add_counted) has given.
    pub fn counted(&self, index: u32) -> &Counted {
        self.row(Section::Counted, index as usize)
    }

    /// These rows, as many as there is space for, are what holds up calls now. One thread at a time.
    pub fn set_holds(&self, rows: &[HoldRow]) {
        let rows = &rows[..rows.len().min(MAX_HOLDS)];
        let count = self.count(Section::Holds);
        // Readers see none while they change.
        count.set(0);
        if rows.is_empty() || !self.reserve_until(Section::Holds, rows.len() * size_of::<Hold>()) {
            return;
        }
        for (place, row) in rows.iter().enumerate() {
            self.row::<Hold>(Section::Holds, place).set(row);
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
        count.set(rows.len() as u64);
    }

    /// Whether intervals are kept of the period of this time.
    #[inline(always)]
    pub fn keeps(&self, ticks: u64) -> bool {
        (ticks >> PERIOD) & ((1 << self.header().level.get().min(63)) - 1) == 0
    }

    /// Adds a wait, if it is in a period of which they are kept. One thread at a time adds waits.
    #[inline]
    pub fn add_waited(&self, key: WaitKey, begin: u64, end: u64) {
        let second = u32::from(key.kind as u8) << 16 | u32::from(key.peer_context);
        self.add_interval(Section::Waited, (begin, end), (key.context, key.peer as u32, second));
    }

    /// Adds a collective operation, the `number`-th on its communicator, likewise. One thread at a time adds those. Where it has a root,
    /// `root` is its rank plus one, else zero; a root that has no such number is 0xffff.
    #[inline]
    pub fn add_collective(&self, context: u32, number: u32, root: u16, times: (u64, u64)) {
        self.add_part_of_collective(IntervalKind::Collective, context, (number, root), times);
    }

    /// The same of a part: of one that has a request its start, or the wait for it.
    #[inline]
    pub fn add_part_of_collective(
        &self,
        kind: IntervalKind,
        context: u32,
        (number, root): (u32, u16),
        (begin, end): (u64, u64),
    ) {
        let kind = u32::from(kind as u8) << 16 | u32::from(root);
        self.add_interval(Section::Collectives, (begin, end), (context, number, kind));
    }

    #[inline(always)]
    fn add_interval(
        &self,
        section: Section,
        (begin, end): (u64, u64),
        (context, peer, kind): (u32, u32, u32),
    ) {
        if !self.keeps(begin) {
            return;
        }
        let count = self.count(section);
        let index = count.get() as usize;
        const OF_CHUNK: usize = CHUNK / size_of::<Interval>();
        if index.is_multiple_of(OF_CHUNK) && !self.has_space_for(section, index) {
            return;
        }
        let index = count.get() as usize;
        let interval = self.interval(section, index);
        interval.begin.set(begin);
        interval.end.set(end);
        interval.context.store(context, Relaxed);
        interval.peer.store(peer, Relaxed);
        interval.peer_context_and_kind.store(kind, Relaxed);
        count.set(index as u64 + 1);
    }

    /// How many intervals one of the two lists has.
    #[inline(always)]
    fn count(&self, section: Section) -> &Column {
        self.column(section.place().count)
    }

    #[inline(always)]
    fn interval(&self, section: Section, index: usize) -> &Interval {
        self.row(section, index)
    }

    /// Space for the chunk that begins with this interval; makes space by keeping fewer periods where the section is full.
    #[cold]
    #[inline(never)]
    fn has_space_for(&self, section: Section, index: usize) -> bool {
        if index < MAX_INTERVALS {
            return self.reserve_until(section, index * size_of::<Interval>() + CHUNK);
        }
        let header = self.header();
        // All in one period: the rest of it is left out.
        while header.level.get() < 40 {
            header.level.add(1);
            if self.thin_out(section) < MAX_INTERVALS {
                return true;
            }
        }
        false
    }

    /// Leaves out what is in no period that is kept any more; how many are left.
    fn thin_out(&self, section: Section) -> usize {
        let count = self.count(section);
        let mut kept = 0;
        for index in 0..count.get() as usize {
            let from = self.interval(section, index);
            if !self.keeps(from.begin.get()) {
                continue;
            }
            if kept != index {
                self.interval(section, kept).copy(from);
            }
            kept += 1;
        }
        count.set(kept as u64);
        kept
    }

    /// Adds a definition: a line of JSON. One thread at a time.
    #[cold]
    pub fn define(&self, definition: &Definition) {
        let header = self.header();
        let mut line = serde_json::to_vec(definition).unwrap_or_default();
        line.push(b'\n');
        let at = header.definitions.get() as usize;
        let end = at + line.len();
        if end > MAX_DEFINITIONS || !self.reserve_until(Section::Definitions, end) {
            return header.lost_definitions.add(1);
        }
        // SAFETY: the bytes are within the mapping, and reserved; nobody else writes them, because the count says who has which,
        // and readers read up to the count.
        unsafe {
            let to = self.base.add(Section::Definitions.begin() + at);
            std::ptr::copy_nonoverlapping(line.as_ptr(), to, line.len());
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
        header.definitions.set(end as u64);
    }

    /// The measurement ends, at this time. The file is sealed, unless other threads may still be in a call and count it.
    pub fn finish(&self, ended: Ended, at: u64) {
        self.header().runs_until.set(at);
        self.header().ended.set(ended.in_table());
        if self.is_in_file() && (ended == Ended::Finalised || self.header().threads.get() <= 1) {
            self.seal();
        }
    }

    /// Stores the checksums, so that readers notice damage.
    fn seal(&self) {
        let header = self.header();
        header.sealed.set(0);
        for (column, section) in header.checksums.iter().zip(Section::ALL) {
            let used = self.bytes(section.begin(), section.used(header));
            column.set(checksum::of([&used[..]]).into());
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
        header.sealed.set(header_checksum(&self.bytes(0, HEADER_BYTES)));
    }

    /// The rows as plain values.
    pub fn rows(&self) -> super::TableRows {
        super::reader::rows_of(|at, length| self.bytes(at, length), false)
    }

    /// What is used of the table, to be sent to another process: [`TableRows::of_image`](super::TableRows::of_image) reads it. With at
    /// most so many intervals of each list.
    pub fn image(&self, intervals: usize) -> Vec<u8> {
        let header = self.header();
        let is_sealed = header.sealed.get() != 0;
        header.sealed.set(0);
        for section in [Section::Waited, Section::Collectives] {
            while header.level.get() < 40 && self.count(section).get() as usize > intervals {
                header.level.add(1);
                self.thin_out(section);
            }
        }
        if is_sealed {
            self.seal();
        }
        let mut image = self.bytes(0, HEADER_BYTES);
        let used = Header::of_bytes(&image);
        for section in Section::ALL {
            image.extend(self.bytes(section.begin(), section.used(&used)));
        }
        lz4_flex::compress_prepend_size(&image)
    }

    /// Whether it is in a file, and not in memory alone.
    pub fn is_in_file(&self) -> bool {
        self.inner.reserved.lock().unwrap_or_else(PoisonError::into_inner).file.is_some()
    }

    /// Writes a table that is in memory alone into a new file.
    ///
    /// # Errors
    /// Those of the file system; no half file is left behind.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let file = crate::access::create(path)?;
        let header = self.header();
        let sections = Section::ALL.map(|section| (section.begin(), section.used(header)));
        let parts = sections.into_iter().chain([(0, HEADER_BYTES)]);
        let written =
            parts.into_iter().try_for_each(|(at, used)| file.write_all_at(&self.bytes(at, used), at as u64));
        if written.is_err() {
            let _ = std::fs::remove_file(path);
        }
        written
    }

    /// A copy of bytes that are reserved.
    fn bytes(&self, at: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        // SAFETY: callers ask for rows that were added: they lie within the mapping and are reserved. Others may be counting in them,
        // one number at a time, so that a torn row is the worst.
        unsafe { std::ptr::copy_nonoverlapping(self.base.add(at), bytes.as_mut_ptr(), length) };
        bytes
    }
}
