//! What exists in an archive. Everything here is plain data in memory: it is written when the
//! archive is finished, each kind after the kinds that it refers to.

mod communicator;
mod group;
mod location;
mod marker;
mod metric;
mod paradigm;
mod region;
mod strings;
mod unified;

pub use communicator::{Communicator, InterCommunicator, RmaWindow};
pub use group::{Group, GroupMembers};
pub use location::{
    Location, LocationGroup, LocationGroupKind, LocationKind, SystemTreeDomain, SystemTreeNode,
};
pub use marker::Severity;
pub use metric::{
    MetricBase, MetricClass, MetricMember, MetricMode, MetricOccurrence, MetricOrigin, RecorderKind,
};
pub use paradigm::{Paradigm, ParadigmClass, ParadigmDefinition};
pub use region::{Region, RegionRole};

pub(crate) use communicator::{CommRecord, RmaWinRecord};
pub(crate) use group::GroupRecord;
pub(crate) use location::{LocationGroupRecord, LocationRecord, SystemTreeNodeRecord};
pub(crate) use marker::{Mark, MarkerRecord};
pub(crate) use metric::{AttributeRecord, MetricClassRecord, MetricMemberRecord};
pub(crate) use paradigm::ParadigmRecord;
pub(crate) use region::RegionRecord;
pub(crate) use unified::{Mapping, unify};

use serde::{Deserialize, Serialize};

use strings::Strings;

use std::collections::BTreeMap;

use crate::{
    clock::{Clock, ClockOffset},
    refs::{LocationGroupRef, LocationRef, StringRef, SystemTreeNodeRef},
    value::AttributeValue,
};

/// The definitions of a process that writes an archive.
///
/// Each method defines one thing and returns the reference to it. References count from zero. Nothing is
/// checked against what was defined before, except strings: equal ones become one.
///
/// Where several processes write one archive, each has its own references, and what several of them define
/// alike becomes one definition when the archive is finished. Only the numbers of locations and of their owners are those of
/// the archive.
#[derive(Debug, Default)]
pub struct Definitions {
    pub(crate) clock: Option<Clock>,
    pub(crate) shared: Shared,
    pub(crate) own: Own,
    pub(crate) clock_offsets: BTreeMap<LocationRef, Vec<ClockOffset>>,
}

/// What other processes may define, too.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Shared {
    pub(crate) strings: Strings,
    pub(crate) attributes: Vec<AttributeRecord>,
    pub(crate) paradigms: Vec<ParadigmRecord>,
    pub(crate) system_tree: Vec<SystemTreeNodeRecord>,
    pub(crate) node_properties: Vec<PropertyRecord<SystemTreeNodeRef>>,
    pub(crate) regions: Vec<RegionRecord>,
    pub(crate) groups: Vec<GroupRecord>,
    pub(crate) communicators: Vec<CommRecord>,
    pub(crate) windows: Vec<RmaWinRecord>,
    pub(crate) metric_members: Vec<MetricMemberRecord>,
    pub(crate) metric_classes: Vec<MetricClassRecord>,
    pub(crate) markers: Vec<MarkerRecord>,
}

/// What belongs to this process alone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Own {
    pub(crate) location_groups: Vec<LocationGroupRecord>,
    pub(crate) locations: Vec<LocationRecord>,
    pub(crate) properties: Vec<PropertyRecord<Owner>>,
    pub(crate) marks: Vec<Mark>,
}

/// A named value of something that is defined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PropertyRecord<O> {
    pub(crate) owner: O,
    pub(crate) name: StringRef,
    pub(crate) value: AttributeValue,
}

/// What of a process has a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Owner {
    LocationGroup(LocationGroupRef),
    Location(LocationRef),
}

impl Definitions {
    /// Sets the clock of all locations; the last call counts.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// Adds an offset of a location's clock from the archive's; in the order of time. Only for locations that this process
    /// writes.
    pub fn clock_offset(&mut self, location: LocationRef, offset: ClockOffset) {
        self.clock_offsets.entry(location).or_default().push(offset);
    }

    /// The reference to this text; NUL characters, which the format does not have, are left out.
    pub fn string(&mut self, text: &str) -> StringRef {
        self.shared.strings.intern(text)
    }

    /// Gives a node of the system tree a named value, for example the size of its memory.
    pub fn system_tree_node_property(&mut self, node: SystemTreeNodeRef, name: &str, value: AttributeValue) {
        let name = self.string(name);
        self.shared.node_properties.push(PropertyRecord { owner: node, name, value });
    }

    /// Gives a process a named value, for example its process id.
    pub fn location_group_property(&mut self, group: LocationGroupRef, name: &str, value: AttributeValue) {
        self.property(Owner::LocationGroup(group), name, value);
    }

    /// Gives a location a named value.
    pub fn location_property(&mut self, location: LocationRef, name: &str, value: AttributeValue) {
        self.property(Owner::Location(location), name, value);
    }

    fn property(&mut self, owner: Owner, name: &str, value: AttributeValue) {
        let name = self.string(name);
        self.own.properties.push(PropertyRecord { owner, name, value });
    }
}

/// The number of the next element of `records`.
///
/// More than `u32::MAX` definitions do not fit in memory, so the saturated value is never reached.
fn next_number<T>(records: &[T]) -> u32 {
    u32::try_from(records.len()).unwrap_or(u32::MAX)
}
