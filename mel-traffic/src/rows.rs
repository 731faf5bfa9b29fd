//! The rows of all ranks, and between which ranks the data of each flows.

use mel_log::profile::{Profile, Traffic, TrafficKind};

use crate::choice::Choice;
use crate::groups::Groups;
use crate::shape::Shape;

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

/// Kinds that have no sender and receiver.
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
        if let Some(peer) = row.peer {
            if peer >= self.size {
                return false;
            }
            let (from, to) = if row.kind.is_inward() { (peer, rank) } else { (rank, peer) };
            each(from, to);
            return true;
        }
        let groups = row.communicator.and_then(|place| self.groups(place));
        let Some((groups, (own, to))) = groups.and_then(|groups| Some((groups, groups.seen_by(rank)?)))
        else {
            return false;
        };
        let others = |each: &mut dyn FnMut(u32, u32), from: usize| {
            to.world.iter().skip(from).filter(|to| **to != rank).for_each(|to| each(rank, *to));
        };
        match (Shape::of(&row.operation), row.root) {
            (Shape::FromRoot, Some(root)) => {
                // The root's row says what it sends; those of the others nothing.
                if own.world.get(root as usize) == Some(&rank) {
                    others(&mut each, 0);
                }
            }
            (Shape::ToRoot, Some(root)) => {
                // Of an intercommunicator only those who send have a row, and the root is not in their group.
                let Some(&root) = to.world.get(root as usize) else { return groups.is_inter() };
                if root != rank {
                    each(rank, root);
                }
            }
            (Shape::FromRoot | Shape::ToRoot, None) => return false,
            (Shape::Upwards, _) => others(&mut each, own.place(rank).map_or(0, |place| place as usize + 1)),
            (Shape::All, _) => others(&mut each, 0),
        }
        true
    }
}
