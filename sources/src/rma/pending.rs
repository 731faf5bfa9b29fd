//! Operations of a window that have been started and not been completed.
//!
//! Each thread adds to a list of its own, which no lock protects from it: sixteen threads that put at once do not meet.
//! A call that synchronises goes into the lists that hold something ([`Ring`]).

use std::sync::atomic::{AtomicUsize, Ordering};

use mpit_events::Ring;

use super::operation::Operation;
use super::synchronisation::{Completes, Whose};
use crate::Serial;

/// Lists of a window where several threads may call MPI. Further threads share the last.
const LISTS: usize = 64;
/// Operations that a list keeps: further ones are followed no more, so that a program that never completes any does
/// not fill the memory.
const MOST: usize = 1 << 18;

/// The operations of a window that are under way.
pub(super) struct Pending {
    lists: Box<[Ring<Operation>]>,
    /// For adding to the last list, where threads share it.
    sharing: Serial<()>,
    /// Lists from this one on have never held anything.
    used: AtomicUsize,
    /// What was taken and is under way nevertheless.
    back: Serial<Vec<Operation>>,
    /// How much that is.
    given_back: AtomicUsize,
}

impl Pending {
    /// None yet. `threads`: several threads may call MPI at once.
    pub(super) fn new(threads: bool) -> Self {
        let (sharing, back) = (Serial::default(), Serial::default());
        if threads {
            sharing.set_threads();
            back.set_threads();
        }
        let lists = (0..if threads { LISTS } else { 1 }).map(|_| Ring::new()).collect();
        let (used, given_back) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Pending { lists, sharing, used, back, given_back }
    }

    /// The list to which no other thread adds; none where this thread has to share the last. From now on calls that
    /// synchronise look into it.
    pub(super) fn list_of(&self, thread: u32) -> Option<&Ring<Operation>> {
        let (place, last) = (thread as usize, self.lists.len() - 1);
        self.used.fetch_max(place.min(last) + 1, Ordering::Relaxed);
        self.lists.get(place).filter(|_| place + 1 < LISTS)
    }

    /// Puts an operation that the calling thread has started where it will be in that thread's list, once it is
    /// [published](Ring::publish); none where the list is full.
    ///
    /// # Safety
    /// The list is that of the calling thread ([`list_of`](Pending::list_of)), or MPI lets only one thread at a time call it;
    /// and it puts no other one while what this gives is used.
    #[inline(always)]
    pub(super) unsafe fn put(list: &Ring<Operation>, operation: Operation) -> Option<&Operation> {
        // SAFETY: only the operation's thread adds to this list, because it is not the last, and that is the calling one;
        // or one thread at a time calls.
        unsafe { list.put(operation, MOST) }
    }

    /// Adds an operation of a thread that has no list of its own; false where there is no room.
    #[cold]
    #[inline(never)]
    pub(super) fn add_to_last(&self, operation: Operation) -> bool {
        let last = &self.lists[self.lists.len() - 1];
        // SAFETY: threads that share the list add one after the other; where there is one list, MPI sees to that.
        self.sharing.with(|()| unsafe { last.add(operation, MOST) }) == Some(true)
    }

    /// An operation, of whichever thread, was taken, and is under way nevertheless.
    #[cold]
    pub(super) fn give_back(&self, operation: &Operation) {
        self.back.with(|back| {
            back.push(*operation);
            self.given_back.store(back.len(), Ordering::Relaxed);
        });
    }

    /// Moves the operations that are completed to the end of `taken`, those of each thread in order; true where these
    /// are not in order already.
    pub(super) fn take(&self, completes: Completes, taken: &mut Vec<Operation>) -> bool {
        let all = completes == Completes { whose: Whose::All, only_data: false };
        let included = |operation: &Operation| completes.includes(operation);
        // What was started before this call in MPI's order is seen: the application has ordered the two.
        let back = self.given_back.load(Ordering::Relaxed) != 0;
        if back {
            self.back.with(|back| {
                taken.extend(back.extract_if(.., |operation| included(operation)));
                self.given_back.store(back.len(), Ordering::Relaxed);
            });
        }
        for list in &self.lists[..self.used.load(Ordering::Relaxed)] {
            if !list.is_empty() {
                list.take(all, included, taken);
            }
        }
        back
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
        let moved = Moved { target, address: 0, size: 8 };
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
    fn what_is_given_back_is_taken_again() {
        let pending = some();
        pending.give_back(&operation(9, 1, 1, Kind::Put));
        assert_eq!(taken(&pending, Call::Flush(1)), [9, 2, 3]);
        assert_eq!(taken(&pending, Call::Flush(1)), []);
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
