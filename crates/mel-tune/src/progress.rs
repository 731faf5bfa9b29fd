//! How much of the budget is used, and what is running: a bar where standard error is a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mel_log::settings::MARK;

use super::Plan;

/// The bar. It goes when it is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begin: std::time::Instant,
}

impl Progress {
    /// A bar for what is done within a budget.
    pub fn new(plan: &Plan<'_>) -> Progress {
        let bar = match io::stderr().is_terminal() {
            true => ProgressBar::new(plan.budget.as_millis() as u64),
            false => ProgressBar::hidden(),
        };
        let length = plan.budget.as_secs();
        if let Ok(style) = ProgressStyle::with_template(&format!(
            "{MARK}{{msg}} {{wide_bar}} {{elapsed}} of at most {{prefix}}"
        )) {
            bar.set_style(style);
        }
        bar.set_prefix(format!("{}:{:02}", length / 60, length % 60));
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Progress { bar, begin: plan.begin }
    }

    /// What is running now.
    pub fn says(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.set_position(self.begin.elapsed().as_millis() as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
