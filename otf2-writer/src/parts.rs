//! What each process brings to the definitions that is its alone: its locations, with the number of their events, and
//! remarks. Rank 0 keeps it as bytes, and reads one owner of locations at a time when it writes.

use std::collections::HashMap;

use ranks::{Processes, tree};
use serde::{Deserialize, Serialize};

use crate::{
    clock::Ticks,
    definitions::{LocationGroupRecord, Mapping, Mark, Own, Owner, PropertyRecord},
    error::Error,
    refs::{LocationGroupRef, LocationRef},
};

/// One owner of locations, with all that belongs to it; the references are those of the archive.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) own: Own,
    /// Of the locations, in their order.
    pub(crate) events: Vec<u64>,
    /// The time of the first and of the last event, if there are any.
    pub(crate) span: Option<(Ticks, Ticks)>,
}

/// What became of a location, when it is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocationSummary {
    pub(crate) location: LocationRef,
    pub(crate) events: u64,
    /// Times of the first and the last event; meaningless where there are no events.
    pub(crate) first: Ticks,
    pub(crate) last: Ticks,
}

impl Part {
    /// The parts of a process, in the order in which it has defined the owners. So what is written does not depend on how
    /// owners are spread over processes.
    fn all(own: &Own, summaries: &[LocationSummary], to: &Mapping) -> Vec<Part> {
        let mut parts: Vec<Part> = own.location_groups.iter().map(|_| Part::default()).collect();
        // Locations whose owner another process defines.
        parts.push(Part::default());
        let places: HashMap<LocationGroupRef, usize> =
            own.location_groups.iter().enumerate().map(|(place, group)| (group.reference, place)).collect();
        let place_of = |group| places.get(&group).copied().unwrap_or(places.len());
        let summaries: HashMap<LocationRef, &LocationSummary> =
            summaries.iter().map(|summary| (summary.location, summary)).collect();
        let mut owners = HashMap::new();
        for (part, group) in parts.iter_mut().zip(&own.location_groups) {
            part.own.location_groups.push(LocationGroupRecord { node: to.node(group.node), ..group.clone() });
        }
        for location in &own.locations {
            let part = &mut parts[place_of(location.group)];
            owners.insert(location.reference, location.group);
            part.own.locations.push(location.clone());
            let summary = summaries.get(&location.reference).copied().copied().unwrap_or_default();
            part.events.push(summary.events);
            if summary.events > 0 {
                part.span = part.span.into_iter().chain([(summary.first, summary.last)]).reduce(join);
            }
        }
        let place_of_location =
            |location| owners.get(&location).map_or(places.len(), |group| place_of(*group));
        for &PropertyRecord { owner, name, value } in &own.properties {
            let place = match owner {
                Owner::LocationGroup(group) => place_of(group),
                Owner::Location(location) => place_of_location(location),
            };
            let (name, value) = (to.string(name), to.value(value));
            parts[place].own.properties.push(PropertyRecord { owner, name, value });
        }
        for mark in &own.marks {
            let mark = Mark { marker: to.marker(mark.marker), ..mark.clone() };
            parts[place_of_location(mark.location)].own.marks.push(mark);
        }
        parts
    }
}

fn join(one: (Ticks, Ticks), other: (Ticks, Ticks)) -> (Ticks, Ticks) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// The parts of all processes, by rank.
#[derive(Debug)]
pub(crate) struct Parts(Vec<u8>);

impl Parts {
    /// Brings the parts of all processes to rank 0; elsewhere there are none.
    pub(crate) fn gather(
        processes: &dyn Processes,
        own: &Own,
        summaries: &[LocationSummary],
        to: &Mapping,
    ) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        for part in Part::all(own, summaries, to) {
            bytes.extend(tree::encode(&part)?);
        }
        Ok(Self(tree::gather(processes, bytes)?))
    }

    /// One after the other.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Part> + '_ {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (part, left) = tree::decode_first(rest).ok()?;
            rest = left;
            Some(part)
        })
    }

    /// The time of the first and of the last event of all.
    pub(crate) fn span(&self) -> Option<(Ticks, Ticks)> {
        self.iter().filter_map(|part| part.span).reduce(join)
    }
}
