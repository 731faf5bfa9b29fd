//! What is taken from the event log of one rank.

use std::collections::BTreeMap;

use mpi_functions::Kind;
use rustc_hash::FxHashMap;

use super::arrows::Ends;
use super::class::Class;
use super::communicators;
use super::events::{Moment, RankLengths};
use super::lengths::Lengths;
use super::matrix::{Pairs, Traffic};
use super::moved::{Moved, Pending};
use super::timeline::{Attribute, Name, Row, RowKind};
use super::variables::{OfRank, Thinned, room};
use mel_convert::facts::MessageFact;
use mel_convert::one_sided::{EPOCHS, EpochSpan, OPERATIONS, OperationSpan};
use mel_convert::partners::MessageIds;
use mel_convert::queues::Length;
use mel_convert::spans::{CallSpan, Lanes, QueueChange, Region, Visitor};
use mel_convert::time::Timeline;
use mel_convert::types::{self, Queue, QueueKind, Types};
use mel_convert::value::{Value, read};
use mel_log::definitions::EventType;
use mel_log::{RankLog, Record, Sample};

/// Messages, and operations on windows, that are listed with a call.
const MOST_IN_CALL: usize = 4;
/// Moments that are pointed out.
const MOST_MOMENTS: usize = 5;
/// Rows for epochs that overlap.
const MOST_EPOCH_ROWS: usize = 4;

/// A function that the log does not define.
const UNKNOWN: &str = "MPI (unknown function)";

/// What a slice is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    /// The function of that number.
    Function(u16),
    /// The pair that the event type of that number begins.
    Pair(u16),
    /// An epoch of that kind.
    Epoch(usize),
    /// The region of the program of that number among those that were met.
    InRegion(usize),
}

/// What is the same for all ranks.
pub(super) struct Shared<'a> {
    pub(super) timeline: &'a Timeline,
    /// The part of the run that is looked at, in nanoseconds.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Slices of a row, and steps of a queue's length.
    pub(super) slices: usize,
    pub(super) steps: usize,
    /// Number of ranks with a log.
    pub(super) ranks: usize,
    /// Whether messages have arrows.
    pub(super) arrows: bool,
    /// Every so-many-th rank has rows.
    pub(super) stride: usize,
}

/// What was found in one rank's log.
#[derive(Default)]
pub(super) struct Found {
    pub(super) names: Vec<Name>,
    pub(super) communicators: Vec<String>,
    /// Addresses that calls return to.
    pub(super) sites: Vec<u64>,
    pub(super) rows: Vec<Row>,
    pub(super) pauses: Option<Row>,
    pub(super) ends: Ends,
    pub(super) lengths: Option<RankLengths>,
    /// What was sampled.
    pub(super) sampled: OfRank,
    pub(super) pairs: Pairs,
    pub(super) unexpected_known: bool,
    pub(super) moments: Vec<Moment>,
    pub(super) traffic: FxHashMap<u16, communicators::Traffic>,
    pub(super) calls: u64,
    pub(super) searches: u64,
    pub(super) messages: u64,
    pub(super) lone_messages: u64,
    pub(super) operations: u64,
    pub(super) last: u64,
    /// When `MPI_Init` was left.
    pub(super) started: Option<u64>,
}

/// The pass over the log of a rank.
pub(super) struct Pass<'a> {
    shared: &'a Shared<'a>,
    log: &'a RankLog,
    position: usize,
    rank: u32,
    shown: bool,
    found: Found,
    numbers: FxHashMap<What, u16>,
    objects: FxHashMap<u16, Option<u32>>,
    sites: FxHashMap<u64, u32>,
    rows: BTreeMap<(RowKind, u32), Row>,
    /// Paths of regions of the program by their numbers, and in which each thread is since when.
    regions: FxHashMap<String, usize>,
    in_regions: FxHashMap<u32, (u64, usize)>,
    epochs: Lanes,
    moved: Pending,
    /// Which messages they are; none if they have no arrows.
    messages: MessageIds,
    posted: Lengths,
    unexpected: Lengths,
    sampled: BTreeMap<u32, Thinned>,
    attributes: Vec<Attribute>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, log: &'a RankLog, position: usize) -> Self {
        let unexpected_known = Types::of(log).queues.iter().any(|queue| queue.kind == QueueKind::Unexpected);
        let shown = position.is_multiple_of(shared.stride);
        let messages = if shown && shared.arrows { MessageIds::of(log) } else { MessageIds::default() };
        Pass {
            shared,
            log,
            position,
            rank: log.info.rank,
            shown,
            found: Found { unexpected_known, ends: Ends::of_one(shared.ranks), ..Found::default() },
            numbers: FxHashMap::default(),
            objects: FxHashMap::default(),
            sites: FxHashMap::default(),
            rows: BTreeMap::new(),
            regions: FxHashMap::default(),
            in_regions: FxHashMap::default(),
            epochs: Lanes::new(MOST_EPOCH_ROWS),
            moved: Pending::default(),
            messages,
            posted: Lengths::new(shared.steps),
            unexpected: Lengths::new(shared.steps),
            sampled: BTreeMap::new(),
            attributes: Vec::new(),
        }
    }

    /// Both ends in nanoseconds, if any of it lies in the window.
    fn nanos(&self, ticks: (u64, u64)) -> Option<(u64, u64)> {
        let nanos = |ticks| self.shared.timeline.nanos(self.position, ticks);
        let (start, end) = (nanos(ticks.0), nanos(ticks.1));
        (end >= self.shared.from && start <= self.shared.to).then_some((start, end))
    }

    /// From one tick to another, in nanoseconds.
    fn duration(&self, since: u64, until: u64) -> u64 {
        let nanos = |ticks| self.shared.timeline.nanos(self.position, ticks);
        nanos(until).saturating_sub(nanos(since))
    }

    fn name(&mut self, key: What, of: impl FnOnce(&RankLog) -> Name) -> u16 {
        let (names, log) = (&mut self.found.names, self.log);
        *self.numbers.entry(key).or_insert_with(|| {
            names.push(of(log));
            (names.len() - 1) as u16
        })
    }

    fn communicator(&mut self, object: u16) -> Option<u32> {
        let (communicators, log) = (&mut self.found.communicators, self.log);
        *self.objects.entry(object).or_insert_with(|| {
            communicators.push(log.definitions.communicators.get(&object)?.name.clone());
            Some(communicators.len() as u32 - 1)
        })
    }

    /// The place of an address among those that calls return to, counted from 1; 0 where it was not recorded.
    fn site(&mut self, returns_to: u64) -> u32 {
        if returns_to == 0 {
            return 0;
        }
        let addresses = &mut self.found.sites;
        *self.sites.entry(returns_to).or_insert_with(|| {
            addresses.push(returns_to);
            addresses.len() as u32
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

    fn received(&mut self, fact: &MessageFact) {
        self.found.messages += 1;
        let traffic = self.found.traffic.entry(fact.object).or_default();
        traffic.messages += 1;
        traffic.bytes = traffic.bytes.saturating_add(fact.message.bytes);
        if let Some(sender) = self.world(fact.object, fact.message.peer.into()) {
            let traffic: &mut Traffic = self.found.pairs.entry((sender, self.rank)).or_default();
            traffic.messages += 1;
            traffic.bytes = traffic.bytes.saturating_add(fact.message.bytes);
        }
    }

    /// The end of the arrow of a message, in the call from a time to another.
    fn end_of_arrow(&mut self, fact: &MessageFact, (start, end): (u64, u64)) {
        let ids = if fact.sent { &self.messages.sends } else { &self.messages.receives };
        let Some(id) = ids.get(fact.index).copied().flatten() else { return };
        let time = if fact.sent { start } else { end };
        self.found.ends.add(id, fact.sent, self.rank, time, fact.message.bytes);
    }

    pub(super) fn finish(mut self) -> Found {
        let variables = &self.log.definitions.variables;
        let sampled = std::mem::take(&mut self.sampled).into_iter();
        self.found.sampled =
            sampled.filter_map(|(number, points)| Some((variables.get(&number)?.clone(), points))).collect();
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
        self.found.calls += 1;
        for message in call.messages.iter().filter(|message| !message.sent) {
            self.received(message);
        }
        for message in call.messages {
            self.end_of_arrow(message, (start, end));
        }
        if !self.shown || call.depth > 0 {
            return;
        }
        let function = self.log.definitions.functions.get(&call.function).map_or(UNKNOWN, String::as_str);
        if self.found.started.is_none() && Kind::of(function) == Kind::Init {
            self.found.started = Some(end);
        }
        let name = self.name(What::Function(call.function), |_| {
            let name = function.to_owned();
            Name { class: Class::of_function(&name), name, elements: Vec::new() }
        });
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.clear();
        for fact in call.messages.iter().take(MOST_IN_CALL) {
            let communicator = self.communicator(fact.object);
            let unexpected = fact.unexpected.map(|(since, until)| self.duration(since, until).max(1));
            attributes.push(Attribute::Message {
                sent: fact.sent,
                peer: fact.message.peer,
                tag: fact.message.tag,
                bytes: fact.message.bytes,
                communicator,
                unexpected_ns: unexpected.unwrap_or(0),
            });
        }
        if let Some((object, moved)) = call.collective {
            attributes.push(Attribute::Collective {
                root: moved.root,
                sent_bytes: moved.sent,
                received_bytes: moved.received,
                communicator: self.communicator(object),
            });
        }
        attributes.extend(call.operations.iter().take(MOST_IN_CALL).map(|operation| Attribute::Operation {
            operation: OPERATIONS[operation.kind],
            target: operation.target,
            window: operation.window,
            bytes: operation.bytes,
        }));
        let (operations, longest) = call.completed;
        if operations > 0 {
            let longest_ns = self.duration(call.ticks.0, call.ticks.0.saturating_add(longest));
            attributes.push(Attribute::Completion { operations, longest_ns });
        }
        let moved = self.moved.take(call.thread, call.ticks);
        if moved != Moved::default() {
            attributes.push(Attribute::Below(moved));
        }
        let [messages, operations] = [call.messages.len(), call.operations.len()];
        if messages.max(operations) > MOST_IN_CALL {
            attributes.push(Attribute::All { messages, operations });
        }
        let site = self.site(call.returns_to);
        self.row(RowKind::Calls, call.thread).push((start, end), name, site, &attributes);
        self.attributes = attributes;
    }

    fn in_region(&mut self, thread: u32, ticks: u64, path: &str) {
        if let Some((since, region)) = self.in_regions.remove(&thread)
            && let Some(times) = self.nanos((since, ticks)).filter(|_| self.shown)
        {
            let name = self.numbers[&What::InRegion(region)];
            self.row(RowKind::Regions, thread).push(times, name, 0, &[]);
        }
        if !path.is_empty() {
            let next = self.regions.len();
            let region = *self.regions.entry(path.to_owned()).or_insert(next);
            let (name, class) = (path.to_owned(), Class::ProgramRegion);
            self.name(What::InRegion(region), |_| Name { name, class, elements: Vec::new() });
            self.in_regions.insert(thread, (ticks, region));
        }
    }

    fn sample(&mut self, ticks: u64, sample: &Sample) {
        let Some((time, _)) = self.nanos((ticks, ticks)).filter(|_| sample.element.is_none()) else { return };
        let room = room(self.shared.ranks);
        let curve = self.sampled.entry(sample.variable).or_insert_with(|| Thinned::new(room));
        curve.add(time as f64 * 1e-9, sample.value);
    }

    fn lone_message(&mut self, _: u32, ticks: u64, message: &MessageFact) {
        let Some((time, _)) = self.nanos((ticks, ticks)) else { return };
        self.found.last = self.found.last.max(time);
        self.end_of_arrow(message, (time, time));
        if !message.sent {
            self.received(message);
            self.found.lone_messages += 1;
        }
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
        self.found.searches += 1;
        let traffic = self.found.traffic.entry(region.object).or_default();
        traffic.searches += 1;
        traffic.search_ns = traffic.search_ns.saturating_add(end - start);
        let name = self.name(What::Pair(region.begin), |_| {
            let elements = event_type.elements.iter().map(|element| element.name.clone());
            let length = region.queue_length.map(|_| "queue length".to_owned());
            Name { name: pair.to_owned(), class, elements: elements.chain(length).collect() }
        });
        let moment = Moment { duration_ns: end - start, start_ns: start, rank: self.rank, name };
        keep(&mut self.found.moments, moment);
        if !self.shown {
            return;
        }
        let elements = event_type.elements.iter().map(|element| match read(element, region.payload) {
            Some(Value::Signed(value)) => value,
            Some(Value::Unsigned(value)) => value as i64,
            Some(Value::Real(value)) => value as i64,
            Some(Value::Character(value)) => value.into(),
            None => 0,
        });
        let length = region.queue_length.map(|length| i64::try_from(length).unwrap_or(i64::MAX));
        let elements = elements.chain(length).collect();
        let search = Attribute::Search { elements, communicator: self.communicator(region.object) };
        self.row(RowKind::Searches, 0).push((start, end), name, 0, &[search]);
    }

    fn change(&mut self, change: &QueueChange<'_>) {
        let time = self.shared.timeline.nanos(self.position, change.record.time);
        // Changes before the window count, too; they are drawn at its edge.
        if time > self.shared.to {
            return;
        }
        let drawn = time.max(self.shared.from);
        match change.queue.kind {
            QueueKind::Posted => self.posted.set(drawn, change.length.of_all),
            QueueKind::Unexpected => {
                self.unexpected.set(drawn, change.length.of_all);
                if change.inserts && time >= self.shared.from {
                    let object = change.record.object;
                    self.found.traffic.entry(object).or_default().unexpected += 1;
                    let event_type = self.log.definitions.event_types.get(&change.number);
                    let source = event_type.and_then(|of| source(of, change.record));
                    if let Some(sender) = source.and_then(|source| self.world(object, source)) {
                        self.found.pairs.entry((sender, self.rank)).or_default().unexpected += 1;
                    }
                }
            }
            QueueKind::Other => return,
        }
        self.found.last = self.found.last.max(time);
    }

    fn length_after_pause(&mut self, ticks: u64, queue: Queue<'_>, length: Length) {
        let time = self.shared.timeline.nanos(self.position, ticks);
        let lengths = match queue.kind {
            QueueKind::Posted => &mut self.posted,
            QueueKind::Unexpected => &mut self.unexpected,
            QueueKind::Other => return,
        };
        if time <= self.shared.to {
            lengths.set(time.max(self.shared.from), length.of_all);
        }
    }

    fn pause(&mut self, ticks: (u64, u64)) {
        let Some((start, end)) = self.nanos(ticks).filter(|_| self.shown) else { return };
        let (rank, most) = (self.rank, self.shared.slices);
        let row = self.found.pauses.get_or_insert_with(|| Row::new(rank, 0, RowKind::Pauses, most));
        row.push((start, end), 0, 0, &[]);
    }

    fn event(&mut self, stream: u32, number: u16, record: &Record) {
        let definitions = &self.log.definitions;
        let Some(of) = definitions.event_types.get(&number).filter(|of| types::are_operations(of)) else {
            return;
        };
        let size = of.elements.iter().find(|element| element.name == "size");
        let Some(Value::Unsigned(bytes)) = size.and_then(|size| read(size, &record.payload)) else { return };
        let Some((place, _)) = types::operation(of, &record.payload) else { return };
        if self.shown {
            let thread = definitions.streams.get(&stream).map_or(0, |stream| stream.thread);
            self.moved.add(thread, record.time, types::is_inward(place), bytes);
        }
    }

    fn operation(&mut self, operation: &OperationSpan) {
        self.found.operations += u64::from(self.nanos(operation.ticks).is_some());
    }

    fn epoch(&mut self, epoch: &EpochSpan) {
        let Some((start, end)) = self.nanos(epoch.ticks).filter(|_| self.shown) else { return };
        self.found.last = self.found.last.max(end);
        let name = self.name(What::Epoch(epoch.kind), |_| Name {
            name: EPOCHS[epoch.kind].to_owned(),
            class: Class::Epoch,
            elements: Vec::new(),
        });
        // What has no row of its own is drawn over others.
        let lane = self.epochs.place((start, end)).unwrap_or(MOST_EPOCH_ROWS - 1) as u32;
        let EpochSpan { target, window, operations, bytes, .. } = *epoch;
        let attributes = [Attribute::Epoch { target, window, operations, bytes }];
        self.row(RowKind::Epochs, lane).push((start, end), name, 0, &attributes);
    }
}

/// The element `source` of an event.
fn source(event_type: &EventType, record: &Record) -> Option<i64> {
    let element = event_type.elements.iter().find(|element| element.name == "source")?;
    match read(element, &record.payload)? {
        Value::Signed(source) => Some(source),
        _ => None,
    }
}

/// Keeps the longest moments.
pub(super) fn keep(moments: &mut Vec<Moment>, moment: Moment) {
    if moments.len() == MOST_MOMENTS && moments.last().is_some_and(|least| *least >= moment) {
        return;
    }
    let place = moments.partition_point(|other| *other > moment);
    moments.insert(place, moment);
    moments.truncate(MOST_MOMENTS);
}
