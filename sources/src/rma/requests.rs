//! The requests of operations that bring data: such an operation is complete with its request.
//!
//! The request of a put or an accumulate says only that the origin's buffer is free (MPI-5.0, section 12.3.5), so
//! these are not here.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use super::operation::Operation;
use super::synchronisation::Completes;
use super::window::Window;
use crate::Serial;

/// The most operations that share a request: an application may never wait for them.
const MOST: usize = 1 << 16;

/// Operations with requests, by the requests' handles.
#[derive(Default)]
pub(super) struct Requests {
    count: AtomicUsize,
    table: Serial<FxHashMap<usize, Waiting>>,
}

type Started = (Arc<Window>, Operation);

/// The operations of a request. An MPI may have one request for all operations that are complete when their call
/// returns: Open MPI does, in shared memory. Each wait for it completes one of them.
struct Waiting {
    first: Started,
    others: VecDeque<Started>,
}

impl Requests {
    /// From now on uses take no lock.
    ///
    /// # Safety
    /// As for [`Serial::leave_to_one_thread`].
    pub(super) unsafe fn leave_to_one_thread(&self) {
        // SAFETY: the caller promises it.
        unsafe { self.table.leave_to_one_thread() };
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Adds the operation of a request; returns the first one where too many have it.
    #[must_use]
    pub(super) fn insert(&self, handle: usize, window: Arc<Window>, operation: Operation) -> Option<Started> {
        let started = (window, operation);
        let insert = |table: &mut FxHashMap<usize, Waiting>| {
            let too_many = match table.entry(handle) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Waiting { first: started, others: VecDeque::new() });
                    None
                }
                Entry::Occupied(mut waiting) => {
                    let waiting = waiting.get_mut();
                    waiting.others.push_back(started);
                    if waiting.others.len() < MOST { None } else { waiting.next() }
                }
            };
            self.count.store(table.len(), Ordering::Relaxed);
            too_many
        };
        self.table.with(insert).flatten()
    }

    /// Removes and returns the first operation of this request.
    pub(super) fn take(&self, handle: usize) -> Option<Started> {
        let take = |table: &mut FxHashMap<usize, Waiting>| {
            let Entry::Occupied(mut waiting) = table.entry(handle) else { return None };
            let first = waiting.get_mut().next().unwrap_or_else(|| waiting.remove().first);
            self.count.store(table.len(), Ordering::Relaxed);
            Some(first)
        };
        self.table.with(take).flatten()
    }

    /// Moves the operations of a window that are completed to the end of `taken`, in any order; true where there were any.
    pub(super) fn take_completed(
        &self,
        window: u32,
        completes: Completes,
        taken: &mut Vec<Operation>,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let before = taken.len();
        self.table.with(|table| {
            let mut stays = |(of, operation): &Started| {
                let stays = of.index != window || !completes.includes(operation);
                if !stays {
                    taken.push(*operation);
                }
                stays
            };
            table.retain(|_, waiting| {
                waiting.others.retain(&mut stays);
                stays(&waiting.first) || waiting.next().is_some()
            });
            self.count.store(table.len(), Ordering::Relaxed);
        });
        taken.len() > before
    }
}

impl Waiting {
    /// Takes the first, if others follow.
    fn next(&mut self) -> Option<Started> {
        self.others.pop_front().map(|next| mem::replace(&mut self.first, next))
    }
}

#[cfg(test)]
mod tests {
    use mpit_events::{Core, Ticks};

    use super::super::events::Moved;
    use super::super::operation::Kind;
    use super::super::synchronisation::Call;
    use super::*;

    fn window(index: u32) -> Arc<Window> {
        Arc::new(Window::new(index, 7, Core::new().no_object(), None, Vec::new(), false))
    }

    fn operation(id: u64, target: i32) -> Operation {
        let moved = Moved { target, address: 0, size: 1 };
        Operation { id, started: Ticks(0), moved, thread: 0, kind: Kind::Get, has_request: true }
    }

    #[test]
    fn an_operation_is_complete_with_its_request_or_with_its_window() {
        let requests = Requests::default();
        for (handle, of, target) in [(10, 0, 0), (11, 0, 1), (12, 1, 0)] {
            assert!(requests.insert(handle, window(of), operation(handle as u64, target)).is_none());
        }
        assert_eq!(requests.take(10).unwrap().1.id, 10);
        assert!(requests.take(10).is_none() && !requests.is_empty());
        let mut taken = Vec::new();
        requests.take_completed(0, Call::FlushLocal(0).completes().unwrap(), &mut taken);
        assert!(taken.is_empty());
        requests.take_completed(0, Call::FlushAll.completes().unwrap(), &mut taken);
        assert_eq!(taken.iter().map(|operation| operation.id).collect::<Vec<_>>(), [11]);
        assert_eq!(requests.take(12).unwrap().1.id, 12);
        assert!(requests.is_empty());
    }

    #[test]
    fn each_wait_for_a_request_that_many_share_completes_one() {
        let requests = Requests::default();
        for (id, of) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
            assert!(requests.insert(10, window(of), operation(id, 0)).is_none());
        }
        assert_eq!(requests.take(10).unwrap().1.id, 1);
        let mut taken = Vec::new();
        assert!(requests.take_completed(1, Call::Free.completes().unwrap(), &mut taken));
        assert_eq!(taken.iter().map(|operation| operation.id).collect::<Vec<_>>(), [4, 2]);
        assert_eq!(requests.take(10).unwrap().1.id, 3);
        assert!(requests.take(10).is_none() && requests.is_empty());
    }

    #[test]
    fn operations_that_nobody_waits_for_are_bounded() {
        let (requests, window) = (Requests::default(), window(0));
        let removed = (0..MOST as u64 + 5)
            .filter_map(|id| requests.insert(10, window.clone(), operation(id, 0)))
            .map(|(_, operation)| operation.id);
        assert_eq!(removed.collect::<Vec<_>>(), (0..5).collect::<Vec<_>>());
    }
}
