//! Operations of a window that have been started and not been completed.
//!
//! Each thread adds to a list of its own, under a lock that it has to itself but while another thread
//! synchronises: sixteen threads that put at once do not meet. A call that synchronises looks at a counter per
//! list and goes into those that are not empty. Adding costs a store to the list's end; taking those of all
//! targets copies them; taking those of one target looks at all that are in the list.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::operation::Operation;
use super::synchronisation::{Completes, Whose};
use crate::Serial;

/// Lists of a window where several threads may call MPI. Further threads share them.
const LISTS: usize = 64;
/// Operations that a list keeps: further ones are followed no more, so that a program that never completes any does
/// not fill the memory.
const MOST: usize = 1 << 18;
/// Operations that a list has room for from the first one on.
const ROOM: usize = 64;

/// Not in the same cache line as another thread's, nor in the one that is fetched with it.
#[repr(align(128))]
struct List {
    length: AtomicUsize,
    operations: Serial<Vec<Operation>>,
}

/// The operations of a window that are under way.
pub(super) struct Pending {
    lists: Box<[List]>,
    /// Lists from this one on have never held anything.
    used: AtomicUsize,
}

impl Pending {
    /// None yet. `threads`: several threads may call MPI at once.
    pub(super) fn new(threads: bool) -> Self {
        let list = |_| {
            let operations = Serial::default();
            if threads {
                operations.set_threads();
            }
            List { length: AtomicUsize::new(0), operations }
        };
        let lists = (0..if threads { LISTS } else { 1 }).map(list).collect();
        Pending { lists, used: AtomicUsize::new(0) }
    }

    /// Adds an operation to its thread's list; false where the list is full.
    #[inline]
    pub(super) fn add(&self, operation: &Operation) -> bool {
        let place = operation.thread as usize % self.lists.len();
        let list = &self.lists[place];
        let add = |operations: &mut Vec<Operation>| {
            if operations.len() == operations.capacity() && !self.grow(place, operations) {
                return false;
            }
            operations.push(*operation);
            list.length.store(operations.len(), Ordering::Relaxed);
            true
        };
        list.operations.with(add) == Some(true)
    }

    /// Makes room in a list; false where there is enough already.
    #[cold]
    #[inline(never)]
    fn grow(&self, place: usize, operations: &mut Vec<Operation>) -> bool {
        self.used.fetch_max(place + 1, Ordering::Relaxed);
        let more = operations.len() < MOST;
        if more {
            operations.reserve(operations.len().max(ROOM));
        }
        more
    }

    /// Moves the operations that are completed to the end of `taken`, those of each thread in order.
    pub(super) fn take(&self, completes: Completes, taken: &mut Vec<Operation>) {
        let all = completes == Completes { whose: Whose::All, only_data: false };
        for list in &self.lists[..self.used.load(Ordering::Relaxed)] {
            // What was started before this call in MPI's order is seen: the application has ordered the two.
            if list.length.load(Ordering::Relaxed) == 0 {
                continue;
            }
            list.operations.with(|operations| {
                if all {
                    taken.append(operations);
                } else {
                    taken.extend(operations.extract_if(.., |operation| completes.includes(operation)));
                }
                list.length.store(operations.len(), Ordering::Relaxed);
            });
        }
    }
}

impl Completes {
    /// Whether this operation is among them.
    #[inline]
    pub(super) fn includes(self, operation: &Operation) -> bool {
        let whose = match self.whose {
            Whose::All => true,
            Whose::Target(target) => operation.target == target,
        };
        whose && (!self.only_data || operation.kind.brings_data())
    }
}

#[cfg(test)]
mod tests {
    use mpit_events::Ticks;

    use super::super::operation::Kind;
    use super::super::synchronisation::Call;
    use super::*;

    fn operation(id: u64, thread: u32, target: i32, kind: Kind) -> Operation {
        Operation { id, started: Ticks(id), address: 0, bytes: 8, target, thread, kind, has_request: false }
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
            assert!(pending.add(&operation(id, thread, target, kind)));
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
        let added = (0..MOST as u64 + 5).filter(|id| pending.add(&operation(*id, 0, 0, Kind::Put))).count();
        assert_eq!(added, MOST);
        assert_eq!(taken(&pending, Call::Fence).len(), MOST);
        assert!(pending.add(&operation(0, 0, 0, Kind::Put)));
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
                        assert!(pending.add(&operation(id, thread, (id % 3) as i32, Kind::Put)));
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
