//! The requests of operations that bring data: such an operation is complete with its request.
//!
//! The request of a put or an accumulate says only that the origin's buffer is free (MPI-5.0, section 12.3.5), so
//! these are not here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use super::operation::Operation;
use super::synchronisation::Completes;
use super::window::Window;
use crate::Serial;

/// Operations with requests, by the requests' handles.
#[derive(Default)]
pub(super) struct Requests {
    count: AtomicUsize,
    table: Serial<FxHashMap<usize, (Arc<Window>, Operation)>>,
}

impl Requests {
    /// Several threads may call MPI at the same time from now on.
    pub(super) fn set_threads(&self) {
        self.table.set_threads();
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Gives back the operation that had this request: an MPI may have one for all operations that are complete when their
    /// call returns.
    #[must_use]
    pub(super) fn insert(
        &self,
        handle: usize,
        window: Arc<Window>,
        operation: Operation,
    ) -> Option<(Arc<Window>, Operation)> {
        self.table
            .with(|table| {
                let before = table.insert(handle, (window, operation));
                self.count.store(table.len(), Ordering::Relaxed);
                before
            })
            .flatten()
    }

    /// The operation of this request, which is in the caller's hands from now on.
    pub(super) fn take(&self, handle: usize) -> Option<(Arc<Window>, Operation)> {
        self.table
            .with(|table| {
                let found = table.remove(&handle);
                self.count.store(table.len(), Ordering::Relaxed);
                found
            })
            .flatten()
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
            let completed = |_: &usize, (of, operation): &mut (Arc<Window>, Operation)| {
                of.index == window && completes.includes(operation)
            };
            taken.extend(table.extract_if(completed).map(|(_, (_, operation))| operation));
            self.count.store(table.len(), Ordering::Relaxed);
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

    #[test]
    fn an_operation_is_complete_with_its_request_or_with_its_window() {
        let window =
            |index| Arc::new(Window::new(index, 7, Core::new().no_object(), None, Vec::new(), false));
        let operation = |id, target| Operation {
            id,
            started: Ticks(0),
            moved: Moved { target, address: 0, size: 1 },
            thread: 0,
            kind: Kind::Get,
            has_request: true,
        };
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
        let again = requests.insert(12, window(0), operation(13, 0)).unwrap();
        assert_eq!((again.0.index, again.1.id), (1, 12));
        assert_eq!(requests.take(12).unwrap().1.id, 13);
        assert!(requests.is_empty());
    }
}
