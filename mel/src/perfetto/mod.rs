//! A Perfetto trace from the event logs of a run: `ui.perfetto.dev` opens it.
//!
//! | in the trace | from the logs |
//! |---|---|
//! | a process per rank | its log |
//! | a thread per thread, with slices | calls; their messages and operations on windows as annotations |
//! | a track `regions` per thread, with slices | regions of the program |
//! | a track `searches` per stream, with slices | searches of the queues, with their elements |
//! | counters | the lengths of the queues, where insertions and removals were logged |
//! | counters | variables that were sampled, one for each object and element ([`samples`]) |
//! | tracks `epochs`, `operations`, with slices | those of windows, on as many tracks as it takes so that none overlap |
//! | a track `recording`, with a slice `recording off` | times in which the program had it switched off |
//! | a track for each transport | operations of transports (`btl_netop`), with their elements |
//! | a track `events` | other events, with their elements |
//! | flows | from the call that sends a message to the end of the call that receives it ([`flows`]) |
//! | instants `message sent`, `message received` among the calls | the ends of flows where the call is not in the log |
//!
//! Times are nanoseconds since the first record of the run.

mod flows;
mod part;
mod proto;
mod samples;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use prost::Message as _;

use self::flows::Flows;
use self::part::{Kind, Names, Part};
use self::proto::{
    CounterDescriptor, DebugAnnotation, Packet, ProcessDescriptor, ThreadDescriptor, Trace, TrackDescriptor,
    TrackEvent, Type, Value,
};
use crate::in_order::in_order;
use mel_convert::callsites::CallSites;
use mel_convert::facts::MessageFact;
use mel_convert::nested::{self, Nested};
use mel_convert::one_sided::{EPOCHS, EpochSpan, OPERATIONS, OperationInCall, OperationSpan};
use mel_convert::partners::Recorded;
use mel_convert::queues::Length;
use mel_convert::run::Run;
use mel_convert::spans::{CallSpan, Lanes, QueueChange, Region, Visitor, walk};
use mel_convert::time::Timeline;
use mel_convert::types::{Queue, QueueKind};
use mel_convert::{types, value};
use mel_log::definitions::EventType;
use mel_log::{RankLog, Record, Sample};

/// Messages, and operations on windows, that a call has as annotations; flows have no limit.
const MOST_IN_CALL: usize = 16;
/// Tracks of a rank for operations on windows, and for epochs. What finds no room there becomes an instant.
const MOST_TRACKS: usize = 16;

/// What went into a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// MPI calls.
    pub calls: u64,
    /// Searches of the queues.
    pub searches: u64,
    /// Messages that were received.
    pub messages: u64,
    /// Operations on windows.
    pub operations: u64,
    /// Other events.
    pub events: u64,
    /// Changes of the lengths of the queues.
    pub changes: u64,
    /// Samples of variables.
    pub samples: u64,
}

impl Summary {
    fn add(&mut self, other: Summary) {
        let Summary { calls, searches, messages, operations, events, changes, samples } = other;
        self.calls += calls;
        self.searches += searches;
        self.messages += messages;
        self.operations += operations;
        self.events += events;
        self.changes += changes;
        self.samples += samples;
    }
}

/// Writes a trace, on all cores. `tick` is given how many more records have been converted, of about
/// [`Run::records_at_most`].
///
/// # Errors
/// Those of `out`, and of a temporary file where the part of a rank is large.
pub fn write(out: &mut impl Write, run: &Run, tick: &(dyn Fn(u64) + Sync)) -> io::Result<Summary> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    write_on(threads, out, run, tick)
}

/// The same on so many threads, with the same result.
fn write_on(
    threads: usize,
    out: &mut impl Write,
    run: &Run,
    tick: &(dyn Fn(u64) + Sync),
) -> io::Result<Summary> {
    let timeline = Timeline::new(&run.ranks);
    let recorded = Recorded::of(run);
    let mut summary = Summary::default();
    // Processes have the numbers from 1 on; threads that are not their first ones have those after them.
    let mut next_thread = process_number(run.ranks.iter().map(|log| log.info.rank).max().unwrap_or(0)) + 1;
    let part_of = |position: usize| {
        let log = &run.ranks[position];
        let mut writer = Writer {
            part: Part::default(),
            error: None,
            buffer: Vec::new(),
            log,
            position,
            timeline: &timeline,
            names: Names::default(),
            sites: CallSites::default(),
            flows: Flows::of(log, recorded.as_ref()),
            tracks: BTreeMap::new(),
            regions: BTreeMap::new(),
            lanes: [Lanes::new(MOST_TRACKS), Lanes::new(MOST_TRACKS)],
            titles: log.definitions.variable_titles(),
            summary: Summary::default(),
        };
        writer.define_process();
        walk(log, &mut writer, &|records| tick(records));
        let Writer { part, error, summary, .. } = writer;
        error.map_or(Ok((part, summary)), Err)
    };
    in_order(run.ranks.len(), threads, part_of, |part: io::Result<(Part, Summary)>| {
        let (part, of_part) = part?;
        summary.add(of_part);
        part.write(out, &mut next_thread)
    })?;
    out.flush()?;
    Ok(summary)
}

/// The number of a rank's process: number 0 is the idle process to Perfetto.
fn process_number(rank: u32) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX - 1 - (1 << 24)) + 1
}

/// The tracks of a rank, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    Regions(u32),
    Calls(u32),
    Recording,
    Searches(u32),
    Posted,
    Unexpected,
    Epochs(usize),
    Operations(usize),
    Events(u32),
    /// A variable, or one of its elements.
    Sampled(u32, Option<u32>),
}

struct Writer<'a> {
    part: Part,
    error: Option<io::Error>,
    buffer: Vec<u8>,
    log: &'a RankLog,
    position: usize,
    timeline: &'a Timeline,
    names: Names,
    sites: CallSites,
    flows: Flows,
    tracks: BTreeMap<Track, u64>,
    /// The regions that each thread is in.
    regions: BTreeMap<u32, Nested<()>>,
    /// For epochs, and for operations.
    lanes: [Lanes; 2],
    /// What each variable is called that was sampled.
    titles: BTreeMap<u32, String>,
    summary: Summary,
}

impl Writer<'_> {
    /// Each rank is a sequence of its own, with its own names.
    fn packet(&mut self, mut packet: Packet) {
        packet.trusted_packet_sequence_id = Some(self.log.info.rank.wrapping_add(1));
        packet.interned_data = self.names.take_new();
        packet.sequence_flags.get_or_insert(proto::NEEDS);
        self.buffer.clear();
        if packet.has_open_thread() {
            return self.part.keep(packet);
        }
        // Encoding into a vector cannot fail; writing is tried until it has failed once.
        let encoded = Trace { packet: vec![packet] }.encode(&mut self.buffer).map_err(io::Error::other);
        if self.error.is_none() {
            self.error = encoded.and_then(|()| self.part.append(&self.buffer)).err();
        }
    }

    /// The first identifier of the rank: that of its process. Its tracks have the following ones.
    fn uuid(&self) -> u64 {
        (u64::from(self.log.info.rank) + 1) << 32
    }

    fn define_process(&mut self) {
        let info = &self.log.info;
        let process = ProcessDescriptor {
            pid: Some(process_number(info.rank)),
            process_name: Some(format!("rank {}", info.rank)),
            process_labels: vec![info.host.clone()],
        };
        let descriptor = TrackDescriptor {
            uuid: Some(self.uuid()),
            process: Some(process),
            child_ordering: Some(3),
            sibling_order_rank: Some(i32::try_from(info.rank).unwrap_or(i32::MAX)),
            ..TrackDescriptor::default()
        };
        let sequence_flags = Some(proto::CLEARED);
        self.packet(Packet { track_descriptor: Some(descriptor), sequence_flags, ..Packet::default() });
    }

    fn track(&mut self, track: Track) -> u64 {
        if let Some(uuid) = self.tracks.get(&track) {
            return *uuid;
        }
        let uuid = self.uuid() + self.tracks.len() as u64 + 1;
        let numbered = |what: &str, number: usize| match number {
            0 => what.to_owned(),
            _ => format!("{what}, {number}"),
        };
        let streams = &self.log.definitions.streams;
        let threads = |what: &str, stream: u32| match streams.get(&stream).map_or(0, |stream| stream.thread) {
            0 => what.to_owned(),
            thread => format!("{what}, thread {thread}"),
        };
        let (name, order) = match track {
            Track::Regions(0) => ("regions".to_owned(), -1),
            Track::Regions(thread) => (format!("regions, thread {thread}"), -1),
            Track::Calls(0) => ("MPI calls".to_owned(), 0),
            Track::Calls(thread) => (format!("MPI calls, thread {thread}"), 0),
            Track::Recording => ("recording".to_owned(), 1),
            Track::Searches(stream) => (threads("searches", stream), 2),
            Track::Posted => ("posted receives".to_owned(), 3),
            Track::Unexpected => ("unexpected messages".to_owned(), 4),
            Track::Epochs(row) => (numbered("epochs", row), 5),
            Track::Operations(row) => (numbered("operations", row), 6),
            Track::Events(stream) => (self.transport(stream).unwrap_or_else(|| threads("events", stream)), 7),
            Track::Sampled(variable, element) => (self.sampled_name(variable, element), 8),
        };
        let counter = match track {
            Track::Posted | Track::Unexpected => {
                Some(CounterDescriptor { unit: Some(2), ..CounterDescriptor::default() })
            }
            Track::Sampled(variable, _) => Some(self.sampled_unit(variable)),
            _ => None,
        };
        let mut descriptor = TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(self.uuid()),
            counter,
            sibling_order_rank: Some(order),
            ..TrackDescriptor::default()
        };
        if let Track::Calls(thread) = track {
            let pid = process_number(self.log.info.rank);
            // Those of other threads are given when the parts are joined.
            let tid = if thread == 0 { pid } else { part::OPEN };
            let (pid, tid, thread_name) = (Some(pid), Some(tid), Some(name));
            descriptor.thread = Some(ThreadDescriptor { pid, tid, thread_name });
        } else {
            descriptor.name = Some(name);
        }
        self.packet(Packet { track_descriptor: Some(descriptor), ..Packet::default() });
        self.tracks.insert(track, uuid);
        uuid
    }

    /// The name of the transport whose operations are in this stream.
    fn transport(&self, stream: u32) -> Option<String> {
        let definitions = &self.log.definitions;
        let source = definitions.sources.get(&definitions.streams.get(&stream)?.source?)?;
        types::is_transport(&source.name).then(|| source.name.clone())
    }

    fn event(&mut self, ticks: u64, kind: Type, event: TrackEvent) {
        let timestamp = Some(self.timeline.nanos(self.position, ticks));
        let track_event = Some(TrackEvent { r#type: Some(kind.into()), ..event });
        self.packet(Packet { timestamp, track_event, ..Packet::default() });
    }

    fn annotation(&mut self, name: &str, value: Value) -> DebugAnnotation {
        let name_iid = Some(self.names.number(Kind::Annotation, name));
        DebugAnnotation { name_iid, value: Some(value), dict_entries: Vec::new() }
    }

    fn text(&mut self, name: &str, text: &str) -> DebugAnnotation {
        let text = self.names.number(Kind::Text, text);
        self.annotation(name, Value::Text(text))
    }

    fn communicator(&mut self, object: u16) -> Option<DebugAnnotation> {
        let name = self.log.definitions.communicators.get(&object)?.name.clone();
        Some(self.text("communicator", &name))
    }

    fn elements(&mut self, event_type: &EventType, payload: &[u8], object: u16) -> Vec<DebugAnnotation> {
        let mut annotations = Vec::new();
        for element in &event_type.elements {
            let Some(read) = value::read(element, payload) else { continue };
            let read = match read {
                value::Value::Signed(value) => Value::Signed(value),
                value::Value::Unsigned(value) => Value::Unsigned(value),
                value::Value::Real(value) => Value::Real(value),
                value::Value::Character(value) => Value::Unsigned(value.into()),
            };
            annotations.push(self.annotation(&element.name, read));
        }
        annotations.extend(self.communicator(object));
        annotations
    }

    fn message(&mut self, fact: &MessageFact) -> DebugAnnotation {
        let message = fact.message;
        let mut entries = vec![
            self.annotation("rank", Value::Signed(message.peer.into())),
            self.annotation("tag", Value::Signed(message.tag.into())),
            self.annotation("bytes", Value::Unsigned(message.bytes)),
        ];
        if let Some((since, until)) = fact.unexpected {
            let waited = self.duration((since, until));
            entries.push(self.annotation("unexpected_ns", Value::Unsigned(waited)));
        }
        entries.extend(self.communicator(fact.object));
        let name_iid =
            Some(self.names.number(Kind::Annotation, if fact.sent { "sent to" } else { "received from" }));
        DebugAnnotation { name_iid, value: None, dict_entries: entries }
    }

    /// An instant on the track of a thread's calls, where an arrow begins or ends.
    fn message_at(&mut self, thread: u32, ticks: u64, fact: &MessageFact, flow: Option<u64>) {
        let name = if fact.sent { "message sent" } else { "message received" };
        let (track_uuid, name_iid) =
            (Some(self.track(Track::Calls(thread))), Some(self.names.number(Kind::Event, name)));
        let (debug_annotations, flow) = (vec![self.message(fact)], Vec::from_iter(flow));
        let (flow_ids, terminating_flow_ids) =
            if fact.sent { (flow, Vec::new()) } else { (Vec::new(), flow) };
        let instant = TrackEvent {
            track_uuid,
            name_iid,
            debug_annotations,
            flow_ids,
            terminating_flow_ids,
            ..TrackEvent::default()
        };
        self.event(ticks, Type::Instant, instant);
    }

    /// An operation on a window, as an annotation of the call that starts it, or of its own slice.
    fn operation_elements(&mut self, operation: &OperationInCall) -> Vec<DebugAnnotation> {
        vec![
            self.annotation("target", Value::Signed(operation.target.into())),
            self.annotation("bytes", Value::Unsigned(operation.bytes)),
            self.annotation("window", Value::Unsigned(operation.window.into())),
        ]
    }

    fn duration(&self, ticks: (u64, u64)) -> u64 {
        let nanos = |ticks| self.timeline.nanos(self.position, ticks);
        nanos(ticks.1).saturating_sub(nanos(ticks.0))
    }

    /// A slice from one tick to another.
    fn slice(&mut self, track: Track, ticks: (u64, u64), name: &str, annotations: Vec<DebugAnnotation>) {
        let track_uuid = Some(self.track(track));
        let (name_iid, debug_annotations) = (Some(self.names.number(Kind::Event, name)), annotations);
        let begin = TrackEvent { track_uuid, name_iid, debug_annotations, ..TrackEvent::default() };
        self.event(ticks.0, Type::SliceBegin, begin);
        self.event(ticks.1, Type::SliceEnd, TrackEvent { track_uuid, ..TrackEvent::default() });
    }

    /// A queue has this length from now on.
    fn length(&mut self, ticks: u64, queue: Queue<'_>, length: Length) {
        let track = match queue.kind {
            QueueKind::Posted => Track::Posted,
            QueueKind::Unexpected => Track::Unexpected,
            QueueKind::Other => return,
        };
        let track_uuid = Some(self.track(track));
        let counter_value = Some(i64::try_from(length.of_all).unwrap_or(i64::MAX));
        self.summary.changes += 1;
        let counter = TrackEvent { track_uuid, counter_value, ..TrackEvent::default() };
        self.event(ticks, Type::Counter, counter);
    }

    /// Something that a track of slices has no room for: an instant with how long it took.
    fn instant(&mut self, track: Track, ticks: (u64, u64), name: &str, annotations: Vec<DebugAnnotation>) {
        let track_uuid = Some(self.track(track));
        let (name_iid, mut debug_annotations) = (Some(self.names.number(Kind::Event, name)), annotations);
        let duration = self.duration(ticks);
        debug_annotations.push(self.annotation("duration_ns", Value::Unsigned(duration)));
        let instant = TrackEvent { track_uuid, name_iid, debug_annotations, ..TrackEvent::default() };
        self.event(ticks.0, Type::Instant, instant);
    }
}

impl Visitor for Writer<'_> {
    fn call(&mut self, call: &CallSpan<'_>) {
        self.summary.calls += 1;
        let track_uuid = Some(self.track(Track::Calls(call.thread)));
        let function = self.log.definitions.functions.get(&call.function);
        let name = function.map_or("MPI (unknown function)", String::as_str);
        let name_iid = Some(self.names.number(Kind::Event, name));
        let site = self.sites.of(self.log, call.returns_to);
        let mut debug_annotations: Vec<DebugAnnotation> =
            site.iter().map(|site| self.text("call site", site)).collect();
        debug_annotations
            .extend(call.messages.iter().take(MOST_IN_CALL).map(|message| self.message(message)));
        if let Some((object, moved)) = call.collective {
            if moved.root >= 0 {
                debug_annotations.push(self.annotation("root", Value::Signed(moved.root.into())));
            }
            debug_annotations.push(self.annotation("bytes sent", Value::Unsigned(moved.sent)));
            debug_annotations.push(self.annotation("bytes received", Value::Unsigned(moved.received)));
            debug_annotations.extend(self.communicator(object));
        }
        for operation in call.operations.iter().take(MOST_IN_CALL) {
            let dict_entries = self.operation_elements(operation);
            let name_iid = Some(self.names.number(Kind::Annotation, OPERATIONS[operation.kind]));
            debug_annotations.push(DebugAnnotation { name_iid, value: None, dict_entries });
        }
        if call.completed.0 > 0 {
            debug_annotations
                .push(self.annotation("operations completed", Value::Unsigned(call.completed.0)));
        }
        let (mut flow_ids, mut received) = (Vec::new(), Vec::new());
        for message in call.messages {
            let flow = self.flows.flow(message);
            if message.sent {
                flow_ids.extend(flow);
            } else {
                self.summary.messages += 1;
                received.extend(flow.map(|flow| (flow, message)));
            }
        }
        let begin = TrackEvent { track_uuid, name_iid, debug_annotations, flow_ids, ..TrackEvent::default() };
        Writer::event(self, call.ticks.0, Type::SliceBegin, begin);
        // A message arrives at the end of the call that receives it: an arrow to its beginning would go back.
        for (flow, message) in received {
            self.message_at(call.thread, call.ticks.1, message, Some(flow));
        }
        let end = TrackEvent { track_uuid, ..TrackEvent::default() };
        Writer::event(self, call.ticks.1, Type::SliceEnd, end);
    }

    /// What begins at one tick stands in the trace in the order in which it lies in each other.
    fn in_region(&mut self, thread: u32, ticks: u64, path: &str) {
        let track_uuid = Some(self.track(Track::Regions(thread)));
        let mut nested = self.regions.remove(&thread).unwrap_or_default();
        while nested.leave(path).is_some() {
            self.event(ticks, Type::SliceEnd, TrackEvent { track_uuid, ..TrackEvent::default() });
        }
        while let Some(entered) = nested.entered(path) {
            nested.enter(entered, ());
            let name_iid = Some(self.names.number(Kind::Event, nested::name(entered)));
            let begin = TrackEvent { track_uuid, name_iid, ..TrackEvent::default() };
            self.event(ticks, Type::SliceBegin, begin);
        }
        self.regions.insert(thread, nested);
    }

    fn lone_message(&mut self, thread: u32, ticks: u64, message: &MessageFact) {
        self.summary.messages += u64::from(!message.sent);
        let flow = self.flows.flow(message);
        self.message_at(thread, ticks, message, flow);
    }

    fn region(&mut self, region: &Region<'_>) {
        let Some(event_type) = self.log.definitions.event_types.get(&region.begin) else { return };
        let name = event_type.name.strip_suffix("_begin").unwrap_or(&event_type.name);
        let mut annotations = self.elements(event_type, region.payload, region.object);
        let Some(length) = region.queue_length else {
            // Such as transfers: they overlap, which slices of one track must not.
            self.summary.events += 1;
            return self.instant(Track::Events(region.stream), region.ticks, name, annotations);
        };
        self.summary.searches += 1;
        annotations.push(self.annotation("queue length", Value::Unsigned(length)));
        self.slice(Track::Searches(region.stream), region.ticks, name, annotations);
    }

    fn change(&mut self, change: &QueueChange<'_>) {
        self.length(change.record.time, change.queue, change.length);
    }

    fn length_after_pause(&mut self, time: u64, queue: Queue<'_>, length: Length) {
        self.length(time, queue, length);
    }

    fn pause(&mut self, ticks: (u64, u64)) {
        self.slice(Track::Recording, ticks, "recording off", Vec::new());
    }

    fn operation(&mut self, span: &OperationSpan) {
        self.summary.operations += 1;
        let mut annotations = self.operation_elements(&span.operation);
        annotations.push(self.annotation("thread", Value::Unsigned(span.thread.into())));
        let name = OPERATIONS[span.operation.kind];
        match self.lanes[1].place(span.ticks) {
            Some(row) => self.slice(Track::Operations(row), span.ticks, name, annotations),
            None => self.instant(Track::Operations(MOST_TRACKS), span.ticks, name, annotations),
        }
    }

    fn epoch(&mut self, span: &EpochSpan) {
        let annotations = vec![
            self.annotation("window", Value::Unsigned(span.window.into())),
            self.annotation("target", Value::Signed(span.target.into())),
            self.annotation("operations", Value::Unsigned(span.operations)),
            self.annotation("bytes", Value::Unsigned(span.bytes)),
        ];
        match self.lanes[0].place(span.ticks) {
            Some(row) => self.slice(Track::Epochs(row), span.ticks, EPOCHS[span.kind], annotations),
            None => self.instant(Track::Epochs(MOST_TRACKS), span.ticks, EPOCHS[span.kind], annotations),
        }
    }

    fn sample(&mut self, ticks: u64, sample: &Sample) {
        self.add_sample(ticks, sample);
    }

    fn event(&mut self, stream: u32, number: u16, record: &Record) {
        let Some(event_type) = self.log.definitions.event_types.get(&number) else { return };
        self.summary.events += 1;
        let track_uuid = Some(self.track(Track::Events(stream)));
        let operation =
            types::operation(event_type, &record.payload).filter(|_| types::are_operations(event_type));
        let name = operation.map_or(event_type.name.as_str(), |(_, name)| name);
        let name_iid = Some(self.names.number(Kind::Event, name));
        let debug_annotations = self.elements(event_type, &record.payload, record.object);
        let instant = TrackEvent { track_uuid, name_iid, debug_annotations, ..TrackEvent::default() };
        Writer::event(self, record.time, Type::Instant, instant);
    }
}
