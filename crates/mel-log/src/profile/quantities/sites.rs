//! The calls of a function, or of a call site, on all ranks together, beside the whole run.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::schema::Profile;
use crate::profile::sums::{Sum, all_runs_s, share, whole};

/// Calls that belong together, and what they are a part of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// What they did.
    pub sum: Sum,
    /// The time of all ranks.
    pub run_s: f64,
    /// The part of it in MPI.
    pub mpi_s: f64,
}

impl Part {
    /// What makes parts of sums of a run's calls.
    pub fn of_run(profile: &Profile) -> impl Fn(&Sum) -> Part + use<> {
        let (run_s, mpi_s) = (all_runs_s(profile), whole(profile).total_s);
        move |sum| Part { sum: *sum, run_s, mpi_s }
    }
}

const CALLED_THERE: Quantity<Part> = Quantity { group: "call sites", fold: Fold::None, ..Quantity::NONE };

/// What was called.
pub const CALLED: &[Quantity<Part>] = &[
    Quantity {
        name: "calls",
        fold: Fold::Sum,
        sentence: "number of calls",
        of: |of| Some(of.sum.calls as f64),
        head: Some("calls"),
        ..CALLED_THERE
    },
    Quantity {
        name: "time",
        unit: Unit::Seconds,
        fold: Fold::Sum,
        sentence: "time in the calls",
        of: |of| Some(of.sum.total_s),
        head: Some("time"),
        diff: true,
        ..CALLED_THERE
    },
    Quantity {
        name: "share of the run",
        unit: Unit::Share,
        fold: Fold::Sum,
        sentence: "the part of the time of all ranks",
        of: |of| Some(share(of.sum.total_s, of.run_s)),
        head: Some("of run"),
        ..CALLED_THERE
    },
    Quantity {
        name: "share of MPI",
        unit: Unit::Share,
        fold: Fold::Sum,
        sentence: "the part of the time in MPI",
        of: |of| Some(share(of.sum.total_s, of.mpi_s)),
        head: Some("of MPI"),
        ..CALLED_THERE
    },
    Quantity {
        name: "mean bytes",
        unit: Unit::Bytes,
        sentence: "bytes of a message as the program means it: count times type; bytes sent and received have what is moved",
        of: |of| Some(of.sum.mean_bytes()),
        head: Some("bytes/call"),
        ..CALLED_THERE
    },
];

/// What there is space for in one screen: how often, how long, and how much that is.
pub const CALLED_IN_SHORT: &[Quantity<Part>] = CALLED.split_at(3).0;

const RECEIVED_THERE: Quantity<Part> =
    Quantity { group: "receives by call site", basis: Basis::Modelled, fold: Fold::Sum, ..Quantity::NONE };

/// All messages that receives found.
fn messages(of: &Part) -> f64 {
    of.sum.messages.expected.saturating_add(of.sum.messages.unexpected) as f64
}

/// What the receives posted there found in the queues.
pub const RECEIVED: &[Quantity<Part>] = &[
    Quantity {
        name: "messages",
        sentence: "messages of the receives",
        of: |of| Some(messages(of)),
        head: Some("messages"),
        ..RECEIVED_THERE
    },
    Quantity {
        name: "unexpected",
        unit: Unit::Share,
        fold: Fold::None,
        sentence: "the part of them that came before its receive was posted",
        of: |of| Some(share(of.sum.messages.unexpected as f64, messages(of))),
        head: Some("unexpected"),
        ..RECEIVED_THERE
    },
    Quantity {
        name: "copied",
        unit: Unit::Bytes,
        sentence: "bytes of those, which MPI has to store and to copy",
        of: |of| Some(of.sum.messages.unexpected_bytes as f64),
        head: Some("copied"),
        ..RECEIVED_THERE
    },
    Quantity {
        name: "searching",
        unit: Unit::Seconds,
        sentence: "time in searches of the unexpected queue",
        of: |of| Some(of.sum.messages.search_s),
        head: Some("searching"),
        ..RECEIVED_THERE
    },
    Quantity {
        name: "longest search",
        unit: Unit::Seconds,
        fold: Fold::Max,
        sentence: "the longest of them",
        of: |of| Some(of.sum.messages.longest_search_s),
        head: Some("longest search"),
        ..RECEIVED_THERE
    },
];
