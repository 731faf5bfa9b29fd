//! One-sided communication: the windows of a rank together.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::schema::RankProfile;
use crate::profile::windows::Sum;

const OPERATIONS: Quantity<RankProfile> =
    Quantity { group: "one-sided operations", basis: Basis::Observed, ..Quantity::NONE };

/// A time of a rank that has completed any operation.
fn completing(rank: &RankProfile, of: impl Fn(&Sum) -> f64) -> Option<f64> {
    let sum = Sum::of(&rank.windows);
    (sum.completed > 0).then(|| of(&sum))
}

/// One-sided operations, in the order of the table across ranks; the first is their count.
pub const WINDOWS: &[Quantity<RankProfile>] = &[
    Quantity {
        name: "operations",
        sentence: "operations that were started",
        of: |rank| Some(Sum::of(&rank.windows).started as f64),
        over_ranks: true,
        line: Some("Num Operations"),
        ..OPERATIONS
    },
    Quantity {
        name: "bytes",
        unit: Unit::Bytes,
        sentence: "bytes that they read or write at their targets",
        of: |rank| Some(Sum::of(&rank.windows).bytes as f64),
        line: Some("Bytes"),
        ..OPERATIONS
    },
    Quantity {
        name: "mean time to complete",
        unit: Unit::Seconds,
        fold: Fold::None,
        sentence: "mean time from the start of an operation to its completion",
        of: |rank| completing(rank, Sum::mean_s),
        over_ranks: true,
        line: Some("Average time to completion"),
        ..OPERATIONS
    },
    Quantity {
        name: "longest to complete",
        unit: Unit::Seconds,
        fold: Fold::Max,
        sentence: "longest time from the start of an operation to its completion",
        of: |rank| completing(rank, |sum| sum.longest_s),
        over_ranks: true,
        line: Some("Max time to completion"),
        ..OPERATIONS
    },
    Quantity {
        name: "completed by another thread",
        sentence: "operations that another thread completed than the one that had started them",
        of: |rank| Some(Sum::of(&rank.windows).for_others as f64),
        line: Some("Completed by another thread"),
        ..OPERATIONS
    },
    Quantity {
        name: "locks",
        sentence: "locks of windows that were held",
        of: |rank| Some(Sum::of(&rank.windows).locks as f64),
        line: Some("Num Locks"),
        ..OPERATIONS
    },
    Quantity {
        name: "holding locks",
        unit: Unit::Seconds,
        sentence: "time from the return of a lock to the return of its unlock",
        of: |rank| Some(Sum::of(&rank.windows).held_s),
        over_ranks: true,
        line: Some("Total time holding locks"),
        ..OPERATIONS
    },
    Quantity {
        name: "synchronising",
        unit: Unit::Seconds,
        sentence: "time in calls that synchronise windows, of all threads together",
        of: |rank| Some(Sum::of(&rank.windows).synchronising_s),
        over_ranks: true,
        line: Some("Total time in synchronisation"),
        ..OPERATIONS
    },
];
