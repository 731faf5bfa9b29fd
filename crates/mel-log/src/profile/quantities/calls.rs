//! The calls of one function from one call site, on one communicator, by one thread.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::calls::{CallProfile, MessagesFound, WaitKind, WaitProfile};

const CALL: Quantity<CallProfile> = Quantity { group: "calls", ..Quantity::NONE };

/// The calls themselves.
pub const CALLS: &[Quantity<CallProfile>] = &[
    Quantity {
        name: "calls",
        key: "calls",
        sentence: "number of calls",
        of: |call| Some(call.calls as f64),
        cube: Some(["visits", "Visits"]),
        ..CALL
    },
    Quantity {
        name: "time",
        key: "total_s",
        unit: Unit::Seconds,
        sentence: "time in the calls",
        of: |call| Some(call.total_s),
        cube: Some(["time", "Time"]),
        ..CALL
    },
    Quantity {
        name: "longest",
        key: "max_s",
        unit: Unit::Seconds,
        fold: Fold::Max,
        sentence: "time in the longest call",
        of: |call| Some(call.max_s),
        ..CALL
    },
    Quantity {
        name: "bytes sent",
        key: "bytes_sent",
        unit: Unit::Bytes,
        sentence: "bytes sent; in collective operations the data that this process gives",
        of: |call| Some(call.bytes_sent as f64),
        cube: Some(["bytes_sent", "Bytes sent"]),
        ..CALL
    },
    Quantity {
        name: "bytes received",
        key: "bytes_received",
        unit: Unit::Bytes,
        sentence: "bytes of the messages received; in collective operations the data that this process gets",
        of: |call| Some(call.bytes_received as f64),
        cube: Some(["bytes_received", "Bytes received"]),
        ..CALL
    },
    Quantity {
        name: "bytes given",
        key: "bytes_given",
        unit: Unit::Bytes,
        sentence: "of collective operations: bytes of the data as the program gives it, count times type",
        of: |call| Some(call.bytes_given as f64),
        ..CALL
    },
];

/// What receives found, of calls whose receives found anything.
fn found(call: &CallProfile, of: impl Fn(&MessagesFound) -> f64) -> Option<f64> {
    (!call.messages.is_empty()).then(|| of(&call.messages))
}

const RECEIVE: Quantity<CallProfile> =
    Quantity { group: "receives", basis: Basis::Modelled, ..Quantity::NONE };

/// What the receives posted there found in the queues.
pub const RECEIVES: &[Quantity<CallProfile>] = &[
    Quantity {
        name: "expected",
        key: "messages.expected",
        sentence: "messages that came after their receive was posted",
        of: |call| found(call, |found| found.expected as f64),
        ..RECEIVE
    },
    Quantity {
        name: "unexpected",
        key: "messages.unexpected",
        sentence: "messages that came before",
        of: |call| found(call, |found| found.unexpected as f64),
        ..RECEIVE
    },
    Quantity {
        name: "unexpected bytes",
        key: "messages.unexpected_bytes",
        unit: Unit::Bytes,
        sentence: "bytes of those, which MPI has to store and to copy",
        of: |call| found(call, |found| found.unexpected_bytes as f64),
        ..RECEIVE
    },
    Quantity {
        name: "searching",
        key: "messages.search_s",
        unit: Unit::Seconds,
        sentence: "time in searches of the unexpected queue",
        of: |call| found(call, |found| found.search_s),
        ..RECEIVE
    },
    Quantity {
        name: "longest search",
        key: "messages.longest_search_s",
        unit: Unit::Seconds,
        fold: Fold::Max,
        sentence: "the longest of them",
        of: |call| found(call, |found| found.longest_search_s),
        ..RECEIVE
    },
];

const WAIT: Quantity<WaitProfile> = Quantity { group: "waits", basis: Basis::Estimated, ..Quantity::NONE };

/// Time that calls have lost for one reason, waiting for one process.
pub const WAITS: &[Quantity<WaitProfile>] = &[
    Quantity {
        name: "count",
        key: "count",
        sentence: "how often calls waited",
        of: |wait| Some(wait.count as f64),
        ..WAIT
    },
    Quantity {
        name: "lost",
        key: "lost_s",
        unit: Unit::Seconds,
        sentence: "the time lost",
        of: |wait| Some(wait.lost_s),
        ..WAIT
    },
    Quantity {
        name: "longest",
        key: "max_s",
        unit: Unit::Seconds,
        fold: Fold::Max,
        sentence: "the most time lost in one call",
        of: |wait| Some(wait.max_s),
        ..WAIT
    },
];

/// The time that calls have lost for one reason.
fn lost(call: &CallProfile, kind: WaitKind) -> Option<f64> {
    let waits = call.waits.iter().filter(|wait| wait.kind == kind);
    Some(waits.map(|wait| wait.lost_s).sum())
}

const LOSS: Quantity<CallProfile> =
    Quantity { group: "lost", unit: Unit::Seconds, basis: Basis::Estimated, ..Quantity::NONE };

/// The part of the time that calls have lost, by reason: sums of their waits.
pub const LOST: &[Quantity<CallProfile>] = &[
    Quantity {
        name: "late sender",
        sentence: "Part of the time: waiting for messages that are sent late",
        of: |call| lost(call, WaitKind::LateSender),
        cube: Some(["late_sender", "Late sender"]),
        ..LOSS
    },
    Quantity {
        name: "late receiver",
        sentence: "Part of the time: sends that wait for their receive",
        of: |call| lost(call, WaitKind::LateReceiver),
        cube: Some(["late_receiver", "Late receiver"]),
        ..LOSS
    },
    Quantity {
        name: "without progress",
        sentence: "Part of the time: sends whose receive is posted by a process that is outside of MPI",
        of: |call| lost(call, WaitKind::WithoutProgress),
        cube: Some(["without_progress", "Without progress"]),
        ..LOSS
    },
    Quantity {
        name: "collective",
        sentence: "Part of the time: waiting in collective operations for the process that comes last",
        of: |call| lost(call, WaitKind::Collective),
        cube: Some(["wait_collective", "Wait in collectives"]),
        ..LOSS
    },
    Quantity {
        name: "late member",
        sentence: "Part of the time: waiting in collective operations for a process that passes data on, or takes large data late",
        of: |call| lost(call, WaitKind::LateMember),
        cube: Some(["late_member", "Late member of a collective"]),
        ..LOSS
    },
    Quantity {
        name: "polling",
        sentence: "Part of the time: testing again and again whether something is complete, or has come",
        of: |call| lost(call, WaitKind::Polling),
        cube: Some(["polling", "Polling"]),
        ..LOSS
    },
    Quantity {
        name: "window",
        sentence: "Part of the time: waiting in the synchronisation of windows",
        of: |call| lost(call, WaitKind::Window),
        cube: Some(["wait_window", "Wait in windows"]),
        ..LOSS
    },
];
