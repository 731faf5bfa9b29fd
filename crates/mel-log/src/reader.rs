//! The reading side of the event log: for whole files, for those of killed processes, for broken ones.
//!
//! Nothing in a file is believed before it was checked against the file's length; no content makes
//! the reader panic or loop.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, UncheckedAdvice};
use smallvec::SmallVec;
use thiserror::Error;

use super::definitions::Definitions;
pub use super::expand::Records;
use super::format::{
    CHUNK_BYTES, CHUNK_HEADER_BYTES, HEADER_BYTES, HeaderInfo, MAGIC, MAX_CONTINUATIONS, PAYLOAD_BYTES,
    RECORD_BYTES, State, VERSION, chunk, chunk_checksum, end_checksum, header, identity_checksum, kind,
    packed_checksum, u16_at, u32_at, u64_at,
};
use super::packed;
use super::ranks::contradiction;
use super::regular_file;

/// Why a file cannot be read as an event log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file system said no.
    #[error("cannot read the event log {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        error: std::io::Error,
    },
    /// It is too short, or does not begin as a log does.
    #[error("{0} is not an event log, or its process was killed before the log had begun")]
    NotALog(PathBuf),
    /// It has another version or other sizes.
    #[error(
        "{path} is an event log of version {found}; this mel reads version {VERSION}: use the mel that wrote it"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// What it says of its rank and of the run cannot be.
    #[error("the event log {path} {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it says.
        why: String,
    },
}

/// The event log of one rank.
#[derive(Debug)]
pub struct RankLog {
    bytes: Bytes,
    /// Who wrote it, and by which clock.
    pub info: HeaderInfo,
    /// How its process ended.
    pub state: State,
    /// The tick at which the log was finished, if it was.
    pub end_ticks: Option<u64>,
    /// What the numbers in the records mean.
    pub definitions: Definitions,
    /// What is missing of the file.
    pub missing: Missing,
    /// Offsets of the chunks of each stream, in order, packed ones among them.
    chunks: BTreeMap<u32, Vec<usize>>,
}

/// What is missing of a log: because the file was cut off, or is damaged. What a full disk or a limit has kept out of it is counted in
/// [`RankLog::dropped`] instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Bytes at the end of the file.
    pub bytes: u64,
    /// Bytes that there should be.
    pub of_bytes: u64,
    /// Chunks behind a gap in their stream, which are not read: each stream is the beginning of what happened.
    pub behind_gaps: usize,
    /// Chunks of definitions behind a gap, or damaged.
    pub definitions: usize,
    /// Chunks whose checksums are not theirs, and those that a finished log has taken and that are not there.
    pub damaged: usize,
    /// Whether it is not known how the process ended, because that is damaged.
    pub end: bool,
}

impl Missing {
    /// Whether nothing is.
    pub fn is_nothing(&self) -> bool {
        *self == Missing { of_bytes: self.of_bytes, ..Missing::default() }
    }
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    /// A chunk was read to its end: its memory may go to others, so that a log of any size is read in little memory. Who reads it
    /// again gets it from the file.
    fn release(&self, at: usize) {
        if let Bytes::Mapped(map) = self {
            let length = chunk_end(map, at) - at;
            // SAFETY: the map is of a file, and nobody writes through it: its pages come back with the same content, but for what
            // others have written to the file, which `open` accepts.
            let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, at, length) };
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// One record of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in ticks of the log's clock.
    pub time: u64,
    /// What: see [`kind`].
    pub kind: u16,
    /// Index of the communicator; [`NO_OBJECT`](super::format::NO_OBJECT) if there is none.
    pub object: u16,
    /// The payload, followed by zeros up to a multiple of twenty bytes.
    pub payload: Payload,
}

/// The payload of a record. That of most is short.
pub type Payload = SmallVec<[u8; PAYLOAD_BYTES]>;

impl Record {
    /// The number of the event type, if the record is an instance of one.
    pub fn event_type(&self) -> Option<u16> {
        self.kind.checked_sub(kind::EVENT)
    }
}

impl RankLog {
    /// Opens a log. It may still be written to: what is appended later is then not all seen, and what is packed while it is read may be
    /// taken for missing.
    ///
    /// # Errors
    /// [`ReadError`] if the file cannot be read, or its header page is not one of this version or damaged.
    /// Damage behind the header page is no error: what can be read is.
    pub fn open(path: &Path) -> Result<RankLog, ReadError> {
        let mut log = RankLog::look(path)?;
        log.check();
        Ok(log)
    }

    /// The same without reading the file as a whole: what is damaged in its records is not left out until [`check`](Self::check).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn look(path: &Path) -> Result<RankLog, ReadError> {
        let io = |error| ReadError::Io { path: path.to_owned(), error };
        let file = regular_file::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.len() < HEADER_BYTES as u64 {
            return Err(ReadError::NotALog(path.to_owned()));
        }
        // SAFETY: the map is only read, byte by byte and without assuming that it stays the same. A
        // writer changes the file, but never makes it shorter; that somebody cuts it off meanwhile is accepted
        // as a crash of the reading command, as every reader of mapped files does.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        // Only a hint.
        let _ = map.advise(Advice::Sequential);
        let mut log = RankLog::read(Bytes::Mapped(map), path)?;
        // It may have grown since it was mapped.
        if log.missing.bytes > 0 && file.metadata().map_err(io)?.len() >= log.missing.of_bytes {
            log.missing.bytes = 0;
        }
        Ok(log)
    }

    /// Reads a log from memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<RankLog, ReadError> {
        let mut log = RankLog::read(Bytes::Owned(bytes), Path::new("(memory)"))?;
        log.check();
        Ok(log)
    }

    /// Looks at the checksums of all chunks, and ends each stream before its first one that is damaged. Reads the file once.
    pub fn check(&mut self) {
        let (bytes, missing) = (&self.bytes, &mut self.missing);
        for chunks in self.chunks.values_mut() {
            let is_damaged = |at: &usize| {
                let damaged = is_damaged(bytes, *at);
                bytes.release(*at);
                damaged
            };
            if let Some(place) = chunks.iter().position(is_damaged) {
                missing.damaged += 1;
                missing.behind_gaps += chunks.len() - place - 1;
                chunks.truncate(place);
            }
        }
    }

    fn read(bytes: Bytes, path: &Path) -> Result<RankLog, ReadError> {
        if bytes.len() < HEADER_BYTES || !bytes.starts_with(&MAGIC) {
            return Err(ReadError::NotALog(path.to_owned()));
        }
        let sizes = [u32_at(&bytes, header::RECORD_BYTES), u32_at(&bytes, header::CHUNK_BYTES)];
        let version = u32_at(&bytes, header::VERSION);
        if version != VERSION || sizes != [RECORD_BYTES as u32, CHUNK_BYTES as u32] {
            return Err(ReadError::Version { path: path.to_owned(), found: version });
        }
        let host = &bytes[header::HOST..header::HOST + header::HOST_BYTES];
        let host = &host[..host.iter().position(|b| *b == 0).unwrap_or(host.len())];
        let info = HeaderInfo {
            rank: u32_at(&bytes, header::RANK),
            world_size: u32_at(&bytes, header::WORLD_SIZE),
            pid: u32_at(&bytes, header::PID),
            ticks_per_second: u64_at(&bytes, header::TICKS_PER_SECOND).max(1),
            origin_ticks: u64_at(&bytes, header::ORIGIN_TICKS),
            origin_realtime_nanos: u64_at(&bytes, header::ORIGIN_REALTIME_NANOS),
            host: String::from_utf8_lossy(host).into_owned(),
        };
        if u32_at(&bytes, header::IDENTITY_CHECKSUM) != identity_checksum(&bytes) {
            let why = "is damaged in its header, which says whose it is".to_owned();
            return Err(ReadError::Damaged { path: path.to_owned(), why });
        }
        if let Some(why) = contradiction(info.rank, info.world_size) {
            return Err(ReadError::Damaged { path: path.to_owned(), why });
        }
        let (mut chunks, mut text, mut missing) = (BTreeMap::new(), Vec::new(), Missing::default());
        index(&bytes, &mut chunks, &mut text, &mut missing);
        let state = State::from_number(u32_at(&bytes, header::STATE)).unwrap_or(State::Running);
        let end_ticks = Some(u64_at(&bytes, header::END_TICKS)).filter(|end| *end != 0);
        missing.end = match u32_at(&bytes, header::END_CHECKSUM) {
            // A process that is in the middle of its end, or was killed there.
            0 => false,
            sum => sum != end_checksum(&bytes),
        };
        let (state, end_ticks) = if missing.end { (State::Running, None) } else { (state, end_ticks) };
        missing.of_bytes = u64_at(&bytes, header::LENGTH);
        missing.bytes = missing.of_bytes.saturating_sub(bytes.len() as u64);
        let definitions = Definitions::parse(&text);
        Ok(RankLog { bytes, info, state, end_ticks, definitions, missing, chunks })
    }

    /// Whether the process ended (or still runs) without having called `MPI_Finalize`.
    pub fn ended_early(&self) -> bool {
        self.state != State::Finalised
    }

    /// Numbers of the streams that hold records or are defined, ascending.
    pub fn streams(&self) -> Vec<u32> {
        let mut streams: Vec<u32> =
            self.chunks.keys().chain(self.definitions.streams.keys()).copied().collect();
        streams.sort_unstable();
        streams.dedup();
        streams
    }

    /// The records of a stream, in the order in which they were appended; what one holds of several
    /// is taken apart.
    pub fn records(&self, stream: u32) -> Records<'_> {
        let chunks = self.chunks.get(&stream).map_or(&[][..], Vec::as_slice);
        Records::new(Stored::of(&self.bytes, chunks), &self.definitions)
    }

    /// Records of a stream that were lost, mostly because the disk was full. The streams from the
    /// 256th on have one counter together, given here for each of them.
    pub fn dropped(&self, stream: u32) -> u64 {
        let counter = (stream as usize).min(header::DROP_COUNTERS - 1);
        u64_at(&self.bytes, header::DROPS + 8 * counter)
    }

    /// Records of all streams that were lost.
    pub fn dropped_total(&self) -> u64 {
        (0..header::DROP_COUNTERS as u32).fold(0, |sum, stream| sum.saturating_add(self.dropped(stream)))
    }

    /// Until when the log reaches, in seconds since its origin: the last record of any stream.
    pub fn reaches_s(&self) -> f64 {
        let last = |chunk: &usize| {
            Stored::of(&self.bytes, std::slice::from_ref(chunk)).map(|record| record.time).max()
        };
        let last = self.chunks.values().filter_map(|chunks| chunks.last().and_then(last)).max();
        let since = last.map_or(0, |last| last.saturating_sub(self.info.origin_ticks));
        since as f64 / self.info.ticks_per_second as f64
    }

    /// A sentence on what is missing of the file, if anything is.
    pub fn incomplete(&self) -> Option<String> {
        let Missing { bytes, of_bytes, behind_gaps, definitions, damaged, end } = self.missing;
        if self.missing.is_nothing() {
            return None;
        }
        let mut text = format!("the event log of rank {} ", self.info.rank);
        if bytes > 0 {
            let chunks = bytes.div_ceil(CHUNK_BYTES as u64);
            text += &format!(
                "is cut off: {} of {of_bytes} bytes are there, {chunks} chunk{} not whole",
                of_bytes - bytes,
                if chunks == 1 { " is" } else { "s are" }
            );
        } else {
            text += "is damaged";
        }
        if damaged > 0 {
            let (s, are) = if damaged == 1 { ("", "is") } else { ("s", "are") };
            text += &format!("; {damaged} damaged part{s} of it ({damaged}.0 MiB) {are} left out");
        }
        if behind_gaps > 0 {
            text += &format!("; {behind_gaps} chunks behind a gap are left out");
        }
        if definitions > 0 {
            text += "; a part of the names is missing";
        }
        if end {
            text += "; how its process ended is not known";
        }
        Some(format!("{text}; it is read until {} after MPI_Init", crate::number::duration(self.reaches_s())))
    }

    /// An upper bound of the number of records, from the number of chunks: to measure progress by. No
    /// record is taken apart into more than five.
    pub fn records_at_most(&self) -> usize {
        let of_chunk = |at: &usize| match packed_content(&self.bytes, *at) {
            Some(content) => packed::count(content).unwrap_or(0),
            None => (chunk_end(&self.bytes, *at) - at) / RECORD_BYTES,
        };
        self.chunks.values().flatten().map(|at| 5 * of_chunk(at)).sum()
    }
}

/// Finds the chunks of each stream, the text of the definitions, and what is missing between them.
fn index(bytes: &[u8], found: &mut BTreeMap<u32, Vec<usize>>, text: &mut Vec<u8>, missing: &mut Missing) {
    // What a finished log has taken is there; a file may be longer than that, where a full disk stood in the way of a chunk.
    let is_finished = u32_at(bytes, header::END_CHECKSUM) != 0;
    let length = u64_at(bytes, header::LENGTH);
    let is_taken = |at: usize| is_finished && (at + CHUNK_BYTES) as u64 <= length;
    let mut streams: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
    let mut texts = Vec::new();
    for at in (HEADER_BYTES..bytes.len()).step_by(CHUNK_BYTES) {
        if u32_at(bytes, at + chunk::MAGIC) != chunk::CHUNK_MAGIC {
            missing.damaged += usize::from(is_taken(at));
            continue;
        }
        let sequence = u32_at(bytes, at + chunk::SEQUENCE);
        match u32_at(bytes, at + chunk::KIND) {
            chunk::EVENTS => {
                streams.entry(u32_at(bytes, at + chunk::STREAM)).or_default().push((sequence, at));
            }
            chunk::DEFINITIONS if is_damaged(bytes, at) => missing.definitions += 1,
            chunk::DEFINITIONS => texts.push((sequence, at)),
            chunk::PACKED => {
                missing.damaged += usize::from(!index_packed(bytes, at, |stream, sequence, at| {
                    streams.entry(stream).or_default().push((sequence, at));
                }));
            }
            chunk::EMPTIED => {}
            _ => missing.damaged += usize::from(is_taken(at)),
        }
    }
    let mut in_order = |chunks, left_out: fn(&mut Missing) -> &mut usize| {
        let (chunks, behind) = in_sequence(chunks);
        *left_out(missing) += behind;
        chunks
    };
    for (stream, chunks) in streams {
        found.insert(stream, in_order(chunks, |missing| &mut missing.behind_gaps));
    }
    for at in in_order(texts, |missing| &mut missing.definitions) {
        let piece = bytes.get(at + CHUNK_HEADER_BYTES..chunk_end(bytes, at)).unwrap_or_default();
        text.extend(piece.iter().take_while(|b| **b != 0));
    }
}

/// Whether the chunk has another checksum than its own. One that is not sealed has none, and of one that is cut off it is not known.
fn is_damaged(bytes: &[u8], at: usize) -> bool {
    let chunk = &bytes[at..chunk_end(bytes, at)];
    if u32_at(chunk, chunk::MAGIC) == chunk::PACKED_MAGIC {
        return chunk_checksum(chunk) != Some(u32_at(chunk, chunk::CHECKSUM));
    }
    match (u32_at(chunk, chunk::SEALED), chunk_checksum(chunk)) {
        (0, _) => false,
        (_, Some(sum)) => sum != u32_at(chunk, chunk::CHECKSUM),
        (_, None) => chunk.len() == CHUNK_BYTES,
    }
}

/// The chunks up to the first that is missing, and how many there are behind it. Of two chunks with one number, the second is a copy of
/// the first that may not be whole: the process was killed while it made it.
fn in_sequence(mut chunks: Vec<(u32, usize)>) -> (Vec<usize>, usize) {
    chunks.sort_unstable();
    chunks.dedup_by_key(|(sequence, _)| *sequence);
    let all = chunks.len();
    let whole: Vec<usize> = (0..)
        .zip(chunks)
        .take_while(|(place, (sequence, _))| place == sequence)
        .map(|(_, (_, at))| at)
        .collect();
    let behind = all - whole.len();
    (whole, behind)
}

/// Where a chunk ends, packed or not.
fn chunk_end(bytes: &[u8], at: usize) -> usize {
    let length = match u32_at(bytes, at + chunk::MAGIC) {
        chunk::PACKED_MAGIC => CHUNK_HEADER_BYTES + u32_at(bytes, at + chunk::SEALED) as usize,
        _ => CHUNK_BYTES,
    };
    at.saturating_add(length).min(bytes.len())
}

/// What a packed chunk holds.
fn packed_content(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let is_packed = u32_at(bytes, at + chunk::MAGIC) == chunk::PACKED_MAGIC;
    is_packed.then(|| bytes.get(at + CHUNK_HEADER_BYTES..chunk_end(bytes, at)).unwrap_or_default())
}

/// Finds the packed chunks in one of them: stream, sequence number and offset. `false` where it is damaged: then those before that place
/// are found. What is cut off with the file is not.
fn index_packed(bytes: &[u8], at: usize, mut found: impl FnMut(u32, u32, usize)) -> bool {
    let whole = &bytes[at..(at + CHUNK_BYTES).min(bytes.len())];
    let used = u32_at(whole, chunk::SEALED) as usize;
    if used > CHUNK_BYTES - CHUNK_HEADER_BYTES || packed_checksum(whole) != u32_at(whole, chunk::CHECKSUM) {
        return false;
    }
    let (mut place, end) = (CHUNK_HEADER_BYTES, CHUNK_HEADER_BYTES + used);
    while place < end {
        let Some(header) = whole.get(place..place + CHUNK_HEADER_BYTES) else { return whole.len() < end };
        let next = place + CHUNK_HEADER_BYTES + u32_at(header, chunk::SEALED) as usize;
        if u32_at(header, chunk::MAGIC) != chunk::PACKED_MAGIC || next > end {
            return false;
        }
        if next > whole.len() {
            return true;
        }
        found(u32_at(header, chunk::STREAM), u32_at(header, chunk::SEQUENCE), at + place);
        place = next;
    }
    true
}

/// The records of a stream as they are in the file.
#[derive(Clone, Debug)]
pub(super) struct Stored<'a> {
    bytes: &'a Bytes,
    chunks: std::slice::Iter<'a, usize>,
    /// The chunk that is being read, and its records behind those that were read.
    chunk: Option<usize>,
    records: Remaining<'a>,
}

/// Records that were not read yet.
#[derive(Clone, Debug)]
enum Remaining<'a> {
    InFile(&'a [u8]),
    /// They were packed: all of the chunk, and how many bytes were read.
    Unpacked(Vec<u8>, usize),
}

impl Remaining<'_> {
    /// The next record that was written, if it is there as a whole.
    fn peek(&self) -> Option<&[u8; RECORD_BYTES]> {
        let rest = match self {
            Remaining::InFile(rest) => *rest,
            Remaining::Unpacked(all, read) => &all[*read..],
        };
        rest.first_chunk().filter(|record| u16_at(*record, 8) != kind::NONE)
    }

    /// The record that was peeked at was read.
    fn pass(&mut self) {
        match self {
            Remaining::InFile(rest) => *rest = &rest[RECORD_BYTES..],
            Remaining::Unpacked(_, read) => *read += RECORD_BYTES,
        }
    }
}

impl<'a> Stored<'a> {
    fn of(bytes: &'a Bytes, chunks: &'a [usize]) -> Stored<'a> {
        Stored { bytes, chunks: chunks.iter(), chunk: None, records: Remaining::InFile(&[]) }
    }

    /// Goes on with the next chunk. Of one whose content is none, which its checksum would not let pass, there are no records.
    fn open(&mut self, at: usize) {
        self.chunk = Some(at);
        self.records = match packed_content(self.bytes, at) {
            Some(content) => Remaining::Unpacked(packed::unpack(content).unwrap_or_default(), 0),
            None => {
                let records = self.bytes.get(at + CHUNK_HEADER_BYTES..chunk_end(self.bytes, at));
                Remaining::InFile(records.unwrap_or_default())
            }
        };
    }
}

impl Iterator for Stored<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            let Some(first) = self.records.peek() else {
                if let Some(read) = self.chunk.take() {
                    self.bytes.release(read);
                }
                let at = *self.chunks.next()?;
                self.open(at);
                continue;
            };
            let (time, kind, object) = (u64_at(first, 0), u16_at(first, 8), u16_at(first, 10));
            let mut payload = Payload::from_slice(&first[RECORD_BYTES - PAYLOAD_BYTES..]);
            self.records.pass();
            if kind == kind::CONTINUATION {
                continue; // of a record that is not there: the file is damaged
            }
            for _ in 0..MAX_CONTINUATIONS {
                let more = self.records.peek().filter(|record| u16_at(*record, 8) == kind::CONTINUATION);
                let Some(more) = more else { break };
                payload.extend_from_slice(&more[RECORD_BYTES - PAYLOAD_BYTES..]);
                self.records.pass();
            }
            return Some(Record { time, kind, object, payload });
        }
    }
}
