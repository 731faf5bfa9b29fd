//! Variables that a function reads: all of them together, in as many calls as the budget allows.
//!
//! Each read has all changes since the one before, whichever thread has made it. Where every call is read, each change belongs to the call, or
//! to what is outside between two calls. Where only some are, what changed in those that are not belongs to none: it is in the total, and
//! shares of that are estimated from what was read, each read counting for as many calls as one of them stands for.

use mel_log::table::attributed::growth;
use mel_log::table::{Arithmetic, ProfileTable};
use mpit_events::Clock;
use mpit_sources::budget::Budget;

use super::chosen::ReadOut;

/// So many reads are measured before the run.
const MEASURED: u64 = 5;

/// Where what has changed belongs: a context, and for how many calls it stands.
pub(super) type Belongs = Option<(u32, u64)>;

/// The variables, and what was spent on them.
#[derive(Debug)]
pub(super) struct Group {
    variables: Vec<ReadOut>,
    scratch: Vec<f64>,
    budget: Budget,
    clock: Clock,
}

impl Group {
    /// Measures what a read costs. The last one is the first value of each variable. Where the program may call MPI.
    pub(super) fn new(
        mut variables: Vec<ReadOut>,
        share: Option<f64>,
        clock: Clock,
        table: &ProfileTable,
    ) -> Group {
        let mut scratch = Vec::with_capacity(1024);
        let mut cost = u64::MAX;
        for _ in 0..MEASURED {
            let before = clock.now().0;
            for variable in &mut variables {
                if let Some(value) = variable.read(&mut scratch) {
                    let row = table.attributed_variable(variable.place);
                    row.first.set(value);
                    row.last.set(value);
                }
            }
            cost = cost.min(clock.now().0.saturating_sub(before));
        }
        let budget = Budget::new(share, cost, clock.now().0, clock.ticks_per_second() / 1000);
        let group = Group { variables, scratch, budget, clock };
        group.tell(table);
        group
    }

    /// One in so many calls is to be read.
    pub(super) fn every(&self) -> u32 {
        self.budget.every()
    }

    /// Reads all.
    pub(super) fn read(&mut self, table: &ProfileTable, belongs: Belongs) {
        let before = self.clock.now().0;
        let rows = belongs.map(|(context, weight)| (table.attributed(context), weight));
        if let Some((rows, _)) = &rows {
            rows.context.read.add(1);
        }
        for variable in &mut self.variables {
            let Some(value) = variable.read(&mut self.scratch) else { continue };
            let row = table.attributed_variable(variable.place);
            let before = row.replace(value);
            if variable.arithmetic != Arithmetic::Difference {
                if let Some((rows, _)) = &rows {
                    rows.variables[variable.place].was_read(variable.arithmetic, before, value);
                }
                continue;
            }
            let by = growth(before, value, variable.wraps_at);
            if by != 0 {
                row.grown.add(by);
                if let Some((rows, weight)) = &rows {
                    rows.variables[variable.place].grew(by, *weight);
                }
            }
        }
        let took = self.clock.now().0.saturating_sub(before);
        self.budget.spend(took);
        for variable in &self.variables {
            let row = table.attributed_variable(variable.place);
            row.reads.add(1);
            row.ticks.add(took);
        }
    }

    /// A call was read, the only one of so many.
    pub(super) fn sampled(&mut self, table: &ProfileTable, calls: u32) {
        let before = self.budget.every();
        self.budget.sampled(calls, self.clock.now().0);
        if self.budget.every() != before {
            self.tell(table);
        }
    }

    fn tell(&self, table: &ProfileTable) {
        for variable in &self.variables {
            let row = table.attributed_variable(variable.place);
            row.every.set(self.budget.every().into());
            row.most_every.set(self.budget.most().into());
        }
    }

    /// Ends all handles. Where the program may call MPI.
    pub(super) fn end(&mut self) {
        self.variables.drain(..).for_each(|mut variable| variable.bound.end());
    }
}
