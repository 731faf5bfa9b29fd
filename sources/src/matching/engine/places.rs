//! Where communicators are kept, of which a program may make and free any number, and what comes for those that are not there yet.
//!
//! Cost: making and freeing a communicator takes no longer with those that were made before, nor with those that are there. A freed one
//! may be in use still; whether it is takes a look at all receives, and so is asked once for many.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Comm;
use crate::matching::envelope::{CommIndex, Envelope};
use crate::matching::queues::Slab;
use crate::matching::receive::Receive;

/// Places of communicators that were freed.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Freed since the last look at what may be in use.
    freed: Vec<CommIndex>,
    /// Freed before that, and in use then.
    in_use: Vec<CommIndex>,
    /// For others.
    vacant: Vec<CommIndex>,
}

/// So few freed communicators are not looked at where there are receives to be looked at.
const FEW: usize = 16;
/// For each freed communicator, at most so many receives are looked at.
const RECEIVES_EACH: usize = 8;

impl Places {
    /// The communicator at this place was freed.
    pub(super) fn free(&mut self, comm: CommIndex) {
        self.freed.push(comm);
    }

    /// A place whose communicator was freed and is not in use any more.
    pub(super) fn take(&mut self, comms: &[Comm], receives: &Slab<Receive>) -> Option<CommIndex> {
        // Receives in no list are matched, and known to nobody else.
        let is_cheap = receives.apart() == 0 || self.freed.len() >= FEW + receives.len() / RECEIVES_EACH;
        if self.vacant.is_empty() && self.freed.len() > self.in_use.len() && is_cheap {
            self.look(comms, receives);
        }
        self.vacant.pop()
    }

    #[cold]
    fn look(&mut self, comms: &[Comm], receives: &Slab<Receive>) {
        let with_receives: FxHashSet<u32> = match receives.apart() {
            0 => FxHashSet::default(),
            _ => receives.iter().map(|(_, receive)| receive.comm.0).collect(),
        };
        let is_idle = |comm: &CommIndex| {
            !with_receives.contains(&comm.0) && comms.get(comm.0 as usize).is_none_or(Comm::is_idle)
        };
        let freed = self.in_use.drain(..).chain(self.freed.drain(..));
        let (vacant, in_use) = freed.partition(is_idle);
        (self.vacant, self.in_use) = (vacant, in_use);
    }
}

/// Envelopes kept for communicators that this process has not made yet.
const MAX_EARLY: usize = 1 << 16;

/// Envelopes for communicators that this process has not made yet, by the identities of these.
#[derive(Debug, Default)]
pub(super) struct Early {
    by_context: FxHashMap<u64, Vec<Envelope>>,
    count: usize,
}

impl Early {
    /// Keeps an envelope; false where there are too many.
    pub(super) fn keep(&mut self, envelope: &Envelope) -> bool {
        let has_space = self.count < MAX_EARLY;
        if has_space {
            self.by_context.entry(envelope.context).or_default().push(*envelope);
            self.count += 1;
        }
        has_space
    }

    /// Those of a communicator, in the order in which they came.
    pub(super) fn take(&mut self, context: u64) -> Vec<Envelope> {
        // A single load where there is none, as nearly always.
        let found = if self.count == 0 { None } else { self.by_context.remove(&context) };
        let found = found.unwrap_or_default();
        self.count -= found.len();
        found
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Early::default();
    }
}
