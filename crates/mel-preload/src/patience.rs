//! How far the work at the end of a run is, for who waits: the program's user did not ask for it at this time.

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use mel_log::settings::MARK;
use mpi_intercept::standard_error;

use crate::warn;

/// Work on fewer records is not worth a line at a terminal.
const LONG: usize = 2_000_000;
/// How long a line at a terminal stays as it is.
const AS_IT_IS: Duration = Duration::from_millis(100);
/// After this long there is one line where there is no terminal.
const PATIENCE: Duration = Duration::from_secs(10);

/// Work on the records of a run, on one thread.
#[derive(Debug)]
pub struct Patience {
    what: &'static str,
    records: u64,
    done: Cell<u64>,
    begun: Instant,
    /// Whether there is a line at a terminal that changes as the work goes on.
    at_terminal: bool,
    /// When a line was written last, from the beginning.
    written: Cell<Option<Duration>>,
}

impl Patience {
    /// Work on about so many records begins.
    pub fn new(what: &'static str, records: usize) -> Patience {
        let at_terminal = records >= LONG && io::stderr().is_terminal();
        let (done, begun, written) = (Cell::new(0), Instant::now(), Cell::new(None));
        Patience { what, records: records as u64, done, begun, at_terminal, written }
    }

    /// So many more records are done.
    pub fn advance(&self, records: u64) {
        self.done.set(self.done.get() + records);
        let passed = self.begun.elapsed();
        if !self.at_terminal {
            self.line(passed).iter().for_each(|line| warn(line));
        } else if self.written.get().is_none_or(|last| passed - last >= AS_IT_IS) {
            self.written.set(Some(passed));
            let (share, left) = self.share_and_left(passed);
            self.overwrite(&format!(
                "{MARK}{}: {share:.0} % of the records, about {left:.0} s left",
                self.what
            ));
        }
    }

    /// The one line where there is no terminal, when it is time for it.
    fn line(&self, passed: Duration) -> Option<String> {
        if passed < PATIENCE || self.written.get().is_some() {
            return None;
        }
        self.written.set(Some(passed));
        let (share, left) = self.share_and_left(passed);
        let (what, seconds) = (self.what, passed.as_secs());
        Some(format!("{what}: {share:.0} % of the records after {seconds} s, about {left:.0} s left"))
    }

    /// Percent of the records that are done, and the seconds that the rest may take.
    fn share_and_left(&self, passed: Duration) -> (f64, f64) {
        let share = (self.done.get() as f64 / self.records.max(1) as f64).clamp(1e-6, 1.0);
        (100.0 * share, passed.as_secs_f64() * (1.0 / share - 1.0))
    }

    /// Replaces the line at the terminal.
    fn overwrite(&self, line: &str) {
        standard_error::write(&format!("\r\x1b[K{line}"));
    }
}

/// However the work ends, its line at the terminal goes.
impl Drop for Patience {
    fn drop(&mut self) {
        if self.at_terminal && self.written.get().is_some() {
            self.overwrite("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As where standard error is no terminal.
    fn patience(records: usize) -> Patience {
        let mut work = Patience::new("writing the trace", records);
        work.at_terminal = false;
        work
    }

    #[test]
    fn what_takes_long_has_one_line() {
        let work = patience(4_000_000);
        work.advance(1_000_000);
        assert_eq!(work.line(Duration::from_secs(9)), None);
        let line = work.line(Duration::from_secs(12)).unwrap();
        assert_eq!(line, "writing the trace: 25 % of the records after 12 s, about 36 s left");
        assert_eq!(work.line(Duration::from_secs(600)), None);
    }

    #[test]
    fn more_records_than_were_expected_are_all() {
        let work = patience(0);
        work.advance(5);
        let line = work.line(PATIENCE).unwrap();
        assert!(line.contains(": 100 % of") && line.ends_with("about 0 s left"), "{line}");
    }
}
