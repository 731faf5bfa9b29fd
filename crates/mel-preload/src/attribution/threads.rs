//! What a thread keeps: where it is in reading.
//!
//! It is found by a variable of the thread, and in a hook by the hook's slot. One part of ours at a time works with it: regions begin and end
//! between the program's MPI calls, and hooks run in these.

use std::cell::Cell;

use mpit_sources::budget::Dice;

use crate::lent::{Lender, OfThread};

/// What stands for no context.
pub(super) const NO_CONTEXT: u32 = u32::MAX;

/// What a thread keeps. Lives as long as the process: a thread that ends leaves it to a later one.
#[derive(Debug)]
pub(super) struct Thread {
    /// Its number in the profile of calls; none before its first call.
    pub(super) number: Cell<Option<u16>>,
    /// The context of what is outside of MPI, with the phase and the region that it is for.
    pub(super) outside: Cell<(u16, u16, u32)>,
    /// Calls until the next one that is read, and how many have come since the last.
    pub(super) left: Cell<u32>,
    pub(super) since: Cell<u32>,
    /// Whether the call under way is read, and whether what is outside after the last call is.
    pub(super) reads: Cell<bool>,
    pub(super) reads_outside: Cell<bool>,
    pub(super) dice: Cell<Dice>,
}

impl OfThread for Thread {
    fn new(number: u64) -> Thread {
        Thread {
            number: Cell::new(None),
            outside: Cell::new((0, 0, NO_CONTEXT)),
            left: Cell::new(1),
            since: Cell::new(0),
            reads: Cell::new(false),
            reads_outside: Cell::new(true),
            dice: Cell::new(Dice::new(number + 1)),
        }
    }

    fn begin(&self) {
        self.number.set(None);
        self.outside.set((0, 0, NO_CONTEXT));
        self.left.set(1);
        self.since.set(0);
        self.reads.set(false);
        self.reads_outside.set(true);
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
