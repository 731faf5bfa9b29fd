//! Processes and their streams of events.

use super::{Definitions, next_number};
use crate::refs::{LocationGroupRef, LocationRef, StringRef, SystemTreeNodeRef};

/// The owner of locations.
#[derive(Clone, Copy, Debug)]
pub struct LocationGroup<'a> {
    /// Its name, such as "MPI Rank 0".
    pub name: &'a str,
    /// What it is.
    pub kind: LocationGroupKind,
    /// Where it runs.
    pub node: SystemTreeNodeRef,
    /// The process that started it, where that is known.
    pub creator: Option<LocationGroupRef>,
}

impl<'a> LocationGroup<'a> {
    /// A process of this name, on this host. It must get at least one thread.
    pub const fn process(name: &'a str, node: SystemTreeNodeRef) -> Self {
        Self { name, kind: LocationGroupKind::Process, node, creator: None }
    }
}

/// What owns locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum LocationGroupKind {
    /// A process.
    Process = otf2_sys::OTF2_LOCATION_GROUP_TYPE_PROCESS as u8,
    /// The context of an accelerator.
    Accelerator = otf2_sys::OTF2_LOCATION_GROUP_TYPE_ACCELERATOR as u8,
}

/// A stream of events.
#[derive(Clone, Copy, Debug)]
pub struct Location<'a> {
    /// Its name, such as "Master thread".
    pub name: &'a str,
    /// What it is.
    pub kind: LocationKind,
    /// Its owner.
    pub group: LocationGroupRef,
}

impl<'a> Location<'a> {
    /// A thread of this name, in this process.
    pub const fn thread(name: &'a str, group: LocationGroupRef) -> Self {
        Self { name, kind: LocationKind::CpuThread, group }
    }
}

/// What records a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum LocationKind {
    /// A thread, or another control flow of a CPU. Only these may enter regions.
    CpuThread = otf2_sys::OTF2_LOCATION_TYPE_CPU_THREAD as u8,
    /// A stream of an accelerator.
    AcceleratorStream = otf2_sys::OTF2_LOCATION_TYPE_ACCELERATOR_STREAM as u8,
    /// A source of metrics only.
    Metric = otf2_sys::OTF2_LOCATION_TYPE_METRIC as u8,
}

#[derive(Debug)]
pub(crate) struct LocationGroupRecord {
    pub(crate) name: StringRef,
    pub(crate) kind: LocationGroupKind,
    pub(crate) node: SystemTreeNodeRef,
    pub(crate) creator: Option<LocationGroupRef>,
}

#[derive(Debug)]
pub(crate) struct LocationRecord {
    pub(crate) name: StringRef,
    pub(crate) kind: LocationKind,
    pub(crate) group: LocationGroupRef,
}

impl Definitions {
    /// Defines a process, or another owner of locations.
    pub fn location_group(&mut self, group: LocationGroup<'_>) -> LocationGroupRef {
        let reference = LocationGroupRef(next_number(&self.location_groups));
        let name = self.string(group.name);
        let LocationGroup { kind, node, creator, .. } = group;
        self.location_groups.push(LocationGroupRecord { name, kind, node, creator });
        reference
    }

    /// Defines a stream of events. How many it holds is filled in when the archive is finished.
    pub fn location(&mut self, location: Location<'_>) -> LocationRef {
        let reference = LocationRef(self.locations.len() as u64);
        let name = self.string(location.name);
        let Location { kind, group, .. } = location;
        self.locations.push(LocationRecord { name, kind, group });
        reference
    }
}
