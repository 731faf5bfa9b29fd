//! Groups of locations, of ranks, or of regions.

use super::{Definitions, Paradigm, next_number};
use crate::refs::{GroupRef, LocationRef, RegionRef, StringRef};

/// A group.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Its name; may be empty.
    pub name: &'a str,
    /// The programming model that it belongs to.
    pub paradigm: Paradigm,
    /// Who is in it, and in what sense.
    pub members: GroupMembers<'a>,
}

/// Who is in a group.
///
/// For MPI there is one group [`CommLocations`](Self::CommLocations), whose *i*-th member is the
/// location that communicates for rank *i* of `MPI_COMM_WORLD`. The groups of communicators,
/// [`CommGroup`](Self::CommGroup), list positions in it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum GroupMembers<'a> {
    /// Locations, for whatever purpose.
    Locations(&'a [LocationRef]),
    /// Regions, for whatever purpose.
    Regions(&'a [RegionRef]),
    /// All locations that communicate by the group's paradigm: once for each paradigm.
    CommLocations(&'a [LocationRef]),
    /// A group of a communicator, by rank: positions in the list of `CommLocations`.
    CommGroup(&'a [u32]),
    /// The group of communicators that consist of just the process itself, like `MPI_COMM_SELF`.
    CommSelf,
}

impl GroupMembers<'_> {
    const fn kind(&self) -> u8 {
        (match self {
            Self::Locations(_) => otf2_sys::OTF2_GROUP_TYPE_LOCATIONS,
            Self::Regions(_) => otf2_sys::OTF2_GROUP_TYPE_REGIONS,
            Self::CommLocations(_) => otf2_sys::OTF2_GROUP_TYPE_COMM_LOCATIONS,
            Self::CommGroup(_) => otf2_sys::OTF2_GROUP_TYPE_COMM_GROUP,
            Self::CommSelf => otf2_sys::OTF2_GROUP_TYPE_COMM_SELF,
        }) as u8
    }

    fn numbers(&self) -> Vec<u64> {
        match self {
            Self::Locations(members) | Self::CommLocations(members) => {
                members.iter().map(|location| location.0).collect()
            }
            Self::Regions(members) => members.iter().map(|region| region.0.into()).collect(),
            Self::CommGroup(members) => members.iter().map(|&rank| rank.into()).collect(),
            Self::CommSelf => Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct GroupRecord {
    pub(crate) name: StringRef,
    pub(crate) kind: u8,
    pub(crate) paradigm: Paradigm,
    pub(crate) members: Vec<u64>,
}

impl Definitions {
    /// Defines a group.
    pub fn group(&mut self, group: Group<'_>) -> GroupRef {
        let reference = GroupRef(next_number(&self.groups));
        let record = GroupRecord {
            name: self.string(group.name),
            kind: group.members.kind(),
            paradigm: group.paradigm,
            members: group.members.numbers(),
        };
        self.groups.push(record);
        reference
    }
}
