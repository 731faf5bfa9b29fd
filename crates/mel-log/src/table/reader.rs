//! The reading side: the rows of a profile table as plain values. Any bytes are read without a panic; what makes no sense is left out.

use std::cell::RefCell;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::attributed::{AttributedContextRow, AttributedVariable, AttributedVariableRow};
use super::connections::ConnectionRow;
use super::counted::{Counted, CountedRow};
use super::layout::{
    Context, ContextRow, HEADER_BYTES, Header, Hold, HoldKind, HoldRow, Interval, IntervalRow, MAGIC,
    MAX_ATTRIBUTED, MAX_BYTES, MAX_CONTEXTS, STOPPED, Section, Thread, ThreadRow, VERSION, Wait, WaitRow,
    header_checksum, identity_checksum,
};
use super::lock;
use super::phases::{PhaseRow, Sections};
use super::queues::{BriefQueues, Queues};
use super::regions::{TimeInRegion, TimeInRegionRow};
use super::row::{Cell, Column, Row};
use super::sampled::SampledRow;
use super::stacks::{Stack, StackRow};
use super::traffic::{Traffic, TrafficRow};
use super::windows;
use crate::profile::{LeftOut, NotFollowed, Truth, WindowProfile};
use crate::ranks::contradiction;
use crate::{Definition, checksum, profile};

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
    /// It is none.
    #[error("{0} is not a profile table, or its process was killed before the table had begun")]
    NotATable(PathBuf),
    /// It has another version.
    #[error(
        "{path} is a profile table of version {found}; this mel reads version {VERSION}: use the mel that wrote it"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// What it says of its rank and of the run cannot be.
    #[error("the profile table {path} {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it says.
        why: String,
    },
}

impl ThreadRow {
    /// Whether it is in a call.
    pub fn is_in_call(&self) -> bool {
        self.entered > self.left
    }

    /// The last that is known of it.
    pub fn last(&self) -> u64 {
        self.entered.max(self.left)
    }
}

/// The queues of one communicator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommunicatorQueuesRow {
    /// Its number in the definitions; 0 for those that have none, or no row of their own.
    pub communicator: u32,
    /// What happened in them, without distributions.
    pub queues: profile::Queues,
}

/// All of a table. Times are ticks of the process's clock.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the header's field, or the section, of that name")]
pub struct TableRows {
    pub rank: u32,
    pub world_size: u32,
    pub pid: u32,
    pub ended: u64,
    /// Whether its process has the file open: it runs.
    pub is_running: bool,
    pub ticks_per_second: u64,
    pub started: u64,
    pub started_realtime_nanos: u64,
    pub runs_since: u64,
    pub runs_until: u64,
    /// Where there are several nodes: an instant in ticks, the same in nanoseconds of the reference clock, and how far that may be from
    /// the truth, in nanoseconds.
    pub clock: Option<(u64, u64, u64)>,
    pub level: u64,
    /// What found no space.
    pub left_out: LeftOut,
    pub host: String,
    /// How many contexts there were, of which some may be missing.
    pub contexts_made: u64,
    /// Bytes that the file should have, and those that it has; the same where nothing is known to be missing. A file may have more.
    pub bytes: (u64, u64),
    pub threads: Vec<ThreadRow>,
    /// The queues of the application's messages and of the MPI's own, then those of a second backend; all phases together.
    pub queues: Vec<profile::Queues>,
    /// The queues of the application's messages by communicator.
    pub communicator_queues: Vec<CommunicatorQueuesRow>,
    /// The phases; empty where the program has named none.
    pub phases: Vec<PhaseRow>,
    /// Time since `runs_since` that does not count, in ticks.
    pub stopped: u64,
    pub contexts: Vec<ContextRow>,
    pub waits: Vec<WaitRow>,
    pub waited: Vec<IntervalRow>,
    pub collectives: Vec<IntervalRow>,
    /// One-sided communication.
    pub windows: Vec<WindowProfile>,
    /// What holds up calls that last long.
    pub holds: Vec<HoldRow>,
    /// How right the model was, and what it did not follow, as far as it has followed.
    pub truth: Truth,
    pub not_followed: NotFollowed,
    /// Where clocks were compared: how far the node's is behind that of rank 0's, in nanoseconds.
    pub clock_offset_nanos: i64,
    pub traffic: Vec<TrafficRow>,
    pub connections: Vec<ConnectionRow>,
    /// Where the program was outside of MPI, by samples; and how many hundredths of a second each of them stands for.
    pub stacks: Vec<StackRow>,
    pub stack_step: u64,
    /// What the processor counted, by phase and region.
    pub counted: Vec<CountedRow>,
    pub sampled: Vec<SampledRow>,
    /// Rows of sampled variables that found no space.
    pub lost_sampled: u64,
    /// Samples that were lost on their way.
    pub lost_samples: u64,
    /// Variables that are attributed; and what they did, by context: of as many contexts as there is space for.
    pub attributed_variables: Vec<AttributedVariableRow>,
    pub attributed: Vec<AttributedContextRow>,
    /// Regions beyond the last number, and ends that have fitted no beginning.
    pub lost_regions: u64,
    /// How long threads were in regions, and how many of these rows are missing.
    pub regions: Vec<TimeInRegionRow>,
    pub lost_times_in_regions: u64,
    pub mismatched_regions: u64,
    pub definitions: Vec<Definition>,
    /// Sections that are left out, because their checksums are not theirs, and their bytes.
    pub damaged: Vec<(&'static str, usize)>,
    /// Whether a checksum of the header is not its own.
    pub is_header_damaged: bool,
}

/// Reads the table of a process, which may be running.
///
/// # Errors
/// [`TableError`].
pub fn read(path: &Path) -> Result<TableRows, TableError> {
    let io = |error| TableError::Io { path: path.to_owned(), error };
    let file = crate::regular_file::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut start = [[0; 8]; 2];
    if length < HEADER_BYTES as u64 {
        return Err(TableError::NotATable(path.to_owned()));
    }
    file.read_exact_at(start.as_flattened_mut(), 0).map_err(io)?;
    check(start, path)?;
    let bytes = |at: usize, wanted: usize| {
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
    };
    let mut rows = rows_of(bytes, true);
    if rows.is_header_damaged || !rows.damaged.is_empty() {
        // Its process may have ended it while it was read.
        rows = rows_of(bytes, true);
    }
    // It may have grown since.
    rows.bytes.1 = rows.bytes.0.min(file.metadata().map_err(io)?.len());
    rows.is_running = lock::is_held(&file);
    believed(rows, path)
}

/// The rows, if their table's header has its checksums, and what it says of its rank can be.
fn believed(rows: TableRows, path: &Path) -> Result<TableRows, TableError> {
    let damaged = rows.is_header_damaged.then(|| "is damaged in its header".to_owned());
    match damaged.or_else(|| contradiction(rows.rank, rows.world_size)) {
        Some(why) => Err(TableError::Damaged { path: path.to_owned(), why }),
        None => Ok(rows),
    }
}

/// Whether that is how a table of this version begins.
fn check([magic, version]: [[u8; 8]; 2], path: &Path) -> Result<(), TableError> {
    if magic != MAGIC {
        return Err(TableError::NotATable(path.to_owned()));
    }
    match u64::from_ne_bytes(version) {
        found if found == u64::from(VERSION) => Ok(()),
        found => Err(TableError::Version { path: path.to_owned(), found }),
    }
}

impl TableRows {
    /// The rows of a file that is in memory: of as much as there is of it.
    ///
    /// # Errors
    /// [`TableError::NotATable`], [`TableError::Version`].
    pub fn of_file(file: &[u8]) -> Result<TableRows, TableError> {
        let path = Path::new("(memory)");
        let Some(header) = file.get(..HEADER_BYTES) else {
            return Err(TableError::NotATable(path.to_owned()));
        };
        let word = |at: usize| -> [u8; 8] { header[at..at + 8].try_into().unwrap_or_default() };
        check([word(0), word(8)], path)?;
        let mut rows = rows_of(
            |at, wanted| {
                let end = file.len().min(at.saturating_add(wanted));
                file.get(at..end).unwrap_or_default().to_vec()
            },
            true,
        );
        rows.bytes.1 = rows.bytes.0.min(file.len() as u64);
        believed(rows, path)
    }

    /// Takes the queues by communicator from their rows, and leaves out what is not to be counted.
    fn set_communicator_queues(&mut self, rows: &[u8]) {
        for row in rows.chunks_exact(size_of::<BriefQueues>()) {
            let row = BriefQueues::of_bytes(row);
            let queues = match row.is_only() {
                true => self.queues.first().map(profile::Queues::without_distributions).unwrap_or_default(),
                false => row.stats(self.ticks_per_second),
            };
            if row.key().phase != STOPPED {
                let communicator = row.communicator();
                self.communicator_queues.push(CommunicatorQueuesRow { communicator, queues });
            }
        }
    }

    /// Bytes that are missing at the end of the file.
    pub fn missing_bytes(&self) -> u64 {
        self.bytes.0.saturating_sub(self.bytes.1)
    }

    /// The last instant that the process is known to have been there, in ticks: the entry or the exit of a call, or the end.
    pub fn last_seen(&self) -> u64 {
        let intervals = self.waited.iter().chain(&self.collectives).map(|interval| interval.end);
        let threads = self.threads.iter().map(ThreadRow::last);
        intervals.chain(threads).chain([self.runs_since, self.runs_until]).max().unwrap_or(0)
    }

    /// The same, with when calls were seen that lasted long and had not returned.
    pub fn seen_until(&self) -> u64 {
        let is_in_it = |hold: &&HoldRow| {
            let thread = self.threads.get(usize::from(hold.thread()));
            hold.kind() == HoldKind::Lasts
                && thread.is_some_and(|thread| thread.is_in_call() && thread.entered == hold.entered)
        };
        let seen = self.holds.iter().filter(is_in_it).map(|hold| hold.bytes).max();
        self.last_seen().max(seen.unwrap_or(0))
    }

    /// The entry of `MPI_Finalize`, or the end of the measurement; where there was none, what is known last. In ticks.
    pub fn measured_until(&self) -> u64 {
        if self.runs_until > 0 { self.runs_until } else { self.last_seen() }
    }

    /// The rows of an [image](super::ProfileTable::image); `None` where it is none.
    pub fn of_image(image: &[u8]) -> Option<TableRows> {
        let (length, packed) = lz4_flex::block::uncompressed_size(image).ok()?;
        if !(HEADER_BYTES..=MAX_BYTES).contains(&length) {
            return None;
        }
        TableRows::of_unpacked_image(&lz4_flex::block::decompress(packed, length).ok()?)
    }

    /// The same of an image that is not packed any more.
    pub fn of_unpacked_image(image: &[u8]) -> Option<TableRows> {
        if image.len() < HEADER_BYTES || image[..8] != MAGIC {
            return None;
        }
        let header = Header::of_bytes(image);
        let rows = rows_of(
            |at, length| {
                if at == 0 {
                    return image[..HEADER_BYTES].to_vec();
                }
                let mut begin = HEADER_BYTES;
                for section in Section::ALL {
                    let used = section.used(&header);
                    if section.begin() == at {
                        let end = image.len().min(begin.saturating_add(used.min(length)));
                        return image.get(begin..end).unwrap_or_default().to_vec();
                    }
                    begin = begin.saturating_add(used);
                }
                Vec::new()
            },
            false,
        );
        believed(rows, Path::new("(memory)")).ok()
    }
}

/// The rows, from what gives bytes of the file: at most as many as are asked for. If a sealed table `is_checked`, sections with other
/// checksums than their own are left out.
pub(super) fn rows_of(bytes: impl Fn(usize, usize) -> Vec<u8>, is_checked: bool) -> TableRows {
    let header_bytes = bytes(0, HEADER_BYTES);
    let header = Header::of_bytes(&header_bytes);
    let is_sealed = is_checked && header.sealed.get() != 0;
    let is_header_damaged = header.identity_checksum.get() != identity_checksum(&header_bytes)
        || is_sealed && header.sealed.get() != header_checksum(&header_bytes);
    let damaged = RefCell::new(Vec::new());
    let section = |section: Section| {
        // How much there is of it, a damaged header does not say.
        if is_header_damaged {
            return Vec::new();
        }
        let wanted = section.used(&header);
        let bytes = bytes(section.begin(), wanted);
        let sum = header.checksums[section as usize].get();
        // Of what is cut off it is not known.
        if is_sealed && bytes.len() == wanted && sum != u64::from(checksum::of([&bytes[..]])) {
            damaged.borrow_mut().push((section.place().title, wanted));
            return Vec::new();
        }
        bytes
    };
    let mut all = TableRows { is_header_damaged, ..of_header(&header) };
    // In the order of the file, in which damage is told.
    all.threads = rows(&section(Section::Threads), |row: &Thread| row.plain(()));
    let sets = section(Section::Queues);
    let queues: Vec<Box<Queues>> = sets.chunks_exact(size_of::<Queues>()).map(Queues::of_bytes).collect();
    let by_communicator = section(Section::CommunicatorQueues);
    all.contexts = rows(&section(Section::Contexts), |row: &Context| row.plain(row.key()));
    all.waits = rows(&section(Section::Waits), |row: &Wait| row.plain(row.key()));
    let intervals = |of| rows(&section(of), |row: &Interval| row.plain(row.key()));
    (all.waited, all.collectives) = (intervals(Section::Waited), intervals(Section::Collectives));
    let text = section(Section::Definitions);
    let definitions: Vec<Definition> =
        text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let windows = section(Section::Windows);
    all.windows = windows::profiles(&windows, &section(Section::ThreadsOfWindows), all.ticks_per_second);
    all.holds = rows(&section(Section::Holds), |row: &Hold| row.plain(()));
    let traffic = rows(&section(Section::Traffic), |row: &Traffic| Some(row.plain(row.key()?)));
    all.traffic = traffic.into_iter().flatten().collect();
    all.connections = rows(&section(Section::Connections), ConnectionRow::of).into_iter().flatten().collect();
    all.stacks = rows(&section(Section::Stacks), |row: &Stack| row.plain(row.key()));
    all.counted = rows(&section(Section::Counted), |row: &Counted| row.plain(row.key()));
    all.regions = rows(&section(Section::Regions), |row: &TimeInRegion| row.plain(row.key()));
    all.sampled = rows(&section(Section::Sampled), SampledRow::of);
    all.attributed_variables =
        rows(&section(Section::AttributedVariables), |row: &AttributedVariable| row.plain(()));
    let of_context =
        (header.attributed.get().min(MAX_ATTRIBUTED as u64) as usize + 1) * size_of::<AttributedVariable>();
    let attributed = section(Section::Attributed);
    all.attributed = attributed.chunks_exact(of_context).map(AttributedContextRow::of_bytes).collect();
    all.damaged = damaged.take();
    let phases = Sections {
        ticks: &header.phase_ticks.plain(),
        now: (header.phase.get() as u16, header.phase_since.get()),
        queues: &queues,
        definitions: &definitions,
    };
    let until = all.measured_until();
    all.set_phases(&phases, until);
    all.regions.iter_mut().for_each(|row| *row = row.until(until));
    all.definitions = definitions;
    all.set_communicator_queues(&by_communicator);
    all
}

/// What the header says, without the rows.
fn of_header(header: &Header) -> TableRows {
    let number = |column: &Column| column.get();
    let length = number(&header.length).min(MAX_BYTES as u64);
    TableRows {
        rank: number(&header.rank).min(u32::MAX.into()) as u32,
        world_size: number(&header.world_size).min(u32::MAX.into()) as u32,
        pid: number(&header.pid) as u32,
        ended: number(&header.ended),
        ticks_per_second: number(&header.ticks_per_second).max(1),
        started: number(&header.started),
        started_realtime_nanos: number(&header.started_realtime_nanos),
        runs_since: number(&header.runs_since),
        runs_until: number(&header.runs_until),
        clock: (number(&header.clock_compared) != 0).then_some((
            number(&header.clock_ticks),
            number(&header.clock_nanos),
            number(&header.clock_error_nanos),
        )),
        level: number(&header.level).min(63),
        left_out: LeftOut {
            contexts: number(&header.lost_contexts),
            waits: number(&header.lost_waits),
            communicators: number(&header.lost_communicators),
            logged: number(&header.lost_logged),
            queues: number(&header.shared_queues),
            threads: number(&header.shared_threads),
            phases: number(&header.lost_phases),
            traffic: number(&header.lost_traffic),
            connections: number(&header.lost_connections),
            stacks: number(&header.lost_stacks),
            definitions: number(&header.lost_definitions),
        },
        host: text_of(&header.host),
        contexts_made: number(&header.contexts).min(MAX_CONTEXTS as u64),
        stack_step: number(&header.stack_step),
        bytes: (length, length),
        truth: Truth {
            matched: number(&header.matched),
            rematched: number(&header.rematched),
            envelopes_lost: number(&header.envelopes_lost),
            never_received: number(&header.never_received),
            dropped: number(&header.dropped),
        },
        not_followed: NotFollowed {
            communicators: number(&header.communicators_not_followed),
            calls: number(&header.calls_not_followed),
            partitioned: number(&header.partitioned_not_followed),
            receives: number(&header.receives_not_followed),
            bursts: number(&header.bursts),
            bursts_followed: number(&header.bursts_followed),
        },
        clock_offset_nanos: number(&header.clock_offset_nanos) as i64,
        lost_sampled: number(&header.lost_sampled),
        lost_samples: number(&header.lost_samples),
        lost_regions: number(&header.lost_regions),
        lost_times_in_regions: number(&header.lost_times_in_regions),
        mismatched_regions: number(&header.mismatched_regions),
        ..TableRows::default()
    }
}

/// The rows of a section.
fn rows<T: Row, R>(bytes: &[u8], read: impl Fn(&T) -> R) -> Vec<R> {
    bytes.chunks_exact(size_of::<T>()).map(|row| read(&T::of_bytes(row))).collect()
}

/// The text in columns that are filled up with zeros.
fn text_of(columns: &[Column]) -> String {
    let bytes: Vec<u8> = columns.iter().flat_map(|column| column.get().to_ne_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::connections::ConnectionKey;
    use super::super::layout::{ContextKey, IntervalKind, MAX_INTERVALS, MAX_QUEUES, WaitKey};
    use super::super::traffic::TrafficKey;
    use super::super::writer::PERIOD;
    use super::super::{Identity, ProfileTable, QueuesKey, file_name};
    use super::*;
    use crate::profile::Ended;
    use crate::profile::TrafficKind;
    use proptest::prelude::*;

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
        let key = ContextKey { site: 0x1234, communicator: 1, function: 200, thread: 2, phase: 9, region: 3 };
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
        let to = TrafficKey { thread: 2, phase: 3, ..TrafficKey::with_peer(TrafficKind::Put, 1, 7) };
        let row = table.add_traffic(to).unwrap();
        [0, 5, 7].into_iter().for_each(|bytes| table.traffic(row).count(bytes));
        table.add_traffic(TrafficKey::collective(1, 200, 4)).unwrap();
        let hold = HoldRow { communicator: 9, peer: 2, tag: 5, ..HoldRow::new(HoldKind::Send, 3, 4000) };
        table.set_holds(&[hold, HoldRow::new(HoldKind::Root, 0, 1)]);
        table.set_holds(&[hold]);
        assert_eq!(table.add_queues(QueuesKey::default()), Some(0));
        assert_eq!(table.add_queues(QueuesKey { whose: 1, phase: 0 }), Some(1));
        let on_one = table.add_communicator_queues(7, 0).unwrap();
        table.communicator_queues(on_one).unexpected_search.end(5, 9);
        table.communicator_queues(table.add_communicator_queues(8, 0).unwrap()).set_only(true);
        table.communicator_queues(table.add_communicator_queues(8, STOPPED).unwrap()).posted.insert(5);
        table.queues(0).posted.insert(100);
        table.queues(0).posted.remove(100, 150);
        table.queues(1).unexpected_search.end(5, 9);
        table.add_thread(1);
        table.thread(1).entered.set(4000);
        table.thread(1).left.set(3000);
        table.thread(1).context.store(context, std::sync::atomic::Ordering::Relaxed);
        let rows = read(&path).unwrap();
        assert!(rows.is_running);
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
        assert_eq!(rows.holds, [hold]);
        assert_eq!((rows.holds[0].kind(), rows.holds[0].thread()), (HoldKind::Send, 3));
        let sizes = vec![(0, 1), (3, 2)];
        assert_eq!(rows.traffic[0], TrafficRow { key: to, messages: 3, bytes: 12, sizes });
        assert_eq!(rows.traffic[1].key, TrafficKey::collective(1, 200, 4));
        assert_eq!(rows.queues.len(), 2);
        assert_eq!((rows.queues[0].posted.messages, rows.queues[0].posted.max_s), (1, 50e-9));
        assert_eq!(rows.queues[1].unexpected_search.searches, 1);
        let [on_one, only] = &rows.communicator_queues[..] else { panic!("what is stopped is left out") };
        assert_eq!((on_one.communicator, on_one.queues.unexpected_search.max_s), (7, 4e-9));
        assert_eq!((only.communicator, &only.queues), (8, &rows.queues[0].without_distributions()));
        assert_eq!(rows.threads[1], ThreadRow { entered: 4000, left: 3000, context });
        assert!(rows.threads[1].is_in_call() && rows.threads.len() == 2);
        assert_eq!((rows.last_seen(), rows.missing_bytes()), (4000, 0));
        // Of a call that is under way it may be known that it was so later.
        let lasts = HoldRow { bytes: 6000, ..HoldRow::new(HoldKind::Lasts, 1, 4000) };
        let with = |holds| TableRows { holds, ..rows.clone() }.seen_until();
        assert_eq!((with(vec![lasts]), with(vec![HoldRow { entered: 3999, ..lasts }])), (6000, 4000));
        let image = TableRows { is_running: false, ..rows };
        assert_eq!(TableRows::of_image(&table.image(100)).unwrap(), image);
        let saved = directory.path().join("saved");
        table.save(&saved).unwrap();
        let length = image.bytes.0.min(std::fs::metadata(&saved).unwrap().len());
        assert_eq!(read(&saved).unwrap(), TableRows { bytes: (image.bytes.0, length), ..image });
        table.finish(Ended::Finalised, 5000);
        let rows = read(&path).unwrap();
        assert_eq!((rows.ended, rows.runs_until), (Ended::Finalised.in_table(), 5000));
        assert!(std::fs::metadata(&path).unwrap().len() < (Section::Traffic.begin() + (1 << 20)) as u64);
        drop(table);
        assert!(!read(&path).unwrap().is_running);
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
        assert_eq!(table.rows().left_out, LeftOut { contexts: 6, ..LeftOut::default() });
    }

    #[test]
    fn any_bytes_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("any");
        let mut bytes = vec![0xff; Section::Contexts.begin() + 1000];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&u64::from(VERSION).to_ne_bytes());
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(read(&path), Err(TableError::Damaged { .. })));
        bytes[16..32].fill(0);
        let sealed = std::mem::offset_of!(Header, sealed);
        bytes[sealed..sealed + 8].fill(0);
        let (at, sum) = (std::mem::offset_of!(Header, identity_checksum), identity_checksum(&bytes));
        bytes[at..at + 8].copy_from_slice(&sum.to_ne_bytes());
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap().contexts.len(), 3);
        std::fs::write(&path, &bytes[..100]).unwrap();
        assert!(matches!(read(&path), Err(TableError::NotATable(_))));
        bytes[9] = 7;
        std::fs::write(&path, &bytes).unwrap();
        assert!(
            matches!(read(&path), Err(TableError::Version { found, .. }) if found == u64::from(VERSION) + 7 * 256)
        );
    }

    /// A table in which each section has something.
    fn whole() -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(file_name(3));
        fill(&path);
        std::fs::read(&path).unwrap()
    }

    fn fill(path: &Path) -> ProfileTable {
        let table = ProfileTable::create(path, &identity()).unwrap();
        table.add_queues(QueuesKey::default()).unwrap();
        table.add_communicator_queues(1, 0).unwrap();
        table.add_thread(0);
        for number in 0..20 {
            let context = table.add_context(ContextKey { site: number, ..ContextKey::default() });
            table.context(context).count(number);
            let key = WaitKey { context, ..WaitKey::default() };
            table.add_wait(key);
            table.add_waited(key, number, number + 1);
            table.add_collective(context, number as u32, 0, (number, number + 1));
            table.add_traffic(TrafficKey::collective(1, number as u16, 0));
            table.queues(0).posted.insert(number);
            table.add_connection(&ConnectionKey::default());
            table.define(&Definition::Function { number: number as u16, name: format!("MPI_F{number}") });
        }
        table
    }

    #[test]
    fn damage_of_a_table_that_has_ended_is_told_and_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(file_name(3));
        let table = fill(&path);
        // To send a table to others leaves out intervals: it is sealed anew.
        table.finish(Ended::Aborted, 99);
        table.image(10);
        let mut bytes = std::fs::read(&path).unwrap();
        let rows = TableRows::of_file(&bytes).unwrap();
        assert_eq!((rows.contexts.len(), rows.ended, &rows.damaged[..]), (21, 2, &[][..]));
        assert_eq!(rows.clone(), TableRows { bytes: rows.bytes, ..table.rows() });
        let header = Header::of_bytes(&bytes);
        let sections = Section::ALL.map(|section| (section, section.used(&header)));
        let mut damaged = |at: usize| {
            bytes[at] ^= 0x21;
            let rows = TableRows::of_file(&bytes);
            bytes[at] ^= 0x21;
            rows
        };
        for word in 0..size_of::<Header>() / 8 {
            assert!(damaged(8 * word + word % 8).is_err(), "word {word} is believed");
        }
        for (section, used) in sections.into_iter().filter(|(_, used)| *used > 0) {
            for byte in [0, used / 2, used - 1] {
                let rows = damaged(section.begin() + byte).unwrap();
                assert_eq!(rows.damaged, [(section.place().title, used)]);
            }
        }
        assert!(damaged(Section::Contexts.begin() + 100).unwrap().contexts.is_empty());
        // The identity has its checksum from the start.
        let mut running = whole();
        running[std::mem::offset_of!(Header, rank)] ^= 1;
        assert!(matches!(TableRows::of_file(&running), Err(TableError::Damaged { .. })));
    }

    #[test]
    fn a_cut_table_keeps_what_lies_before_the_cut_and_says_what_is_missing() {
        let bytes = whole();
        let rows = TableRows::of_file(&bytes).unwrap();
        assert_eq!((rows.missing_bytes(), rows.contexts.len(), rows.definitions.len()), (0, 21, 20));
        assert_eq!(rows.queues[0].posted.messages, 20);
        for cut in [0, 1, 8, HEADER_BYTES - 1] {
            assert!(matches!(TableRows::of_file(&bytes[..cut]), Err(TableError::NotATable(_))));
        }
        let mut before = 0;
        for cut in (HEADER_BYTES..bytes.len())
            .step_by(4999)
            .chain(Section::Contexts.begin()..Section::Contexts.begin() + 600)
        {
            let cut_off = TableRows::of_file(&bytes[..cut]).unwrap();
            assert_eq!(cut_off.missing_bytes(), (bytes.len() - cut) as u64);
            let contexts = cut_off.contexts.len();
            assert_eq!(cut_off.contexts[..], rows.contexts[..contexts]);
            before = contexts.max(before);
        }
        assert_eq!(before, 21);
    }

    /// Where a table has something.
    fn interesting_place() -> impl Strategy<Value = usize> {
        let sections =
            Section::ALL.iter().filter(|section| **section as usize <= Section::Connections as usize);
        let sections: Vec<usize> = sections.map(|section| section.begin()).chain([0]).collect();
        (proptest::sample::select(sections), 0..600usize).prop_map(|(at, within)| at + within)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn no_mutilation_makes_the_reader_panic(
            wounds in proptest::collection::vec((interesting_place(), proptest::collection::vec(any::<u8>(), 1..64)), 0..12),
            cut in prop_oneof![Just(usize::MAX), 0..Section::Definitions.begin()],
        ) {
            let mut bytes = whole();
            for (at, wound) in wounds {
                bytes[at..at + wound.len()].copy_from_slice(&wound);
            }
            bytes.truncate(cut);
            if let Ok(rows) = TableRows::of_file(&bytes) {
                prop_assert!(rows.contexts.len() <= MAX_CONTEXTS && rows.queues.len() <= MAX_QUEUES);
                rows.last_seen();
            }
        }
    }
}
