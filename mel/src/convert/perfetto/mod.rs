//! A Perfetto trace from the event logs of a run: `ui.perfetto.dev` opens it.
//!
//! | in the trace | from the logs |
//! |---|---|
//! | a process per rank | its log |
//! | a track `MPI calls` per thread, with slices | calls; their messages as annotations |
//! | a track `searches` per stream, with slices | searches of the queues, with their elements |
//! | a track `events` | other events, with their elements |
//! | counters | the lengths of the queues, where insertions and removals were logged |
//! | flows | from the call that sends a message to the end of the call that receives it ([`flows`]) |
//!
//! Times are nanoseconds since the first record of the run.

mod flows;
mod names;
mod proto;

use std::collections::BTreeMap;
use std::io::{self, Write};

use prost::Message as _;

use self::flows::Flows;
use self::names::{Kind, Names};
use self::proto::{
    CounterDescriptor, DebugAnnotation, Packet, ProcessDescriptor, Trace, TrackDescriptor, TrackEvent, Type,
    Value,
};
use super::otf2::time::Timeline;
use super::run::Run;
use super::spans::{CallSpan, MessageInCall, Region, Visitor, walk};
use super::value;
use crate::log::definitions::EventType;
use crate::log::{RankLog, Record};

/// Messages that a call tells of; flows have no limit.
const MOST_MESSAGES: usize = 16;

/// What went into a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// MPI calls.
    pub calls: u64,
    /// Searches of the queues.
    pub searches: u64,
    /// Messages that were received.
    pub messages: u64,
    /// Other events.
    pub events: u64,
    /// Changes of the lengths of the queues.
    pub changes: u64,
}

/// Writes a trace. `tick` hears how many more records have been converted, of about
/// [`Run::records_at_most`].
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, run: &Run, tick: &dyn Fn(u64)) -> io::Result<Summary> {
    let timeline = Timeline::new(&run.ranks);
    let mut summary = Summary::default();
    for (position, log) in run.ranks.iter().enumerate() {
        let mut writer = Writer {
            out,
            error: None,
            buffer: Vec::new(),
            log,
            position,
            timeline: &timeline,
            names: Names::default(),
            flows: Flows::of(log),
            tracks: BTreeMap::new(),
            lengths: [0; 2],
            summary,
        };
        writer.define_process();
        walk(log, &mut writer, tick);
        summary = writer.summary;
        if let Some(error) = writer.error {
            return Err(error);
        }
    }
    out.flush()?;
    Ok(summary)
}

/// The tracks of a rank, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    Calls(u32),
    Searches(u32),
    Posted,
    Unexpected,
    Events(u32),
}

struct Writer<'a, W> {
    out: &'a mut W,
    error: Option<io::Error>,
    buffer: Vec<u8>,
    log: &'a RankLog,
    position: usize,
    timeline: &'a Timeline,
    names: Names,
    flows: Flows,
    tracks: BTreeMap<Track, u64>,
    /// Of the posted and of the unexpected queue.
    lengths: [i64; 2],
    summary: Summary,
}

impl<W: Write> Writer<'_, W> {
    /// Each rank is a sequence of its own, with its own names.
    fn packet(&mut self, mut packet: Packet) {
        packet.trusted_packet_sequence_id = Some(self.log.info.rank.wrapping_add(1));
        packet.interned_data = self.names.take_new();
        packet.sequence_flags.get_or_insert(proto::NEEDS);
        self.buffer.clear();
        // Encoding into a vector cannot fail; writing is tried until it has failed once.
        let encoded = Trace { packet: vec![packet] }.encode(&mut self.buffer).map_err(io::Error::other);
        if self.error.is_none() {
            self.error = encoded.and_then(|()| self.out.write_all(&self.buffer)).err();
        }
    }

    /// The first identifier of the rank: that of its process. Its tracks have the following ones.
    fn uuid(&self) -> u64 {
        (u64::from(self.log.info.rank) + 1) << 32
    }

    fn define_process(&mut self) {
        let info = &self.log.info;
        // Process 0 is the idle process to Perfetto.
        let process = ProcessDescriptor {
            pid: Some(i32::try_from(info.rank).unwrap_or(i32::MAX - 1) + 1),
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
        let numbered = |what: &str, number: u32| match number {
            0 => what.to_owned(),
            _ => format!("{what}, thread {number}"),
        };
        let of = |stream: u32| self.log.definitions.streams.get(&stream).map_or(0, |stream| stream.thread);
        let (name, order, counts) = match track {
            Track::Calls(thread) => (numbered("MPI calls", thread), 0, false),
            Track::Searches(stream) => (numbered("searches", of(stream)), 1, false),
            Track::Posted => ("posted receives".to_owned(), 2, true),
            Track::Unexpected => ("unexpected messages".to_owned(), 3, true),
            Track::Events(stream) => (numbered("events", of(stream)), 4, false),
        };
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(self.uuid()),
            name: Some(name),
            counter: counts.then_some(CounterDescriptor { unit: Some(2) }),
            sibling_order_rank: Some(order),
            ..TrackDescriptor::default()
        };
        self.packet(Packet { track_descriptor: Some(descriptor), ..Packet::default() });
        self.tracks.insert(track, uuid);
        uuid
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

    fn message(&mut self, told: &MessageInCall) -> DebugAnnotation {
        let message = told.message;
        let mut entries = vec![
            self.annotation("rank", Value::Signed(message.peer.into())),
            self.annotation("tag", Value::Signed(message.tag.into())),
            self.annotation("bytes", Value::Unsigned(message.bytes)),
        ];
        entries.extend(self.communicator(told.object));
        let name_iid =
            Some(self.names.number(Kind::Annotation, if told.sent { "sent to" } else { "received from" }));
        DebugAnnotation { name_iid, value: None, dict_entries: entries }
    }

    fn length(&mut self, ticks: u64, queue: usize, inserted: bool) {
        let track = self.track(if queue == 0 { Track::Posted } else { Track::Unexpected });
        let length = &mut self.lengths[queue];
        *length = (*length + if inserted { 1 } else { -1 }).max(0);
        let (track_uuid, counter_value) = (Some(track), Some(*length));
        self.summary.changes += 1;
        self.event(ticks, Type::Counter, TrackEvent { track_uuid, counter_value, ..TrackEvent::default() });
    }
}

impl<W: Write> Visitor for Writer<'_, W> {
    fn call(&mut self, call: &CallSpan<'_>) {
        self.summary.calls += 1;
        let track_uuid = Some(self.track(Track::Calls(call.thread)));
        let function = self.log.definitions.functions.get(&call.function);
        let name = function.map_or("MPI (unknown function)", String::as_str);
        let name_iid = Some(self.names.number(Kind::Event, name));
        let mut debug_annotations: Vec<DebugAnnotation> =
            call.messages.iter().take(MOST_MESSAGES).map(|told| self.message(told)).collect();
        if let Some((object, told)) = call.collective {
            if told.root >= 0 {
                debug_annotations.push(self.annotation("root", Value::Signed(told.root.into())));
            }
            debug_annotations.push(self.annotation("bytes sent", Value::Unsigned(told.sent)));
            debug_annotations.push(self.annotation("bytes received", Value::Unsigned(told.received)));
            debug_annotations.extend(self.communicator(object));
        }
        let (mut flow_ids, mut received) = (Vec::new(), Vec::new());
        for told in call.messages {
            let flow = self.flows.next(self.log, told);
            if told.sent {
                flow_ids.extend(flow);
            } else {
                self.summary.messages += 1;
                received.extend(flow.map(|flow| (flow, told)));
            }
        }
        let begin = TrackEvent { track_uuid, name_iid, debug_annotations, flow_ids, ..TrackEvent::default() };
        Writer::event(self, call.ticks.0, Type::SliceBegin, begin);
        // A message arrives at the end of the call that receives it: an arrow to its beginning would go back.
        for (flow, told) in received {
            let name_iid = Some(self.names.number(Kind::Event, "message received"));
            let (debug_annotations, terminating_flow_ids) = (vec![self.message(told)], vec![flow]);
            let instant = TrackEvent {
                track_uuid,
                name_iid,
                debug_annotations,
                terminating_flow_ids,
                ..TrackEvent::default()
            };
            Writer::event(self, call.ticks.1, Type::Instant, instant);
        }
        let end = TrackEvent { track_uuid, ..TrackEvent::default() };
        Writer::event(self, call.ticks.1, Type::SliceEnd, end);
    }

    fn region(&mut self, region: &Region<'_>) {
        let Some(event_type) = self.log.definitions.event_types.get(&region.begin) else { return };
        let name = event_type.name.strip_suffix("_begin").unwrap_or(&event_type.name);
        let mut debug_annotations = self.elements(event_type, region.payload, region.object);
        let name_iid = Some(self.names.number(Kind::Event, name));
        if !name.contains("search") {
            // Such as transfers: they overlap, which slices of one track must not.
            self.summary.events += 1;
            let track_uuid = Some(self.track(Track::Events(region.stream)));
            let nanos = |ticks| self.timeline.nanos(self.position, ticks);
            let duration = nanos(region.ticks.1) - nanos(region.ticks.0);
            debug_annotations.push(self.annotation("duration_ns", Value::Unsigned(duration)));
            let instant = TrackEvent { track_uuid, name_iid, debug_annotations, ..TrackEvent::default() };
            return Writer::event(self, region.ticks.0, Type::Instant, instant);
        }
        self.summary.searches += 1;
        let track_uuid = Some(self.track(Track::Searches(region.stream)));
        let begin = TrackEvent { track_uuid, name_iid, debug_annotations, ..TrackEvent::default() };
        Writer::event(self, region.ticks.0, Type::SliceBegin, begin);
        let end = TrackEvent { track_uuid, ..TrackEvent::default() };
        Writer::event(self, region.ticks.1, Type::SliceEnd, end);
    }

    fn event(&mut self, stream: u32, number: u16, record: &Record<'_>) {
        let Some(event_type) = self.log.definitions.event_types.get(&number) else { return };
        match &*event_type.name {
            name if name.ends_with("posted_insert") => self.length(record.time, 0, true),
            name if name.ends_with("posted_remove") => self.length(record.time, 0, false),
            name if name.ends_with("unex_insert") => self.length(record.time, 1, true),
            name if name.ends_with("unex_remove") => self.length(record.time, 1, false),
            name => {
                self.summary.events += 1;
                let track_uuid = Some(self.track(Track::Events(stream)));
                let name_iid = Some(self.names.number(Kind::Event, name));
                let debug_annotations = self.elements(event_type, &record.payload, record.object);
                let instant = TrackEvent { track_uuid, name_iid, debug_annotations, ..TrackEvent::default() };
                Writer::event(self, record.time, Type::Instant, instant);
            }
        }
    }
}
