//! What a conversion counts, and what is to be said besides.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What went into an archive, and what did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// MPI calls that were entered.
    pub calls: u64,
    /// Message records.
    pub messages: u64,
    /// Collective operations.
    pub collectives: u64,
    /// Operations on windows that were started.
    pub operations: u64,
    /// Regions that were entered on the locations of event sources, such as searches.
    pub regions: u64,
    /// Changes of the length of a queue.
    pub queue_changes: u64,
    /// Samples of variables.
    pub samples: u64,
    /// Records whose time was moved forward, because the one before was later.
    pub moved: u64,
    /// Regions that were ended where their location ends, because the log has no end for them.
    pub unfinished: u64,
    /// Ends without a beginning.
    pub unbegun: u64,
    /// Messages, and collective operations, whose communicator or peer the log does not define.
    pub unknown_messages: u64,
    /// Messages of which the logs have one side only, because recording was off at the other one.
    pub one_sided: u64,
    /// Event types that have no place in the archive: they are no pairs, or pairs that cross others.
    pub left_out: BTreeMap<String, u64>,
}

impl Summary {
    pub(super) fn add(&mut self, other: Summary) {
        let Summary {
            calls,
            messages,
            collectives,
            operations,
            regions,
            queue_changes,
            samples,
            moved,
            unfinished,
            unbegun,
            unknown_messages,
            one_sided,
            left_out,
        } = other;
        self.calls += calls;
        self.messages += messages;
        self.collectives += collectives;
        self.queue_changes += queue_changes;
        self.samples += samples;
        self.operations += operations;
        self.regions += regions;
        self.moved += moved;
        self.unfinished += unfinished;
        self.unbegun += unbegun;
        self.unknown_messages += unknown_messages;
        self.one_sided += one_sided;
        for (name, count) in left_out {
            *self.left_out.entry(name).or_default() += count;
        }
    }
}

/// Something to say about a time of a rank: a marker in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Nanoseconds since the first record of the run.
    pub nanos: u64,
    /// Its subject: remarks of one subject have one kind of markers.
    pub subject: String,
    /// The remark itself.
    pub text: String,
}
