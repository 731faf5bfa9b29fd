//! How long threads were in the regions of the program: a row for each region of each thread.

use super::layout::Section;
use super::row::{Column, row};
use super::writer::ProfileTable;

row! {
    /// How long a thread was in a region, without those in it: 64 bytes, which only that thread writes. What is stopped does not count.
    #[repr(C, align(64))]
    pub struct TimeInRegion =>
    /// The same as plain values.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    TimeInRegionRow of RegionOfThread;
    /// How long, up to when it was there last.
    sum ticks;
    /// How often it was begun.
    sum times;
    /// Since when the thread is there; 0 while it is not.
    kept since;
    /// The region, and 65536 times the thread.
    key region_and_thread: Column;
    /// Not used.
    unused unused: [Column; 4];
}

/// A region as one thread is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionOfThread {
    /// The region's number in the definitions; 0 for what is in none.
    pub region: u16,
    /// The thread, by a number that only these rows have.
    pub thread: u16,
}

impl TimeInRegion {
    /// What it stands for.
    pub(super) fn key(&self) -> RegionOfThread {
        let both = self.region_and_thread.get();
        RegionOfThread { region: both as u16, thread: (both >> 16) as u16 }
    }

    /// The thread comes there. It has `begun` the region, or goes on in it.
    #[inline]
    pub fn enter(&self, now: u64, begun: bool) {
        self.since.set(now);
        self.times.add(begun.into());
    }

    /// The thread leaves it.
    #[inline]
    pub fn leave(&self, now: u64) {
        self.ticks.add(now.saturating_sub(self.since.get()));
        self.since.set(0);
    }
}

impl TimeInRegionRow {
    /// With the time since the thread has come there last, `until` then.
    pub(super) fn until(self, until: u64) -> TimeInRegionRow {
        let open = if self.since == 0 { 0 } else { until.saturating_sub(self.since) };
        TimeInRegionRow { ticks: self.ticks.saturating_add(open), ..self }
    }
}

impl ProfileTable {
    /// Adds a row for a region of a thread; `None` where there is no space, which is counted. One thread at a time.
    #[cold]
    pub fn add_time_in_region(&self, key: RegionOfThread) -> Option<u32> {
        self.add_row(Section::Regions, |row: &TimeInRegion| {
            row.region_and_thread.set(u64::from(key.thread) << 16 | u64::from(key.region));
        })
    }

    /// The row that [`add_time_in_region`](ProfileTable::add_time_in_region) has given.
    #[inline]
    pub fn time_in_region(&self, index: u32) -> &TimeInRegion {
        self.row(Section::Regions, index as usize)
    }

    /// Forgets the time in regions until `at`.
    pub(super) fn clear_regions(&self, at: u64) {
        self.clear_rows::<TimeInRegion>(Section::Regions);
        for index in 0..self.header().regions.get() as u32 {
            let row = self.time_in_region(index);
            if row.since.get() != 0 {
                row.since.set(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Identity, TableRows};
    use super::*;
    use crate::profile::Ended;

    #[test]
    fn a_region_has_its_time_also_while_a_thread_is_in_it() {
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        assert_eq!(table.rows().regions, []);
        let add = |region, thread| {
            table.time_in_region(table.add_time_in_region(RegionOfThread { region, thread }).unwrap())
        };
        let (main, solve, other) = (add(1, 0), add(2, 0), add(2, 1));
        main.enter(100, true);
        main.leave(150);
        solve.enter(150, true);
        solve.leave(250);
        main.enter(250, false);
        other.enter(110, true);
        other.leave(120);
        let seen = |table: &ProfileTable, until| {
            table.finish(Ended::Finalised, until);
            let rows = table.rows();
            assert_eq!(TableRows::of_image(&table.image(100)).unwrap().regions, rows.regions);
            let seen = rows.regions.iter();
            seen.map(|row| (row.key.region, row.key.thread, row.ticks, row.times)).collect::<Vec<_>>()
        };
        table.clear(10);
        assert!(seen(&table, 290).iter().all(|row| row.3 == 0) && solve.ticks.get() == 0);
        main.leave(300);
        solve.enter(300, true);
        assert_eq!(seen(&table, 340), [(1, 0, 290, 0), (2, 0, 40, 1), (2, 1, 0, 0)]);
    }
}
