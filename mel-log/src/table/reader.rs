//! The reading side: the rows of a profile table as plain values. Any bytes are read without a panic; what makes no sense is left out.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::layout::{
    BINS, COLLECTIVES_AT, CONTEXTS_AT, Context, ContextKey, DEFINITIONS_AT, HEADER_BYTES, Header, Interval,
    IntervalKind, MAGIC, MAX_CONTEXTS, MAX_DEFINITIONS, MAX_INTERVALS, MAX_WAITS, VERSION, WAITED_AT,
    WAITS_AT, Wait, WaitKey,
};
use crate::Definition;

/// Why a profile table cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file system said no.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        error: io::Error,
    },
    /// It is none, or one of another version.
    #[error("{0} is not a profile table of this version of mel")]
    NotATable(PathBuf),
}

/// A context's row.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the column of that name")]
pub struct ContextRow {
    pub key: ContextKey,
    pub calls: u64,
    pub ticks: u64,
    pub longest: u64,
    pub sent: u64,
    pub received: u64,
    pub unexpected: u64,
    pub unexpected_bytes: u64,
    pub search_ticks: u64,
    pub wildcard_search_ticks: u64,
    pub longest_search: u64,
    pub bins: Vec<u32>,
}

/// A row of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the column of that name")]
pub struct WaitRow {
    pub key: WaitKey,
    pub count: u64,
    pub ticks: u64,
    pub longest: u64,
    pub bytes: u64,
}

/// One wait, or one collective operation: then `key.peer` is its number on the communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the column of that name")]
pub struct IntervalRow {
    pub begin: u64,
    pub end: u64,
    pub key: WaitKey,
}

/// All of a table. Times are ticks of the process's clock.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the header's field, or the section, of that name")]
pub struct TableRows {
    pub rank: u32,
    pub world_size: u32,
    pub pid: u32,
    pub ended: u64,
    pub ticks_per_second: u64,
    pub started: u64,
    pub started_realtime_nanos: u64,
    pub runs_since: u64,
    pub runs_until: u64,
    /// Where there are several nodes: an instant in ticks, the same in nanoseconds of the reference clock, and how far that may be from
    /// the truth, in nanoseconds.
    pub clock: Option<(u64, u64, u64)>,
    pub level: u64,
    pub lost: [u64; 3],
    pub host: String,
    pub contexts: Vec<ContextRow>,
    pub waits: Vec<WaitRow>,
    pub waited: Vec<IntervalRow>,
    pub collectives: Vec<IntervalRow>,
    pub definitions: Vec<Definition>,
}

/// Reads the table of a process, which may be running.
///
/// # Errors
/// [`TableError`].
pub fn read(path: &Path) -> Result<TableRows, TableError> {
    let io = |error| TableError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut magic = [0; 8];
    if length < HEADER_BYTES as u64 {
        return Err(TableError::NotATable(path.to_owned()));
    }
    file.read_exact_at(&mut magic, 0).map_err(io)?;
    let mut version = [0; 8];
    file.read_exact_at(&mut version, 8).map_err(io)?;
    if magic != MAGIC || u64::from_ne_bytes(version) != u64::from(VERSION) {
        return Err(TableError::NotATable(path.to_owned()));
    }
    Ok(rows_of(|at, wanted| {
        let there = length.saturating_sub(at as u64).min(wanted as u64) as usize;
        let mut bytes = vec![0; there];
        let mut done = 0;
        while done < there {
            match file.read_at(&mut bytes[done..], (at + done) as u64) {
                Ok(0) | Err(_) => break,
                Ok(count) => done += count,
            }
        }
        bytes.truncate(done);
        bytes
    }))
}

impl TableRows {
    /// The rows of an [image](super::ProfileTable::image); `None` where it is none.
    pub fn of_image(image: &[u8]) -> Option<TableRows> {
        if image.len() < HEADER_BYTES || image[..8] != MAGIC {
            return None;
        }
        let sections = used(image);
        Some(rows_of(|at, length| {
            if at == 0 {
                return image[..HEADER_BYTES].to_vec();
            }
            let mut begin = HEADER_BYTES;
            for (begins, used) in sections {
                if begins == at {
                    let end = image.len().min(begin.saturating_add(used.min(length)));
                    return image.get(begin..end).unwrap_or_default().to_vec();
                }
                begin = begin.saturating_add(used);
            }
            Vec::new()
        }))
    }
}

/// Where each section begins, and how many bytes of it are used.
pub(super) fn used(header: &[u8]) -> [(usize, usize); 5] {
    let header = words(header.get(..HEADER_BYTES).unwrap_or_default());
    let field = |offset: usize| header.get(offset / 8).copied().unwrap_or(0);
    let section = |at, offset, most: usize, size| (at, field(offset).min(most as u64) as usize * size);
    [
        section(CONTEXTS_AT, std::mem::offset_of!(Header, contexts), MAX_CONTEXTS, size_of::<Context>()),
        section(WAITS_AT, std::mem::offset_of!(Header, waits), MAX_WAITS, size_of::<Wait>()),
        section(WAITED_AT, std::mem::offset_of!(Header, waited), MAX_INTERVALS, size_of::<Interval>()),
        section(
            COLLECTIVES_AT,
            std::mem::offset_of!(Header, collectives),
            MAX_INTERVALS,
            size_of::<Interval>(),
        ),
        section(DEFINITIONS_AT, std::mem::offset_of!(Header, definitions), MAX_DEFINITIONS, 1),
    ]
}

/// The rows, from what gives bytes of the file: at most as many as are asked for.
pub(super) fn rows_of(bytes: impl Fn(usize, usize) -> Vec<u8>) -> TableRows {
    let header = words(&bytes(0, HEADER_BYTES));
    let field = |offset: usize| header.get(offset / 8).copied().unwrap_or(0);
    macro_rules! of {
        ($name:ident) => {
            field(std::mem::offset_of!(Header, $name))
        };
    }
    let section = |at: usize, count: u64, most: usize, size: usize| {
        words(&bytes(at, (count as usize).min(most) * size))
            .chunks_exact(size / 8)
            .map(<[u64]>::to_vec)
            .collect()
    };
    let contexts: Vec<Vec<u64>> =
        section(CONTEXTS_AT, of!(contexts).min(MAX_CONTEXTS as u64), MAX_CONTEXTS, size_of::<Context>());
    let waits: Vec<Vec<u64>> =
        section(WAITS_AT, of!(waits).min(MAX_WAITS as u64), MAX_WAITS, size_of::<Wait>());
    let interval = |at, count: u64| -> Vec<IntervalRow> {
        let rows: Vec<Vec<u64>> =
            section(at, count.min(MAX_INTERVALS as u64), MAX_INTERVALS, size_of::<Interval>());
        rows.iter()
            .map(|row| IntervalRow { begin: row[0], end: row[1], key: wait_key(row[2], row[3]) })
            .collect()
    };
    let host = words_of(std::mem::offset_of!(Header, host) / 8, 32, &header);
    let text = bytes(DEFINITIONS_AT, of!(definitions).min(MAX_DEFINITIONS as u64) as usize);
    let definitions =
        text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    TableRows {
        rank: of!(rank) as u32,
        world_size: of!(world_size) as u32,
        pid: of!(pid) as u32,
        ended: of!(ended),
        ticks_per_second: of!(ticks_per_second).max(1),
        started: of!(started),
        started_realtime_nanos: of!(started_realtime_nanos),
        runs_since: of!(runs_since),
        runs_until: of!(runs_until),
        clock: (of!(clock_compared) != 0).then_some((
            of!(clock_ticks),
            of!(clock_nanos),
            of!(clock_error_nanos),
        )),
        level: of!(level).min(63),
        lost: [of!(lost_contexts), of!(lost_waits), of!(lost_definitions)],
        host,
        contexts: contexts.iter().map(|row| context_row(row)).collect(),
        waits: waits
            .iter()
            .map(|row| WaitRow {
                key: wait_key(row[4], row[5]),
                count: row[0],
                ticks: row[1],
                longest: row[2],
                bytes: row[3],
            })
            .collect(),
        waited: interval(WAITED_AT, of!(waited)),
        collectives: interval(COLLECTIVES_AT, of!(collectives)),
        definitions,
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| u64::from_ne_bytes(chunk.try_into().unwrap_or_default());
    bytes.chunks_exact(8).map(word).collect()
}

fn words_of(first: usize, count: usize, words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().skip(first).take(count).flat_map(|word| word.to_ne_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The two halves of a word, the one at the lower address first.
fn halves(word: u64) -> (u32, u32) {
    let bytes = word.to_ne_bytes();
    let half = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().unwrap_or_default());
    (half(&bytes[..4]), half(&bytes[4..]))
}

fn wait_key(first: u64, second: u64) -> WaitKey {
    let (context, peer) = halves(first);
    let (both, _) = halves(second);
    WaitKey {
        context,
        peer: peer as i32,
        peer_context: both as u16,
        kind: IntervalKind::of((both >> 16) as u8),
    }
}

fn context_row(row: &[u64]) -> ContextRow {
    let place = |offset: usize| row[offset / 8];
    macro_rules! of {
        ($name:ident) => {
            place(std::mem::offset_of!(Context, $name))
        };
    }
    let (communicator, both) = halves(of!(communicator));
    let bins = std::mem::offset_of!(Context, bins) / 8;
    ContextRow {
        key: ContextKey { site: of!(site), communicator, function: both as u16, thread: (both >> 16) as u16 },
        calls: of!(calls),
        ticks: of!(ticks),
        longest: of!(longest),
        sent: of!(sent),
        received: of!(received),
        unexpected: of!(unexpected),
        unexpected_bytes: of!(unexpected_bytes),
        search_ticks: of!(search_ticks),
        wildcard_search_ticks: of!(wildcard_search_ticks),
        longest_search: of!(longest_search),
        bins: row[bins..bins + BINS / 2].iter().flat_map(|word| <[u32; 2]>::from(halves(*word))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::writer::PERIOD;
    use super::super::{Ended, Identity, ProfileTable, file_name};
    use super::*;

    fn identity() -> Identity {
        Identity {
            rank: 3,
            world_size: 8,
            ticks_per_second: 1_000_000_000,
            started: 10,
            started_realtime_nanos: 1_700_000_000_000_000_000,
            runs_since: 20,
            host: "node-with-a-name".into(),
        }
    }

    #[test]
    fn a_reader_finds_what_a_process_counts_while_it_runs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(file_name(3));
        let table = ProfileTable::create(&path, &identity()).unwrap();
        let key = ContextKey { site: 0x1234, communicator: 1, function: 200, thread: 2 };
        let context = table.add_context(key);
        table.context(context).count(100);
        table.context(context).count(300);
        table.context(context).sent.add(8);
        let waits = WaitKey { context, peer: 2, peer_context: 9, kind: IntervalKind::LateSender };
        let wait = table.add_wait(waits).unwrap();
        table.wait(wait).count(77, 8);
        table.add_waited(waits, 1000, 1077);
        table.add_collective(context, 5, 1, (2000, 2100));
        table.define(&Definition::Function { number: 200, name: "MPI_Recv".into() });
        let rows = read(&path).unwrap();
        assert_eq!(
            (rows.rank, rows.world_size, rows.ended, rows.host.as_str()),
            (3, 8, 0, "node-with-a-name")
        );
        assert_eq!(rows.contexts.len(), 2, "the first is for what finds no space");
        let row = &rows.contexts[1];
        assert_eq!((row.key, row.calls, row.ticks, row.longest, row.sent), (key, 2, 400, 300, 8));
        assert_eq!(row.bins.iter().sum::<u32>(), 2);
        assert_eq!(rows.waits[0], WaitRow { key: waits, count: 1, ticks: 77, longest: 77, bytes: 8 });
        assert_eq!(rows.waited, [IntervalRow { begin: 1000, end: 1077, key: waits }]);
        let collective = rows.collectives[0];
        assert_eq!((collective.key.peer, collective.key.kind), (5, IntervalKind::Collective));
        assert_eq!(rows.definitions.len(), 1);
        assert_eq!(TableRows::of_image(&table.image(100)).unwrap(), rows);
        table.finish(Ended::Finalised, 5000);
        let rows = read(&path).unwrap();
        assert_eq!((rows.ended, rows.runs_until), (Ended::Finalised as u64, 5000));
        assert!(std::fs::metadata(&path).unwrap().len() < 20 << 20);
    }

    #[test]
    fn a_full_section_keeps_every_second_period() {
        let table = ProfileTable::in_memory(&identity()).unwrap();
        let key = WaitKey { context: 0, peer: 1, peer_context: 0, kind: IntervalKind::LateSender };
        let all = (MAX_INTERVALS * 3) as u64;
        for number in 0..all {
            let begin = number << (PERIOD - 8);
            table.add_waited(key, begin, begin + 1);
        }
        let rows = table.rows();
        assert!(rows.level >= 2 && rows.waited.len() <= MAX_INTERVALS, "{}", rows.level);
        let mask = (1 << rows.level) - 1;
        assert!(rows.waited.iter().all(|row| (row.begin >> PERIOD) & mask == 0));
        let kept = all >> rows.level;
        assert!((kept - 256..=kept + 256).contains(&(rows.waited.len() as u64)), "whole periods are kept");
    }

    #[test]
    fn what_finds_no_space_is_counted() {
        let table = ProfileTable::in_memory(&identity()).unwrap();
        for number in 0..MAX_CONTEXTS as u64 + 5 {
            table.add_context(ContextKey { site: number, ..ContextKey::default() });
        }
        assert_eq!(table.rows().lost, [6, 0, 0]);
    }

    #[test]
    fn any_bytes_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("any");
        let mut bytes = vec![0xff; HEADER_BYTES + 1000];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&u64::from(VERSION).to_ne_bytes());
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap().contexts.len(), 3);
        std::fs::write(&path, &bytes[..100]).unwrap();
        assert!(matches!(read(&path), Err(TableError::NotATable(_))));
        bytes[9] = 7;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(read(&path), Err(TableError::NotATable(_))));
    }
}
