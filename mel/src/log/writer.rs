//! The writing side of the event log. It runs inside the application.
//!
//! A [`LogFile`] is shared by all threads; each thread appends through [`Appender`]s of its own, so
//! that no two threads ever touch the same record. A record's kind is stored last: until then a
//! reader sees the end of the chunk, so a process may be killed between any two instructions.
//!
//! The space of a chunk is reserved on the file system before it is mapped. A full disk is
//! therefore an error when a chunk is taken, never a `SIGBUS` when a record is stored. After the
//! first such error the log takes no further chunk; what no longer fits is counted.
//!
//! A stream maps one chunk, its window, and fills it again and again: a full window is copied to a
//! chunk behind it with a few system calls, which costs a fifth of what new pages in a mapping cost. In
//! between, both have the same content and the same sequence number.
//!
//! **After `fork`** the child shares the mapping with its parent. Whoever calls [`Appender::append`]
//! must know that it is not in a child. Everything else here notices by itself and does nothing.
//!
//! **Signals**: appending is safe in a signal handler as long as the handler did not interrupt an
//! append to the same stream *and* the chunk has room; as nobody can promise the latter, give
//! signal handlers no appender.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use memmap2::{Advice, MmapOptions, MmapRaw};

use mpit_events::prefetch;

use super::definitions::{Definition, StreamKind};
use super::format::{
    CHUNK_BYTES, CHUNK_HEADER_BYTES, Call, HEADER_BYTES, HeaderInfo, MAGIC, MAX_PAYLOAD_BYTES, NO_OBJECT,
    PAYLOAD_BYTES, RECORD_BYTES, State, VERSION, chunk, header, kind,
};
use super::limit::{FEWEST_CHUNKS, Limit};
use super::space;

/// How far ahead of a record, in bytes, the memory of later ones is fetched: a window is larger than the caches that
/// a store need not wait for.
const AHEAD: usize = 256;

/// The event log of one rank, open for writing. Cloning gives another hold on the same log.
#[derive(Clone, Debug)]
pub struct LogFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    header: MmapRaw,
    /// The process that opened the log; a forked child differs.
    pid: u32,
    /// The most chunks that the file may have.
    most_chunks: u32,
    streams: AtomicU32,
    /// Set once a chunk could not be had: from then on nobody tries again.
    full: AtomicBool,
    failure: Mutex<Option<io::Error>>,
    grown: Grown,
    text: Mutex<Text>,
}

/// The end of the text of definitions.
#[derive(Debug, Default)]
struct Text {
    chunk: Option<Chunk>,
    used: usize,
    sequence: u32,
    /// A line was cut short by a full disk, so that whatever followed would not be understood; or
    /// the log was finished, and the space behind the text has been given back.
    closed: bool,
}

/// Who hears of the file's growth.
#[derive(Default)]
struct Grown(OnceLock<Box<dyn Fn(u64) + Send + Sync>>);

impl std::fmt::Debug for Grown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "Grown(..)" } else { "Grown" })
    }
}

/// A chunk that this process has taken and mapped.
#[derive(Debug)]
struct Chunk {
    map: MmapRaw,
    /// Its offset in the file, in bytes.
    offset: u64,
}

impl LogFile {
    /// Bytes that the file takes, about.
    pub fn bytes(&self) -> u64 {
        let chunks = u32::from_le(self.0.header_u32(header::CHUNKS).load(Ordering::Relaxed));
        HEADER_BYTES as u64 + u64::from(chunks.min(self.0.most_chunks)) * CHUNK_BYTES as u64
    }

    /// Creates the log at `path`. A file of that name is replaced; a process that still writes to
    /// it keeps the old one.
    ///
    /// # Errors
    /// Those of the file system, a full disk among them.
    pub fn create(path: &Path, info: &HeaderInfo) -> io::Result<LogFile> {
        LogFile::create_limited(path, info, u64::MAX)
    }

    /// The same, for a log of at most so many bytes, or a few chunks where that is less: then it takes nothing more, as
    /// with a full disk ([`is_limit`](super::is_limit) tells the reason apart).
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_limited(path: &Path, info: &HeaderInfo, most_bytes: u64) -> io::Result<LogFile> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        space::reserve(&file, 0, HEADER_BYTES as u64)?;
        file.write_all_at(&header_page(info), 0)?;
        let header = MmapOptions::new().len(HEADER_BYTES).map_raw(&file)?;
        Ok(LogFile(Arc::new(Inner {
            file,
            header,
            pid: std::process::id(),
            most_chunks: u32::try_from(most_bytes / CHUNK_BYTES as u64)
                .unwrap_or(u32::MAX)
                .max(FEWEST_CHUNKS),
            streams: AtomicU32::new(0),
            full: AtomicBool::new(false),
            failure: Mutex::new(None),
            grown: Grown::default(),
            text: Mutex::new(Text::default()),
        })))
    }

    /// Names who hears of each chunk that the file takes, with the size that it has then in bytes; once. It runs inside of
    /// what appends, in any thread, and must not append itself.
    pub fn on_growth(&self, grown: impl Fn(u64) + Send + Sync + 'static) {
        let _ = self.0.grown.0.set(Box::new(grown));
    }

    /// Writes a definition. To be called before the first record that refers to it. Takes a lock
    /// and allocates: not for the hot path.
    ///
    /// # Errors
    /// A full disk, after which the log takes nothing more ([`take_failure`](Self::take_failure) has the reason); the log
    /// was [finished](Self::finish); it belongs to the process that forked this one.
    pub fn define(&self, definition: &Definition) -> io::Result<()> {
        let mut line = serde_json::to_vec(definition)?;
        line.push(b'\n');
        self.0.refuse_foreign()?;
        let mut text = lock(&self.0.text);
        if text.closed {
            return Err(io::Error::other("the event log takes no definitions any more"));
        }
        self.0.write_text(&mut text, &line).map_err(|error| {
            text.closed = true;
            let same = io::Error::new(error.kind(), error.to_string());
            self.0.fail(error);
            same
        })
    }

    /// Opens a further stream and defines it. Where its definition cannot be written any more, the
    /// stream's records are counted as lost like those of every stream.
    pub fn stream(&self, kind: StreamKind, thread: u32, source: Option<u32>) -> Appender {
        let number = self.0.streams.fetch_add(1, Ordering::Relaxed);
        let defined = self.define(&Definition::Stream { number, kind, thread, source });
        if let Err(error) = defined {
            self.0.fail(error);
        }
        Appender::new(&self.0, number)
    }

    /// The reason why the log holds no more, told to the first who asks and only once: so that one
    /// line is reported, not one per stream.
    pub fn take_failure(&self) -> Option<io::Error> {
        lock(&self.0.failure).take()
    }

    /// Whether records are being lost because no further chunk could be had.
    pub fn is_full(&self) -> bool {
        self.0.full.load(Ordering::Relaxed)
    }

    /// Hands everything to the disk, and waits for that.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn flush(&self) -> io::Result<()> {
        self.0.refuse_foreign()?;
        self.0.file.sync_data()
    }

    /// Writes down how and when the process ended. Open streams may still be appended to, but there
    /// can be no further definitions and streams.
    pub fn finish(&self, state: State, end_ticks: u64) {
        if self.0.is_foreign() {
            return;
        }
        self.0.header_u64(header::END_TICKS).store(end_ticks.to_le(), Ordering::Relaxed);
        self.0.header_u32(header::STATE).store((state as u32).to_le(), Ordering::Release);
        let mut text = lock(&self.0.text);
        text.closed = true;
        if let Some(chunk) = &text.chunk {
            chunk.trim(&self.0.file, CHUNK_HEADER_BYTES + text.used);
        }
    }
}

impl Inner {
    fn is_foreign(&self) -> bool {
        std::process::id() != self.pid
    }

    fn refuse_foreign(&self) -> io::Result<()> {
        if self.is_foreign() {
            return Err(io::Error::other("the event log belongs to the parent process"));
        }
        Ok(())
    }

    fn fail(&self, error: io::Error) {
        if !self.full.swap(true, Ordering::Relaxed) {
            *lock(&self.failure) = Some(error);
        }
    }

    fn header_u32(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset + 4 <= HEADER_BYTES && offset.is_multiple_of(4));
        // SAFETY: the page is mapped as long as `self` lives, the offset lies within it and is
        // aligned, and this process changes the page through atomics only.
        unsafe { AtomicU32::from_ptr(self.header.as_mut_ptr().add(offset).cast()) }
    }

    fn header_u64(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset + 8 <= HEADER_BYTES && offset.is_multiple_of(8));
        // SAFETY: as for `header_u32`.
        unsafe { AtomicU64::from_ptr(self.header.as_mut_ptr().add(offset).cast()) }
    }

    /// Reserves the space of the next chunk of the file, and gives its offset.
    fn reserve_chunk(&self) -> io::Result<u64> {
        self.refuse_foreign()?;
        if self.full.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let next = |count| Some(u32::from_le(count).wrapping_add(1).to_le());
        let (Ok(count) | Err(count)) =
            self.header_u32(header::CHUNKS).fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let index = u32::from_le(count);
        if index >= self.most_chunks {
            return Err(io::Error::other(Limit));
        }
        let offset = HEADER_BYTES as u64 + u64::from(index) * CHUNK_BYTES as u64;
        space::reserve(&self.file, offset, CHUNK_BYTES as u64)?;
        if let Some(grown) = self.grown.0.get() {
            grown(offset + CHUNK_BYTES as u64);
        }
        Ok(offset)
    }

    /// Takes the next chunk of the file for a stream, and maps it.
    fn take_chunk(&self, kind: u32, stream: u32, sequence: u32) -> io::Result<Chunk> {
        let offset = self.reserve_chunk()?;
        let map = MmapOptions::new().offset(offset).len(CHUNK_BYTES).map_raw(&self.file)?;
        if kind == chunk::EVENTS {
            // The pages are made writable here, all at once, rather than one by one while appending.
            // Linux before 5.14 cannot; then it is one by one.
            let _ = map.advise(Advice::PopulateWrite);
        }
        let chunk = Chunk { map, offset };
        chunk.field(chunk::KIND).store(kind.to_le(), Ordering::Relaxed);
        chunk.field(chunk::STREAM).store(stream.to_le(), Ordering::Relaxed);
        chunk.begin(sequence);
        Ok(chunk)
    }

    fn write_text(&self, text: &mut Text, mut line: &[u8]) -> io::Result<()> {
        while !line.is_empty() {
            if text.chunk.is_none() || text.used == CHUNK_BYTES - CHUNK_HEADER_BYTES {
                text.chunk = Some(self.take_chunk(chunk::DEFINITIONS, 0, text.sequence)?);
                text.sequence += 1;
                text.used = 0;
            }
            let Some(chunk) = &text.chunk else { break };
            let length = line.len().min(CHUNK_BYTES - CHUNK_HEADER_BYTES - text.used);
            // SAFETY: `used + length` stays within the chunk's text, the source is another object,
            // and the lock on `text` keeps every other writer away.
            unsafe {
                let to = chunk.map.as_mut_ptr().add(CHUNK_HEADER_BYTES + text.used);
                std::ptr::copy_nonoverlapping(line.as_ptr(), to, length);
            }
            // No record that refers to this definition may be stored before it.
            fence(Ordering::Release);
            text.used += length;
            line = &line[length..];
        }
        Ok(())
    }
}

/// Bytes that are copied by one system call. The file system takes larger pages for larger copies, and
/// those come from memory that nobody has touched for long, which may cost ten times as much.
const PIECE: usize = 128 << 10;

impl Chunk {
    /// A field of the header.
    fn field(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset + 4 <= CHUNK_HEADER_BYTES && offset.is_multiple_of(4));
        // SAFETY: the chunk is mapped with `CHUNK_BYTES` bytes as long as `self` lives, the fields are
        // aligned `u32`s in its header, and nobody else writes to this chunk.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(offset).cast()) }
    }

    /// The chunk, which is empty, is there for readers from now on.
    fn begin(&self, sequence: u32) {
        self.field(chunk::SEQUENCE).store(sequence.to_le(), Ordering::Relaxed);
        self.field(chunk::MAGIC).store(chunk::CHUNK_MAGIC.to_le(), Ordering::Release);
    }

    /// Copies this full chunk of events to the end of the file and empties it, to be filled again with
    /// the records that follow. A process may be killed at any point of this: a reader takes the
    /// first of two chunks with the same sequence number, and skips one without its magic.
    fn spill(&mut self, log: &Inner, next_sequence: u32) -> io::Result<()> {
        let offset = log.reserve_chunk()?;
        let base = self.map.as_mut_ptr();
        // SAFETY: the mapping has `CHUNK_BYTES` bytes, and only the stream's own thread, which is
        // here, changes them.
        let whole = unsafe { std::slice::from_raw_parts(base, CHUNK_BYTES) };
        for (place, piece) in (offset..).step_by(PIECE).zip(whole.chunks(PIECE)) {
            log.file.write_all_at(piece, place)?;
        }
        self.field(chunk::MAGIC).store(0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // SAFETY: the records' part of the mapping; no reference to it is left.
        unsafe { base.add(CHUNK_HEADER_BYTES).write_bytes(0, CHUNK_BYTES - CHUNK_HEADER_BYTES) };
        fence(Ordering::SeqCst);
        self.begin(next_sequence);
        Ok(())
    }

    /// Gives the space behind the first `used` bytes back to the file system, as far as it can.
    fn trim(&self, file: &File, used: usize) {
        let used = used.next_multiple_of(4096);
        if used < CHUNK_BYTES {
            space::give_back(file, self.offset + used as u64, (CHUNK_BYTES - used) as u64);
        }
    }
}

/// Appends records to one stream. Belongs to one thread at a time.
///
/// Dropping it unmaps its chunk and gives the chunk's unused space back.
#[derive(Debug)]
pub struct Appender {
    /// Where the next record goes; equal to `end` if the chunk is full or there is none.
    cursor: *mut u8,
    end: *mut u8,
    /// The record of the call that is under way: null where there is none, [`FAR`] where it is not in this chunk.
    open: *mut u8,
    /// The last record of completions, which may have room for more; null where there is none.
    completions: *mut u8,
    /// The same of requests that were tested.
    tests: *mut u8,
    chunk: Option<Chunk>,
    log: Arc<Inner>,
    stream: u32,
    sequence: u32,
    dropped: u64,
}

// SAFETY: the pointers lead into the chunk that this appender alone owns (`take_chunk` never gives
// one out twice) and that is mapped for the whole process; moving to another thread changes neither.
unsafe impl Send for Appender {}

impl Appender {
    fn new(log: &Arc<Inner>, stream: u32) -> Appender {
        let none = std::ptr::null_mut();
        Appender {
            cursor: none,
            end: none,
            open: none,
            completions: none,
            tests: none,
            chunk: None,
            log: Arc::clone(log),
            stream,
            sequence: 0,
            dropped: 0,
        }
    }

    /// Appends a record: its time in ticks, its [`kind`], the index of its communicator
    /// ([`NO_OBJECT`] if there is none) and its payload. Tells whether it was stored; if not, it was
    /// counted.
    ///
    /// Takes no lock, allocates nothing, formats nothing; once per 32 766 records it hands a full chunk
    /// to the file system. A payload of more than [`PAYLOAD_BYTES`] takes further records,
    /// one of more than [`MAX_PAYLOAD_BYTES`] is refused. The kind must not be [`kind::NONE`].
    #[inline(always)]
    pub fn append(&mut self, time: u64, kind: u16, object: u16, payload: &[u8]) -> bool {
        debug_assert_ne!(kind, kind::NONE);
        if self.cursor != self.end && payload.len() <= PAYLOAD_BYTES {
            // SAFETY: the cursor is below the end of this appender's own chunk, both advance in
            // whole records from its first one, and the payload fits.
            unsafe {
                store(self.cursor, time, kind, object, payload);
                self.cursor = self.cursor.add(RECORD_BYTES);
            }
            prefetch::for_writing(self.cursor.wrapping_add(AHEAD));
            return true;
        }
        self.append_slowly(time, kind, object, payload)
    }

    /// Appends the record of a call that begins; [`leave`](Self::leave) stores how long it took.
    #[inline(always)]
    pub fn enter(&mut self, time: u64, function: u16, object: u16) -> bool {
        if !self.append(time, kind::CALL, object, &function.to_le_bytes()) {
            return false;
        }
        self.open = self.cursor.wrapping_sub(RECORD_BYTES);
        true
    }

    /// A call begins that is not recorded.
    pub fn pass_over(&mut self) {
        self.open = std::ptr::null_mut();
    }

    /// The call under way, if it was recorded, has ended after so many ticks. Where its chunk is no longer at hand,
    /// `false`: then the end needs a record of its own.
    #[inline(always)]
    pub fn leave(&mut self, duration: u64) -> bool {
        let open = std::mem::replace(&mut self.open, std::ptr::null_mut());
        if open <= FAR {
            return open.is_null();
        }
        // SAFETY: a record of this appender's own chunk, which is mapped: `next_chunk` forgets it. The
        // place is aligned to eight bytes, as records are.
        unsafe { AtomicU64::from_ptr(open.add(PAYLOAD + Call::DURATION).cast()) }
            .store(duration.max(1).to_le(), Ordering::Relaxed);
        true
    }

    /// The call under way has posted a receive with this request. `false` where it needs a record of
    /// its own: a call's record has room for one.
    #[inline(always)]
    pub fn post(&mut self, request: u32) -> bool {
        self.note(Call::REQUEST, request)
    }

    /// Stores a request in the record of the call under way, where there is room for it.
    #[inline(always)]
    fn note(&mut self, field: usize, request: u32) -> bool {
        if self.open <= FAR {
            return false;
        }
        // SAFETY: as in `leave`; the place is aligned to four bytes.
        let place = unsafe { AtomicU32::from_ptr(self.open.add(PAYLOAD + field).cast()) };
        if place.load(Ordering::Relaxed) != 0 {
            return false;
        }
        place.store(request.to_le(), Ordering::Relaxed);
        true
    }

    /// Appends that the request of a send was complete when the call under way returned, at this time: into the call's
    /// record, else into the last record if that tells of such and has room. Requests are not zero.
    #[inline(always)]
    pub fn complete(&mut self, time: u64, request: u32) -> bool {
        if self.note(Call::COMPLETED, request) {
            return true;
        }
        let last = self.completions;
        if self.pack(last, time, request) {
            return true;
        }
        if !self.append(time, kind::MPI_ISEND_COMPLETE, NO_OBJECT, &request.to_le_bytes()) {
            return false;
        }
        self.completions = self.cursor.wrapping_sub(RECORD_BYTES);
        true
    }

    /// The call under way has tested this request, which is not complete. `false` where it needs a record of its own. A
    /// call that is not recorded has tested nothing.
    #[inline]
    pub fn test(&mut self, request: u32) -> bool {
        self.open.is_null() || self.post(request)
    }

    /// Appends that a request was tested and is not complete, as [`complete`](Self::complete) does.
    pub fn tested(&mut self, time: u64, request: u32) -> bool {
        let last = self.tests;
        if self.pack(last, time, request) {
            return true;
        }
        if !self.append(time, kind::REQUEST_TESTED, NO_OBJECT, &request.to_le_bytes()) {
            return false;
        }
        self.tests = self.cursor.wrapping_sub(RECORD_BYTES);
        true
    }

    /// Stores a request in the record `last` of several, if that is the last of all, has this time, and has room.
    #[inline(always)]
    fn pack(&mut self, last: *mut u8, time: u64, request: u32) -> bool {
        if !last.is_null() && last == self.cursor.wrapping_sub(RECORD_BYTES) {
            // SAFETY: the last record of this appender's own chunk, which is mapped and aligned to eight
            // bytes: `next_chunk` forgets it.
            let stamp = unsafe { AtomicU64::from_ptr(last.cast()) };
            if u64::from_le(stamp.load(Ordering::Relaxed)) == time {
                for slot in 1..PAYLOAD_BYTES / 4 {
                    // SAFETY: as above, and within the record's payload.
                    let place = unsafe { AtomicU32::from_ptr(last.add(PAYLOAD + 4 * slot).cast()) };
                    if place.load(Ordering::Relaxed) == 0 {
                        place.store(request.to_le(), Ordering::Relaxed);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The number of this stream in the log.
    pub fn stream(&self) -> u32 {
        self.stream
    }

    /// Records of this stream that were not stored.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Out of line: it needs a chunk, several records, or it is a loss.
    #[cold]
    #[inline(never)]
    fn append_slowly(&mut self, time: u64, kind: u16, object: u16, payload: &[u8]) -> bool {
        let records = payload.len().div_ceil(PAYLOAD_BYTES).max(1);
        let room = (self.end as usize - self.cursor as usize) / RECORD_BYTES;
        if payload.len() > MAX_PAYLOAD_BYTES || (records > room && !self.next_chunk()) {
            self.count_drop();
            return false;
        }
        // The first record last: a reader sees either the whole payload or nothing of it.
        for (i, piece) in payload.chunks(PAYLOAD_BYTES).enumerate().skip(1).rev() {
            // SAFETY: there is room for `records` records at the cursor, and `i` is less.
            unsafe { store(self.cursor.add(i * RECORD_BYTES), time, kind::CONTINUATION, object, piece) };
        }
        let first = &payload[..payload.len().min(PAYLOAD_BYTES)];
        // SAFETY: as above; a whole number of records is written, so the cursor stays on one.
        unsafe {
            store(self.cursor, time, kind, object, first);
            self.cursor = self.cursor.add(records * RECORD_BYTES);
        }
        true
    }

    fn next_chunk(&mut self) -> bool {
        let result = match self.chunk.take() {
            Some(mut window) => window.spill(&self.log, self.sequence).map(|()| window),
            None => self.log.take_chunk(chunk::EVENTS, self.stream, self.sequence),
        };
        // Without room the window goes as it is: after a loss a stream never continues, so that what it
        // holds is always the beginning of what happened.
        self.cursor = std::ptr::null_mut();
        self.end = std::ptr::null_mut();
        if !self.open.is_null() {
            self.open = FAR;
        }
        self.completions = std::ptr::null_mut();
        self.tests = std::ptr::null_mut();
        match result {
            Ok(chunk) => {
                let base = chunk.map.as_mut_ptr();
                // SAFETY: both offsets lie within the mapping or one past its end.
                unsafe {
                    self.cursor = base.add(CHUNK_HEADER_BYTES);
                    self.end = base.add(CHUNK_BYTES);
                }
                self.sequence += 1;
                self.chunk = Some(chunk);
                true
            }
            Err(error) => {
                self.log.fail(error);
                false
            }
        }
    }

    fn count_drop(&mut self) {
        self.dropped += 1;
        if !self.log.is_foreign() {
            let counter = (self.stream as usize).min(header::DROP_COUNTERS - 1);
            self.log.header_u64(header::DROPS + 8 * counter).fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        if let Some(chunk) = &self.chunk
            && !self.cursor.is_null()
            && !self.log.is_foreign()
        {
            chunk.trim(&self.log.file, self.cursor as usize - chunk.map.as_mut_ptr() as usize);
        }
    }
}

/// The record of a call that is not at hand. No record is at this address.
const FAR: *mut u8 = std::ptr::without_provenance_mut(1);

/// Where the payload is in a record.
const PAYLOAD: usize = RECORD_BYTES - PAYLOAD_BYTES;

const _: () =
    assert!((PAYLOAD + Call::DURATION).is_multiple_of(8) && (PAYLOAD + Call::REQUEST).is_multiple_of(4));

/// Stores a record, its kind last.
///
/// # Safety
/// `to` is valid for writing [`RECORD_BYTES`] bytes, aligned to 8, and written by this thread only.
/// The payload has at most [`PAYLOAD_BYTES`] bytes.
#[inline(always)]
unsafe fn store(to: *mut u8, time: u64, kind: u16, object: u16, payload: &[u8]) {
    let mut words = [[0u8; 8]; 3];
    let bytes = words.as_flattened_mut();
    bytes[0..2].copy_from_slice(&kind.to_le_bytes());
    bytes[2..4].copy_from_slice(&object.to_le_bytes());
    bytes[4..4 + payload.len()].copy_from_slice(payload);
    let to: *mut u64 = to.cast();
    // SAFETY: the caller vouches for the 32 bytes and their alignment.
    unsafe {
        AtomicU64::from_ptr(to).store(time.to_le(), Ordering::Relaxed);
        AtomicU64::from_ptr(to.add(2)).store(u64::from_ne_bytes(words[1]), Ordering::Relaxed);
        AtomicU64::from_ptr(to.add(3)).store(u64::from_ne_bytes(words[2]), Ordering::Relaxed);
        AtomicU64::from_ptr(to.add(1)).store(u64::from_ne_bytes(words[0]), Ordering::Release);
    }
}

fn header_page(info: &HeaderInfo) -> Vec<u8> {
    let mut page = vec![0; HEADER_BYTES];
    let mut put = |offset: usize, bytes: &[u8]| page[offset..offset + bytes.len()].copy_from_slice(bytes);
    put(header::MAGIC, &MAGIC);
    put(header::VERSION, &VERSION.to_le_bytes());
    put(header::RECORD_BYTES, &(RECORD_BYTES as u32).to_le_bytes());
    put(header::CHUNK_BYTES, &(CHUNK_BYTES as u32).to_le_bytes());
    put(header::RANK, &info.rank.to_le_bytes());
    put(header::WORLD_SIZE, &info.world_size.to_le_bytes());
    put(header::PID, &info.pid.to_le_bytes());
    put(header::TICKS_PER_SECOND, &info.ticks_per_second.to_le_bytes());
    put(header::ORIGIN_TICKS, &info.origin_ticks.to_le_bytes());
    put(header::ORIGIN_REALTIME_NANOS, &info.origin_realtime_nanos.to_le_bytes());
    put(header::STATE, &(State::Running as u32).to_le_bytes());
    let host = info.host.as_bytes();
    put(header::HOST, &host[..host.len().min(header::HOST_BYTES)]);
    page
}

/// A lock that a panicking thread left behind still guards consistent data: all is written in place.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
