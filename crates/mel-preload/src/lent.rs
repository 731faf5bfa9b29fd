//! States of threads, which live as long as the process: a thread that ends leaves its own to a later one.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::LocalKey;

use mpi_intercept::at_thread_end;

/// A state of a thread, which only that thread uses.
pub(crate) trait OfThread: 'static {
    /// The state of this number, from 0.
    fn new(number: u64) -> Self;
    /// A thread has it from now on that has done nothing yet.
    fn begin(&self) {}
    /// The thread that has it ends.
    fn end(&self) {}
}

/// Where a thread has its state. Constant and without a destructor, so that it is usable at any time in the life of a thread.
pub(crate) type Place<T> = LocalKey<Cell<Option<&'static T>>>;

/// A state that no thread has.
struct Vacant<T: 'static>(&'static T);

// SAFETY: it is in the list of those that no thread has, so that one thread at a time uses it.
unsafe impl<T> Send for Vacant<T> {}

/// Who makes states, and keeps those that no thread has.
pub(crate) struct Lender<T: 'static> {
    vacant: Mutex<Vec<Vacant<T>>>,
    made: AtomicU64,
}

impl<T: OfThread> Lender<T> {
    pub(crate) const fn new() -> Lender<T> {
        Lender { vacant: Mutex::new(Vec::new()), made: AtomicU64::new(0) }
    }

    /// Gives this thread a state, at its place, until the thread ends.
    #[cold]
    #[inline(never)]
    pub(crate) fn lend(&'static self, place: &'static Place<T>) -> &'static T {
        let vacant = || self.vacant.lock().unwrap_or_else(PoisonError::into_inner);
        let known = vacant().pop().map(|Vacant(state)| state);
        let make = || &*Box::leak(Box::new(T::new(self.made.fetch_add(1, Ordering::Relaxed))));
        let state = known.unwrap_or_else(make);
        state.begin();
        place.set(Some(state));
        at_thread_end(move || {
            place.set(None);
            state.end();
            self.vacant.lock().unwrap_or_else(PoisonError::into_inner).push(Vacant(state));
        });
        state
    }
}
