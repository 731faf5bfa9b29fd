//! The requests of operations that bring data: such an operation is complete with its request.
//!
//! The request of a put or an accumulate says only that the origin's buffer is free (MPI-5.0, section 12.3.5), so
//! these are not here.
//!
//! Each operation is in three lists: those of its request, of its window, and of its target. So a wait looks at one operation, and a call that
//! synchronises at those that it completes, however many others are pending.

use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use super::operation::Operation;
use super::synchronisation::{Completes, Whose};
use super::window::Window;
use crate::Serial;

/// The most operations that share a request: an application may never wait for them. An MPI may have one request for all operations that
/// are complete when their call returns: Open MPI does, in shared memory. Each wait for it completes one of them.
const MOST: u32 = 1 << 16;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// Operations with requests, by the requests' handles.
#[derive(Default)]
pub(super) struct Requests {
    count: AtomicUsize,
    table: Serial<Table>,
}

type Started = (Arc<Window>, Operation);

/// What the operations of a list have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Common {
    Request(usize),
    Window(u32),
    Target(u32, i32),
}

/// A list of operations, the first one that was started first.
struct List {
    first: u32,
    last: u32,
    count: u32,
}

/// The neighbours of an operation in a list.
#[derive(Clone, Copy)]
struct Link {
    before: u32,
    next: u32,
}

/// An operation that waits to be completed.
struct Waiting {
    handle: usize,
    started: Started,
    /// In the lists of [`commons`].
    links: [Link; 3],
}

/// The lists that an operation is in.
fn commons(handle: usize, (window, operation): &Started) -> [Common; 3] {
    let window = window.index;
    [Common::Request(handle), Common::Window(window), Common::Target(window, operation.moved.target)]
}

#[derive(Default)]
struct Table {
    places: Vec<Option<Waiting>>,
    free: Vec<u32>,
    lists: FxHashMap<Common, List>,
}

impl Table {
    fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn get(&mut self, place: u32) -> Option<&mut Waiting> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    fn first(&self, of: Common) -> u32 {
        self.lists.get(&of).map_or(NOWHERE, |list| list.first)
    }

    /// Adds an operation; removes the first one of its request where too many share it.
    fn insert(&mut self, handle: usize, started: Started) -> Option<Started> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        let mut links = [Link { before: NOWHERE, next: NOWHERE }; 3];
        let mut of_request = 0;
        for (kind, common) in commons(handle, &started).into_iter().enumerate().rev() {
            let list = self.lists.entry(common).or_insert(List { first: place, last: NOWHERE, count: 0 });
            list.count += 1;
            of_request = list.count;
            let before = std::mem::replace(&mut list.last, place);
            links[kind].before = before;
            if let Some(before) = self.get(before) {
                before.links[kind].next = place;
            }
        }
        self.places[place as usize] = Some(Waiting { handle, started, links });
        if of_request <= MOST { None } else { self.remove(self.first(Common::Request(handle))) }
    }

    fn remove(&mut self, place: u32) -> Option<Started> {
        let Waiting { handle, started, links } = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        for (kind, common) in commons(handle, &started).into_iter().enumerate() {
            let Link { before, next } = links[kind];
            if let Some(before) = self.get(before) {
                before.links[kind].next = next;
            }
            if let Some(next) = self.get(next) {
                next.links[kind].before = before;
            }
            let Entry::Occupied(mut list) = self.lists.entry(common) else { continue };
            let List { first, last, count } = list.get_mut();
            *count -= 1;
            if *count == 0 {
                list.remove();
                continue;
            }
            if *first == place {
                *first = next;
            }
            if *last == place {
                *last = before;
            }
        }
        Some(started)
    }
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

    /// What is done with the table.
    fn with<R>(&self, change: impl FnOnce(&mut Table) -> R) -> Option<R> {
        self.table.with(|table| {
            let result = change(table);
            self.count.store(table.count(), Ordering::Relaxed);
            result
        })
    }

    /// Adds the operation of a request; returns the first one where too many have it.
    #[must_use]
    pub(super) fn insert(&self, handle: usize, window: Arc<Window>, operation: Operation) -> Option<Started> {
        self.with(|table| table.insert(handle, (window, operation))).flatten()
    }

    /// Removes and returns the first operation of this request.
    pub(super) fn take(&self, handle: usize) -> Option<Started> {
        self.with(|table| table.remove(table.first(Common::Request(handle)))).flatten()
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
        let common = match completes.whose {
            Whose::All => Common::Window(window),
            Whose::Target(target) => Common::Target(window, target),
        };
        let before = taken.len();
        // All that wait here bring data, and are completed by a call that completes only those, too.
        self.with(|table| {
            while let Some((_, operation)) = table.remove(table.first(common)) {
                taken.push(operation);
            }
        });
        taken.len() > before
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
        let moved = Moved::new(target, 0, 1);
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
        assert_eq!(taken.iter().map(|operation| operation.id).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(requests.take(10).unwrap().1.id, 3);
        assert!(requests.take(10).is_none() && requests.is_empty());
    }

    #[test]
    fn operations_that_nobody_waits_for_are_bounded() {
        let (requests, window) = (Requests::default(), window(0));
        let removed = (0..u64::from(MOST) + 5)
            .filter_map(|id| requests.insert(10, window.clone(), operation(id, 0)))
            .map(|(_, operation)| operation.id);
        assert_eq!(removed.collect::<Vec<_>>(), (0..5).collect::<Vec<_>>());
    }

    #[test]
    fn whatever_ends_first_what_is_left_is_what_has_not_ended() {
        let (requests, windows) = (Requests::default(), [window(0), window(1)]);
        let mut left: Vec<(usize, u32, Operation)> = Vec::new();
        let mut taken = Vec::new();
        for id in 0..3000u64 {
            let (handle, of, target) = ((id * 7 % 13) as usize, (id % 2) as u32, (id * 5 % 3) as i32);
            let started = operation(id, target);
            assert!(requests.insert(handle, windows[of as usize].clone(), started).is_none());
            left.push((handle, of, started));
            if id % 3 == 0 {
                let handle = (id % 17) as usize;
                let place = left.iter().position(|waiting| waiting.0 == handle);
                let expected = place.map(|place| left.remove(place).2);
                assert_eq!(requests.take(handle).map(|(_, operation)| operation), expected);
            }
            if id % 50 == 0 {
                let (of, call) =
                    ((id / 50 % 2) as u32, [Call::Flush(1), Call::FlushLocalAll][id as usize / 100 % 2]);
                let completes = call.completes().unwrap();
                taken.clear();
                requests.take_completed(of, completes, &mut taken);
                let is_taken =
                    |waiting: &(usize, u32, Operation)| waiting.1 == of && completes.includes(&waiting.2);
                let expected: Vec<Operation> =
                    left.extract_if(.., |waiting| is_taken(waiting)).map(|waiting| waiting.2).collect();
                assert_eq!(taken, expected);
            }
            assert_eq!(requests.count.load(Ordering::Relaxed), left.len());
        }
    }
}
