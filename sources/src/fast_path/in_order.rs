//! Requests that end in the order in which they were made, as those of most programs do.
//!
//! Cost: an entry is appended, and the next one is looked at: the memory of neighbours. A table of the same requests
//! by handle has each of them in a cache line of its own, which another call's data have thrown out by then.

/// Requests that are kept here before they go to the table.
const CAPACITY: usize = 256;

/// A request, by the value of its handle.
#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    handle: usize,
    tracked: T,
}

/// Requests in the order in which they were made.
#[derive(Debug)]
pub(crate) struct InOrder<T> {
    entries: Vec<Entry<T>>,
    /// Those before it have ended.
    next: usize,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        InOrder { entries: Vec::with_capacity(CAPACITY), next: 0 }
    }
}

impl<T> InOrder<T> {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a request can be added.
    #[inline(always)]
    pub(crate) fn has_space(&self) -> bool {
        self.entries.len() < CAPACITY
    }

    /// Gives back the space of requests that have ended; whether there is space then.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_space(&mut self) -> bool {
        // Not for a few entries, which would be moved again and again.
        if self.next >= CAPACITY / 2 {
            self.entries.drain(..std::mem::take(&mut self.next));
        }
        self.has_space()
    }

    /// Adds a request; there is space. A request of the same handle that is next, and whose end nobody has seen, is over.
    #[inline(always)]
    pub(crate) fn push(&mut self, handle: usize, tracked: T) {
        if self.peek(handle).is_some() {
            self.advance();
        }
        // Filled in place: a copy that is put together elsewhere is loaded before its stores have left the processor.
        self.entries.push(Entry { handle, tracked });
    }

    /// What is known of this request, if it is the next one.
    #[inline(always)]
    pub(crate) fn peek(&self, handle: usize) -> Option<&T> {
        self.entries.get(self.next).filter(|entry| entry.handle == handle).map(|entry| &entry.tracked)
    }

    /// The next request is over.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.next += 1;
        if self.next == self.entries.len() {
            self.entries.clear();
            self.next = 0;
        }
    }

    /// Gives all requests away, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (usize, T)> {
        let next = std::mem::take(&mut self.next);
        self.entries.drain(..).skip(next).map(|Entry { handle, tracked }| (handle, tracked))
    }
}
