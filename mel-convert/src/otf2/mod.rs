//! An OTF2 archive from the event logs of a run.
//!
//! | in the archive | from the logs |
//! |---|---|
//! | a location group per rank | its log |
//! | a location per thread that calls MPI, `rank N` for the first | [`calls`]: regions and messages |
//! | an attribute `call site` of a call's region | the address that it returns to, as [`callsites`](super::callsites) reads it |
//! | a location per stream of events of a source | [`regions`]: event types `X_begin`, `X_end` |
//! | metrics on these, and attributes of receives | [`regions`]: event types `X_insert`, `X_remove` |
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
mod tables;
mod track;
mod windows;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use otf2_writer::{
    Archive, ArchiveOptions, AttributeValue, Clock, ClockOffset, Event, Group, GroupMembers, Location,
    LocationGroup, LocationGroupRef, LocationRef, Paradigm, ParadigmClass, ParadigmDefinition, Severity,
    SystemTreeDomain, SystemTreeNode, Ticks,
};
use thiserror::Error;

use self::calls::Thread;
use self::communicators::Communicators;
use self::pairs::Pairs;
use self::regions::Stream;
use self::requests::Requests;
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
    /// An archive that was there could not be removed.
    #[error("cannot replace the trace {path}: {error}")]
    Remove {
        /// What could not be removed.
        path: PathBuf,
        /// What the file system said.
        error: io::Error,
    },
}

/// What went into an archive, and what did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// MPI calls that were entered.
    pub calls: u64,
    /// Message records.
    pub messages: u64,
    /// Collective operations.
    pub collectives: u64,
    /// Operations on windows that were started.
    pub operations: u64,
    /// Regions that were entered on the locations of event sources, such as searches.
    pub regions: u64,
    /// Changes of the length of a queue.
    pub queue_changes: u64,
    /// Records whose time was moved forward, because the one before was later.
    pub moved: u64,
    /// Regions that were ended where their location ends, because the log has no end for them.
    pub unfinished: u64,
    /// Ends without a beginning.
    pub unbegun: u64,
    /// Messages, and collective operations, whose communicator or peer the log does not define.
    pub unknown_messages: u64,
    /// Messages of which the logs have one side only, because recording was off at the other one.
    pub one_sided: u64,
    /// Event types that have no place in the archive: they are no pairs, or pairs that cross others.
    pub left_out: BTreeMap<String, u64>,
}

impl Summary {
    fn add(&mut self, other: Summary) {
        let Summary {
            calls,
            messages,
            collectives,
            operations,
            regions,
            queue_changes,
            moved,
            unfinished,
            unbegun,
            unknown_messages,
            one_sided,
            left_out,
        } = other;
        self.calls += calls;
        self.messages += messages;
        self.collectives += collectives;
        self.queue_changes += queue_changes;
        self.operations += operations;
        self.regions += regions;
        self.moved += moved;
        self.unfinished += unfinished;
        self.unbegun += unbegun;
        self.unknown_messages += unknown_messages;
        self.one_sided += one_sided;
        for (name, count) in left_out {
            *self.left_out.entry(name).or_default() += count;
        }
    }
}

/// Something to say about a time of a rank: a marker in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Nanoseconds since the first record of the run.
    pub nanos: u64,
    /// Its subject: remarks of one subject have one kind of markers.
    pub subject: String,
    /// The remark itself.
    pub text: String,
}

/// Writes `traces.otf2` and what belongs to it into a directory: [`write_with`] nothing to remark.
///
/// # Errors
/// Those of [`write_with`].
pub fn write(run: &Run, directory: &Path, tick: &dyn Fn(u64)) -> Result<Summary, ConvertError> {
    write_with(run, directory, &[], tick)
}

/// Writes `traces.otf2` and what belongs to it into a directory, with markers for these remarks. `tick` is given how many more records
/// have been converted, of about [`Run::records_at_most`].
///
/// # Errors
/// [`ConvertError`]: an archive is there already, libotf2 is not installed, the disk is full. No
/// unfinished archive is left behind.
pub fn write_with(
    run: &Run,
    directory: &Path,
    remarks: &[Remark],
    tick: &dyn Fn(u64),
) -> Result<Summary, ConvertError> {
    let options = ArchiveOptions::new()
        .creator(concat!("mel ", env!("CARGO_PKG_VERSION")))
        .description("MPI calls, messages, and the searches of MPI's message queues")
        // A group takes up to nine bytes per rank.
        .definition_chunk_bytes((16 * u64::from(world_size(run))).clamp(4 << 20, 16 << 20));
    let archive = options.create(directory)?;
    let result = Conversion::new(run, archive, tick).convert(remarks);
    if result.is_err() {
        // Nobody can read it; the logs still have everything.
        let _ = remove(directory);
    }
    result
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
    for name in [FILE_NAME, "traces.def"] {
        let path = directory.join(name);
        let result = fs::remove_file(&path);
        ignore_absent(path, result)?;
    }
    let path = directory.join("traces");
    let result = fs::remove_dir_all(&path);
    ignore_absent(path, result)
}

fn world_size(run: &Run) -> u32 {
    let size = run.world_size();
    // A header that was overwritten may hold any number; the logs that are there are facts.
    if size <= MOST_RANKS { size } else { run.ranks.len() as u32 }
}

/// Where the records of a stream go: to a thread's calls, or to a location of events.
enum Lane {
    Calls(usize),
    Events(usize),
}

/// The main location of each rank.
type MainLocations = Vec<LocationRef>;

struct Conversion<'a> {
    run: &'a Run,
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
    tick: &'a dyn Fn(u64),
}

impl<'a> Conversion<'a> {
    fn new(run: &'a Run, archive: Archive, tick: &'a dyn Fn(u64)) -> Self {
        let (timeline, offsets) = Timeline::new(&run.ranks).uncorrected(&run.ranks);
        let pairs = Pairs::find(&run.ranks);
        Conversion {
            run,
            archive,
            timeline,
            offsets,
            pairs,
            tables: Tables::default(),
            sites: CallSites::default(),
            recorded: Recorded::of(run),
            summary: Summary::default(),
            position: 0,
            tick,
        }
    }

    fn convert(mut self, remarks: &[Remark]) -> Result<Summary, ConvertError> {
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
        let (groups, locations) = self.define_ranks();
        let communicators =
            Communicators::define(self.archive.definitions_mut(), &self.run.ranks, locations.len() as u32);
        let mut windows =
            Windows::define(self.archive.definitions_mut(), &self.run.ranks, locations.len() as u32);
        for (position, log) in self.run.ranks.iter().enumerate() {
            let rank = log.info.rank as usize;
            let (Some(group), Some(main)) = (groups.get(rank), locations.get(rank)) else { continue };
            self.convert_rank(position, log, *group, *main, &communicators, &mut windows)?;
        }
        for remark in remarks {
            let Some(main) = locations.get(remark.rank as usize) else { continue };
            let definitions = self.archive.definitions_mut();
            let marker = definitions.marker("MEL", &remark.subject, Severity::Medium);
            definitions.mark(Ticks(remark.nanos), *main, marker, &remark.text);
        }
        self.archive.finish()?;
        Ok(self.summary)
    }

    /// Hosts, a location group and a main location for each rank, and the group of the latter. A
    /// rank without a log has both too: other ranks' messages name it.
    fn define_ranks(&mut self) -> (Vec<LocationGroupRef>, MainLocations) {
        let size = world_size(self.run);
        let logs: BTreeMap<u32, &RankLog> = self.run.ranks.iter().map(|log| (log.info.rank, log)).collect();
        let definitions = self.archive.definitions_mut();
        let machine =
            definitions.system_tree_node(SystemTreeNode { name: "machine", class: "machine", parent: None });
        definitions.system_tree_node_domain(machine, SystemTreeDomain::Machine);
        let mut hosts = BTreeMap::new();
        let (mut groups, mut locations) = (Vec::new(), Vec::new());
        for rank in 0..size {
            let log = logs.get(&rank);
            let host = log.map_or("unknown host", |log| &log.info.host);
            let host = *hosts.entry(host).or_insert_with(|| {
                let node = SystemTreeNode { name: host, class: "node", parent: Some(machine) };
                let node = definitions.system_tree_node(node);
                definitions.system_tree_node_domain(node, SystemTreeDomain::SharedMemory);
                node
            });
            let group = definitions.location_group(LocationGroup::process(&format!("MPI Rank {rank}"), host));
            let ended = match log {
                None => Some("no event log"),
                Some(log) if log.ended_early() => Some("before MPI_Finalize"),
                Some(_) => None,
            };
            if let Some(ended) = ended {
                let ended = AttributeValue::String(definitions.string(ended));
                definitions.location_group_property(group, "MEL::ENDED", ended);
            }
            groups.push(group);
            locations.push(definitions.location(Location::thread(&format!("rank {rank}"), group)));
        }
        definitions.group(Group {
            name: "",
            paradigm: Paradigm::Mpi,
            members: GroupMembers::CommLocations(&locations),
        });
        (groups, locations)
    }

    fn convert_rank(
        &mut self,
        position: usize,
        log: &RankLog,
        group: LocationGroupRef,
        main: LocationRef,
        communicators: &Communicators,
        windows: &mut Windows,
    ) -> Result<(), ConvertError> {
        let rank = log.info.rank;
        self.position = position;
        let (mut threads, mut streams) = (Vec::<Thread>::new(), Vec::new());
        let mut lanes = BTreeMap::new();
        let events = || log.definitions.streams.values().filter(|stream| stream.kind == StreamKind::Events);
        let types = Types::of(log);
        let parts = self.pairs.parts(&types);
        for (number, stream) in &log.definitions.streams {
            let lane = match stream.kind {
                StreamKind::Calls => {
                    let known = threads.iter().position(|thread| thread.number == stream.thread);
                    if known.is_none() {
                        let location = match stream.thread {
                            0 => main,
                            thread => self.define_location(&format!("rank {rank} thread {thread}"), group),
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
                    let location = self.define_location(&name, group);
                    streams.push(Stream::new(self.track(location)?, parts.clone()));
                    Lane::Events(streams.len() - 1)
                }
            };
            lanes.insert(*number, lane);
        }
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
                (fact, Some(Lane::Calls(place))) => {
                    let (windows, epochs, requests) = (&mut *windows, &mut epochs, &mut requests);
                    let references = calls::References { communicators, windows, epochs, requests };
                    self.convert_call(&mut threads[*place], references, of_log, (at.time, fact))?;
                }
                _ => {}
            }
        }
        self.convert_epochs(rank, group, epochs)?;
        self.mark_losses((position, log), &lanes, &threads, &streams);
        for thread in threads {
            self.summary.add(thread.track.close()?);
        }
        for stream in streams {
            self.summary.add(stream.close()?);
        }
        Ok(())
    }

    /// Markers where streams end because there was no space for more.
    fn mark_losses(
        &mut self,
        (position, log): (usize, &RankLog),
        lanes: &BTreeMap<u32, Lane>,
        threads: &[Thread],
        streams: &[Stream],
    ) {
        for (number, lane) in lanes {
            let lost = log.dropped(*number);
            let track = match lane {
                Lane::Calls(place) => &threads[*place].track,
                Lane::Events(place) => streams[*place].track(),
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

    fn define_location(&mut self, name: &str, group: LocationGroupRef) -> LocationRef {
        self.archive.definitions_mut().location(Location::thread(name, group))
    }
}

#[cfg(test)]
mod tests;
