//! The message queues of a rank and their searches. Modelled, or observed where the MPI itself reports them.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::schema::RankProfile;

/// The entries of a queue, in the order of the table across ranks; the first is their count.
macro_rules! queue {
    ($group:literal, $entries:literal, $queue:ident) => {{
        const QUEUE: Quantity<RankProfile> =
            Quantity { group: $group, basis: Basis::Modelled, ..Quantity::NONE };
        &[
            Quantity {
                name: $entries,
                key: concat!(stringify!($queue), ".messages"),
                sentence: "entries that were put into the queue",
                of: |rank| Some(rank.$queue.messages as f64),
                over_ranks: true,
                diff: true,
                line: Some("Num Messages"),
                ..QUEUE
            },
            Quantity {
                name: "max length",
                key: concat!(stringify!($queue), ".max_length"),
                fold: Fold::Max,
                sentence: "the most entries at any one time",
                of: |rank| Some(rank.$queue.max_length as f64),
                over_ranks: true,
                diff: true,
                line: Some("Max length of message queue"),
                ..QUEUE
            },
            Quantity {
                name: "time populated",
                key: concat!(stringify!($queue), ".populated_s"),
                unit: Unit::Seconds,
                sentence: "how long the queue was not empty",
                of: |rank| Some(rank.$queue.populated_s),
                over_ranks: true,
                ..QUEUE
            },
            Quantity {
                name: "total lifetime",
                key: concat!(stringify!($queue), ".total_s"),
                unit: Unit::Seconds,
                sentence: "sum of the lifetimes: the time each entry stayed in the queue",
                of: |rank| Some(rank.$queue.total_s),
                diff: true,
                line: Some("Total time of messages in queue"),
                ..QUEUE
            },
            Quantity {
                name: "mean lifetime",
                key: concat!(stringify!($queue), ".mean_s"),
                unit: Unit::Seconds,
                fold: Fold::None,
                sentence: "mean lifetime; 0 if there was none",
                of: |rank| (rank.$queue.messages > 0).then_some(rank.$queue.mean_s),
                over_ranks: true,
                line: Some("Average time of message in queue"),
                ..QUEUE
            },
            Quantity {
                name: "shortest lifetime",
                key: concat!(stringify!($queue), ".min_s"),
                unit: Unit::Seconds,
                fold: Fold::Min,
                sentence: "shortest lifetime; 0 if there was none",
                of: |rank| (rank.$queue.messages > 0).then_some(rank.$queue.min_s),
                line: Some("Min time of message in queue"),
                ..QUEUE
            },
            Quantity {
                name: "longest lifetime",
                key: concat!(stringify!($queue), ".max_s"),
                unit: Unit::Seconds,
                fold: Fold::Max,
                sentence: "longest lifetime; 0 if there was none",
                of: |rank| (rank.$queue.messages > 0).then_some(rank.$queue.max_s),
                over_ranks: true,
                diff: true,
                line: Some("Max time of message in queue"),
                ..QUEUE
            },
            Quantity {
                name: "left",
                key: concat!(stringify!($queue), ".left"),
                sentence: "entries that were still in the queue at the end; they have no lifetime",
                of: |rank| Some(rank.$queue.left as f64),
                ..QUEUE
            },
        ]
    }};
}

/// The searches of a queue, likewise.
macro_rules! searches {
    ($group:literal, $search:ident) => {{
        const SEARCHES: Quantity<RankProfile> =
            Quantity { group: $group, basis: Basis::Modelled, ..Quantity::NONE };
        &[
            Quantity {
                name: "searches",
                key: concat!(stringify!($search), ".searches"),
                sentence: "number of searches",
                of: |rank| Some(rank.$search.searches as f64),
                over_ranks: true,
                line: Some("Num Searches in queue"),
                ..SEARCHES
            },
            Quantity {
                name: "total time",
                key: concat!(stringify!($search), ".total_s"),
                unit: Unit::Seconds,
                sentence: "sum of their durations",
                of: |rank| Some(rank.$search.total_s),
                over_ranks: true,
                diff: true,
                line: Some("Total time searching in queue"),
                ..SEARCHES
            },
            Quantity {
                name: "mean time",
                key: concat!(stringify!($search), ".mean_s"),
                unit: Unit::Seconds,
                fold: Fold::None,
                sentence: "mean duration; 0 if there was none",
                of: |rank| (rank.$search.searches > 0).then_some(rank.$search.mean_s),
                over_ranks: true,
                line: Some("Average time of a search"),
                ..SEARCHES
            },
            Quantity {
                name: "shortest",
                key: concat!(stringify!($search), ".min_s"),
                unit: Unit::Seconds,
                fold: Fold::Min,
                sentence: "shortest duration; 0 if there was none",
                of: |rank| (rank.$search.searches > 0).then_some(rank.$search.min_s),
                line: Some("Min time of a search"),
                ..SEARCHES
            },
            Quantity {
                name: "longest",
                key: concat!(stringify!($search), ".max_s"),
                unit: Unit::Seconds,
                fold: Fold::Max,
                sentence: "longest duration; 0 if there was none",
                of: |rank| (rank.$search.searches > 0).then_some(rank.$search.max_s),
                over_ranks: true,
                diff: true,
                line: Some("Max time of a search"),
                ..SEARCHES
            },
        ]
    }};
}

/// The posted receive queue.
pub const POSTED: &[Quantity<RankProfile>] = queue!("posted queue", "receives", posted);

/// The unexpected message queue.
pub const UNEXPECTED: &[Quantity<RankProfile>] = queue!("unexpected queue", "messages", unexpected);

/// Searches of the posted receive queue.
pub const POSTED_SEARCHES: &[Quantity<RankProfile>] = searches!("posted queue searches", posted_search);

/// Searches of the unexpected message queue.
pub const UNEXPECTED_SEARCHES: &[Quantity<RankProfile>] =
    searches!("unexpected queue searches", unexpected_search);

/// All groups, in the order of the table across ranks.
pub const ALL: [&[Quantity<RankProfile>]; 4] = [POSTED, UNEXPECTED, POSTED_SEARCHES, UNEXPECTED_SEARCHES];
