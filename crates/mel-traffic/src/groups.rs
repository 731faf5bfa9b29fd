//! Which ranks are in a communicator.

use mel_log::profile::{NamedCommunicator, Profile};
use rustc_hash::FxHashMap;

/// The ranks of a communicator, in both directions.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The rank in `MPI_COMM_WORLD` of each rank.
    pub world: Vec<u32>,
    /// The rank of each rank in `MPI_COMM_WORLD`.
    place: FxHashMap<u32, u32>,
}

impl Group {
    fn of(world: Vec<u32>) -> Group {
        let place = world.iter().enumerate().map(|(place, rank)| (*rank, place as u32)).collect();
        Group { world, place }
    }

    /// Its rank, if the rank in `MPI_COMM_WORLD` is one of its members.
    pub fn place(&self, world_rank: u32) -> Option<u32> {
        self.place.get(&world_rank).copied()
    }
}

/// One group, or the two of an intercommunicator.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    first: Group,
    second: Option<Group>,
}

impl Groups {
    /// Those of a communicator. Where the profile does not have its members, there is none, but for one of as many processes as the run
    /// has: that is taken to have all in their order.
    pub fn of(communicator: &NamedCommunicator, world_size: u32) -> Groups {
        let ranks = |members: &mel_log::Members| {
            // A file may say anything: a group of which some are beyond the run is not known.
            let all = members.ranks().take(world_size as usize);
            let all: Option<Vec<u32>> =
                all.map(|rank| rank.try_into().ok().filter(|rank| *rank < world_size)).collect();
            Group::of(all.unwrap_or_default())
        };
        let first = match communicator.members.is_empty() {
            true if communicator.size == world_size => Group::of((0..world_size).collect()),
            _ => ranks(&communicator.members),
        };
        Groups { first, second: communicator.remote.as_ref().map(ranks) }
    }

    /// Those of each communicator of a profile, in its order.
    pub fn of_all(profile: &Profile, world_size: u32) -> Vec<Groups> {
        profile.communicators.iter().map(|communicator| Groups::of(communicator, world_size)).collect()
    }

    /// The group that a rank in `MPI_COMM_WORLD` is in, and that which it sends to; they are the same, but for intercommunicators. None if
    /// it is in no group.
    pub fn seen_by(&self, world_rank: u32) -> Option<(&Group, &Group)> {
        match &self.second {
            None => self.first.place(world_rank).map(|_| (&self.first, &self.first)),
            Some(second) if self.first.place(world_rank).is_some() => Some((&self.first, second)),
            Some(second) => second.place(world_rank).map(|_| (second, &self.first)),
        }
    }

    /// Whether it has two groups.
    pub fn is_inter(&self) -> bool {
        self.second.is_some()
    }

    /// Its members: of an intercommunicator those of the first group, as in the profile.
    pub fn members(&self) -> &[u32] {
        &self.first.world
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::Members;

    #[test]
    fn a_rank_sees_its_own_group_first() {
        let members = Members::from_ranks([4, 2, 0]);
        let mut communicator = NamedCommunicator { members, size: 3, ..NamedCommunicator::default() };
        let of = Groups::of(&communicator, 8);
        assert_eq!(
            of.seen_by(2).map(|(own, to)| (own.place(2), to.world.clone())),
            Some((Some(1), vec![4, 2, 0]))
        );
        assert!(of.seen_by(1).is_none() && !of.is_inter());

        communicator.remote = Some(Members::from_ranks([1, 3]));
        let of = Groups::of(&communicator, 8);
        assert_eq!(
            of.seen_by(3).map(|(own, to)| (own.place(3), to.world.clone())),
            Some((Some(1), vec![4, 2, 0]))
        );
        assert_eq!(of.seen_by(0).map(|(_, to)| to.world.clone()), Some(vec![1, 3]));
        assert_eq!(of.members(), [4, 2, 0]);
    }

    #[test]
    fn without_members_only_that_of_all_is_known() {
        let all = NamedCommunicator { size: 3, ..NamedCommunicator::default() };
        assert_eq!(Groups::of(&all, 3).members(), [0, 1, 2]);
        assert!(Groups::of(&all, 4).seen_by(0).is_none());
    }
}
