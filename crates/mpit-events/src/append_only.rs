//! A list that only grows, read without a lock: indices stay valid for ever.

use crate::sync::{AtomicUsize, OnceLock, Ordering};

/// At most `N` values. All of it is allocated at once, on the heap: the stack of the thread that initialises MPI
/// may be small. Pushing is for one writer at a time (the core's lock), reading for all.
#[derive(Debug)]
pub(crate) struct AppendOnly<T, const N: usize> {
    slots: Box<[OnceLock<T>]>,
    len: AtomicUsize,
}

impl<T, const N: usize> AppendOnly<T, N> {
    pub(crate) fn new() -> Self {
        AppendOnly { slots: (0..N).map(|_| OnceLock::new()).collect(), len: AtomicUsize::new(0) }
    }

    /// Appends a value and returns its index, or the value itself when the list is full.
    pub(crate) fn push(&self, value: T) -> Result<usize, T> {
        let index = self.len();
        match self.slots.get(index) {
            None => Err(value),
            Some(slot) => {
                slot.set(value)?;
                self.len.store(index + 1, Ordering::Release);
                Ok(index)
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.slots.get(index)?.get()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}
