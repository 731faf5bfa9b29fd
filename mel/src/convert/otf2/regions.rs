//! Events of a source on their location: the pairs as regions, with the elements of the beginning.

use std::collections::HashMap;

use otf2_writer::{AttributeRef, LocationRef, RegionRef};

use super::pairs::Part;
use super::tables::attribute_value;
use super::track::Track;
use super::{Conversion, ConvertError};
use crate::convert::value;
use crate::log::definitions::EventType;
use crate::log::{Element, RankLog};

/// What to write for an event type.
enum Plan<'l> {
    Enter(RegionRef, Vec<(AttributeRef, &'l Element)>),
    Leave(RegionRef),
    LeaveOut(&'l str),
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
        let mut plans = HashMap::new();
        let mut left_out: HashMap<&str, u64> = HashMap::new();
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
                    attributes.extend(elements.iter().filter_map(|(attribute, element)| {
                        Some((
                            *attribute,
                            attribute_value(*attribute, value::read(element, &record.payload)?),
                        ))
                    }));
                    track.summary().regions += 1;
                    track.enter(time, *region, &attributes)?;
                }
                Plan::Leave(region) => track.leave(time, *region)?,
                Plan::LeaveOut(name) => *left_out.entry(name).or_default() += 1,
            }
        }
        let mut summary = track.close()?;
        summary.left_out = left_out.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        self.summary.add(summary);
        Ok(())
    }

    fn plan<'l>(&mut self, part: Part, event_type: Option<&'l EventType>) -> Plan<'l> {
        let Some(event_type) = event_type else { return Plan::LeaveOut("(not defined)") };
        match part {
            Part::Begin(pair) => Plan::Enter(self.region(pair, event_type), self.attributes(event_type)),
            Part::End(pair) => Plan::Leave(self.region(pair, event_type)),
            Part::None => Plan::LeaveOut(&event_type.name),
        }
    }

    fn region(&mut self, pair: usize, event_type: &EventType) -> RegionRef {
        let name = self.pairs.name(pair);
        self.tables.region(self.archive.definitions_mut(), name, &event_type.description)
    }

    /// The attributes of an event type's elements, each at most once.
    fn attributes<'l>(&mut self, event_type: &'l EventType) -> Vec<(AttributeRef, &'l Element)> {
        let mut attributes: Vec<(AttributeRef, &Element)> = Vec::new();
        for element in &event_type.elements {
            let attribute = self.tables.attribute(self.archive.definitions_mut(), element);
            if let Some(attribute) = attribute
                && attributes.iter().all(|(other, _)| *other != attribute)
            {
                attributes.push((attribute, element));
            }
        }
        attributes
    }
}
