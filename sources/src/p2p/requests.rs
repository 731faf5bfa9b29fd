//! The application's requests, by the value of their handle.
//!
//! Cost: one hash lookup per nonblocking call and one per completion; no allocation once the table
//! has grown to the largest number of requests that are open at one time.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::shadow::{CommIndex, ReceiveIndex};

/// What a persistent request does each time it is started, and what it is doing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Persistent {
    /// What it is doing now; `None` when it is not started, or complete.
    pub active: Option<Active>,
    /// The communicator's handle.
    pub comm: usize,
    /// Source of a receive, destination of a send.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// Size of a send in bytes.
    pub bytes: u64,
    /// Whether it sends.
    pub sends: bool,
}

/// What is known of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tracked {
    /// A receive under way.
    Receive { receive: ReceiveIndex, comm: CommIndex, request: u64 },
    /// A receive under way, of which the status will tell nothing: it asked for these, one of which may be a wildcard.
    Silent { receive: ReceiveIndex, comm: CommIndex, request: u64, source: i32, tag: i32 },
    /// A receive of a message that a matched probe took, under way.
    Probed { comm: CommIndex, request: u64, bytes: u64 },
    /// A send under way.
    Send { comm: CommIndex, request: u64, bytes: u64 },
    /// A persistent request, by its place among them.
    Persistent(u32),
    /// A communicator is being duplicated; its handle will be at this address.
    Duplicate { context: u64, new: usize },
}

impl Tracked {
    /// The identity of a request that ends with its completion.
    #[inline(always)]
    pub(super) fn identity(&self) -> Option<u64> {
        match *self {
            Tracked::Receive { request, .. }
            | Tracked::Silent { request, .. }
            | Tracked::Probed { request, .. }
            | Tracked::Send { request, .. } => Some(request),
            Tracked::Persistent(_) | Tracked::Duplicate { .. } => None,
        }
    }
}

/// The active part of a persistent request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Active {
    /// A receive.
    Receive { receive: ReceiveIndex, comm: CommIndex, request: u64 },
    /// A send.
    Send { comm: CommIndex, request: u64, bytes: u64 },
}

/// Slots of the direct table: a power of two.
const SLOTS: usize = 512;

/// The table: a direct-mapped part for what is open now, and a hash map for what collides there.
#[derive(Debug)]
pub(super) struct Requests {
    direct: Box<[(usize, Tracked)]>,
    others: HashMap<usize, Tracked, FxBuildHasher>,
    /// Taken places of the direct part.
    taken: usize,
    persistent: Vec<Persistent>,
    /// Places of persistent requests that were freed.
    vacant: Vec<u32>,
}

/// No handle of any MPI.
const VACANT: usize = usize::MAX;

impl Default for Requests {
    fn default() -> Self {
        let vacant = (VACANT, Tracked::Duplicate { context: 0, new: 0 });
        Requests {
            direct: vec![vacant; SLOTS].into(),
            others: HashMap::default(),
            taken: 0,
            persistent: Vec::new(),
            vacant: Vec::new(),
        }
    }
}

/// Handles are addresses of objects of some hundred bytes, or small numbers.
#[inline]
fn slot(handle: usize) -> usize {
    (handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) & (SLOTS - 1)
}

impl Requests {
    /// Remembers a request. What is rare is out of the way, so that the entry is filled in place: a copy that
    /// is put together elsewhere is loaded before its stores have left the processor.
    #[inline(always)]
    pub(super) fn insert(&mut self, handle: usize, tracked: Tracked) {
        let place = &mut self.direct[slot(handle)];
        if place.0 == VACANT {
            self.taken += 1;
        } else if place.0 != handle {
            return self.insert_other(handle, tracked);
        }
        place.0 = handle;
        place.1 = tracked;
        // It may have been there when the slot was another's.
        if !self.others.is_empty() {
            self.forget_other(handle);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_other(&mut self, handle: usize, tracked: Tracked) {
        self.others.insert(handle, tracked);
    }

    #[cold]
    #[inline(never)]
    fn forget_other(&mut self, handle: usize) {
        self.others.remove(&handle);
    }

    /// Whether nothing is known of any request.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.taken == 0 && self.others.is_empty()
    }

    /// What is known of a request.
    #[inline]
    pub(super) fn get(&self, handle: usize) -> Option<Tracked> {
        let place = &self.direct[slot(handle)];
        if place.0 == handle {
            return Some(place.1);
        }
        if self.others.is_empty() { None } else { self.others.get(&handle).copied() }
    }

    /// What is known of a request that is about to end: forgotten here, unless it stays for the
    /// application to start again.
    #[inline(always)]
    pub(super) fn take(&mut self, handle: usize) -> Option<Tracked> {
        let place = &mut self.direct[slot(handle)];
        if place.0 != handle {
            return self.take_other(handle);
        }
        if place.1.identity().is_some() {
            place.0 = VACANT;
            self.taken -= 1;
        }
        Some(place.1)
    }

    #[inline(never)]
    fn take_other(&mut self, handle: usize) -> Option<Tracked> {
        let tracked = *self.others.get(&handle)?;
        if tracked.identity().is_some() {
            self.others.remove(&handle);
        }
        Some(tracked)
    }

    /// Remembers a persistent request.
    pub(super) fn insert_persistent(&mut self, handle: usize, persistent: Persistent) {
        let place = match self.vacant.pop() {
            Some(place) => {
                self.persistent[place as usize] = persistent;
                place
            }
            None => {
                self.persistent.push(persistent);
                (self.persistent.len() - 1) as u32
            }
        };
        self.insert(handle, Tracked::Persistent(place));
    }

    /// The persistent request at this place.
    #[inline]
    pub(super) fn persistent(&mut self, place: u32) -> &mut Persistent {
        &mut self.persistent[place as usize]
    }

    /// The place of a persistent request that was freed may be used again.
    pub(super) fn discard_persistent(&mut self, place: u32) {
        self.vacant.push(place);
    }

    /// Forgets a request, known by its handle and its identity. Where several threads call MPI, the handle
    /// of a complete request may be another thread's next request already, which stays.
    #[inline(always)]
    pub(super) fn forget(&mut self, handle: usize, identity: u64) {
        let place = &mut self.direct[slot(handle)];
        if place.0 == handle {
            if place.1.identity() == Some(identity) {
                place.0 = VACANT;
                self.taken -= 1;
            }
        } else if self.others.get(&handle).is_some_and(|other| other.identity() == Some(identity)) {
            self.others.remove(&handle);
        }
    }

    /// Forgets a request and gives what was known of it.
    #[inline]
    pub(super) fn remove(&mut self, handle: usize) -> Option<Tracked> {
        let place = &mut self.direct[slot(handle)];
        if place.0 == handle {
            place.0 = VACANT;
            self.taken -= 1;
            return Some(place.1);
        }
        self.others.remove(&handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_is_in_use_again_is_not_forgotten() {
        let mut requests = Requests::default();
        let send = |request| Tracked::Send { comm: CommIndex(0), request, bytes: 8 };
        // The second falls into the slot of the first.
        let first = 0x1000;
        let second = (1..).map(|i| first + i * 64).find(|&handle| slot(handle) == slot(first)).unwrap();
        for handle in [first, second] {
            requests.insert(handle, send(1));
            requests.insert(handle, send(2));
            requests.forget(handle, 1);
            assert!(matches!(requests.get(handle), Some(Tracked::Send { request: 2, .. })));
            if handle == second {
                requests.forget(handle, 2);
                assert!(requests.get(handle).is_none());
            }
        }
    }

    #[test]
    fn a_handle_that_moves_to_the_direct_table_leaves_nothing_behind() {
        let mut requests = Requests::default();
        let tracked = |context| Tracked::Duplicate { context, new: 0 };
        let first = 0x1000;
        let second = (1..).map(|i| first + i * 64).find(|&handle| slot(handle) == slot(first)).unwrap();
        requests.insert(first, tracked(1));
        requests.insert(second, tracked(2));
        assert!(requests.remove(first).is_some());
        requests.insert(second, tracked(3));
        assert!(matches!(requests.remove(second), Some(Tracked::Duplicate { context: 3, .. })));
        assert!(requests.get(second).is_none());
    }

    #[test]
    fn what_collides_is_kept_too() {
        let mut requests = Requests::default();
        let handles: Vec<usize> = (0..2000).map(|i| 0x7f00_0000_1000 + i * 416).collect();
        let tracked = |handle| Tracked::Duplicate { context: handle as u64, new: 0 };
        handles.iter().for_each(|&handle| requests.insert(handle, tracked(handle)));
        // A handle that left the direct table may come back there while its slot is another's.
        for &handle in &handles {
            let Some(Tracked::Duplicate { context, .. }) = requests.get(handle) else {
                panic!("{handle} is lost")
            };
            assert_eq!(context, handle as u64);
            assert!(!requests.is_empty());
            assert!(requests.remove(handle).is_some());
            assert!(requests.get(handle).is_none());
        }
        assert!(requests.is_empty());
    }
}
