//! Events of a source on their location: the pairs as regions, with the elements of the beginning, and the lengths of
//! queues as metrics.

use otf2_writer::{AttributeRef, AttributeValue, Event, MetricRef, MetricValue, RegionRef};
use rustc_hash::FxHashMap;

use super::pairs::{Part, Parts};
use super::tables::attribute_value;
use super::track::Track;
use super::{Conversion, ConvertError};
use crate::facts::{EventFact, EventPart};
use crate::queues::Length;
use crate::types::{self, Role, Types};
use crate::value::{self, Kind};
use mel_log::RankLog;
use mel_log::definitions::EventType;

/// What to write for an event type.
enum Plan {
    Enter(Region),
    Leave(RegionRef),
    Change,
    /// A region without a duration for each operation of a transport.
    Operation(Operations),
    /// Nothing, but count it.
    LeaveOut(String, u64),
}

/// A region that an event type begins.
struct Region {
    region: RegionRef,
    elements: Vec<Column>,
    /// The attribute for the length of the queue that is searched in it.
    searched: Option<AttributeRef>,
}

/// The regions of operations, by number; made when there is one.
struct Operations {
    regions: FxHashMap<usize, RegionRef>,
    elements: Vec<Column>,
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
    track: Track,
    parts: Parts,
    /// Only what occurs is defined.
    plans: FxHashMap<u16, Plan>,
    metrics: FxHashMap<(usize, u16), MetricRef>,
    attributes: Vec<(AttributeRef, AttributeValue)>,
}

impl Stream {
    pub(super) fn new(track: Track, parts: Parts) -> Self {
        let (plans, metrics) = (FxHashMap::default(), FxHashMap::default());
        Stream { track, parts, plans, metrics, attributes: Vec::new() }
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
        types: &Types<'_>,
        (position, log): (usize, &RankLog),
        event: &EventFact<'_>,
    ) -> Result<(), ConvertError> {
        let EventFact { number, part, record } = event;
        let time = self.timeline.nanos(position, record.time);
        let Stream { track, parts, plans, metrics, attributes } = stream;
        let plan = plans.entry(*number).or_insert_with(|| {
            let part = parts.get(number).copied().unwrap_or(Part::None);
            self.plan(part, types, *number)
        });
        match (plan, *part) {
            (Plan::Enter(Region { region, elements, searched }), part) => {
                attributes.clear();
                attributes.extend(elements.iter().filter_map(|column| column.read(&record.payload)));
                if let (Some(attribute), EventPart::Begins(_, Some(length))) = (searched, part) {
                    attributes.push((*attribute, AttributeValue::U64(length)));
                }
                track.summary().regions += 1;
                track.enter(time, *region, attributes)?;
            }
            (Plan::Leave(region), _) => track.leave(time, *region)?,
            (Plan::Change, EventPart::Changes(change, length)) => {
                let metric = *metrics.entry((change.queue, record.object)).or_insert_with(|| {
                    self.queue_metric(types.queues[change.queue].name, log, record.object)
                });
                track.summary().queue_changes += 1;
                let values = &[MetricValue::U64(length.of_communicator)];
                track.event(time, &Event::Metric { metric, values }, &[])?;
            }
            (Plan::Operation(Operations { regions, elements }), _) => {
                let Some(of) = types.get(*number) else { return Ok(()) };
                let Some((place, name)) = types::operation(of.definition, &record.payload) else {
                    return Ok(());
                };
                let region = *regions.entry(place).or_insert_with(|| {
                    let description = &of.definition.description;
                    self.tables.region(
                        self.archive.definitions_mut(),
                        &format!("transport: {name}"),
                        description,
                    )
                });
                attributes.clear();
                attributes.extend(elements.iter().filter_map(|column| column.read(&record.payload)));
                track.summary().regions += 1;
                track.enter(time, region, attributes)?;
                track.leave(time, region)?;
            }
            // What changes a queue is never anything else.
            (Plan::Change, _) => {}
            (Plan::LeaveOut(_, count), _) => *count += 1,
        }
        Ok(())
    }

    /// Writes how long a queue is on a communicator, which may have changed while recording was off: where its lengths stood
    /// before, or on the first location.
    pub(super) fn convert_length(
        &mut self,
        streams: &mut [Stream],
        queue: (usize, &str),
        (comm, length): (u16, Length),
        (time, log): (u64, &RankLog),
    ) -> Result<(), ConvertError> {
        let (queue, name) = queue;
        let key = (queue, comm);
        let place = streams.iter().position(|stream| stream.metrics.contains_key(&key)).unwrap_or(0);
        let Some(Stream { track, metrics, .. }) = streams.get_mut(place) else { return Ok(()) };
        let metric = *metrics.entry(key).or_insert_with(|| self.queue_metric(name, log, comm));
        track.summary().queue_changes += 1;
        let values = &[MetricValue::U64(length.of_communicator)];
        track.event(time, &Event::Metric { metric, values }, &[])
    }

    fn plan(&mut self, part: Part, types: &Types<'_>, number: u16) -> Plan {
        let Some(of) = types.get(number) else { return Plan::LeaveOut("(not defined)".into(), 0) };
        match (part, of.role) {
            (Part::Begin(pair), _) => {
                let region = self.region(pair, of.definition);
                let searched = of.searches.map(|_| self.tables.queue_length(self.archive.definitions_mut()));
                Plan::Enter(Region { region, elements: self.columns(of.definition), searched })
            }
            (Part::End(pair), _) => Plan::Leave(self.region(pair, of.definition)),
            (Part::None, Role::Changes(_)) => Plan::Change,
            (Part::None, Role::Single) if types::are_operations(of.definition) => {
                let elements = self.columns(of.definition);
                Plan::Operation(Operations { regions: FxHashMap::default(), elements })
            }
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
