//! Requests that end in the order in which they were made, as those of most programs do.
//!
//! Cost: an entry is appended, and the next one is looked at: the memory of neighbours. A table of the same requests
//! by handle has each of them in a cache line of its own, which another call's data have thrown out by then.

use super::requests::Tracked;

/// Requests that are kept here before they go to the table.
const ROOM: usize = 256;

/// A request, by the value of its handle.
#[derive(Clone, Copy, Debug)]
struct Entry {
    handle: usize,
    tracked: Tracked,
}

/// Requests in the order in which they were made.
#[derive(Debug)]
pub(super) struct InOrder {
    entries: Vec<Entry>,
    /// Those before it have ended.
    next: usize,
}

impl Default for InOrder {
    fn default() -> Self {
        InOrder { entries: Vec::with_capacity(ROOM), next: 0 }
    }
}

impl InOrder {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a request can be added.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.entries.len() < ROOM
    }

    /// Gives back the room of requests that have ended; whether there is room then.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(&mut self) -> bool {
        // Not for a few entries, which would be moved again and again.
        if self.next >= ROOM / 2 {
            self.entries.drain(..std::mem::take(&mut self.next));
        }
        self.has_room()
    }

    /// Adds a request; there is room. A request of the same handle that is next, and whose end nobody has seen, is over.
    #[inline(always)]
    pub(super) fn push(&mut self, handle: usize, tracked: Tracked) {
        if self.peek(handle).is_some() {
            self.advance();
        }
        // Filled in place: a copy that is put together elsewhere is loaded before its stores have left the processor.
        self.entries.push(Entry { handle, tracked });
    }

    /// What is known of this request, if it is the next one.
    #[inline(always)]
    pub(super) fn peek(&self, handle: usize) -> Option<&Tracked> {
        self.entries.get(self.next).filter(|entry| entry.handle == handle).map(|entry| &entry.tracked)
    }

    /// The next request is over.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.next += 1;
        if self.next == self.entries.len() {
            self.entries.clear();
            self.next = 0;
        }
    }

    /// Gives all requests away, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (usize, Tracked)> {
        let next = std::mem::take(&mut self.next);
        self.entries.drain(..).skip(next).map(|Entry { handle, tracked }| (handle, tracked))
    }
}
