//! An OTF2 archive from the event logs of a run.
//!
//! | in the archive | from the logs |
//! |---|---|
//! | a location group per rank | its log |
//! | a location per thread that calls MPI, `rank N` for the first | [`calls`]: regions and messages |
//! | an attribute `call site` of a call's region | the address that it returns to, as [`callsites`](super::callsites) reads it |
//! | a location per stream of events of a source | [`regions`]: event types `X_begin`, `X_end` |
//! | metrics on these, and attributes of receives | [`regions`]: event types `X_insert`, `X_remove` |
//! | regions without a duration on these, with attributes | [`regions`]: operations of transports (`btl_netop`) |
//! | a location of the variables that were sampled, and metrics on it | [`samples`] |
//! | windows, operations on them, epochs | [`windows`]: joined by members and order; epochs on locations of their own |
//! | communicators and their groups | [`communicators`]: joined over the ranks by their identity |
//! | times in nanoseconds since the first record, by each node's own clock, and clock offsets | [`time`](crate::time): one line per clock |
//!
//! On each location times never go back and regions are nested properly, whatever a log holds; what
//! had to be left out or moved for that is counted in the [`Summary`].

mod calls;
mod communicators;
mod pairs;
mod regions;
mod requests;
mod roles;
mod samples;
mod share;
mod summary;
mod tables;
mod track;
mod windows;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use otf2_writer::{
    Archive, ArchiveOptions, AttributeValue, Clock, ClockOffset, Event, Group, GroupMembers, Location,
    LocationGroup, LocationGroupRef, LocationRef, Paradigm, ParadigmClass, ParadigmDefinition, Severity,
    Ticks,
};
use ranks::{CommunicationError, Processes as _, ThreadAsProcess};
use thiserror::Error;

use self::calls::Thread;
use self::communicators::Communicators;
use self::pairs::Pairs;
use self::regions::Stream;
use self::requests::Requests;
use self::samples::Samples;
use self::share::Common;
use self::tables::Tables;
use self::track::Track;
use self::windows::Windows;
use super::callsites::CallSites;
use super::facts::{Fact, Facts};
use super::partners::Recorded;
use super::run::Run;
use super::time::{Offset, Timeline};
use super::types::Types;
use mel_log::{RankLog, StreamKind, Switch};

pub use self::share::Share;
pub use self::summary::{Remark, Summary};

/// The name of the archive in its directory.
pub const FILE_NAME: &str = "traces.otf2";

/// More ranks than that are taken for damage of a log's header.
const MOST_RANKS: u32 = 1 << 22;

/// Why a run could not be converted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The archive could not be written.
    #[error("cannot write the trace: {0}")]
    Archive(#[from] otf2_writer::Error),
    /// The processes that convert together could not communicate.
    #[error(transparent)]
    Communication(#[from] CommunicationError),
    /// A fault of the conversion itself.
    #[error("the conversion has failed by a fault of its own; the logs have everything")]
    Fault,
    /// An archive that was there could not be removed.
    #[error("cannot replace the trace {path}: {error}")]
    Remove {
        /// What could not be removed.
        path: PathBuf,
        /// What the file system said.
        error: io::Error,
    },
}

/// Writes `traces.otf2` and what belongs to it into a directory: [`write_with`] nothing to remark.
///
/// # Errors
/// Those of [`write_with`].
pub fn write(run: &Run, directory: &Path, tick: &(dyn Fn(u64) + Sync)) -> Result<Summary, ConvertError> {
    write_with(run, directory, &[], tick)
}

/// Writes `traces.otf2` and what belongs to it into a directory, with markers for these remarks, on all cores. `tick` is
/// given how many more records have been converted, of about [`Run::records_at_most`].
///
/// # Errors
/// [`ConvertError`]: an archive is there already, libotf2 is not installed, the disk is full. No
/// unfinished archive is left behind.
pub fn write_with(
    run: &Run,
    directory: &Path,
    remarks: &[Remark],
    tick: &(dyn Fn(u64) + Sync),
) -> Result<Summary, ConvertError> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    write_on(cores.min(world_size(run)).max(1), run, directory, remarks, tick)
}

/// The same on so many threads, each of which does the work of one process.
fn write_on(
    threads: u32,
    run: &Run,
    directory: &Path,
    remarks: &[Remark],
    tick: &(dyn Fn(u64) + Sync),
) -> Result<Summary, ConvertError> {
    let (logs, world) = (&run.ranks, world_size(run));
    let write = |thread: ThreadAsProcess| {
        let ranks = Share::ranks_of(thread.rank(), thread.size(), world);
        let place = |rank: u32| logs.partition_point(|log| log.info.rank < rank);
        let logs = &logs[place(ranks.start)..place(ranks.end)];
        write_share(&Share { logs, world, processes: Rc::new(thread) }, directory, remarks, tick)
    };
    let mut group = ThreadAsProcess::group(threads).into_iter();
    let first = group.next();
    std::thread::scope(|scope| {
        let write = &write;
        let others: Vec<_> = group.map(|thread| scope.spawn(move || write(thread))).collect();
        let written = first.map_or(Err(ConvertError::Fault), write);
        // What one of them cannot do, the first one knows.
        others.into_iter().for_each(|other| _ = other.join());
        written
    })
}

/// Writes the ranks of this process into the archive that several processes write together, all at the same time;
/// with these remarks, the same in each process. The summary is that of all processes.
///
/// # Errors
/// As [`write_with`]. If one process has an error, all have.
pub fn write_share(
    share: &Share<'_>,
    directory: &Path,
    remarks: &[Remark],
    tick: &dyn Fn(u64),
) -> Result<Summary, ConvertError> {
    let common = Common::of(share)?;
    let options = ArchiveOptions::new()
        .creator(concat!("mel ", env!("CARGO_PKG_VERSION")))
        .description("MPI calls, messages, and the searches of MPI's message queues")
        // A group takes up to nine bytes per rank.
        .definition_chunk_bytes((16 * u64::from(share.world)).clamp(4 << 20, 16 << 20))
        .processes(Rc::clone(&share.processes));
    let archive = options.create(directory)?;
    let result = Conversion::new(share, common, archive, tick).convert(remarks);
    if result.is_err() && share.processes.rank() == 0 {
        // Nobody can read it; the logs still have everything.
        let _ = remove(directory);
    }
    Ok(share.sum(result?)?)
}

/// What an archive in a directory has there: two files, and a directory of files.
pub fn places(directory: &Path) -> [PathBuf; 3] {
    [FILE_NAME, "traces.def", "traces"].map(|name| directory.join(name))
}

/// Removes the archive from a directory, if there is one.
///
/// # Errors
/// Those of the file system.
pub fn remove(directory: &Path) -> Result<(), ConvertError> {
    let ignore_absent = |path: PathBuf, result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ConvertError::Remove { path, error }),
        _ => Ok(()),
    };
    let [anchor, definitions, path] = places(directory);
    for path in [anchor, definitions] {
        let result = fs::remove_file(&path);
        ignore_absent(path, result)?;
    }
    let result = fs::remove_dir_all(&path);
    ignore_absent(path, result)
}

/// Number of ranks of a run, as far as its logs can be trusted.
pub fn world_size(run: &Run) -> u32 {
    let size = run.world_size();
    // A header that was overwritten may hold any number; the logs that are there are facts.
    if size <= MOST_RANKS { size } else { run.ranks.len() as u32 }
}

/// Where the records of a stream go: to a thread's calls, to a location of events, or to that of the samples.
enum Lane {
    Calls(usize),
    Events(usize),
    Samples,
}

/// What the streams of a rank are written to, and which of them goes where.
struct Tracks {
    threads: Vec<Thread>,
    streams: Vec<Stream>,
    samples: Option<Samples>,
    lanes: BTreeMap<u32, Lane>,
}

struct Conversion<'a> {
    share: &'a Share<'a>,
    archive: Archive,
    /// The times of each node's own clock.
    timeline: Timeline,
    /// For each log, what readers have to add to them.
    offsets: Vec<Vec<Offset>>,
    pairs: Pairs,
    tables: Tables,
    sites: CallSites,
    /// Which messages have both of their sides, where recording was off at times.
    recorded: Option<Recorded>,
    summary: Summary,
    /// Which log is being converted.
    position: usize,
    /// How many locations the rank has that is being converted.
    locations: u64,
    tick: &'a dyn Fn(u64),
}

impl<'a> Conversion<'a> {
    fn new(share: &'a Share<'a>, common: Common, archive: Archive, tick: &'a dyn Fn(u64)) -> Self {
        let Common { timeline, offsets, pairs, recorded } = common;
        Conversion {
            share,
            archive,
            timeline,
            offsets,
            pairs,
            tables: Tables::default(),
            sites: CallSites::default(),
            recorded,
            summary: Summary::default(),
            position: 0,
            locations: 0,
            tick,
        }
    }

    /// Others wait for what comes of it, so that a fault of ours must not end it.
    fn convert(mut self, remarks: &[Remark]) -> Result<Summary, ConvertError> {
        let ranks = std::panic::AssertUnwindSafe(|| self.convert_ranks());
        if let Err(error) = std::panic::catch_unwind(ranks).unwrap_or(Err(ConvertError::Fault)) {
            self.archive.abandon(&error.to_string());
            return Err(error);
        }
        self.mark(remarks);
        self.archive.finish()?;
        Ok(self.summary)
    }

    fn convert_ranks(&mut self) -> Result<(), ConvertError> {
        let (share, world) = (self.share, self.share.world);
        let definitions = self.archive.definitions_mut();
        definitions.set_clock(Clock {
            start: Some(Ticks(0)),
            start_unix_nanos: Some(self.timeline.start_unix_nanos),
            ..Clock::new(1_000_000_000)
        });
        definitions.paradigm(ParadigmDefinition {
            paradigm: Paradigm::Mpi,
            name: "MPI",
            class: ParadigmClass::Process,
            comm_name_template: Some("MPI communicator ${id}"),
        });
        if share.processes.rank() == 0 {
            let locations: Vec<LocationRef> = (0..world).map(main_location).collect();
            let members = GroupMembers::CommLocations(&locations);
            definitions.group(Group { name: "", paradigm: Paradigm::Mpi, members });
        }
        let (mut communicators, mut windows) = (Communicators::default(), Windows::default());
        let logs: BTreeMap<u32, (usize, &RankLog)> =
            share.logs.iter().enumerate().map(|of| (of.1.info.rank, of)).collect();
        for rank in share.ranks() {
            let of_rank = logs.get(&rank).copied();
            self.define_rank(rank, of_rank.map(|(_, log)| log));
            let Some((position, log)) = of_rank else { continue };
            let (definitions, of) = (self.archive.definitions_mut(), (log, world));
            communicators.define(definitions, &mut self.tables, of);
            windows.define(definitions, &mut self.tables, of);
            self.convert_rank(position, log, &communicators, &windows)?;
        }
        Ok(())
    }

    /// The remarks about the ranks of this process. Each process defines the kinds of all, so that these have the same numbers however many
    /// there are.
    fn mark(&mut self, remarks: &[Remark]) {
        let ranks = self.share.ranks();
        for remark in remarks {
            let definitions = self.archive.definitions_mut();
            let marker = definitions.marker("MEL", &remark.subject, Severity::Medium);
            if ranks.contains(&remark.rank) {
                definitions.mark(Ticks(remark.nanos), main_location(remark.rank), marker, &remark.text);
            }
        }
    }

    /// The host of a rank, its location group and its main location. A rank without a log has them, too: other ranks'
    /// messages name it.
    fn define_rank(&mut self, rank: u32, log: Option<&RankLog>) {
        let definitions = self.archive.definitions_mut();
        let host = log.map_or("unknown host", |log| &log.info.host);
        let host = self.tables.host(definitions, host);
        let group = LocationGroupRef::from_raw(rank);
        definitions.location_group_as(group, LocationGroup::process(&format!("MPI Rank {rank}"), host));
        let ended = match log {
            None => Some("no event log"),
            Some(log) if log.ended_early() => Some("before MPI_Finalize"),
            Some(_) => None,
        };
        if let Some(ended) = ended {
            let ended = AttributeValue::String(definitions.string(ended));
            definitions.location_group_property(group, "MEL::ENDED", ended);
        }
        definitions.location_as(main_location(rank), Location::thread(&format!("rank {rank}"), group));
        self.locations = 1;
    }

    /// The locations that the streams of a rank are written to.
    fn open_tracks(&mut self, log: &RankLog, types: &Types<'_>) -> Result<Tracks, ConvertError> {
        let rank = log.info.rank;
        let (mut threads, mut streams) = (Vec::<Thread>::new(), Vec::new());
        let mut samples = None;
        let mut lanes = BTreeMap::new();
        let events = || log.definitions.streams.values().filter(|stream| stream.kind == StreamKind::Events);
        let parts = self.pairs.parts(types);
        for (number, stream) in &log.definitions.streams {
            let lane = match stream.kind {
                StreamKind::Calls => {
                    let known = threads.iter().position(|thread| thread.number == stream.thread);
                    if known.is_none() {
                        let location = match stream.thread {
                            0 => main_location(rank),
                            thread => self.define_location(rank, &format!("rank {rank} thread {thread}")),
                        };
                        threads.push(Thread::new(stream.thread, self.track(location)?));
                    }
                    Lane::Calls(known.unwrap_or(threads.len() - 1))
                }
                StreamKind::Events => {
                    // Only streams that share their source need names with their threads.
                    let shared = events().filter(|other| other.source == stream.source).count() > 1;
                    let source = stream.source.and_then(|source| log.definitions.sources.get(&source));
                    let mut name = match source {
                        Some(source) => format!("rank {rank}: {}", source.name),
                        None => format!("rank {rank}: events"),
                    };
                    if shared {
                        name += &format!(", thread {}", stream.thread);
                    }
                    let location = self.define_location(rank, &name);
                    streams.push(Stream::new(self.track(location)?, parts.clone()));
                    Lane::Events(streams.len() - 1)
                }
                StreamKind::Samples => {
                    if samples.is_none() {
                        let location = self.define_location(rank, &format!("rank {rank}: variables"));
                        samples = Some(Samples::new(self.track(location)?, log));
                    }
                    Lane::Samples
                }
            };
            lanes.insert(*number, lane);
        }
        Ok(Tracks { threads, streams, samples, lanes })
    }

    fn convert_rank(
        &mut self,
        position: usize,
        log: &RankLog,
        communicators: &Communicators,
        windows: &Windows,
    ) -> Result<(), ConvertError> {
        self.position = position;
        let types = Types::of(log);
        let Tracks { mut threads, mut streams, mut samples, lanes } = self.open_tracks(log, &types)?;
        let mut epochs = Vec::new();
        let mut requests = match &self.recorded {
            Some(recorded) => Requests::with_gaps(log, recorded),
            None => Requests::default(),
        };
        let of_log = (position, log);
        for (at, fact) in Facts::of(log, &types, self.tick) {
            match (&fact, lanes.get(&at.stream)) {
                (Fact::Recording(Switch { on, .. }), _) => {
                    let time = self.timeline.nanos(position, at.time);
                    let threads = threads.iter_mut().map(|thread| &mut thread.track);
                    for track in threads.chain(streams.iter_mut().map(Stream::track_mut)) {
                        track.event(time, &Event::MeasurementOnOff { on: *on }, &[])?;
                    }
                }
                (&Fact::LengthAfterPause { queue, communicator, length }, _) => {
                    let time = self.timeline.nanos(position, at.time);
                    let of = (queue, types.queues[queue].name);
                    self.convert_length(&mut streams, of, (communicator, length), (time, log))?;
                }
                (Fact::Event(event), Some(Lane::Events(place))) => {
                    self.convert_event(&mut streams[*place], &types, of_log, event)?;
                }
                (Fact::Sample(sample), _) => {
                    if let Some(samples) = &mut samples {
                        self.convert_sample(samples, of_log, (at.time, *sample))?;
                    }
                }
                (fact, Some(Lane::Calls(place))) => {
                    let (windows, epochs, requests) = (windows, &mut epochs, &mut requests);
                    let references = calls::References { communicators, windows, epochs, requests };
                    self.convert_call(&mut threads[*place], references, of_log, (at.time, fact))?;
                }
                _ => {}
            }
        }
        self.convert_epochs(log.info.rank, epochs)?;
        self.mark_losses((position, log), &lanes, (&threads, &streams, samples.as_ref()));
        for mut thread in threads {
            // What lasts longer than the log is not unfinished.
            let end = thread.track.last().0;
            self.turn_to(&mut thread, "", end)?;
            self.summary.add(thread.track.close()?);
        }
        for stream in streams {
            self.summary.add(stream.close()?);
        }
        if let Some(samples) = samples {
            self.summary.add(samples.close()?);
        }
        Ok(())
    }

    /// Markers where streams end because there was no space for more.
    fn mark_losses(
        &mut self,
        (position, log): (usize, &RankLog),
        lanes: &BTreeMap<u32, Lane>,
        (threads, streams, samples): (&[Thread], &[Stream], Option<&Samples>),
    ) {
        for (number, lane) in lanes {
            let lost = log.dropped(*number);
            let track = match lane {
                Lane::Calls(place) => &threads[*place].track,
                Lane::Events(place) => streams[*place].track(),
                Lane::Samples => match samples {
                    Some(samples) => samples.track(),
                    None => continue,
                },
            };
            if lost > 0 {
                let text =
                    format!("{lost} records are missing from here on: the disk was full, or --limit reached");
                let definitions = self.archive.definitions_mut();
                let marker = definitions.marker("MEL", "records missing", Severity::High);
                let time = Offset::correct(&self.offsets[position], track.last().0);
                definitions.mark(Ticks(time), track.location(), marker, &text);
            }
        }
    }

    /// Begins to write a location of the rank that is being converted.
    fn track(&mut self, location: LocationRef) -> Result<Track, ConvertError> {
        for Offset { time, nanos, error } in self.offsets.get(self.position).into_iter().flatten() {
            // The truth lies anywhere within the error.
            let deviation = *error as f64 / 3f64.sqrt();
            let offset = ClockOffset { time: Ticks(*time), offset: *nanos, deviation };
            self.archive.definitions_mut().clock_offset(location, offset);
        }
        Ok(Track::new(location, self.archive.event_writer(location)?))
    }

    /// Defines one more location of the rank that is being converted.
    fn define_location(&mut self, rank: u32, name: &str) -> LocationRef {
        let location = LocationRef::from_raw(self.locations << 32 | u64::from(rank));
        self.locations += 1;
        let group = LocationGroupRef::from_raw(rank);
        self.archive.definitions_mut().location_as(location, Location::thread(name, group));
        location
    }
}

/// The location of a rank's first thread. Others of the rank have numbers that are higher by multiples of 2^32, as in the
/// traces of Score-P, so that nobody has to know how many locations other ranks have.
fn main_location(rank: u32) -> LocationRef {
    LocationRef::from_raw(rank.into())
}

#[cfg(test)]
mod tests;
