//! One pass over the event logs of a run, several ranks at a time.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Window;
use super::class::Class;
use super::communicators;
use super::lengths::Lengths;
use super::matrix::{Matrix, Pairs, Traffic, matrix};
use super::timeline::{Name, Row, RowKind};
use crate::convert::Run;
use crate::convert::otf2::time::Timeline;
use crate::convert::spans::{CallSpan, Region, Visitor, walk};
use crate::convert::value::{Value, read};
use crate::log::definitions::EventType;
use crate::log::{RankLog, Record};

/// Slices of all rows together; with their attributes they take some seven megabytes.
const MOST_SLICES: usize = 120_000;
/// Steps of the lengths of all queues together.
const MOST_STEPS: usize = 60_000;
/// Ranks with rows of their own.
const MOST_RANKS: usize = 256;
/// Messages that a call tells of.
const MOST_MESSAGES: usize = 4;
/// Moments that are pointed out.
const MOST_MOMENTS: usize = 5;

/// A function that the log does not define.
const UNKNOWN: &str = "MPI (unknown function)";

/// What the event logs of a run tell.
#[derive(Debug, Serialize)]
pub struct Events {
    /// The part of the run that is shown, in nanoseconds since its first record.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Where to look first: starting the program takes long and shows little.
    pub first_look_ns: u64,
    /// MPI calls in it.
    pub calls: u64,
    /// Searches of the queues.
    pub searches: u64,
    /// Messages that were received.
    pub messages: u64,
    /// What slices are.
    pub names: Vec<Name>,
    /// Names of communicators, as attributes number them.
    pub communicators: Vec<String>,
    /// The rows of the timeline, by rank; calls above searches.
    pub rows: Vec<Row>,
    /// Ranks that have no rows because there are too many.
    pub hidden_ranks: usize,
    /// The lengths of the queues of each rank; empty if their changes were not logged.
    pub lengths: Vec<RankLengths>,
    /// Who sends to whom.
    pub matrix: Option<Matrix>,
    /// The longest searches, the longest first.
    pub moments: Vec<Moment>,
    /// The messages of each communicator.
    #[serde(skip)]
    pub traffic: BTreeMap<communicators::Key, communicators::Traffic>,
}

/// The lengths of the queues of a rank.
#[derive(Debug, Serialize)]
pub struct RankLengths {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The posted receive queues, all communicators together.
    pub posted: Lengths,
    /// The unexpected message queues.
    pub unexpected: Lengths,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Moment {
    /// Its duration, in nanoseconds.
    pub duration_ns: u64,
    /// When it began, in nanoseconds.
    pub start_ns: u64,
    /// Where.
    pub rank: u32,
    /// What: its [`Name`].
    pub name: u16,
}

/// Reads the logs.
pub fn read_logs(run: &Run, window: Window, tick: &(dyn Fn(u64) + Sync)) -> Events {
    let timeline = Timeline::new(&run.ranks);
    let nanos = |seconds: f64| (seconds * 1e9).clamp(0.0, 1e19) as u64;
    let shared = Shared {
        timeline: &timeline,
        from: window.from.map_or(0, nanos),
        to: window.to.map_or(u64::MAX, nanos),
        slices: MOST_SLICES / (2 * run.ranks.len().clamp(1, MOST_RANKS)),
        steps: MOST_STEPS / (2 * run.ranks.len().clamp(1, MOST_RANKS)),
        stride: run.ranks.len().div_ceil(MOST_RANKS).max(1),
    };
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(run.ranks.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let position = next.fetch_add(1, Ordering::Relaxed);
                    let Some(log) = run.ranks.get(position) else { break };
                    let mut pass = Pass::new(&shared, log, position);
                    walk(log, &mut pass, &|records| tick(records));
                    let found = pass.finish();
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(position, found);
                }
            });
        }
    });
    join(run, &shared, done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

struct Shared<'a> {
    timeline: &'a Timeline,
    from: u64,
    to: u64,
    slices: usize,
    steps: usize,
    /// Every so-many-th rank has rows.
    stride: usize,
}

/// What one rank's log has told.
#[derive(Default)]
struct Found {
    names: Vec<Name>,
    communicators: Vec<String>,
    rows: Vec<Row>,
    lengths: Option<RankLengths>,
    pairs: Pairs,
    unexpected_known: bool,
    moments: Vec<Moment>,
    traffic: FxHashMap<u16, communicators::Traffic>,
    counts: [u64; 3],
    last: u64,
    /// When `MPI_Init` was left.
    started: Option<u64>,
}

/// What an event that is no part of a pair means to the queues.
#[derive(Clone, Copy)]
enum Change {
    Posted(bool),
    Unexpected(bool),
    None,
}

struct Pass<'a> {
    shared: &'a Shared<'a>,
    log: &'a RankLog,
    position: usize,
    rank: u32,
    shown: bool,
    found: Found,
    /// Numbers of names, by function or (from 65536 on) by event type.
    numbers: FxHashMap<u32, u16>,
    objects: FxHashMap<u16, i64>,
    changes: FxHashMap<u16, Change>,
    rows: BTreeMap<(RowKind, u32), Row>,
    posted: Lengths,
    unexpected: Lengths,
    attributes: Vec<i64>,
}

impl<'a> Pass<'a> {
    fn new(shared: &'a Shared<'a>, log: &'a RankLog, position: usize) -> Self {
        let change = |name: &str| match name {
            name if name.ends_with("posted_insert") => Change::Posted(true),
            name if name.ends_with("posted_remove") => Change::Posted(false),
            name if name.ends_with("unex_insert") => Change::Unexpected(true),
            name if name.ends_with("unex_remove") => Change::Unexpected(false),
            _ => Change::None,
        };
        let changes: FxHashMap<u16, Change> =
            log.definitions.event_types.iter().map(|(number, of)| (*number, change(&of.name))).collect();
        let unexpected_known = changes.values().any(|change| matches!(change, Change::Unexpected(true)));
        Pass {
            shared,
            log,
            position,
            rank: log.info.rank,
            shown: position.is_multiple_of(shared.stride),
            found: Found { unexpected_known, ..Found::default() },
            numbers: FxHashMap::default(),
            objects: FxHashMap::default(),
            changes,
            rows: BTreeMap::new(),
            posted: Lengths::new(shared.steps),
            unexpected: Lengths::new(shared.steps),
            attributes: Vec::new(),
        }
    }

    /// Both ends in nanoseconds, if any of it lies in the window.
    fn nanos(&self, ticks: (u64, u64)) -> Option<(u64, u64)> {
        let nanos = |ticks| self.shared.timeline.nanos(self.position, ticks);
        let (start, end) = (nanos(ticks.0), nanos(ticks.1));
        (end >= self.shared.from && start <= self.shared.to).then_some((start, end))
    }

    fn name(&mut self, key: u32, of: impl FnOnce(&RankLog) -> Name) -> u16 {
        let (names, log) = (&mut self.found.names, self.log);
        *self.numbers.entry(key).or_insert_with(|| {
            names.push(of(log));
            (names.len() - 1) as u16
        })
    }

    fn communicator(&mut self, object: u16) -> i64 {
        let (communicators, log) = (&mut self.found.communicators, self.log);
        *self.objects.entry(object).or_insert_with(|| {
            let Some(known) = log.definitions.communicators.get(&object) else { return -1 };
            communicators.push(known.name.clone());
            communicators.len() as i64 - 1
        })
    }

    /// The world rank of a peer in a communicator.
    fn world(&self, object: u16, peer: i64) -> Option<u32> {
        let known = self.log.definitions.communicators.get(&object)?;
        let members = known.remote.as_ref().unwrap_or(&known.members);
        u32::try_from(members.get(u32::try_from(peer).ok()?)?).ok()
    }

    fn row(&mut self, kind: RowKind, thread: u32) -> &mut Row {
        let (rank, most) = (self.rank, self.shared.slices);
        self.rows.entry((kind, thread)).or_insert_with(|| Row::new(rank, thread, kind, most))
    }

    fn finish(mut self) -> Found {
        self.found.rows = std::mem::take(&mut self.rows).into_values().collect();
        if !self.posted.steps().is_empty() || !self.unexpected.steps().is_empty() {
            let (posted, unexpected) = (self.posted, self.unexpected);
            self.found.lengths = self.shown.then_some(RankLengths { rank: self.rank, posted, unexpected });
        }
        self.found
    }
}

impl Visitor for Pass<'_> {
    fn call(&mut self, call: &CallSpan<'_>) {
        let Some((start, end)) = self.nanos(call.ticks) else { return };
        self.found.last = self.found.last.max(end);
        self.found.counts[0] += 1;
        for message in call.messages.iter().filter(|message| !message.sent) {
            self.found.counts[2] += 1;
            let traffic = self.found.traffic.entry(message.object).or_default();
            traffic.messages += 1;
            traffic.bytes = traffic.bytes.saturating_add(message.message.bytes);
            if let Some(sender) = self.world(message.object, message.message.peer.into()) {
                let traffic: &mut Traffic = self.found.pairs.entry((sender, self.rank)).or_default();
                traffic.messages += 1;
                traffic.bytes = traffic.bytes.saturating_add(message.message.bytes);
            }
        }
        if !self.shown || call.depth > 0 {
            return;
        }
        let function = self.log.definitions.functions.get(&call.function).map_or(UNKNOWN, String::as_str);
        if matches!(function, "MPI_Init" | "MPI_Init_thread") {
            self.found.started.get_or_insert(end);
        }
        let name = self.name(call.function.into(), |_| {
            let name = function.to_owned();
            Name { class: Class::of_function(&name), name, elements: Vec::new() }
        });
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.clear();
        for told in call.messages.iter().take(MOST_MESSAGES) {
            let comm = self.communicator(told.object);
            let message = told.message;
            let bytes = i64::try_from(message.bytes).unwrap_or(i64::MAX);
            attributes.extend([told.sent.into(), message.peer.into(), message.tag.into(), bytes, comm]);
        }
        if let Some((object, told)) = call.collective {
            let comm = self.communicator(object);
            let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
            attributes.extend([2, told.root.into(), bytes(told.received), bytes(told.sent), comm]);
        }
        if call.messages.len() > MOST_MESSAGES {
            attributes.push(call.messages.len() as i64);
        }
        self.row(RowKind::Calls, call.thread).push((start, end), name, &attributes);
        self.attributes = attributes;
    }

    fn region(&mut self, region: &Region<'_>) {
        let Some((start, end)) = self.nanos(region.ticks) else { return };
        let Some(event_type) = self.log.definitions.event_types.get(&region.begin) else { return };
        let pair = event_type.name.strip_suffix("_begin").unwrap_or(&event_type.name);
        let class = Class::of_region(pair);
        if class == Class::Region {
            return;
        }
        self.found.last = self.found.last.max(end);
        self.found.counts[1] += 1;
        let traffic = self.found.traffic.entry(region.object).or_default();
        traffic.searches += 1;
        traffic.search_ns = traffic.search_ns.saturating_add(end - start);
        let name = self.name(0x1_0000 + u32::from(region.begin), |_| {
            let elements = event_type.elements.iter().map(|element| element.name.clone());
            Name { name: pair.to_owned(), class, elements: elements.collect() }
        });
        let moment = Moment { duration_ns: end - start, start_ns: start, rank: self.rank, name };
        keep(&mut self.found.moments, moment);
        if !self.shown {
            return;
        }
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.clear();
        attributes.extend(event_type.elements.iter().map(|element| match read(element, region.payload) {
            Some(Value::Signed(value)) => value,
            Some(Value::Unsigned(value)) => value as i64,
            Some(Value::Real(value)) => value as i64,
            Some(Value::Character(value)) => value.into(),
            None => 0,
        }));
        let comm = self.communicator(region.object);
        attributes.push(comm);
        self.row(RowKind::Searches, 0).push((start, end), name, &attributes);
        self.attributes = attributes;
    }

    fn event(&mut self, _: u32, number: u16, record: &Record<'_>) {
        let time = self.shared.timeline.nanos(self.position, record.time);
        match self.changes.get(&number).copied().unwrap_or(Change::None) {
            Change::None => return,
            // Changes before the window count, too; they are drawn at its edge.
            _ if time > self.shared.to => return,
            Change::Posted(inserted) => self.posted.change(time.max(self.shared.from), inserted),
            Change::Unexpected(inserted) => {
                self.unexpected.change(time.max(self.shared.from), inserted);
                if inserted && time >= self.shared.from {
                    self.found.traffic.entry(record.object).or_default().unexpected += 1;
                    let source =
                        self.log.definitions.event_types.get(&number).and_then(|t| source(t, record));
                    if let Some(sender) = source.and_then(|source| self.world(record.object, source)) {
                        self.found.pairs.entry((sender, self.rank)).or_default().unexpected += 1;
                    }
                }
            }
        }
        self.found.last = self.found.last.max(time);
    }
}

/// The element `source` of an event.
fn source(event_type: &EventType, record: &Record<'_>) -> Option<i64> {
    let element = event_type.elements.iter().find(|element| element.name == "source")?;
    match read(element, &record.payload)? {
        Value::Signed(source) => Some(source),
        _ => None,
    }
}

fn keep(moments: &mut Vec<Moment>, moment: Moment) {
    if moments.len() == MOST_MOMENTS && moments.last().is_some_and(|least| *least >= moment) {
        return;
    }
    let place = moments.partition_point(|other| *other > moment);
    moments.insert(place, moment);
    moments.truncate(MOST_MOMENTS);
}

/// What all ranks have told, with one numbering of names.
fn join(run: &Run, shared: &Shared<'_>, all: BTreeMap<usize, Found>) -> Events {
    let mut events = Events {
        from_ns: shared.from,
        to_ns: 0,
        first_look_ns: shared.from,
        calls: 0,
        searches: 0,
        messages: 0,
        names: Vec::new(),
        communicators: Vec::new(),
        rows: Vec::new(),
        hidden_ranks: run.ranks.len() - run.ranks.len().div_ceil(shared.stride),
        lengths: Vec::new(),
        matrix: None,
        moments: Vec::new(),
        traffic: BTreeMap::new(),
    };
    let (mut pairs, mut unexpected_known, mut started) = (Pairs::default(), false, None);
    for (position, mut found) in all {
        let number = |name: &Name| position_or_push(&mut events.names, name) as u16;
        let names: Vec<u16> = found.names.iter().map(number).collect();
        let communicator = |name: &String| position_or_push(&mut events.communicators, name) as i64;
        let communicators: Vec<i64> = found.communicators.iter().map(communicator).collect();
        for row in &mut found.rows {
            row.finish(&names, &communicators);
        }
        for mut moment in found.moments {
            moment.name = names[usize::from(moment.name)];
            keep(&mut events.moments, moment);
        }
        for (object, traffic) in found.traffic {
            let Some(known) = run.ranks[position].definitions.communicators.get(&object) else { continue };
            let key = (known.context, known.name.clone(), known.members.len() as u32);
            events.traffic.entry(key).or_default().add(traffic);
        }
        events.rows.append(&mut found.rows);
        events.lengths.extend(found.lengths);
        pairs.extend(found.pairs);
        unexpected_known |= found.unexpected_known;
        let [calls, searches, messages] = found.counts;
        events.calls += calls;
        events.searches += searches;
        events.messages += messages;
        events.to_ns = events.to_ns.max(found.last);
        started = [started, found.started].into_iter().flatten().min();
    }
    events.to_ns = events.to_ns.min(shared.to).max(events.from_ns + 1);
    // Somebody who names a part of the run wants to see it from its beginning.
    let looks = started.filter(|started| shared.from == 0 && *started < events.to_ns);
    events.first_look_ns = looks.unwrap_or(events.from_ns);
    events.matrix = matrix(&pairs, run.world_size(), unexpected_known);
    events
}

fn position_or_push<T: PartialEq + Clone>(known: &mut Vec<T>, wanted: &T) -> usize {
    known.iter().position(|other| other == wanted).unwrap_or_else(|| {
        known.push(wanted.clone());
        known.len() - 1
    })
}
