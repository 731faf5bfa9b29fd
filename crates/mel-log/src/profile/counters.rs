//! What the processor counted of a rank, or of one of its phases, while its thread computed.

use serde::{Deserialize, Serialize};

use super::schema::{PhaseProfile, RankProfile};

/// Numbers of the processor's counters in user space, of times in which the thread that called `MPI_Init*` was outside of MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// How long those times were together: all of the time outside of MPI, or a part of it.
    pub observed_s: f64,
    /// The part of them on a processor, in the program or in the operating system.
    pub on_processor_s: f64,
    /// Instructions.
    pub instructions: u64,
    /// Cycles; absent where the processor does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Cache misses that went to memory; absent where the processor does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_misses: Option<u64>,
}

/// A quotient; none where there is nothing to divide by.
fn quotient(of: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| of / by)
}

impl Counters {
    /// The pace: instructions in a cycle.
    #[must_use]
    pub fn pace(&self) -> Option<f64> {
        quotient(self.instructions as f64, self.cycles? as f64)
    }

    /// Cycles in a second on a processor. The time in the operating system, in which no cycles are counted, makes it less.
    #[must_use]
    pub fn frequency(&self) -> Option<f64> {
        quotient(self.cycles? as f64, self.on_processor_s)
    }

    /// Cache misses in a thousand instructions.
    #[must_use]
    pub fn misses_of_thousand(&self) -> Option<f64> {
        quotient(1000.0 * self.cache_misses? as f64, self.instructions as f64)
    }

    /// Those of several together; none where nobody has any. One that lacks a number, which is how zero is kept, adds nothing to it.
    pub fn sum(all: impl IntoIterator<Item = Counters>) -> Option<Counters> {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        all.into_iter().reduce(|one, other| Counters {
            observed_s: one.observed_s + other.observed_s,
            on_processor_s: one.on_processor_s + other.on_processor_s,
            instructions: one.instructions + other.instructions,
            cycles: both(one.cycles, other.cycles),
            cache_misses: both(one.cache_misses, other.cache_misses),
        })
    }

    /// The instructions of so long a time outside of MPI, were all of it as what was observed: estimated.
    #[must_use]
    pub fn instructions_in(&self, computing_s: f64) -> Option<f64> {
        quotient(self.instructions as f64 * computing_s, self.observed_s)
    }
}

impl RankProfile {
    /// The instructions of all of the rank's time outside of MPI: estimated.
    #[must_use]
    pub fn computing_instructions(&self) -> Option<f64> {
        match (self.budget, &self.phases[..]) {
            (Some(budget), _) => self.counters?.instructions_in(budget.computing_s),
            // What a rank did in one phase has no budget of its own.
            (None, [only]) => only.computing_instructions(),
            (None, _) => None,
        }
    }
}

impl PhaseProfile {
    /// The instructions of all of the phase's time outside of MPI: estimated.
    #[must_use]
    pub fn computing_instructions(&self) -> Option<f64> {
        self.counters?.instructions_in(self.computing_s?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_numbers_are_there_where_they_can_be() {
        let counters = Counters {
            observed_s: 2.0,
            on_processor_s: 1.0,
            instructions: 3_000_000,
            cycles: Some(2_000_000),
            cache_misses: Some(6_000),
        };
        assert_eq!((counters.pace(), counters.frequency()), (Some(1.5), Some(2e6)));
        assert_eq!((counters.misses_of_thousand(), counters.instructions_in(4.0)), (Some(2.0), Some(6e6)));
        let none = Counters { cycles: None, cache_misses: None, ..counters };
        assert_eq!((none.pace(), none.frequency(), none.misses_of_thousand()), (None, None, None));
        assert_eq!(Counters::default().instructions_in(1.0), None);
    }
}
