//! The rows of all ranks, and between which ranks the data of each flows.

use mel_log::profile::{Profile, Traffic, TrafficKind};
use mpi_functions::{Direction, Operation};
use serde::Serialize;

use crate::choice::Choice;
use crate::groups::Groups;

/// The rows of a profile.
#[derive(Debug)]
pub struct Rows<'a> {
    /// The profile that has them.
    pub profile: &'a Profile,
    size: u32,
    groups: Vec<Groups>,
}

/// Rows whose receivers are not known, because the profile does not say who is in their communicator, or which rank is the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unplaced {
    /// Such rows.
    pub rows: u64,
    /// The calls in them.
    pub calls: u64,
}

/// Where the data of a row flows, in ranks in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow<'a> {
    /// That is not known.
    Unknown,
    /// The row has nothing that flows.
    Nowhere,
    /// From one rank to another, or to itself.
    Pair(u32, u32),
    /// From the rank that has counted it to each of a list, from a place of it on, but itself.
    Others {
        /// The members of a communicator.
        list: &'a [u32],
        /// The place of the first.
        first: usize,
    },
}

/// Whether a kind has senders and receivers.
pub const fn has_pairs(kind: TrafficKind) -> bool {
    !matches!(kind, TrafficKind::FileRead | TrafficKind::FileWrite)
}

impl<'a> Rows<'a> {
    /// Those of a profile.
    pub fn of(profile: &'a Profile) -> Rows<'a> {
        // What a file says of ranks beyond the run is left out: a matrix grows with the square of its size.
        let ranks = profile.ranks.iter().map(|rank| rank.rank.saturating_add(1)).max().unwrap_or(0);
        let size = profile.world_size.max(ranks);
        Rows { profile, size, groups: Groups::of_all(profile, size) }
    }

    /// Number of ranks of the run.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The groups of the communicator at that place of the profile.
    pub fn groups(&self, communicator: u32) -> Option<&Groups> {
        self.groups.get(communicator as usize)
    }

    /// Whether any row has a sender and a receiver.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// All that have senders and receivers, each with the rank that has counted it.
    pub fn all(&self) -> impl Iterator<Item = (u32, &'a Traffic)> + use<'a> {
        let of_rank = |rank: &'a mel_log::profile::RankProfile| {
            rank.traffic.iter().filter(|row| has_pairs(row.kind)).map(|row| (rank.rank, row))
        };
        self.profile.ranks.iter().flat_map(of_rank)
    }

    /// Those that were chosen.
    pub fn chosen<'c>(&self, choice: &'c Choice) -> impl Iterator<Item = (u32, &'a Traffic)> + use<'a, 'c> {
        self.all().filter(|(_, row)| choice.has(row))
    }

    /// Gives each pair of sender and receiver between which the data of a row flows, as ranks in `MPI_COMM_WORLD`, `row.messages` times
    /// `row.bytes / row.messages` bytes each. A rank is its own receiver only where it sends messages to itself. False if they are not
    /// known.
    pub fn pairs(&self, rank: u32, row: &Traffic, mut each: impl FnMut(u32, u32)) -> bool {
        match self.flow(rank, row) {
            Flow::Unknown => return false,
            Flow::Nowhere => {}
            Flow::Pair(from, to) => each(from, to),
            Flow::Others { list, first } => {
                let others = list[first..].iter().filter(|to| **to != rank);
                others.for_each(|to| each(rank, *to));
            }
        }
        true
    }

    /// Where the data of a row flows.
    pub fn flow(&self, rank: u32, row: &Traffic) -> Flow<'_> {
        if let Some(peer) = row.peer {
            return match row.kind.is_inward() {
                _ if peer >= self.size => Flow::Unknown,
                true => Flow::Pair(peer, rank),
                false => Flow::Pair(rank, peer),
            };
        }
        let groups = row.communicator.and_then(|place| self.groups(place));
        let Some((groups, (own, to))) = groups.and_then(|groups| Some((groups, groups.seen_by(rank)?)))
        else {
            return Flow::Unknown;
        };
        let others = |first| Flow::Others { list: &to.world, first };
        match (Shape::of(&row.operation), row.root) {
            // The root's row says what it sends; those of the others nothing.
            (Shape::FromRoot, Some(root)) if own.world.get(root as usize) == Some(&rank) => others(0),
            (Shape::FromRoot, Some(_)) => Flow::Nowhere,
            (Shape::ToRoot, Some(root)) => match to.world.get(root as usize) {
                Some(root) if *root == rank => Flow::Nowhere,
                Some(root) => Flow::Pair(rank, *root),
                // Of an intercommunicator only those who send have a row, and the root is not in their group.
                None if groups.is_inter() => Flow::Nowhere,
                None => Flow::Unknown,
            },
            (Shape::FromRoot | Shape::ToRoot, None) => Flow::Unknown,
            (Shape::Upwards, _) => {
                let above = own.place(rank).map_or(0, |place| place as usize + 1);
                others(above.min(to.world.len()))
            }
            (Shape::All, _) => others(0),
        }
    }
}

/// Between whom the data of a collective operation flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// From the root to each other member.
    FromRoot,
    /// From each other member to the root.
    ToRoot,
    /// From each member to those of higher rank.
    Upwards,
    /// From each member to each other.
    All,
}

impl Shape {
    /// The shape of what this function starts, completes or prepares, for example `MPI_Ibcast`; what is not known goes from each to each.
    pub fn of(function: &str) -> Shape {
        let operation = mpi_functions::named(function).and_then(mpi_functions::Function::operation);
        match operation.map(Operation::direction) {
            Some(Direction::FromRoot) => Shape::FromRoot,
            Some(Direction::ToRoot) => Shape::ToRoot,
            Some(Direction::Upwards) => Shape::Upwards,
            Some(Direction::All | Direction::Neighbours) | None => Shape::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_flows_as_the_operation_means_it() {
        for (name, shape) in [
            ("MPI_Bcast", Shape::FromRoot),
            ("MPI_Iscatterv_c", Shape::FromRoot),
            ("MPI_Gatherv_init", Shape::ToRoot),
            ("MPI_Reduce", Shape::ToRoot),
            ("MPI_Exscan_init_c", Shape::Upwards),
            ("MPI_Barrier", Shape::All),
            ("MPI_Reduce_scatter", Shape::All),
            ("MPI_Neighbor_alltoall", Shape::All),
            ("another one", Shape::All),
        ] {
            assert_eq!(Shape::of(name), shape, "{name}");
        }
    }
}
