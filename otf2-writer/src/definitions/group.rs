//! Groups of locations, of ranks, or of regions.

use serde::{Deserialize, Serialize};

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

    fn numbers(&self) -> Runs {
        match self {
            Self::Locations(members) | Self::CommLocations(members) => {
                Runs::of(members.iter().map(|location| location.0))
            }
            Self::Regions(members) => Runs::of(members.iter().map(|region| region.0.into())),
            Self::CommGroup(members) => Runs::of(members.iter().map(|&rank| rank.into())),
            Self::CommSelf => Runs::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct GroupRecord {
    pub(crate) name: StringRef,
    pub(crate) kind: u8,
    pub(crate) paradigm: Paradigm,
    pub(crate) members: Runs,
}

impl GroupRecord {
    /// Whether the members are regions.
    pub(crate) const fn of_regions(&self) -> bool {
        self.kind == otf2_sys::OTF2_GROUP_TYPE_REGIONS as u8
    }
}

/// Numbers in their order as runs of a first one, how many, and the step from one to the next: however many processes a
/// group has, mostly it takes a few bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Runs(Vec<(u64, u64, u64)>);

impl Runs {
    pub(crate) fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut runs: Vec<(u64, u64, u64)> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some((first, count @ 1, step)) => (*count, *step) = (2, number.wrapping_sub(*first)),
                Some((first, count, step)) if first.wrapping_add(count.wrapping_mul(*step)) == number => {
                    *count += 1;
                }
                _ => runs.push((number, 1, 0)),
            }
        }
        Self(runs)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        let number = |first: u64, at: u64, step: u64| first.wrapping_add(at.wrapping_mul(step));
        self.0.iter().flat_map(move |&(first, count, step)| (0..count).map(move |at| number(first, at, step)))
    }
}

impl Definitions {
    /// Defines a group.
    pub fn group(&mut self, group: Group<'_>) -> GroupRef {
        let reference = GroupRef(next_number(&self.shared.groups));
        let record = GroupRecord {
            name: self.string(group.name),
            kind: group.members.kind(),
            paradigm: group.paradigm,
            members: group.members.numbers(),
        };
        self.shared.groups.push(record);
        reference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_numbers_that_they_were_made_of() {
        for numbers in
            [vec![], vec![7], vec![0, 1, 2, 3], vec![9, 6, 3, 4, 5], vec![2, 2, 2, 1], vec![u64::MAX, 0, 1]]
        {
            assert_eq!(Runs::of(numbers.iter().copied()).iter().collect::<Vec<_>>(), numbers);
        }
        assert_eq!(Runs::of((0..100_000).map(|rank| rank << 32)).0.len(), 1);
    }
}
