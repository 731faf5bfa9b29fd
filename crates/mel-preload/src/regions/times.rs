//! How long threads are in regions, for the table.
//!
//! A thread's time counts from the exit of `MPI_Init*` on, or from its first region on, until it changes its region: what it is in then has a
//! row with the time since when. While counting is stopped there is none.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mel_log::profile::Ended;
use mel_log::table::{ProfileTable, RegionOfThread, TimeInRegion};
use mpit_events::Clock;

use super::paths;
use super::threads::{self, NO_ROW, NO_SPACE, Thread};
use crate::consumer::{Consumer, Parts};
use crate::counters;
use crate::phases::{self, STOPPED};
use crate::registry::Registry;
use crate::state::Run;

/// Counts the time in regions of this process. Lives as long as the process.
struct Times {
    registry: &'static Registry,
    clock: Clock,
    table: OnceLock<ProfileTable>,
    over: AtomicBool,
}

static TIMES: OnceLock<Times> = OnceLock::new();

/// The times, and the table that they are in, while it is counted.
fn counting() -> Option<(&'static Times, &'static ProfileTable)> {
    let times = TIMES.get().filter(|times| !times.over.load(Ordering::Relaxed))?;
    Some((times, times.table.get()?))
}

/// Who defines regions, once there is a table for that.
pub(super) fn registry() -> Option<&'static Registry> {
    counting().map(|(times, _)| times.registry)
}

/// So many regions found no number, and so many ends fitted no beginning.
pub(super) fn set_counts(lost: u64, mismatched: u64) {
    if let Some((_, table)) = counting() {
        table.header().lost_regions.set(lost);
        table.header().mismatched_regions.set(mismatched);
    }
}

/// The row of the region that a thread is in; `None` where there is no space.
fn row(table: &'static ProfileTable, thread: &Thread) -> Option<&'static TimeInRegion> {
    let (region, mut rows) = (thread.region.get(), thread.rows.borrow_mut());
    let place = usize::from(region);
    if place >= rows.len() {
        rows.resize(place + 1, NO_ROW);
    }
    if rows[place] == NO_ROW {
        let _one_at_a_time = paths::all();
        let key = RegionOfThread { region, thread: thread.number };
        rows[place] = table.add_time_in_region(key).unwrap_or(NO_SPACE);
    }
    (rows[place] != NO_SPACE).then(|| table.time_in_region(rows[place]))
}

/// The thread leaves the region that it is in: its time until now counts there. When that is, in ticks; `None` where it is not counted.
pub(super) fn leave(thread: &Thread) -> Option<u64> {
    let (times, table) = counting()?;
    let now = times.clock.now().0;
    counters::leave_region(now);
    let since = thread.since.replace(0);
    if since != 0
        && let Some(row) = thread.row.take().or_else(|| row(table, thread))
    {
        // The row may be new: of what is in no region before the first one, of which it has the time.
        row.since.set(if phases::current() == STOPPED { now } else { row.since.get().max(since) });
        row.leave(now);
    }
    Some(now)
}

/// The thread is in its region from now on. It has `begun` it, or goes on there.
pub(super) fn enter(thread: &Thread, now: u64, begun: bool) {
    let Some((_, table)) = counting() else { return };
    if phases::current() == STOPPED {
        return;
    }
    thread.since.set(now);
    // What is in no region has a row once there has been a region.
    let is_there = thread.region.get() != 0 || !thread.rows.borrow().is_empty();
    thread.row.set(if is_there { row(table, thread) } else { None });
    if let Some(row) = thread.row.get() {
        row.enter(now, begun);
    }
}

/// The consumer, where calls are counted, or who sends what to whom.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    if !parts.config.call_profile && !parts.config.matrix {
        if !parts.config.trace {
            super::abandon();
        }
        return None;
    }
    let make = || Times {
        registry: parts.registry,
        clock: Clock::best(),
        table: OnceLock::new(),
        over: AtomicBool::new(false),
    };
    Some(TIMES.get_or_init(make))
}

impl Consumer for Times {
    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn start(&'static self, run: Option<&'static Run>) {
        match (run, self.table.get()) {
            (Some(_), Some(_)) => super::define_new(),
            // A trace has them, too.
            (Some(run), None) if run.recorder.is_some() => {}
            _ => super::abandon(),
        }
    }

    fn phase_ends(&self) {
        let _ = leave(threads::this());
    }

    fn enter_phase(&self, _: u16, now: u64) {
        enter(threads::this(), now, false);
    }

    fn finish(&self, _: Ended) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn forked(&self) {
        // The table is the parent's.
        self.over.store(true, Ordering::Relaxed);
        super::abandon();
    }
}
