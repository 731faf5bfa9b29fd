//! The application's requests, by the value of their handle.
//!
//! Cost: nothing but the next entry of a list for requests that end in the order in which they were made
//! ([`InOrder`]). For others one lookup in a table per nonblocking call and one per completion; no
//! allocation once these have grown to the largest number of requests that are open at one time.

use crate::by_handle::ByHandle;
use crate::fast_path::InOrder;
use crate::matching::{CommIndex, ReceiveIndex};

/// A send whose end is followed: its communicator, its request's identity, its bytes.
pub(crate) type FollowedSend = (CommIndex, u64, u64);

/// What a persistent request does each time it is started, and what it is doing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Persistent {
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
pub(crate) enum Tracked {
    /// A receive under way, of a message with this source and tag; wildcards are negative.
    Receive { receive: ReceiveIndex, comm: CommIndex, request: u64, source: i32, tag: i32 },
    /// The same, of which the status will say nothing.
    Silent { receive: ReceiveIndex, comm: CommIndex, request: u64, source: i32, tag: i32 },
    /// A receive of a message that a matched probe took, under way.
    Probed { comm: CommIndex, request: u64, bytes: u64 },
    /// A send under way.
    Send { comm: CommIndex, request: u64, bytes: u64 },
    /// A persistent request, by its place among them.
    Persistent(u32),
    /// A collective operation: only where observers want to know.
    Collective { comm: CommIndex, request: u64, stage: Stage },
    /// A communicator is being duplicated; its handle will be at this address.
    Duplicate { context: u64, new: usize },
}

impl Tracked {
    /// The identity of a request that ends with its completion.
    #[inline(always)]
    pub(crate) fn identity(&self) -> Option<u64> {
        match *self {
            Tracked::Receive { request, .. }
            | Tracked::Silent { request, .. }
            | Tracked::Probed { request, .. }
            | Tracked::Send { request, .. } => Some(request),
            Tracked::Collective { request, stage: Stage::Once, .. } => Some(request),
            Tracked::Collective { .. } | Tracked::Persistent(_) | Tracked::Duplicate { .. } => None,
        }
    }
}

/// Where the request of a collective operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Under way, and over when it is complete.
    Once,
    /// Persistent, and not started.
    Idle,
    /// Persistent, and under way.
    Active,
}

/// The active part of a persistent request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Active {
    /// A receive.
    Receive { receive: ReceiveIndex, comm: CommIndex, request: u64 },
    /// A send.
    Send { comm: CommIndex, request: u64, bytes: u64 },
}

/// Slots of the direct part of the table: a power of two.
const SLOTS: usize = 512;

/// The open requests: in order while the table is empty, else there.
#[derive(Debug)]
pub(crate) struct Requests {
    in_order: InOrder<Tracked>,
    table: ByHandle<Tracked>,
    persistent: Vec<Persistent>,
    /// Places of persistent requests that were freed.
    vacant: Vec<u32>,
}

impl Default for Requests {
    fn default() -> Self {
        Requests {
            in_order: InOrder::default(),
            table: ByHandle::new(SLOTS, Tracked::Persistent(0)),
            persistent: Vec::new(),
            vacant: Vec::new(),
        }
    }
}

impl Requests {
    /// Where the persistent requests are, without a look at them.
    pub(crate) fn place_of_persistent(requests: *const Requests) -> *const Vec<Persistent> {
        requests.wrapping_byte_add(std::mem::offset_of!(Requests, persistent)).cast()
    }

    /// Remembers a request.
    #[inline(always)]
    pub(crate) fn insert(&mut self, handle: usize, tracked: Tracked) {
        if !self.in_order.has_space() && !self.in_order.make_space() {
            self.tabulate();
        }
        self.in_order.push(handle, tracked);
        if !self.table.is_empty() {
            self.tabulate();
        }
    }

    /// What is known of this request, if it was to be expected next.
    #[inline(always)]
    pub(crate) fn next(&self, handle: usize) -> Option<&Tracked> {
        self.in_order.peek(handle)
    }

    /// The request that was to be expected next is about to end, as for [`take`](Requests::take).
    #[inline(always)]
    pub(crate) fn take_next(&mut self) {
        self.in_order.advance();
    }

    /// Moves what is in order to the table.
    #[inline(never)]
    fn tabulate(&mut self) {
        let Requests { in_order, table, .. } = self;
        in_order.drain().for_each(|(handle, tracked)| table.insert(handle, tracked));
    }

    /// The table, with all requests in it.
    #[inline(always)]
    fn table(&mut self) -> &mut ByHandle<Tracked> {
        if !self.in_order.is_empty() {
            self.tabulate();
        }
        &mut self.table
    }

    /// Whether nothing is known of any request.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.table.is_empty()
    }

    /// What is known of a request.
    #[inline]
    pub(crate) fn get(&mut self, handle: usize) -> Option<Tracked> {
        self.table().get(handle).copied()
    }

    /// What is known of a request that is about to end: forgotten here, unless it stays for the
    /// application to start again.
    #[inline]
    pub(crate) fn take(&mut self, handle: usize) -> Option<Tracked> {
        let tracked = self.get(handle)?;
        if tracked.identity().is_some() {
            self.table.remove(handle);
        }
        Some(tracked)
    }

    /// Remembers a persistent request.
    pub(crate) fn insert_persistent(&mut self, handle: usize, persistent: Persistent) {
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
        // It never ends.
        self.table().insert(handle, Tracked::Persistent(place));
    }

    /// A request that stays, of which this is known, has another handle now. The former may be another thread's request already.
    #[cold]
    pub(crate) fn move_to(&mut self, before: usize, now: usize, tracked: Tracked) {
        let place = |tracked: &Tracked| match *tracked {
            Tracked::Persistent(place) => Some((u64::from(place), true)),
            Tracked::Collective { request, .. } => Some((request, false)),
            _ => None,
        };
        let table = self.table();
        if table.get(before).is_some_and(|known| place(known) == place(&tracked)) {
            table.remove(before);
        }
        table.insert(now, tracked);
    }

    /// The persistent request at this place.
    #[inline]
    pub(crate) fn persistent(&mut self, place: u32) -> &mut Persistent {
        &mut self.persistent[place as usize]
    }

    /// The place of a persistent request that was freed may be used again.
    pub(crate) fn discard_persistent(&mut self, place: u32) {
        self.vacant.push(place);
    }

    /// Forgets a request, known by its handle and its identity. Where several threads call MPI, the handle
    /// of a complete request may be another thread's next request already, which stays.
    #[inline(always)]
    pub(crate) fn forget(&mut self, handle: usize, identity: u64) {
        let is_it = |tracked: &Tracked| tracked.identity() == Some(identity);
        if self.in_order.peek(handle).is_some_and(is_it) {
            return self.in_order.advance();
        }
        if self.table().get(handle).is_some_and(is_it) {
            self.table.remove(handle);
        }
    }

    /// Forgets a request and gives what was known of it.
    #[inline]
    pub(crate) fn remove(&mut self, handle: usize) -> Option<Tracked> {
        self.table().remove(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(request: u64) -> Tracked {
        Tracked::Send { comm: CommIndex(0), request, bytes: 8 }
    }

    fn identity(tracked: Option<Tracked>) -> Option<u64> {
        tracked.and_then(|tracked| tracked.identity())
    }

    /// Takes the requests as completion calls do.
    fn take(requests: &mut Requests, handle: usize) -> Option<u64> {
        if let Some(&tracked) = requests.next(handle) {
            requests.take_next();
            return tracked.identity();
        }
        identity(requests.take(handle))
    }

    #[test]
    fn a_handle_that_is_in_use_again_is_not_forgotten() {
        let mut requests = Requests::default();
        for others in 0..2 {
            (0..others).for_each(|other| requests.insert(0x2000, send(100 + other)));
            requests.insert(0x1000, send(1));
            requests.insert(0x1000, send(2));
            requests.forget(0x1000, 1);
            assert_eq!(identity(requests.get(0x1000)), Some(2));
            requests.forget(0x1000, 2);
            assert!(requests.get(0x1000).is_none());
        }
    }

    #[test]
    fn requests_end_in_whatever_order() {
        let order = [0, 1, 7, 3, 2, 4, 6, 5];
        for rotation in 0..order.len() {
            let mut requests = Requests::default();
            // More than are kept in order, in the end.
            for round in 0..200 {
                for place in 0..order.len() {
                    requests.insert(0x1000 * (place + 1), send(10 * round + place as u64 + 1));
                }
                let taken = (0..order.len()).map(|i| order[(i + rotation * round as usize) % order.len()]);
                for place in taken {
                    assert_eq!(
                        take(&mut requests, 0x1000 * (place + 1)),
                        Some(10 * round + place as u64 + 1)
                    );
                    assert_eq!(take(&mut requests, 0x1000 * (place + 1)), None);
                }
                assert!(requests.is_empty());
            }
        }
    }

    #[test]
    fn a_window_of_requests_moves_on_for_ever() {
        let mut requests = Requests::default();
        for open in [3, 100, 200, 1000] {
            let all = 0..5000;
            for number in all.clone() {
                requests.insert(0x1000 + 416 * number, send(number as u64));
                if number >= open {
                    let handle = 0x1000 + 416 * (number - open);
                    assert_eq!(take(&mut requests, handle), Some((number - open) as u64), "{open} {number}");
                }
            }
            for number in all.skip(5000 - open) {
                assert_eq!(take(&mut requests, 0x1000 + 416 * number), Some(number as u64));
            }
            assert!(requests.is_empty());
        }
    }

    #[test]
    fn a_persistent_request_stays_known() {
        let mut requests = Requests::default();
        let spec = Persistent { active: None, comm: 0, peer: 0, tag: 0, bytes: 0, sends: false };
        requests.insert_persistent(0x1000, spec);
        requests.insert(0x2000, send(1));
        for _ in 0..2 {
            assert!(matches!(requests.take(0x1000), Some(Tracked::Persistent(0))));
        }
        assert_eq!(identity(requests.take(0x2000)), Some(1));
        assert!(requests.remove(0x1000).is_some());
        assert!(requests.is_empty());
    }

    #[test]
    fn a_persistent_request_may_get_another_handle() {
        let mut requests = Requests::default();
        let spec = Persistent { active: None, comm: 0, peer: 0, tag: 0, bytes: 0, sends: true };
        requests.insert_persistent(0x1000, spec);
        let tracked = requests.get(0x1000).unwrap();
        requests.move_to(0x1000, 0x2000, tracked);
        assert!(requests.get(0x1000).is_none());
        assert!(matches!(requests.get(0x2000), Some(Tracked::Persistent(0))));
        // The former handle is another's when it is noticed.
        requests.insert(0x2000, send(5));
        requests.move_to(0x2000, 0x3000, tracked);
        assert_eq!(identity(requests.get(0x2000)), Some(5));
        assert!(matches!(requests.get(0x3000), Some(Tracked::Persistent(0))));
    }

    #[test]
    fn a_request_whose_end_nobody_saw_is_over_when_its_handle_comes_again() {
        let mut requests = Requests::default();
        requests.insert(0x1000, send(1));
        requests.insert(0x1000, send(2));
        assert_eq!(take(&mut requests, 0x1000), Some(2));
        assert!(requests.is_empty());
    }
}
