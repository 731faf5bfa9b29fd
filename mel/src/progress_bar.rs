//! How far work on the records of a run is: a bar where standard error is a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::ProgressStyle;
use mel_log::settings::MARK;

/// Work on fewer records is not worth a bar.
const LONG: usize = 2_000_000;

/// A bar for work that somebody waits for. Several threads may advance it.
#[derive(Debug)]
pub struct ProgressBar(indicatif::ProgressBar);

impl ProgressBar {
    /// Work on about so many records, named so at the beginning of the bar: it is there if standard error is a terminal and
    /// the work is long enough to wait for.
    pub fn new(what: &str, records: usize) -> ProgressBar {
        let shown = records >= LONG && io::stderr().is_terminal();
        let bar = match shown {
            true => indicatif::ProgressBar::new(records as u64),
            false => indicatif::ProgressBar::hidden(),
        };
        let template = format!("{MARK}{{msg}} {{wide_bar}} {{percent}} % of the records, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        ProgressBar(bar)
    }

    /// So many more records are done.
    pub fn advance(&self, records: u64) {
        self.0.inc(records);
    }
}

/// However the work ends, its bar goes.
impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A line that says what is waited for, where standard error is a terminal; it goes when this is dropped.
#[derive(Debug)]
pub struct Waiting(indicatif::ProgressBar);

impl Waiting {
    /// Says what.
    pub fn new(what: &str) -> Waiting {
        let shown = io::stderr().is_terminal();
        let line =
            if shown { indicatif::ProgressBar::new_spinner() } else { indicatif::ProgressBar::hidden() };
        line.set_message(format!("{MARK}{what}"));
        line.enable_steady_tick(Duration::from_millis(100));
        Waiting(line)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
