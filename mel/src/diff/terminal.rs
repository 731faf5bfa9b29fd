//! Two runs as tables.

use std::path::Path;

use super::{Change, Diff, Section};
use mel_log::profile::schema::Profile;
use mel_log::profile::text::header::header;
use mel_log::profile::text::layout::table;

/// The most lines of a table.
const MOST: usize = 10;

/// The whole text: which runs, and a table for each section, the largest change first. No line is longer than
/// [`mel_log::profile::text::COLUMNS`], but where a directory's name is.
pub fn terminal(runs: [(&Path, &Profile); 2], diff: &Diff) -> String {
    let mut text = String::new();
    for (letter, (directory, profile)) in ["A  ", "B  "].into_iter().zip(runs) {
        text += &header(profile, Some(directory), letter);
    }
    let sections = [
        (Section::Run, "run"),
        (Section::Function, "time by MPI function, all ranks together"),
        (Section::CallSite, "time by call site, all ranks together"),
        (Section::WaitState, "wait states (estimated), time lost by all ranks together"),
        (Section::Queue, "queues"),
    ];
    for (section, title) in sections {
        text += &of_section(diff, section, title);
    }
    text
}

/// The changes of a section; of the run as a whole, all numbers.
fn of_section(diff: &Diff, section: Section, title: &str) -> String {
    let mut changes: Vec<&Change> = diff.changes.iter().filter(|change| change.section == section).collect();
    let least = if section == Section::Run { f64::NEG_INFINITY } else { 0.0 };
    changes.retain(|change| change.difference().abs() > least && (change.a, change.b) != (0.0, 0.0));
    if changes.is_empty() {
        return String::new();
    }
    let mut rows = vec![["", "A", "B", "change", ""].map(str::to_owned).to_vec()];
    for change in changes.iter().take(MOST) {
        rows.push(vec![
            change.name.clone(),
            change.unit.text(change.a),
            change.unit.text(change.b),
            signed(change),
            relative(change),
        ]);
    }
    let more = match changes.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("   and {more} that have changed less: --json has all\n"),
    };
    format!("\n {title}\n{}{more}", table(&rows, &[0]))
}

fn signed(change: &Change) -> String {
    let difference = change.difference();
    let sign = if difference < 0.0 { "-" } else { "+" };
    match difference {
        0.0 => "0".into(),
        _ => format!("{sign}{}", change.unit.text(difference.abs())),
    }
}

/// By which part of the first a number has changed.
pub fn relative(change: &Change) -> String {
    match change.relative() {
        Some(0.0) => "the same".into(),
        Some(relative) => format!("{:+.1} %", relative * 100.0),
        None => "new".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::compare;
    use mel_log::profile::sample;
    use mel_log::profile::text::COLUMNS;

    fn text(a: &Profile, b: &Profile) -> String {
        terminal([(Path::new("mel-halo-1"), a), (Path::new("mel-halo-2"), b)], &compare(a, b))
    }

    #[test]
    fn both_runs_are_named_and_what_changed_most_is_first() {
        let text = text(&sample::healthy(4), &sample::late_rank(4, 1));
        assert!(
            text.starts_with("A  ./halo -n 200, ") && text.contains("\nB  directory mel-halo-2\n"),
            "{text}"
        );
        let line = |title: &str| {
            let mut lines = text.lines().skip_while(|line| !line.trim().starts_with(title)).skip(2);
            lines.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("time by MPI function"), "MPI_Waitall 16.0 ms 1.22 s +1.20 s +7500.0 %", "{text}");
        assert_eq!(
            line("time by call site"),
            "halo.c:44 (exchange) MPI_Waitall 16.0 ms 1.22 s +1.20 s +7500.0 %"
        );
        assert_eq!(
            line("wait states"),
            "late sender: halo.c:44 (exchange) MPI_Waitall 0 ns 1.20 s +1.20 s new",
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn what_is_the_same_is_not_in_the_tables() {
        let text = text(&sample::healthy(4), &sample::healthy(4));
        assert!(text.contains(" run\n") && !text.contains("time by") && !text.contains("queues\n"), "{text}");
        assert!(text.contains("the same"), "{text}");
    }
}
