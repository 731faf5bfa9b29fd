//! What of a rank changes only when something was achieved: tests without success change nothing.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::Definition;
use mel_log::table::{TableRows, ThreadRow};
use mpi_functions::Step;

use super::Look;
use super::positions::{instant, seconds};

/// What a rank has achieved until its table was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Calls that are no tests, bytes, messages that were found, tests that have succeeded.
    counted: [u64; 4],
    /// Where each thread is, in a call that is no test: the entry and the exit.
    threads: Vec<(u64, u64)>,
    /// How it has ended, and whether it has come to `MPI_Finalize`.
    ended: (u64, bool, u64),
}

impl Pulse {
    /// That of a rank with this table.
    #[must_use]
    pub fn of(rows: &TableRows) -> Pulse {
        let is_test = |name: &str| mpi_functions::named(name).is_some_and(|about| about.step == Step::Tests);
        let tests: BTreeSet<u16> = rows
            .definitions
            .iter()
            .filter_map(|definition| match definition {
                Definition::Function { number, name } if is_test(name) => Some(*number),
                _ => None,
            })
            .collect();
        let mut counted = [0u64; 4];
        for row in &rows.contexts {
            if !tests.contains(&row.key.function) {
                counted[0] = counted[0].wrapping_add(row.calls);
            }
            counted[1] = counted[1].wrapping_add(row.sent).wrapping_add(row.received);
            counted[2] = counted[2].wrapping_add(row.unexpected);
        }
        counted[3] = rows.waits.iter().fold(0, |sum, wait| sum.wrapping_add(wait.count));
        let place = |thread: &ThreadRow| {
            let function = rows.contexts.get(thread.context as usize).map(|row| row.key.function);
            let is_test = function.is_some_and(|function| tests.contains(&function));
            if is_test { (0, 0) } else { (thread.entered, thread.left) }
        };
        let threads = rows.threads.iter().map(place).collect();
        Pulse { counted, threads, ended: (rows.ended, rows.is_running, rows.runs_until) }
    }
}

/// The pulses of all ranks, for who reads their tables again and again.
#[derive(Debug, Default)]
pub struct Pulses(BTreeMap<u32, Beat>);

/// The pulse of a rank, and since when it is the same.
#[derive(Debug)]
struct Beat {
    pulse: Pulse,
    threads: Vec<ThreadRow>,
    /// In nanoseconds since 1970.
    since: u64,
    /// Whether it has entered or left calls all the same since then.
    tests: bool,
}

impl Pulses {
    /// What has become of the ranks since their tables were read last; these ones were read now, in nanoseconds since 1970.
    pub fn see(&mut self, tables: &[TableRows], now: u64) -> Look {
        let mut look = Look { now, ..Look::default() };
        for rows in tables.iter().filter(|rows| rows.is_running) {
            let (pulse, threads) = (Pulse::of(rows), rows.threads.clone());
            match self.0.get_mut(&rows.rank) {
                Some(beat) if beat.pulse == pulse => {
                    let tests = beat.threads != threads;
                    (beat.tests, beat.threads) = (beat.tests || tests, threads);
                    if tests {
                        look.polls.insert(rows.rank, seconds(beat.since, now));
                    }
                    continue;
                }
                Some(_) => _ = look.moved.insert(rows.rank),
                None => {}
            }
            self.0.insert(rows.rank, Beat { pulse, threads, since: now, tests: false });
        }
        look
    }

    /// For how many seconds none of these ranks that run has achieved anything, when they were seen last; `None` where none runs.
    pub fn still_s(&self, tables: &[TableRows], now: u64) -> Option<f64> {
        let of_rank = |rows: &TableRows| match self.0.get(&rows.rank) {
            // What it entered last was a test.
            Some(Beat { since, tests: true, .. }) => seconds(*since, now),
            _ => seconds(instant(rows, rows.last_seen()), now),
        };
        tables.iter().filter(|rows| rows.is_running).map(of_rank).reduce(f64::min)
    }
}
