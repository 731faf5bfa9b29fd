//! Pending operations of a window: started and not completed.
//!
//! Each thread adds to a list of its own without a lock: sixteen threads that put at once do not wait for each other. A
//! call that synchronises searches the lists that are not empty ([`Ring`]). Where it leaves operations in a long list, the
//! next call would search them again, so they are put aside, by target. Otherwise a program that puts for days, and
//! flushes locally, would search all its puts in each flush.

use std::sync::atomic::{AtomicUsize, Ordering, fence};

use mpit_events::Ring;
use rustc_hash::FxHashMap;

use super::operation::Operation;
use super::synchronisation::{Completes, Whose};
use crate::Serial;

/// Lists of a window where several threads may call MPI. Further threads share the last.
const LISTS: usize = 64;
/// Capacity of a list: further operations are not followed, so that a program that never completes any does not fill the
/// memory.
const MOST: usize = 1 << 18;
/// Length of a list from which on its remaining operations are put aside. Searching a shorter one costs less than putting
/// one operation aside.
const MANY: usize = 256;

/// The pending operations of a window.
pub(super) struct Pending {
    lists: Box<[Ring<Operation>]>,
    /// For adding to the last list, where threads share it.
    sharing: Serial<()>,
    /// Lists from this one on have never held anything.
    used: AtomicUsize,
    aside: Serial<Aside>,
    /// How many are aside; not zero while an operation is put there.
    set_aside: AtomicUsize,
}

/// Pending operations that are in no list.
#[derive(Default)]
struct Aside {
    count: usize,
    /// By target, and by whether they bring data.
    operations: FxHashMap<(i32, bool), Vec<Operation>>,
}

/// What [`Pending::take`] returns besides the taken operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Whether those of each thread are in order.
    pub(super) in_order: bool,
    /// Others that were lost, beyond the capacity: those that write, and those that bring data.
    pub(super) lost: [u64; 2],
}

impl Pending {
    /// No operations. `threads`: several threads may call MPI at once.
    pub(super) fn new(threads: bool) -> Self {
        let (sharing, aside) = (Serial::default(), Serial::default());
        if !threads {
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and nothing else uses it.
            unsafe { sharing.leave_to_one_thread() };
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and nothing else uses it.
            unsafe { aside.leave_to_one_thread() };
        }
        let lists = (0..if threads { LISTS } else { 1 }).map(|_| Ring::new()).collect();
        let (used, set_aside) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Pending { lists, sharing, used, aside, set_aside }
    }

    /// The list to which no other thread adds; none where this thread shares the last one. From now on calls that
    /// synchronise search it.
    pub(super) fn list_of(&self, thread: u32) -> Option<&Ring<Operation>> {
        let (place, last) = (thread as usize, self.lists.len() - 1);
        self.used.fetch_max(place.min(last) + 1, Ordering::Relaxed);
        self.lists.get(place).filter(|_| place + 1 < LISTS)
    }

    /// Writes an operation of the calling thread into the next slot of that thread's list, to be
    /// [published](Ring::publish); none where the list is full.
    ///
    /// # Safety
    /// The list is that of the calling thread ([`list_of`](Pending::list_of)), or MPI lets only one thread at a time call it;
    /// and the thread puts no other one while the returned reference is used.
    #[inline(always)]
    pub(super) unsafe fn put(list: &Ring<Operation>, operation: Operation) -> Option<&Operation> {
        // SAFETY: only the operation's thread adds to this list, because it is not the last, and that is the calling one;
        // or one thread at a time calls.
        unsafe { list.put(operation, MOST) }
    }

    /// Adds an operation of a thread that has no list of its own; false where the shared one is full.
    #[cold]
    #[inline(never)]
    pub(super) fn add_to_last(&self, operation: Operation) -> bool {
        let last = &self.lists[self.lists.len() - 1];
        // SAFETY: threads that share the list add one after the other; where there is one list, MPI sees to that.
        self.sharing.with(|()| unsafe { last.add(operation, MOST) }) == Some(true)
    }

    /// Puts aside an operation, of whichever thread, that was taken and is pending nevertheless; false at the capacity.
    #[cold]
    pub(super) fn put_back(&self, operation: &Operation) -> bool {
        let most = self.most_aside();
        let put = |aside: &mut Aside| {
            let is_added = aside.add(*operation, most);
            self.set_aside.store(aside.count, Ordering::Relaxed);
            is_added
        };
        self.aside.with(put) == Some(true)
    }

    /// Moves the operations that are completed to the end of `taken`.
    pub(super) fn take(&self, completes: Completes, taken: &mut Vec<Operation>) -> Taken {
        let all = completes == Completes { whose: Whose::All, only_data: false };
        let mut result = Taken { in_order: true, lost: [0; 2] };
        // Operations that were started before this call in MPI's order are seen: the application has ordered the two.
        for list in &self.lists[..self.used.load(Ordering::Relaxed)] {
            match list.len() {
                0 => {}
                MANY.. if !all => self.take_of_many(list, completes, taken, &mut result.lost),
                _ => list.take(all, |operation| completes.includes(operation), taken),
            }
        }
        // A thread that finds a list empty then finds the operations that were put aside meanwhile.
        fence(Ordering::Acquire);
        if self.set_aside.load(Ordering::Relaxed) != 0 {
            let before = taken.len();
            self.aside.with(|aside| {
                aside.take(completes, taken);
                self.set_aside.store(aside.count, Ordering::Relaxed);
            });
            result.in_order = taken.len() == before;
        }
        result
    }

    /// Empties a list: operations that are not completed are put aside, or lost at the capacity.
    #[cold]
    #[inline(never)]
    fn take_of_many(
        &self,
        list: &Ring<Operation>,
        completes: Completes,
        taken: &mut Vec<Operation>,
        lost: &mut [u64; 2],
    ) {
        let (first, most) = (taken.len(), self.most_aside());
        self.aside.with(|aside| {
            // Before the list is empty for others.
            self.set_aside.store(aside.count + 1, Ordering::Relaxed);
            list.take(true, |_| true, taken);
            for operation in taken.extract_if(first.., |operation| !completes.includes(operation)) {
                if !aside.add(operation, most) {
                    lost[usize::from(operation.kind.brings_data())] += 1;
                }
            }
            self.set_aside.store(aside.count, Ordering::Relaxed);
        });
    }

    /// As many as all lists together.
    fn most_aside(&self) -> usize {
        MOST * self.used.load(Ordering::Relaxed)
    }
}

impl Aside {
    /// Adds an operation; false where there are `most` already.
    fn add(&mut self, operation: Operation, most: usize) -> bool {
        if self.count >= most {
            return false;
        }
        let of = (operation.moved.target, operation.kind.brings_data());
        self.operations.entry(of).or_default().push(operation);
        self.count += 1;
        true
    }

    /// Moves the operations that are completed to the end of `taken`.
    fn take(&mut self, completes: Completes, taken: &mut Vec<Operation>) {
        let before = taken.len();
        match completes.whose {
            Whose::All => {
                let completed = |of: &(i32, bool), _: &mut Vec<Operation>| of.1 || !completes.only_data;
                taken.extend(self.operations.extract_if(completed).flat_map(|(_, operations)| operations));
            }
            Whose::Target(target) => {
                for brings_data in [true, false] {
                    if brings_data || !completes.only_data {
                        taken.extend(self.operations.remove(&(target, brings_data)).into_iter().flatten());
                    }
                }
            }
        }
        self.count -= taken.len() - before;
    }
}

impl Completes {
    /// Whether this operation is among them.
    #[inline]
    pub(super) fn includes(self, operation: &Operation) -> bool {
        let whose = match self.whose {
            Whose::All => true,
            Whose::Target(target) => operation.moved.target == target,
        };
        whose && (!self.only_data || operation.kind.brings_data())
    }
}

#[cfg(test)]
mod tests {
    use mpit_events::Ticks;

    use super::super::events::Moved;
    use super::super::operation::Kind;
    use super::super::synchronisation::Call;
    use super::*;

    fn operation(id: u64, thread: u32, target: i32, kind: Kind) -> Operation {
        let moved = Moved::new(target, 0, 8);
        Operation { id, started: Ticks(id), moved, thread, kind, has_request: false }
    }

    fn add(pending: &Pending, operation: &Operation) -> bool {
        match pending.list_of(operation.thread) {
            // SAFETY: each thread of a test adds its own.
            Some(list) => unsafe { Pending::put(list, *operation).map(|_| list.publish()).is_some() },
            None => pending.add_to_last(*operation),
        }
    }

    fn taken(pending: &Pending, call: Call) -> Vec<u64> {
        let mut taken = Vec::new();
        pending.take(call.completes().unwrap(), &mut taken);
        taken.iter().map(|operation| operation.id).collect()
    }

    fn some() -> Pending {
        let pending = Pending::new(true);
        for (id, thread, target, kind) in
            [(1, 0, 0, Kind::Put), (2, 0, 1, Kind::Get), (3, 1, 1, Kind::Put), (4, 65, 0, Kind::FetchAndOp)]
        {
            assert!(add(&pending, &operation(id, thread, target, kind)));
        }
        pending
    }

    #[test]
    fn a_flush_completes_the_operations_of_all_threads_on_its_target() {
        let pending = some();
        assert_eq!(taken(&pending, Call::Flush(1)), [2, 3]);
        assert_eq!(taken(&pending, Call::Flush(1)), []);
        assert_eq!(taken(&pending, Call::Unlock(0)), [1, 4]);
    }

    #[test]
    fn a_local_flush_completes_what_brings_data() {
        let pending = some();
        assert_eq!(taken(&pending, Call::FlushLocal(0)), [4]);
        assert_eq!(taken(&pending, Call::FlushLocalAll), [2]);
        assert_eq!(taken(&pending, Call::FlushAll), [1, 3]);
    }

    #[test]
    fn fences_completes_and_unlocks_of_all_complete_all() {
        for call in [Call::Fence, Call::Complete, Call::UnlockAll, Call::FlushAll, Call::Free] {
            assert_eq!(taken(&some(), call), [1, 2, 3, 4], "{call:?}");
        }
        for call in [Call::Start, Call::Post, Call::Wait, Call::Lock(0, true), Call::LockAll] {
            assert_eq!(call.completes(), None, "{call:?}");
        }
    }

    #[test]
    fn a_list_has_an_end() {
        let pending = Pending::new(false);
        let added = (0..MOST as u64 + 5).filter(|id| add(&pending, &operation(*id, 0, 0, Kind::Put))).count();
        assert_eq!(added, MOST);
        assert_eq!(taken(&pending, Call::Fence).len(), MOST);
        assert!(add(&pending, &operation(0, 0, 0, Kind::Put)));
    }

    #[test]
    fn threads_beyond_the_lists_share_the_last() {
        let pending = Pending::new(true);
        std::thread::scope(|scope| {
            for thread in 60..70 {
                let pending = &pending;
                scope.spawn(move || {
                    (0..1000).for_each(|id| assert!(add(pending, &operation(id, thread, 0, Kind::Put))));
                });
            }
        });
        assert_eq!(taken(&pending, Call::Flush(0)).len(), 10_000);
    }

    #[test]
    fn what_is_put_back_is_taken_again() {
        let pending = some();
        assert!(pending.put_back(&operation(9, 1, 1, Kind::Put)));
        let mut taken = Vec::new();
        assert!(!pending.take(Call::Flush(1).completes().unwrap(), &mut taken).in_order);
        assert_eq!(taken.iter().map(|operation| operation.id).collect::<Vec<_>>(), [2, 3, 9]);
        assert_eq!(self::taken(&pending, Call::Flush(1)), []);
    }

    #[test]
    fn what_is_left_of_many_is_not_searched_again() {
        let pending = Pending::new(false);
        for id in 0..2 * MANY as u64 {
            let kind = if id % 8 == 0 { Kind::Get } else { Kind::Put };
            assert!(add(&pending, &operation(id, 0, (id / 8 % 2) as i32, kind)));
        }
        let ids = |wanted: fn(u64) -> bool| (0..2 * MANY as u64).filter(|id| wanted(*id)).collect::<Vec<_>>();
        assert_eq!(taken(&pending, Call::FlushLocal(1)), ids(|id| id % 16 == 8));
        assert!(pending.lists[0].is_empty());
        assert_eq!(taken(&pending, Call::FlushLocal(1)), []);
        assert_eq!(taken(&pending, Call::Flush(1)), ids(|id| id % 16 > 8));
        assert_eq!(taken(&pending, Call::FlushLocalAll), ids(|id| id % 16 == 0));
        assert_eq!(taken(&pending, Call::FlushAll), ids(|id| id % 16 > 0 && id % 16 < 8));
        assert_eq!(pending.set_aside.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_aside_has_an_end() {
        let pending = Pending::new(false);
        let mut lost = 0;
        for id in 0..MOST as u64 + 500 {
            assert!(add(&pending, &operation(id, 0, 0, Kind::Put)));
            if id % 500 == 499 {
                lost += pending.take(Call::FlushLocalAll.completes().unwrap(), &mut Vec::new()).lost[0];
            }
        }
        assert_eq!(lost, (MOST as u64 + 500) / 500 * 500 - MOST as u64);
        assert_eq!(taken(&pending, Call::FlushAll).len(), MOST + (MOST + 500) % 500);
    }

    #[test]
    fn sixteen_threads_lose_nothing() {
        let pending = Pending::new(true);
        let total: usize = std::thread::scope(|scope| {
            let work = |thread: u32| {
                let pending = &pending;
                move || {
                    let mut all = Vec::new();
                    for id in 0..2000 {
                        assert!(add(pending, &operation(id, thread, (id % 3) as i32, Kind::Put)));
                        if id % 50 == 0 {
                            pending.take(Call::Flush(1).completes().unwrap(), &mut all);
                        }
                    }
                    all.len()
                }
            };
            let threads: Vec<_> = (0..16).map(|thread| scope.spawn(work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(total + taken(&pending, Call::FlushAll).len(), 32_000);
    }
}
