//! Studies of one program, one after the other: a file with a line for each, to which every study adds one.

use std::io;

use serde::{Deserialize, Serialize};

use super::Study;

/// What is kept of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// When its last run was started, in seconds since 1970.
    pub started_unix_s: f64,
    /// What the user calls it, such as a commit; may be empty.
    pub label: String,
    /// The program.
    pub program: String,
    /// By the number of ranks: the time of the run in seconds, and the parallel efficiency.
    pub sizes: Vec<(u32, f64, f64)>,
    /// What comes to take more than anything else, and how it grows.
    pub threats: Vec<(String, String)>,
}

impl Entry {
    /// Of a study.
    #[must_use]
    pub fn of(study: &Study, label: &str) -> Entry {
        let sizes = study.sizes.iter().map(|size| (size.ranks, size.run_s, size.parallel_efficiency));
        let threats = study.threats().map(|(part, model)| (part.name.clone(), model.term.to_string()));
        Entry {
            started_unix_s: study.started_unix_s,
            label: label.to_owned(),
            program: study.program.clone(),
            sizes: sizes.collect(),
            threats: threats.collect(),
        }
    }
}

/// The entries of a file, in the order of time; lines of other versions are left out.
#[must_use]
pub fn read(text: &str) -> Vec<Entry> {
    let mut all: Vec<Entry> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    all.sort_by(|a, b| a.started_unix_s.total_cmp(&b.started_unix_s));
    all
}

/// All entries with this one; it takes the place of one of the same runs.
#[must_use]
pub fn with(mut all: Vec<Entry>, entry: Entry) -> Vec<Entry> {
    all.retain(|known| (known.started_unix_s, &known.program) != (entry.started_unix_s, &entry.program));
    all.push(entry);
    all.sort_by(|a, b| a.started_unix_s.total_cmp(&b.started_unix_s));
    all
}

/// Writes entries, a line for each.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl io::Write, all: &[Entry]) -> io::Result<()> {
    all.iter().try_for_each(|entry| writeln!(out, "{}", serde_json::to_string(entry)?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::profile;
    use super::*;

    #[test]
    fn entries_come_back_in_order_and_once() {
        let study = |started, waiting: f64| {
            let runs: Vec<_> = [2, 4, 8]
                .map(|ranks| {
                    let (name, profile) = profile(ranks, 1.0, waiting * f64::from(ranks));
                    (name, mel_log::profile::Profile { started_unix_s: started, ..profile })
                })
                .into();
            Study::of(&runs, None).unwrap()
        };
        let [old, new] = [study(1e9, 0.01), study(2e9, 0.02)];
        let all = with(with(Vec::new(), Entry::of(&new, "b")), Entry::of(&old, "a"));
        let all = with(all, Entry::of(&new, "c"));
        let mut bytes = Vec::new();
        write(&mut bytes, &all).unwrap();
        let back = read(&(String::from_utf8(bytes).unwrap() + "not JSON\n"));
        let of =
            |all: &[Entry]| all.iter().map(|of| (of.label.clone(), of.threats.clone())).collect::<Vec<_>>();
        assert_eq!(of(&back), of(&all));
        assert_eq!(back.iter().map(|entry| &*entry.label).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(back[1].threats[0].1, "p");
    }
}
