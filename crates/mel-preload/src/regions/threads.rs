//! What a thread keeps: the regions that it is in.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use mel_log::table::TimeInRegion;
use rustc_hash::FxHashMap;

use crate::lent::{Lender, OfThread};

/// What stands for no row.
pub(super) const NO_ROW: u32 = u32::MAX;
/// What stands for a row that found no space.
pub(super) const NO_SPACE: u32 = u32::MAX - 1;

/// A region that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) region: u16,
    /// Of its name.
    pub(super) hash: u64,
}

/// What a thread keeps. Only its thread uses it. Lives as long as the process: a thread that ends leaves it to a later one.
#[derive(Debug)]
pub(super) struct Thread {
    /// The region that it is in.
    pub(super) region: Cell<u16>,
    /// The regions that it has begun and not ended.
    pub(super) stack: RefCell<Vec<Entry>>,
    /// Regions by what they are in and the hash of their names.
    pub(super) known: RefCell<FxHashMap<(u16, u64), u16>>,
    /// Since when its time counts in the region, in ticks; 0 where it does not.
    pub(super) since: Cell<u64>,
    /// The row of the region that it is in, where that has one.
    pub(super) row: Cell<Option<&'static TimeInRegion>>,
    /// By region: the row that its time counts in, or [`NO_ROW`].
    pub(super) rows: RefCell<Vec<u32>>,
    /// Its number in these rows.
    pub(super) number: u16,
}

impl OfThread for Thread {
    fn new(number: u64) -> Thread {
        Thread {
            region: Cell::new(0),
            stack: RefCell::default(),
            known: RefCell::default(),
            since: Cell::new(0),
            row: Cell::new(None),
            rows: RefCell::default(),
            number: number as u16,
        }
    }

    fn end(&self) {
        super::times::leave(self);
        super::end_of_thread();
        self.stack.borrow_mut().clear();
        self.region.set(0);
    }
}

static LENDER: Lender<Thread> = Lender::new();

thread_local! {
    static CURRENT: Cell<Option<&'static Thread>> = const { Cell::new(None) };
}

/// What this thread keeps. The same until the thread ends.
#[inline]
pub(super) fn this() -> &'static Thread {
    CURRENT.get().unwrap_or_else(|| LENDER.lend(&CURRENT))
}

/// The same, if there is any.
pub(super) fn known() -> Option<&'static Thread> {
    CURRENT.get()
}

/// Whether the program has begun any region that is noted.
static ANY: AtomicBool = AtomicBool::new(false);

/// From now on threads may be in regions, or are in none.
pub(super) fn note_regions(any: bool) {
    // Calls of all threads read it.
    if ANY.load(Ordering::Relaxed) != any {
        ANY.store(any, Ordering::Relaxed);
    }
}

/// The region that this thread is in; 0 for none. A load where the program has named none.
#[inline(always)]
pub(crate) fn current() -> u16 {
    if ANY.load(Ordering::Relaxed) { known().map_or(0, |thread| thread.region.get()) } else { 0 }
}

/// What the end of a region does to those that a thread has begun: whether it fits the one that was begun last.
pub(super) fn end_of(stack: &mut Vec<Entry>, hash: u64) -> bool {
    match stack.iter().rposition(|entry| entry.hash == hash) {
        // Those in it were not ended: they end with it.
        Some(place) => {
            let fits = place + 1 == stack.len();
            stack.truncate(place);
            fits
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_does_not_fit_ends_what_lies_in_it_or_nothing() {
        let entry = |hash| Entry { region: hash as u16, hash };
        let mut stack = vec![entry(1), entry(2), entry(3)];
        assert!(end_of(&mut stack, 3));
        assert!(!end_of(&mut stack, 9));
        assert_eq!(stack, [entry(1), entry(2)]);
        assert!(!end_of(&mut stack, 1), "the second was not ended");
        assert!(stack.is_empty() && !end_of(&mut stack, 1));
    }
}
