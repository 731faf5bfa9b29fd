//! Readers of OTF2 that others have written, and what they find in a trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::artifacts::{absent, installed_by, root};
use crate::trace::Trace;

/// A Python that has the package `otf2`.
#[derive(Clone, Debug)]
pub struct Python {
    /// Whose package it is.
    pub name: &'static str,
    path: PathBuf,
}

impl Python {
    /// That of the distribution, and that of the Python package index, which the trace analysis library Pipit reads with.
    pub fn all() -> Vec<Python> {
        let there = |path: &Path| {
            Command::new(path)
                .args(["-c", "import otf2"])
                .output()
                .is_ok_and(|output| output.status.success())
        };
        let of_index =
            installed_by("scripts/pypi-readers", Some("otf2")).map(|prefix| prefix.join("bin/python"));
        // The distribution's packages are the distribution's Python's.
        let of_distribution = Some(PathBuf::from("/usr/bin/python3")).filter(|path| there(path));
        if of_distribution.is_none() {
            absent("a Python with python3-otf2", "scripts/install-deps installs it");
        }
        let wanted = [("python3-otf2", of_distribution), ("otf2 of the index", of_index)];
        wanted.into_iter().filter_map(|(name, path)| Some(Python { name, path: path? })).collect()
    }

    /// All that this reader finds in the trace of a run's directory.
    ///
    /// # Panics
    ///
    /// If it has any complaint.
    pub fn read(&self, directory: &Path) -> Value {
        let mut command = Command::new(&self.path);
        command.arg(root().join("tests/readers/read_otf2.py")).arg(directory.join("traces.otf2"));
        let output = command.output().expect("python can be started");
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && complaints.is_empty(), "{}: {complaints}", self.name);
        serde_json::from_slice(&output.stdout).expect("the reader writes JSON")
    }

    /// What this reader finds in the trace of a run's directory otherwise than `otf2-print`, if anything.
    ///
    /// # Panics
    ///
    /// If it has any complaint.
    pub fn disagreement(&self, directory: &Path, trace: &Trace) -> Option<String> {
        let read = self.read(directory);
        let mut events = BTreeMap::<(u64, &str), u64>::new();
        for record in &trace.records {
            *events.entry((record.location, &record.kind)).or_default() += 1;
        }
        let read_events = |location: u64, kind: &str| read["events"][location.to_string()][kind].as_u64();
        let of_event = |((location, kind), count): (&(u64, &str), &u64)| {
            (read_events(*location, kind) != Some(*count)).then(|| {
                format!("{kind} on location {location}: {:?}, not {count}", read_events(*location, kind))
            })
        };
        let definitions = trace.definition_kinds();
        let of_definition = |(kind, count): (&&str, &u64)| {
            let read_count = read["definitions"][kind].as_u64();
            (*kind != "CLOCK_PROPERTIES" && read_count != Some(*count))
                .then(|| format!("{kind}: {read_count:?}, not {count}"))
        };
        let all: u64 = sum(&read["events"]);
        let superfluous = (all != trace.records.len() as u64)
            .then(|| format!("{all} records, not {}", trace.records.len()));
        let wrong = (events.iter().filter_map(of_event))
            .chain(definitions.iter().filter_map(of_definition))
            .chain(superfluous)
            .collect::<Vec<_>>();
        (!wrong.is_empty()).then(|| format!("{}: {}", self.name, wrong.join("; ")))
    }
}

/// The sum of all numbers in lists of lists.
fn sum(value: &Value) -> u64 {
    match value {
        Value::Object(map) => map.values().map(sum).sum(),
        other => other.as_u64().unwrap_or(0),
    }
}
