//! How far work on the records of a run is: a bar where standard error is a terminal.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Work on fewer records is not worth a bar.
const LONG: usize = 2_000_000;
/// After this long a line tells of work that has no bar.
const PATIENCE: Duration = Duration::from_secs(10);

/// Work that somebody waits for. Several threads may tell of it.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Whether the line has been told that stands for the bar.
    told: AtomicBool,
}

impl Progress {
    /// Work on about so many records, named so at the beginning of the bar: it is there if standard error is a terminal and
    /// the work is long enough to wait for.
    pub fn new(what: &str, records: usize) -> Progress {
        let shown = records >= LONG && io::stderr().is_terminal();
        let bar = if shown { ProgressBar::new(records as u64) } else { ProgressBar::hidden() };
        bar.set_length(records as u64);
        if let Ok(style) =
            ProgressStyle::with_template("mel: {msg} {wide_bar} {percent} % of the records, {eta} left")
        {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Progress { bar, told: AtomicBool::new(shown) }
    }

    /// So many more records are done.
    pub fn advance(&self, records: u64) {
        self.bar.inc(records);
    }

    /// The same, in a program whose user did not ask for this work at this time: where there is no bar, one line to tell after
    /// a while, with how long the rest may take.
    pub fn advance_patiently(&self, records: u64) -> Option<String> {
        self.advance(records);
        self.line(self.bar.elapsed())
    }

    fn line(&self, passed: Duration) -> Option<String> {
        if passed < PATIENCE || self.told.swap(true, Ordering::Relaxed) {
            return None;
        }
        let share = self.bar.position() as f64 / self.bar.length().unwrap_or(0).max(1) as f64;
        let left = passed.as_secs_f64() * (1.0 / share.clamp(1e-6, 1.0) - 1.0);
        Some(format!(
            "{}: {:.0} % of the records after {} s, about {left:.0} s left",
            self.bar.message(),
            100.0 * share.min(1.0),
            passed.as_secs(),
        ))
    }
}

/// However the work ends, its bar goes.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_tells_of_what_takes_long() {
        let progress = Progress::new("writing the trace", 4_000_000);
        // As where standard error is no terminal.
        progress.told.store(false, Ordering::Relaxed);
        progress.advance(1_000_000);
        assert_eq!(progress.line(Duration::from_secs(9)), None);
        let told = progress.line(Duration::from_secs(12)).unwrap();
        assert_eq!(told, "writing the trace: 25 % of the records after 12 s, about 36 s left");
        assert_eq!(progress.line(Duration::from_secs(600)), None);
        assert!(progress.bar.is_hidden() || io::stderr().is_terminal());
    }

    #[test]
    fn more_records_than_were_told_of_are_all() {
        let progress = Progress::new("writing the trace", 0);
        progress.told.store(false, Ordering::Relaxed);
        progress.advance(5);
        let told = progress.line(PATIENCE).unwrap();
        assert!(told.contains(": 100 % of") && told.ends_with("about 0 s left"), "{told}");
    }
}
