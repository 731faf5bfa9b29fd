//! The application's communicators, and identities that all their processes agree on.
//!
//! A communicator's identity is computed, never exchanged: from the identity of the communicator
//! that it was made from, how many were made from that one before, and the lowest member. The
//! processes of one creation agree on the first two, because creation is collective; processes that
//! get different communicators from one call (`MPI_Comm_split`) differ in the third.

use std::collections::VecDeque;
use std::sync::Arc;

use bytemuck::Zeroable;
use hashbrown::HashMap;
use mpit_events::Object;
use rustc_hash::FxBuildHasher;

use super::observer::Communicator;
use crate::matching::CommIndex;
use crate::transport::ring::CONTEXT_BITS;

/// The objects that the communicators' events are bound to, by [`CommIndex`].
///
/// Cost: each thread that calls MPI has a copy, [`Seen`], which takes over what has changed: as much for each communicator, however many
/// there are.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    all: Arc<Vec<Arc<Object>>>,
    /// How often something has changed.
    version: u64,
    /// The places that have changed last: more than there are communicators, and a thread copies all.
    changed: VecDeque<u32>,
}

/// As many changes are kept, however few communicators there are.
const FEW_CHANGES: usize = 64;

impl Objects {
    /// For a use without the lock of the state. Takes no memory, nor does the end of it, as long as the state has its own.
    pub(crate) fn snapshot(&self) -> Arc<Vec<Arc<Object>>> {
        self.all.clone()
    }

    /// The communicator at this place has this object.
    pub(crate) fn set(&mut self, place: CommIndex, object: Arc<Object>, none: Arc<Object>) {
        // Copies all where somebody has a snapshot just now.
        let all = Arc::make_mut(&mut self.all);
        let place_in_all = place.0 as usize;
        all.resize(all.len().max(place_in_all + 1), none);
        all[place_in_all] = object;
        self.touch(place);
    }

    /// The communicator at this place is going.
    pub(crate) fn touch(&mut self, place: CommIndex) {
        self.version += 1;
        if self.changed.len() >= self.all.len().max(FEW_CHANGES) {
            self.changed.pop_front();
        }
        self.changed.push_back(place.0);
    }
}

/// The objects as a thread has seen them last.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) objects: Vec<Arc<Object>>,
    version: u64,
}

impl Seen {
    /// Takes over what has changed; whether anything has.
    #[inline(always)]
    pub(crate) fn keep_up(&mut self, with: &Objects) -> bool {
        let changed = self.version != with.version;
        if changed {
            self.take_over(with);
        }
        changed
    }

    #[cold]
    #[inline(never)]
    fn take_over(&mut self, with: &Objects) {
        let changes = with.version.wrapping_sub(self.version);
        self.version = with.version;
        let known = with.changed.len();
        match usize::try_from(changes) {
            Ok(changes) if changes <= known && self.objects.len() <= with.all.len() => {
                self.objects.extend_from_slice(&with.all[self.objects.len()..]);
                for &place in with.changed.range(known - changes..) {
                    self.objects[place as usize] = with.all[place as usize].clone();
                }
            }
            _ => self.objects.clone_from(&with.all),
        }
    }
}

/// The identity of `MPI_COMM_WORLD`.
pub(crate) const WORLD: u64 = 0;
/// That of `MPI_COMM_WORLD` where another communicator stands for it.
pub(crate) const LATE_WORLD: u64 = 2;
/// The identity of `MPI_COMM_SELF`.
pub(crate) const SELF: u64 = 1;

/// Where messages to a rank go, and how many went. All zeros where none went: of a long table, memory is taken only
/// for the parts that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
#[repr(C)]
pub(crate) struct Destination {
    /// The way.
    pub route: Route,
    /// The sequence number of the last message: the first one is 1, as in ob1.
    pub sequence: u32,
}

/// The way of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
#[repr(u32)]
pub(crate) enum Route {
    /// Not looked up yet.
    Unknown = 0,
    /// To this process itself.
    Own,
    /// Through the ring of this member of the node.
    Ring(u32),
    /// In a batch to this rank of `MPI_COMM_WORLD`.
    Batch(i32),
    /// Nowhere: a process that is not of this job.
    None,
}

/// The processes of a communicator: what a duplicate has from the one it was made from, so that MPI need not be asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Processes {
    /// The rank of this process.
    pub rank: i32,
    /// How many there are in the local group.
    pub size: i32,
    /// How many can be sent to.
    pub peers: i32,
    /// Whether there are two groups.
    pub inter: bool,
    /// The rank in `MPI_COMM_WORLD` of the first one; of two groups the lower one.
    pub first: i32,
    /// [`Communicator::group`].
    pub group: u64,
}

/// What is known of a communicator.
#[derive(Debug)]
pub(crate) struct Comm {
    /// Its description for others.
    pub public: Communicator,
    /// Its place in the model.
    pub index: CommIndex,
    /// Who is in it.
    pub processes: Processes,
    /// Communicators made from this one so far.
    pub created: u64,
    /// The object that its events are bound to.
    pub object: Arc<Object>,
    /// One for each rank that can be sent to.
    pub destinations: Vec<Destination>,
}

/// The table, by the value of the handle.
#[derive(Debug, Default)]
pub(crate) struct Comms {
    places: HashMap<usize, usize, FxBuildHasher>,
    comms: Vec<Option<Comm>>,
    recent: Option<(usize, usize)>,
    /// Numbers of groups given so far.
    groups: u64,
    /// How often a group was the key of an identity that is not collective over a parent.
    group_keys: HashMap<u64, u64, FxBuildHasher>,
}

impl Comms {
    /// The communicator with this handle; `None` for one that is not followed.
    #[inline]
    pub(crate) fn get(&mut self, handle: usize) -> Option<&mut Comm> {
        let place = match self.recent {
            Some((known, place)) if known == handle => place,
            _ => {
                let place = *self.places.get(&handle)?;
                self.recent = Some((handle, place));
                place
            }
        };
        self.comms.get_mut(place)?.as_mut()
    }

    /// Adds a communicator.
    pub(crate) fn insert(&mut self, handle: usize, comm: Comm) {
        let place = comm.index.0 as usize;
        if place >= self.comms.len() {
            self.comms.resize_with(place + 1, || None);
        }
        self.comms[place] = Some(comm);
        self.places.insert(handle, place);
        self.recent = None;
    }

    /// Removes a communicator.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<Comm> {
        self.recent = None;
        let place = self.places.remove(&handle)?;
        self.comms.get_mut(place)?.take()
    }

    /// Another communicator of the same processes, with the same ranks, by its handle.
    pub(crate) fn another_of_same(&self, handle: usize) -> Option<usize> {
        let public = |place: &usize| Some(self.comms.get(*place)?.as_ref()?.public);
        let group = self.places.get(&handle).and_then(public)?.group;
        let others = self.places.iter().filter(|(other, _)| **other != handle);
        let mut same =
            others.filter(|(_, place)| public(place).is_some_and(|of| of.group == group && !of.inter));
        same.next().map(|(other, _)| *other)
    }

    /// A number for processes of which it is not known that another communicator has the same.
    pub(crate) fn another_group(&mut self) -> u64 {
        self.groups += 1;
        self.groups
    }

    /// The identity of the next communicator that is made collectively from this one; the lowest
    /// member is added with [`with_member`].
    pub(crate) fn next_child(&mut self, parent: usize) -> Option<u64> {
        let parent = self.get(parent)?;
        parent.created += 1;
        Some(mix(mix(parent.public.context, 1), parent.created))
    }

    /// The identity of the next communicator whose creation only its own members (or both groups
    /// of an intercommunicator) know of, by a key that these agree on.
    pub(crate) fn next_of_group(&mut self, key: u64) -> u64 {
        let count = self.group_keys.entry(key).or_default();
        *count += 1;
        mix(mix(key, 2), *count)
    }
}

/// An identity, distinct from those that other processes get from the same call.
pub(crate) fn with_member(identity: u64, world_rank: i32) -> u64 {
    // Never one of the two predefined identities, and no longer than an envelope has room for.
    (mix(identity, world_rank as u64) & ((1 << CONTEXT_BITS) - 1)).max(2)
}

/// A hash of two numbers that is the same in all processes (the finaliser of MurmurHash3).
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut hash = a.rotate_left(29) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6d65_6c00;
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpit_events::{BindKind, Core, Token};

    fn comm(core: &Core, index: u32, context: u64) -> Comm {
        let token = Token(u64::from(index));
        Comm {
            public: Communicator {
                token,
                context,
                index,
                size: 2,
                rank: 0,
                inter: false,
                group: 0,
                made_in: 0,
            },
            index: CommIndex(index),
            processes: Processes { size: 2, peers: 2, ..Processes::default() },
            created: 0,
            object: core.bind(BindKind::Comm, token),
            destinations: Vec::new(),
        }
    }

    #[test]
    fn processes_agree_on_identities_and_disjoint_ones_differ() {
        let core = Core::new();
        let identities = |lowest: i32| {
            let mut comms = Comms::default();
            comms.insert(100, comm(&core, 0, WORLD));
            let first = with_member(comms.next_child(100).unwrap(), lowest);
            comms.insert(200, comm(&core, 1, first));
            let second = with_member(comms.next_child(100).unwrap(), lowest);
            let nested = with_member(comms.next_child(200).unwrap(), lowest);
            [first, second, nested]
        };
        assert_eq!(identities(0), identities(0));
        let mut all = [identities(0), identities(4)].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn nothing_is_known_of_a_destination_of_zeros() {
        assert_eq!(Destination::zeroed(), Destination { route: Route::Unknown, sequence: 0 });
        assert_eq!(size_of::<Destination>(), 12);
    }

    #[test]
    fn a_handle_that_comes_back_is_another_communicator() {
        let core = Core::new();
        let mut comms = Comms::default();
        comms.insert(100, comm(&core, 0, 7));
        assert!(comms.get(100).is_some());
        assert!(comms.remove(100).is_some());
        assert!(comms.get(100).is_none());
        comms.insert(100, comm(&core, 0, 8));
        assert_eq!(comms.get(100).unwrap().public.context, 8);
    }
}
