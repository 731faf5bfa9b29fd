//! Events of a source on their location: the pairs as regions, with the elements of the beginning.

use otf2_writer::{AttributeRef, AttributeValue, LocationRef, RegionRef};
use rustc_hash::FxHashMap;

use super::pairs::Part;
use super::tables::attribute_value;
use super::track::Track;
use super::{Conversion, ConvertError};
use crate::convert::value::{self, Kind};
use crate::log::RankLog;
use crate::log::definitions::EventType;

/// What to write for an event type.
enum Plan<'l> {
    Enter(RegionRef, Vec<Column>),
    Leave(RegionRef),
    /// Nothing, but count it.
    LeaveOut(&'l str, u64),
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

impl Conversion<'_> {
    /// Writes the events of one stream.
    pub(super) fn convert_events(
        &mut self,
        position: usize,
        log: &RankLog,
        stream: u32,
        location: LocationRef,
    ) -> Result<(), ConvertError> {
        let parts = self.pairs.parts(log);
        // Only what occurs is defined.
        let mut plans = FxHashMap::default();
        let mut track = Track::new(self.archive.event_writer(location)?);
        let mut attributes = Vec::new();
        for (count, record) in log.records(stream).enumerate() {
            super::tell(self.tick, count);
            let Some(number) = record.event_type() else { continue };
            let plan = plans.entry(number).or_insert_with(|| {
                let part = parts.get(&number).copied().unwrap_or(Part::None);
                self.plan(part, log.definitions.event_types.get(&number))
            });
            let time = self.timeline.nanos(position, record.time);
            match plan {
                Plan::Enter(region, elements) => {
                    attributes.clear();
                    attributes.extend(elements.iter().filter_map(|column| column.read(&record.payload)));
                    track.summary().regions += 1;
                    track.enter(time, *region, &attributes)?;
                }
                Plan::Leave(region) => track.leave(time, *region)?,
                Plan::LeaveOut(_, count) => *count += 1,
            }
        }
        let mut summary = track.close()?;
        for plan in plans.values() {
            if let Plan::LeaveOut(name, count) = plan {
                *summary.left_out.entry((*name).to_owned()).or_default() += count;
            }
        }
        self.summary.add(summary);
        Ok(())
    }

    fn plan<'l>(&mut self, part: Part, event_type: Option<&'l EventType>) -> Plan<'l> {
        let Some(event_type) = event_type else { return Plan::LeaveOut("(not defined)", 0) };
        match part {
            Part::Begin(pair) => Plan::Enter(self.region(pair, event_type), self.columns(event_type)),
            Part::End(pair) => Plan::Leave(self.region(pair, event_type)),
            Part::None => Plan::LeaveOut(&event_type.name, 0),
        }
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
