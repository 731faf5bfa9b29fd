//! The writing side of the event log. It runs inside the application.
//!
//! A [`LogFile`] is shared by all threads; each thread appends through [`Appender`]s of its own, so
//! that no two threads ever touch the same record. A record's kind is stored last: until then a
//! reader sees the end of the chunk, so a process may be killed between any two instructions.
//!
//! The space of a chunk is reserved on the file system before it is mapped. A full disk is
//! therefore an error when a chunk is taken, never a `SIGBUS` when a record is stored. After the
//! first such error the log takes no further chunk; what no longer fits is counted. The same holds where the program has closed
//! the log's descriptor ([`own_file`](in_process::own_file)).
//!
//! A stream maps one chunk, its window, and fills it again and again: what a full window holds is [packed](super::packed) and
//! appended to the file. In between, both have the same content and the same sequence number. Packing takes half a millisecond or so;
//! where records come so fast that this would be more than a hundredth of the time, the window is copied with a few system calls, and
//! packed when the log is finished.
//!
//! **After `fork`** the child shares the mapping with its parent. Whoever calls [`Appender::append`]
//! must know that it is not in a child. Everything else here notices by itself and does nothing.
//!
//! **Signals**: appending is safe in a signal handler as long as the handler did not interrupt an
//! append to the same stream *and* the chunk has room; as nobody can promise the latter, give
//! signal handlers no appender.

mod appender;

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use in_process::own_file::OwnFile;
use memmap2::{Advice, MmapRaw};

pub use self::appender::Appender;
use super::access;
use super::checksum;
use super::definitions::{Definition, StreamKind};
use super::format::{
    CHUNK_BYTES, CHUNK_HEADER_BYTES, HEADER_BYTES, HeaderInfo, MAGIC, RECORD_BYTES, State, VERSION, chunk,
    chunk_checksum, end_checksum, header, identity_checksum, packed_checksum, u32_at,
};
use super::packed::Packer;
use super::space::{self, FEWEST_CHUNKS, Limit};

/// The event log of one rank, open for writing. Cloning gives another hold on the same log.
#[derive(Clone, Debug)]
pub struct LogFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: OwnFile,
    header: MmapRaw,
    /// The process that opened the log; a forked child differs.
    pid: u32,
    /// The most chunks that the file may have.
    most_chunks: AtomicU32,
    streams: AtomicU32,
    /// Set once a chunk could not be had: from then on nobody tries again.
    full: AtomicBool,
    failure: Mutex<Option<io::Error>>,
    grown: Grown,
    text: Mutex<Text>,
    packed: Mutex<PackedEnd>,
    /// Ticks that a chunk takes to be filled at least where it is packed at once.
    unhurried: u64,
    /// What nobody packs with at the moment.
    packers: Mutex<Vec<Packer>>,
}

/// The end of what is packed.
#[derive(Debug, Default)]
struct PackedEnd {
    /// The offset in the file of the last chunk of packed ones, and how many bytes they take in it.
    chunk: Option<(u64, usize)>,
    /// The offsets of full chunks that were copied as they are, because there was no time, to be packed when the log is finished.
    later: Vec<u64>,
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

/// Who is notified of the file's growth.
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
        HEADER_BYTES as u64
            + u64::from(chunks.min(self.0.most_chunks.load(Ordering::Relaxed))) * CHUNK_BYTES as u64
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
    /// with a full disk ([`is_limit`](super::is_limit) says which reason it is).
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_limited(path: &Path, info: &HeaderInfo, most_bytes: u64) -> io::Result<LogFile> {
        let file = OwnFile::keep(access::replace(path)?)?;
        space::reserve(&file, 0, HEADER_BYTES as u64)?;
        file.with(|file| file.write_all_at(&header_page(info), 0))?;
        let header = space::map(&file, 0, HEADER_BYTES)?;
        Ok(LogFile(Arc::new(Inner {
            file,
            header,
            pid: std::process::id(),
            most_chunks: AtomicU32::new(most_chunks(most_bytes)),
            streams: AtomicU32::new(0),
            full: AtomicBool::new(false),
            failure: Mutex::new(None),
            grown: Grown::default(),
            text: Mutex::new(Text::default()),
            packed: Mutex::default(),
            unhurried: info.ticks_per_second / UNHURRIED_PER_SECOND,
            packers: Mutex::default(),
        })))
    }

    /// Names who is notified of each chunk that the file takes, with the size that it has then in bytes; once. It runs inside of
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

    /// The reason why the log holds no more, given to the first who asks and only once: so that one
    /// line is reported, not one per stream.
    pub fn take_failure(&self) -> Option<io::Error> {
        lock(&self.0.failure).take()
    }

    /// From now on the log may take so many bytes, or a few chunks where that is less; less than it has means that it takes no more.
    pub fn set_limit(&self, most_bytes: u64) {
        self.0.most_chunks.store(most_chunks(most_bytes), Ordering::Relaxed);
    }

    /// The most bytes that the log takes in chunks; `u64::MAX` without a limit.
    pub fn limit(&self) -> u64 {
        match self.0.most_chunks.load(Ordering::Relaxed) {
            u32::MAX => u64::MAX,
            chunks => u64::from(chunks) * CHUNK_BYTES as u64,
        }
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
        self.0.file.with(|file| file.sync_data())
    }

    /// Writes down how and when the process ended. Open streams may still be appended to, but there
    /// can be no further definitions and streams.
    pub fn finish(&self, state: State, end_ticks: u64) {
        if self.0.is_foreign() {
            return;
        }
        // One that ends early has no time for that. Nor is the lock waited for: what ends the process may have interrupted who holds it.
        if state == State::Finalised {
            self.0.pack_copies();
        }
        if let Ok(end) = self.0.packed.try_lock()
            && let Some((offset, used)) = end.chunk
        {
            trim(&self.0.file, offset, CHUNK_HEADER_BYTES + used);
        }
        self.0.header_u64(header::END_TICKS).store(end_ticks.to_le(), Ordering::Relaxed);
        self.0.header_u32(header::STATE).store((state as u32).to_le(), Ordering::Release);
        // SAFETY: the page is mapped with `HEADER_BYTES` bytes as long as `self` lives; others may be counting in other fields of it,
        // which this copy may have torn and nobody looks at.
        let page = unsafe { std::ptr::read_volatile(self.0.header.as_ptr().cast::<[u8; HEADER_BYTES]>()) };
        self.0.header_u32(header::END_CHECKSUM).store(end_checksum(&page).to_le(), Ordering::Release);
        let mut text = lock(&self.0.text);
        text.closed = true;
        if let Some(chunk) = &text.chunk {
            chunk.seal(text.used);
            chunk.trim(&self.0.file, CHUNK_HEADER_BYTES + text.used);
        }
    }
}

/// How many chunks a log of at most so many bytes has.
fn most_chunks(most_bytes: u64) -> u32 {
    u32::try_from(most_bytes / CHUNK_BYTES as u64).unwrap_or(u32::MAX).max(FEWEST_CHUNKS)
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
        // SAFETY: the page is mapped as long as `self` lives, the offset lies within it and is aligned to eight bytes, and this
        // process changes the page through atomics only.
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
        if index >= self.most_chunks.load(Ordering::Relaxed) {
            return Err(io::Error::other(Limit));
        }
        let offset = HEADER_BYTES as u64 + u64::from(index) * CHUNK_BYTES as u64;
        space::reserve(&self.file, offset, CHUNK_BYTES as u64)?;
        let length = offset + CHUNK_BYTES as u64;
        let longer = |known| (u64::from_le(known) < length).then_some(length.to_le());
        let _ = self.header_u64(header::LENGTH).fetch_update(Ordering::Relaxed, Ordering::Relaxed, longer);
        if let Some(grown) = self.grown.0.get() {
            grown(length);
        }
        Ok(offset)
    }

    /// Takes the next chunk of the file for a stream, and maps it.
    fn take_chunk(&self, kind: u32, stream: u32, sequence: u32) -> io::Result<Chunk> {
        let offset = self.reserve_chunk()?;
        let map = space::map(&self.file, offset, CHUNK_BYTES)?;
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

    /// Packs what was copied. What would take more space packed stays as it is, and all the rest where there is none.
    fn pack_copies(&self) {
        let Ok(copies) = self.packed.try_lock().map(|mut end| std::mem::take(&mut end.later)) else { return };
        let mut whole = vec![0; if copies.is_empty() { 0 } else { CHUNK_BYTES }];
        let mut packer = Packer::default();
        for offset in copies {
            let packed = self.file.with(|file| file.read_exact_at(&mut whole, offset)).and_then(|()| {
                let field = |field: usize| u32_at(&whole, field);
                let records = &whole[CHUNK_HEADER_BYTES..];
                let Some(packed) = packer.pack(records, CHUNK_HEADER_BYTES) else { return Ok(()) };
                self.append_packed(packed, field(chunk::STREAM), field(chunk::SEQUENCE))?;
                let kind = chunk::EMPTIED.to_le_bytes();
                self.file.with(|file| file.write_all_at(&kind, offset + chunk::KIND as u64))?;
                trim(&self.file, offset, CHUNK_HEADER_BYTES);
                Ok(())
            });
            if packed.is_err() {
                return;
            }
        }
    }

    /// Appends a packed chunk to the others: its header, and what it holds behind that. Nothing has come of it where the process is
    /// killed before the last system call.
    fn append_packed(&self, bytes: &mut [u8], stream: u32, sequence: u32) -> io::Result<()> {
        self.refuse_foreign()?;
        let sealed = (bytes.len() - CHUNK_HEADER_BYTES) as u32;
        let fields = [chunk::PACKED_MAGIC, chunk::EVENTS, stream, sequence, sealed].map(u32::to_le_bytes);
        bytes[..chunk::CHECKSUM].copy_from_slice(fields.as_flattened());
        let sum = chunk_checksum(bytes).unwrap_or_default();
        bytes[chunk::CHECKSUM..][..4].copy_from_slice(&sum.to_le_bytes());
        let mut end = lock(&self.packed);
        let has_room = |(_, used): &(u64, usize)| CHUNK_HEADER_BYTES + used + bytes.len() <= CHUNK_BYTES;
        let (offset, used) = match end.chunk.filter(has_room) {
            Some(place) => place,
            None => {
                let offset = self.reserve_chunk()?;
                self.head_packed(offset, 0)?;
                if let Some((before, used)) = end.chunk.replace((offset, 0)) {
                    trim(&self.file, before, CHUNK_HEADER_BYTES + used);
                }
                (offset, 0)
            }
        };
        let behind = offset + (CHUNK_HEADER_BYTES + used) as u64;
        for (place, piece) in (behind..).step_by(PIECE).zip(bytes.chunks(PIECE)) {
            self.file.with(|file| file.write_all_at(piece, place))?;
        }
        let used = used + bytes.len();
        self.head_packed(offset, used)?;
        end.chunk = Some((offset, used));
        Ok(())
    }

    /// Writes the header of a chunk of packed chunks; `used` is how many bytes these take in it.
    fn head_packed(&self, offset: u64, used: usize) -> io::Result<()> {
        let mut header = [0; chunk::CHECKSUM + 4];
        let fields = [chunk::CHUNK_MAGIC, chunk::PACKED, 0, 0, used as u32].map(u32::to_le_bytes);
        header[..chunk::CHECKSUM].copy_from_slice(fields.as_flattened());
        let sum = packed_checksum(&header);
        header[chunk::CHECKSUM..].copy_from_slice(&sum.to_le_bytes());
        self.file.with(|file| file.write_all_at(&header, offset))
    }

    fn write_text(&self, text: &mut Text, mut line: &[u8]) -> io::Result<()> {
        while !line.is_empty() {
            if text.chunk.is_none() || text.used == CHUNK_BYTES - CHUNK_HEADER_BYTES {
                text.chunk.iter().for_each(|full| full.seal(text.used));
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

/// Chunks that are filled in a second at most where they are packed at once.
const UNHURRIED_PER_SECOND: u64 = 20;

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

    /// So many bytes behind the chunk's header are final: from now on readers notice where they are damaged. For who writes to the chunk.
    fn seal(&self, used: usize) {
        let used = used.min(CHUNK_BYTES - CHUNK_HEADER_BYTES);
        // SAFETY: the mapping has `CHUNK_BYTES` bytes, and only the stream's own thread, or who holds the lock on the text, changes
        // them: which is here.
        let whole = unsafe { std::slice::from_raw_parts(self.map.as_ptr(), CHUNK_BYTES) };
        let mut fields = [0; chunk::CHECKSUM - chunk::KIND];
        fields.copy_from_slice(&whole[chunk::KIND..chunk::CHECKSUM]);
        fields[chunk::SEALED - chunk::KIND..].copy_from_slice(&(used as u32).to_le_bytes());
        let sum = checksum::of([&fields[..], &whole[CHUNK_HEADER_BYTES..CHUNK_HEADER_BYTES + used]]);
        self.field(chunk::CHECKSUM).store(sum.to_le(), Ordering::Relaxed);
        self.field(chunk::SEALED).store((used as u32).to_le(), Ordering::Release);
    }

    /// Moves the records of this full chunk to the end of the file, packed or as they are, and empties it, to be filled again with
    /// those that follow. A process may be killed at any point of this: a reader takes the first of two chunks with the
    /// same sequence number, and skips one without its magic.
    fn spill(&mut self, log: &Inner, is_packed: bool, next_sequence: u32) -> io::Result<()> {
        let used = CHUNK_BYTES - CHUNK_HEADER_BYTES;
        if !is_packed {
            let offset = self.copy(log, used)?;
            lock(&log.packed).later.push(offset);
        } else if !self.pack(log, used, next_sequence.wrapping_sub(1))? {
            self.copy(log, used)?;
        }
        self.empty(used);
        self.begin(next_sequence);
        Ok(())
    }

    /// Packs this chunk at the end of the file; `false` where that would take more space.
    fn pack(&self, log: &Inner, used: usize, sequence: u32) -> io::Result<bool> {
        let mut packer = lock(&log.packers).pop().unwrap_or_default();
        // SAFETY: the mapping has `CHUNK_BYTES` bytes, of which the records are a part, and only the stream's own thread, which is
        // here, changes them.
        let whole = unsafe { std::slice::from_raw_parts(self.map.as_ptr(), CHUNK_HEADER_BYTES + used) };
        let stream = u32::from_le(self.field(chunk::STREAM).load(Ordering::Relaxed));
        let packed = match packer.pack(&whole[CHUNK_HEADER_BYTES..], CHUNK_HEADER_BYTES) {
            Some(packed) => log.append_packed(packed, stream, sequence).map(|()| true),
            None => Ok(false),
        };
        lock(&log.packers).push(packer);
        packed
    }

    /// Removes the first `used` bytes of records, of which the file has another copy. The chunk is not there for readers until it [begins](Self::begin).
    fn empty(&mut self, used: usize) {
        self.field(chunk::MAGIC).store(0, Ordering::Relaxed);
        self.field(chunk::SEALED).store(0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // SAFETY: the records' part of the mapping; no reference to it is left.
        unsafe { self.map.as_mut_ptr().add(CHUNK_HEADER_BYTES).write_bytes(0, used) };
        fence(Ordering::SeqCst);
    }

    /// When its first record was, in ticks.
    fn begun(&self) -> u64 {
        // SAFETY: the first record's time, aligned to eight bytes, in the mapping, which only the stream's own thread changes, which is
        // here.
        let time = unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(CHUNK_HEADER_BYTES).cast()) };
        u64::from_le(time.load(Ordering::Relaxed))
    }

    /// Copies this chunk to the end of the file as it is; gives where.
    fn copy(&self, log: &Inner, used: usize) -> io::Result<u64> {
        let offset = log.reserve_chunk()?;
        self.seal(used);
        // SAFETY: the mapping has `CHUNK_BYTES` bytes, and only the stream's own thread, which is here, changes them.
        let whole = unsafe { std::slice::from_raw_parts(self.map.as_ptr(), CHUNK_BYTES) };
        for (place, piece) in (offset..).step_by(PIECE).zip(whole.chunks(PIECE)) {
            log.file.with(|file| file.write_all_at(piece, place))?;
        }
        Ok(offset)
    }

    /// The chunk, which was [emptied](Self::empty), is not filled again.
    fn close(&self) {
        self.field(chunk::KIND).store(chunk::EMPTIED.to_le(), Ordering::Relaxed);
        self.field(chunk::MAGIC).store(chunk::CHUNK_MAGIC.to_le(), Ordering::Release);
    }

    /// Gives the space behind the first `used` bytes back to the file system, as far as it can.
    fn trim(&self, file: &OwnFile, used: usize) {
        trim(file, self.offset, used);
    }
}

/// The same of the chunk at an offset of the file.
fn trim(file: &OwnFile, offset: u64, used: usize) {
    let used = used.next_multiple_of(4096);
    if used < CHUNK_BYTES {
        space::give_back(file, offset + used as u64, (CHUNK_BYTES - used) as u64);
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
    put(header::LENGTH, &(HEADER_BYTES as u64).to_le_bytes());
    let host = info.host.as_bytes();
    put(header::HOST, &host[..host.len().min(header::HOST_BYTES)]);
    let sum = identity_checksum(&page);
    page[header::IDENTITY_CHECKSUM..][..4].copy_from_slice(&sum.to_le_bytes());
    page
}

/// A lock that a panicking thread left behind still guards consistent data: all is written in place.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
