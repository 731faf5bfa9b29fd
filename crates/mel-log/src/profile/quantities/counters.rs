//! What the processor counted of a rank while its thread was outside of MPI.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::schema::RankProfile;

/// Their group.
pub const GROUP: &str = "counters";

const OF_RANK: Quantity<RankProfile> =
    Quantity { group: GROUP, over_ranks: true, fold: Fold::None, ..Quantity::NONE };
const COUNTED: Quantity<RankProfile> = Quantity { over_ranks: false, fold: Fold::Sum, ..OF_RANK };

/// The entries. The first is there wherever anything was counted.
pub const COUNTERS: &[Quantity<RankProfile>] = &[
    Quantity {
        name: "all instructions",
        basis: Basis::Estimated,
        fold: Fold::Sum,
        sentence: "instructions of all of the time outside of MPI, were all of it as what was observed",
        of: |rank| rank.computing_instructions().map(f64::round),
        ..OF_RANK
    },
    Quantity {
        name: "instructions per cycle",
        unit: Unit::Ratio,
        sentence: "the pace: instructions in a cycle",
        of: |rank| rank.counters?.pace(),
        ..OF_RANK
    },
    Quantity {
        name: "frequency",
        unit: Unit::Hertz,
        sentence: "cycles in user space in a second on a processor; time in the operating system makes it less",
        of: |rank| rank.counters?.frequency(),
        ..OF_RANK
    },
    Quantity {
        name: "misses per 1000",
        unit: Unit::Ratio,
        sentence: "cache misses that went to memory, in a thousand instructions",
        of: |rank| rank.counters?.misses_of_thousand(),
        ..OF_RANK
    },
    Quantity {
        name: "observed",
        key: "counters.observed_s",
        unit: Unit::Seconds,
        sentence: "time outside of MPI in which the counters were read at both ends",
        of: |rank| Some(rank.counters?.observed_s),
        ..COUNTED
    },
    Quantity {
        name: "on a processor",
        key: "counters.on_processor_s",
        unit: Unit::Seconds,
        sentence: "the part of that on a processor, in the program or in the operating system",
        of: |rank| Some(rank.counters?.on_processor_s),
        ..COUNTED
    },
    Quantity {
        name: "instructions",
        key: "counters.instructions",
        sentence: "instructions in user space in that time",
        of: |rank| Some(rank.counters?.instructions as f64),
        ..COUNTED
    },
    Quantity {
        name: "cycles",
        key: "counters.cycles",
        sentence: "cycles in user space in that time; absent where the processor does not count them",
        of: |rank| Some(rank.counters?.cycles? as f64),
        ..COUNTED
    },
    Quantity {
        name: "cache misses",
        key: "counters.cache_misses",
        sentence: "cache misses that went to memory; absent where the processor does not count them",
        of: |rank| Some(rank.counters?.cache_misses? as f64),
        ..COUNTED
    },
];
