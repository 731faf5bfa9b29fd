//! What a rank did on a communicator.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::communicators::CommunicatorProfile;
use crate::profile::schema::Queues;

const ON: Quantity<CommunicatorProfile> = Quantity { group: "communicators", ..Quantity::NONE };

const QUEUE: Quantity<CommunicatorProfile> = Quantity { basis: Basis::Modelled, ..ON };

fn queues(of: &CommunicatorProfile, number: impl Fn(&Queues) -> f64) -> Option<f64> {
    of.queues.as_ref().map(number)
}

/// Calls, messages sent, and the queues.
pub const COMMUNICATORS: &[Quantity<CommunicatorProfile>] = &[
    Quantity {
        name: "calls",
        head: Some("calls"),
        key: "calls",
        sentence: "calls on it; those that complete requests, such as `MPI_Waitall`, are on none",
        of: |of| Some(of.calls as f64),
        ..ON
    },
    Quantity {
        name: "in mpi",
        head: Some("in MPI"),
        key: "in_mpi_s",
        unit: Unit::Seconds,
        sentence: "time in these",
        of: |of| Some(of.in_mpi_s),
        ..ON
    },
    Quantity {
        name: "waiting",
        head: Some("waiting"),
        key: "waiting_s",
        unit: Unit::Seconds,
        basis: Basis::Estimated,
        sentence: "time lost waiting for its messages, and in its collective operations",
        of: |of| Some(of.waiting_s),
        ..ON
    },
    Quantity {
        name: "messages",
        head: Some("messages"),
        key: "messages",
        sentence: "messages of the program that the rank has sent on it, where `matrix` was counted",
        of: |of| Some(of.messages as f64),
        ..ON
    },
    Quantity {
        name: "bytes",
        head: Some("bytes"),
        key: "bytes",
        unit: Unit::Bytes,
        sentence: "their bytes",
        of: |of| Some(of.bytes as f64),
        ..ON
    },
    Quantity {
        name: "receives",
        sentence: "receives that waited in the posted queue",
        of: |of| queues(of, |queues| queues.posted.messages as f64),
        ..QUEUE
    },
    Quantity {
        name: "posted queue max length",
        head: Some("posted"),
        fold: Fold::Max,
        sentence: "the most receives in the posted queue at any one time",
        of: |of| queues(of, |queues| queues.posted.max_length as f64),
        ..QUEUE
    },
    Quantity {
        name: "unexpected messages",
        sentence: "messages that came before their receive was posted",
        of: |of| queues(of, |queues| queues.unexpected.messages as f64),
        ..QUEUE
    },
    Quantity {
        name: "unexpected queue max length",
        head: Some("unexpected"),
        fold: Fold::Max,
        sentence: "the most messages in the unexpected queue at any one time",
        of: |of| queues(of, |queues| queues.unexpected.max_length as f64),
        ..QUEUE
    },
    Quantity {
        name: "posted queue searches",
        sentence: "searches of the posted queue",
        of: |of| queues(of, |queues| queues.posted_search.searches as f64),
        ..QUEUE
    },
    Quantity {
        name: "posted queue searching",
        unit: Unit::Seconds,
        sentence: "time in these",
        of: |of| queues(of, |queues| queues.posted_search.total_s),
        ..QUEUE
    },
    Quantity {
        name: "unexpected queue searches",
        sentence: "searches of the unexpected queue",
        of: |of| queues(of, |queues| queues.unexpected_search.searches as f64),
        ..QUEUE
    },
    Quantity {
        name: "unexpected queue searching",
        unit: Unit::Seconds,
        sentence: "time in these",
        of: |of| queues(of, |queues| queues.unexpected_search.total_s),
        ..QUEUE
    },
    Quantity {
        name: "searching",
        head: Some("searching"),
        unit: Unit::Seconds,
        sentence: "time in searches of both",
        of: |of| queues(of, |queues| queues.posted_search.total_s + queues.unexpected_search.total_s),
        ..QUEUE
    },
];
