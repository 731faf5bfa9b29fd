//! Events of a source on their location: the pairs as regions, with the elements of the beginning, and the lengths of
//! queues as metrics.

use otf2_writer::{AttributeRef, AttributeValue, Event, MetricRef, MetricValue, RegionRef};
use rustc_hash::FxHashMap;

use super::pairs::{Part, Parts};
use super::tables::attribute_value;
use super::track::Track;
use super::{Conversion, ConvertError};
use crate::queues::{Latest, Queues};
use crate::types::{Change, Role, Types};
use crate::value::{self, Kind};
use mel_log::definitions::EventType;
use mel_log::{RankLog, Record};

/// What to write for an event type.
enum Plan {
    Enter(Region),
    Leave(RegionRef),
    Change(Change),
    /// Nothing, but count it.
    LeaveOut(String, u64),
}

/// A region that an event type begins.
struct Region {
    region: RegionRef,
    elements: Vec<Column>,
    /// The queue that is searched in it, and the attribute for that one's length.
    searched: Option<(usize, AttributeRef)>,
}

/// An attribute, and where its value is in the payload.
struct Column {
    attribute: AttributeRef,
    kind: Kind,
    displacement: u32,
}

impl Column {
    fn read(&self, payload: &[u8]) -> Option<(AttributeRef, AttributeValue)> {
        let value = value::read_at(self.kind, self.displacement, payload)?;
        Some((self.attribute, attribute_value(self.attribute, value)))
    }
}

/// The events that a source raises on a thread.
pub(super) struct Stream {
    thread: u32,
    track: Track,
    parts: Parts,
    /// Only what occurs is defined.
    plans: FxHashMap<u16, Plan>,
    metrics: FxHashMap<(usize, u16), MetricRef>,
    latest: Latest,
    attributes: Vec<(AttributeRef, AttributeValue)>,
}

impl Stream {
    pub(super) fn new(thread: u32, track: Track, parts: Parts) -> Self {
        let (plans, metrics) = (FxHashMap::default(), FxHashMap::default());
        Stream { thread, track, parts, plans, metrics, latest: Latest::default(), attributes: Vec::new() }
    }

    pub(super) fn track(&self) -> &Track {
        &self.track
    }

    pub(super) fn track_mut(&mut self) -> &mut Track {
        &mut self.track
    }

    /// Ends the location. Gives what was written, and what was not.
    pub(super) fn close(self) -> Result<super::Summary, ConvertError> {
        let mut summary = self.track.close()?;
        for plan in self.plans.into_values() {
            if let Plan::LeaveOut(name, count) = plan {
                *summary.left_out.entry(name).or_default() += count;
            }
        }
        Ok(summary)
    }
}

impl Conversion<'_> {
    /// Writes one event.
    pub(super) fn convert_event(
        &mut self,
        stream: &mut Stream,
        (types, queues): (&Types<'_>, &mut Queues),
        (position, log): (usize, &RankLog),
        record: &Record<'_>,
    ) -> Result<(), ConvertError> {
        let Some(number) = record.event_type() else { return Ok(()) };
        let time = self.timeline.nanos(position, record.time);
        let Stream { thread, track, parts, plans, metrics, latest, attributes } = stream;
        let plan = plans.entry(number).or_insert_with(|| {
            let part = parts.get(&number).copied().unwrap_or(Part::None);
            self.plan(part, types, number)
        });
        match plan {
            Plan::Enter(Region { region, elements, searched }) => {
                attributes.clear();
                attributes.extend(elements.iter().filter_map(|column| column.read(&record.payload)));
                if let Some((queue, attribute)) = searched {
                    let length = queues.length(*queue, record.object);
                    attributes.push((*attribute, AttributeValue::U64(length)));
                }
                if let Some(begin) = types.get(number) {
                    latest.enter(begin, &record.payload);
                }
                track.summary().regions += 1;
                track.enter(time, *region, attributes)?;
            }
            Plan::Leave(region) => {
                latest.leave(time);
                track.leave(time, *region)?;
            }
            Plan::Change(change) => {
                let request = types.get(number).and_then(|of| of.request(&record.payload));
                let length = queues.apply(*change, (*thread, latest), (record.object, time), request);
                let metric = *metrics.entry((change.queue, record.object)).or_insert_with(|| {
                    self.queue_metric(types.queues[change.queue].name, log, record.object)
                });
                track.summary().queue_changes += 1;
                let values = &[MetricValue::U64(length.of_communicator)];
                track.event(time, &Event::Metric { metric, values }, &[])?;
            }
            Plan::LeaveOut(_, count) => *count += 1,
        }
        Ok(())
    }

    /// Writes how long queues are that changed while recording was off, each where its lengths stood before, or on the first
    /// location.
    pub(super) fn convert_lengths(
        &mut self,
        streams: &mut [Stream],
        (types, queues): (&Types<'_>, &mut Queues),
        log: &RankLog,
        time: u64,
    ) -> Result<(), ConvertError> {
        for (queue, comm, length) in queues.changed() {
            let key = (queue, comm);
            let place = streams.iter().position(|stream| stream.metrics.contains_key(&key)).unwrap_or(0);
            let Some(Stream { track, metrics, .. }) = streams.get_mut(place) else { return Ok(()) };
            let name = types.queues[queue].name;
            let metric = *metrics.entry(key).or_insert_with(|| self.queue_metric(name, log, comm));
            track.summary().queue_changes += 1;
            let values = &[MetricValue::U64(length.of_communicator)];
            track.event(time, &Event::Metric { metric, values }, &[])?;
        }
        Ok(())
    }

    fn plan(&mut self, part: Part, types: &Types<'_>, number: u16) -> Plan {
        let Some(of) = types.get(number) else { return Plan::LeaveOut("(not defined)".into(), 0) };
        match (part, of.role) {
            (Part::Begin(pair), _) => {
                let region = self.region(pair, of.definition);
                let searched = of
                    .searches
                    .map(|queue| (queue, self.tables.queue_length(self.archive.definitions_mut())));
                Plan::Enter(Region { region, elements: self.columns(of.definition), searched })
            }
            (Part::End(pair), _) => Plan::Leave(self.region(pair, of.definition)),
            (Part::None, Role::Changes(change)) => Plan::Change(change),
            (Part::None, _) => Plan::LeaveOut(of.definition.name.clone(), 0),
        }
    }

    fn queue_metric(&mut self, queue: &str, log: &RankLog, comm: u16) -> MetricRef {
        let communicator = log.definitions.communicators.get(&comm);
        let communicator = communicator.map_or("(unknown communicator)", |known| known.name.as_str());
        self.tables.queue_metric(self.archive.definitions_mut(), queue, communicator)
    }

    fn region(&mut self, pair: usize, event_type: &EventType) -> RegionRef {
        let name = self.pairs.name(pair);
        self.tables.region(self.archive.definitions_mut(), name, &event_type.description)
    }

    /// The attributes of an event type's elements, each at most once.
    fn columns(&mut self, event_type: &EventType) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for element in &event_type.elements {
            let attribute = self.tables.attribute(self.archive.definitions_mut(), element);
            if let Some((attribute, kind)) = attribute
                && columns.iter().all(|other| other.attribute != attribute)
            {
                columns.push(Column { attribute, kind, displacement: element.displacement });
            }
        }
        columns
    }
}
