//! Rows of what the processor counted while the thread that calls MPI computed, by phase and region.

use super::row::{Column, row};
use crate::profile::counters::Counters;

row! {
    /// What the processor counted in one region of one phase, without those in it: 64 bytes. All of it belongs to times in which the thread was outside of MPI.
    #[repr(C, align(64))]
    pub struct Counted =>
    /// A row as plain values.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    CountedRow of PhaseAndRegion;
    /// Times that were looked at.
    sum times;
    /// How long they were.
    sum ticks;
    /// Nanoseconds of them in which the thread was on a processor.
    sum on_processor_nanos;
    /// Instructions in user space.
    sum instructions;
    /// Cycles in user space; 0 where the processor does not count them.
    sum cycles;
    /// Cache misses of these instructions that went to memory; 0 where the processor does not count them.
    sum cache_misses;
    /// The phase.
    key phase: Column;
    /// The region's number in the definitions; 0 for what is in none.
    key region: Column;
}

/// Where something was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PhaseAndRegion {
    /// The phase.
    pub phase: u16,
    /// The region's number in the definitions; 0 for what is in none, [`NO_SPACE`] for what found no space of its own.
    pub region: u16,
}

/// The region of what was counted in regions of a phase that found no space.
pub const NO_SPACE: u16 = u16::MAX;

impl Counted {
    /// What it stands for.
    pub(super) fn key(&self) -> PhaseAndRegion {
        PhaseAndRegion { phase: self.phase.get() as u16, region: self.region.get() as u16 }
    }

    /// Adds a time, and what was counted in it: instructions, cycles, cache misses.
    pub fn count(&self, ticks: u64, on_processor_nanos: u64, [instructions, cycles, cache_misses]: [u64; 3]) {
        self.times.add(1);
        self.ticks.add(ticks);
        self.on_processor_nanos.add(on_processor_nanos);
        self.instructions.add(instructions);
        self.cycles.add(cycles);
        self.cache_misses.add(cache_misses);
    }
}

impl CountedRow {
    /// As a profile has it; none where nothing was counted.
    pub fn profile(&self, ticks_per_second: u64) -> Option<Counters> {
        let counted = |count: u64| Some(count).filter(|count| *count != 0);
        (self.instructions != 0).then(|| Counters {
            observed_s: self.ticks as f64 / ticks_per_second.max(1) as f64,
            on_processor_s: self.on_processor_nanos as f64 * 1e-9,
            instructions: self.instructions,
            cycles: counted(self.cycles),
            cache_misses: counted(self.cache_misses),
        })
    }

    /// Adds another one.
    pub fn join(&mut self, more: &CountedRow) {
        self.times = self.times.saturating_add(more.times);
        self.ticks = self.ticks.saturating_add(more.ticks);
        self.on_processor_nanos = self.on_processor_nanos.saturating_add(more.on_processor_nanos);
        self.instructions = self.instructions.saturating_add(more.instructions);
        self.cycles = self.cycles.saturating_add(more.cycles);
        self.cache_misses = self.cache_misses.saturating_add(more.cache_misses);
    }
}

#[cfg(test)]
mod tests {
    use super::PhaseAndRegion;
    use crate::Definition;
    use crate::table::layout::STOPPED;
    use crate::table::{Identity, ProfileTable, TableRows};

    #[test]
    fn a_row_comes_back_by_phase_and_what_was_stopped_does_not_count() {
        let identity = Identity { ticks_per_second: 1000, ..Identity::default() };
        let table = ProfileTable::in_memory(&identity).unwrap();
        table.define(&Definition::Phase { number: 1, name: "solve".into() });
        for (phase, times) in [(0, 1), (1, 2), (STOPPED, 5)] {
            let row = table.add_counted(PhaseAndRegion { phase, region: 3 * phase }).unwrap();
            (0..times).for_each(|_| table.counted(row).count(500, 400_000_000, [800, 600, 0]));
        }
        let rows = table.rows();
        assert_eq!(TableRows::of_image(&table.image(0)).unwrap().counted, rows.counted);
        let rank = rows.rank_profile();
        let all = rank.counters.unwrap();
        assert_eq!(
            (all.observed_s, all.instructions, all.cycles, all.cache_misses),
            (1.5, 2400, Some(1800), None)
        );
        let of_phases: Vec<_> =
            rank.phases.iter().map(|phase| phase.counters.map(|of| of.instructions)).collect();
        assert_eq!(of_phases, [Some(800), Some(1600)]);
        table.clear(0);
        assert_eq!(table.rows().rank_profile().counters, None);
    }
}
