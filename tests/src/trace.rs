//! An OTF2 trace as `otf2-print` shows it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One record of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// For instance `ENTER` or `MPI_SEND`.
    pub kind: String,
    /// The location that it belongs to.
    pub location: u64,
    /// In ticks of the trace's clock.
    pub timestamp: u64,
    /// The rest of the line: attributes by name and number.
    pub details: String,
}

/// All records of a trace, in the order of time.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The records.
    pub records: Vec<Record>,
    /// The global definitions as `otf2-print -G` prints them, one per line.
    pub definitions: Vec<String>,
}

impl Trace {
    /// Reads the archive in a run's directory.
    ///
    /// # Panics
    ///
    /// If there is none, or `otf2-print` has any complaint.
    pub fn read(directory: &Path) -> Trace {
        let anchor = anchor(directory);
        let records = records(&otf2_print(&anchor, &[]));
        let definitions = otf2_print(&anchor, &["-G"]).lines().map(str::to_owned).collect();
        Trace { records, definitions }
    }

    /// How often each region is entered, over all locations, by name.
    pub fn enters(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for record in self.records.iter().filter(|record| record.kind == "ENTER") {
            *counts.entry(region(&record.details)).or_default() += 1;
        }
        counts
    }

    /// How many records there are of each kind.
    pub fn kinds(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for record in &self.records {
            *counts.entry(record.kind.as_str()).or_default() += 1;
        }
        counts
    }

    /// How many global definitions there are of each kind.
    pub fn definition_kinds(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        let kinds = self.definitions.iter().filter_map(|line| line.split_whitespace().next());
        for kind in kinds.filter(|kind| kind.chars().all(|c| c.is_ascii_uppercase() || c == '_')) {
            *counts.entry(kind).or_default() += 1;
        }
        counts
    }

    /// The first thing that is wrong with the order of the records, if any: time that goes backwards within a location,
    /// or a region that is left without having been entered or is never left.
    pub fn disorder(&self) -> Option<String> {
        let mut locations: BTreeMap<u64, (u64, Vec<&str>)> = BTreeMap::new();
        for record in &self.records {
            let (last, stack) = locations.entry(record.location).or_default();
            if record.timestamp < *last {
                return Some(format!("time goes back on location {}: {record:?}", record.location));
            }
            *last = record.timestamp;
            match record.kind.as_str() {
                "ENTER" => stack.push(region(&record.details)),
                "LEAVE" if stack.pop() != Some(region(&record.details)) => {
                    return Some(format!("a region is left that is not the innermost: {record:?}"));
                }
                _ => {}
            }
        }
        let (location, (_, stack)) = locations.into_iter().find(|(_, (_, stack))| !stack.is_empty())?;
        Some(format!("never left on location {location}: {stack:?}"))
    }

    /// The values of an attribute, of all records that have it: `("NAME" <5>; UINT64; 7)`.
    pub fn attribute(&self, name: &str) -> Vec<u64> {
        let named = format!("(\"{name}\" <");
        let of = |record: &Record| {
            let (_, rest) = record.details.split_once(&named)?;
            rest.split(')').next()?.rsplit("; ").next()?.parse().ok()
        };
        self.records.iter().filter_map(of).collect()
    }

    /// The regions that a location enters, in order, each with the text of an attribute, if it has that:
    /// `("NAME" <5>; STRING; "text" <7>)`.
    pub fn entered_with<'a>(&'a self, location: u64, name: &str) -> Vec<(&'a str, Option<&'a str>)> {
        let named = format!("(\"{name}\" <");
        let enters =
            self.records.iter().filter(|record| record.kind == "ENTER" && record.location == location);
        let text = |record: &'a Record| record.details.split_once(&named)?.1.split('"').nth(1);
        enters.map(|record| (region(&record.details), text(record))).collect()
    }

    /// The values of each metric over time, by its name and the first location of its process.
    pub fn metrics(&self) -> BTreeMap<(String, u64), Vec<u64>> {
        let mut metrics = BTreeMap::<_, Vec<u64>>::new();
        let processes = self.processes();
        for record in self.records.iter().filter(|record| record.kind == "METRIC") {
            let name = record.details.split('"').nth(1).unwrap_or_default().to_owned();
            let value =
                record.details.trim_end_matches(')').rsplit("; ").next().and_then(|value| value.parse().ok());
            metrics
                .entry((name, first_of(&processes, record.location)))
                .or_default()
                .push(value.expect("a metric has a number"));
        }
        metrics
    }

    /// Times and values of each metric that is sampled, by its name and the first location of its process.
    pub fn sampled(&self) -> BTreeMap<(String, u64), Vec<(u64, f64)>> {
        let mut metrics = BTreeMap::<_, Vec<(u64, f64)>>::new();
        let processes = self.processes();
        for record in self.records.iter().filter(|record| record.kind == "METRIC") {
            let name = record.details.split('"').nth(1).unwrap_or_default().to_owned();
            let value = record.details.trim_end_matches(')').rsplit("; ").next();
            let value: f64 = value.and_then(|value| value.parse().ok()).expect("a metric has a number");
            let key = (name, first_of(&processes, record.location));
            metrics.entry(key).or_default().push((record.timestamp, value));
        }
        metrics
    }

    /// How many records there are of a kind.
    pub fn count(&self, kind: &str) -> u64 {
        self.records.iter().filter(|record| record.kind == kind).count() as u64
    }

    /// The process of each location, by the name of its group.
    fn processes(&self) -> BTreeMap<u64, &str> {
        let of = |line: &'_ str| -> Option<u64> {
            line.strip_prefix("LOCATION ")?.split_whitespace().next()?.parse().ok()
        };
        let group = |line: &'_ str| line.split_once("Group: ").map_or(0, |(start, _)| start.len());
        self.definitions.iter().filter_map(|line| Some((of(line)?, &line[group(line)..]))).collect()
    }

    /// How long before it was sent a message was received, at most, in ticks; zero if none was. For each pair of
    /// processes: of as many receives as there have been there are at least as many sends.
    pub fn received_before_sent(&self) -> u64 {
        type Times = BTreeMap<(u64, u64), Vec<u64>>;
        let (mut sent, mut received) = (Times::new(), Times::new());
        // A message names the first location of a process, and may be on another one.
        let processes = self.processes();
        for record in &self.records {
            match record.kind.as_str() {
                "MPI_SEND" | "MPI_ISEND" => {
                    sent.entry((first_of(&processes, record.location), peer(&record.details)))
                        .or_default()
                        .push(record.timestamp);
                }
                "MPI_RECV" | "MPI_IRECV" => {
                    received
                        .entry((peer(&record.details), first_of(&processes, record.location)))
                        .or_default()
                        .push(record.timestamp);
                }
                _ => {}
            }
        }
        let early = received.iter().flat_map(|(pair, received)| {
            let sent =
                sent.get(pair).map_or(&[][..], Vec::as_slice).iter().chain(std::iter::repeat(&u64::MAX));
            received.iter().zip(sent).map(|(received, sent)| sent.saturating_sub(*received))
        });
        early.max().unwrap_or(0)
    }
}

/// The first location of the process that a location belongs to.
fn first_of(processes: &BTreeMap<u64, &str>, location: u64) -> u64 {
    let process = processes.get(&location);
    let first = processes.iter().find(|(_, other)| Some(*other) == process);
    first.map_or(location, |(first, _)| *first)
}

fn anchor(directory: &Path) -> PathBuf {
    let anchor = directory.join("traces.otf2");
    assert!(anchor.exists(), "{} is not there", anchor.display());
    anchor
}

fn otf2_print(anchor: &Path, options: &[&str]) -> String {
    let output =
        Command::new("otf2-print").args(options).arg(anchor).output().expect("otf2-print is installed");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && complaints.is_empty(),
        "otf2-print {}: {complaints}",
        anchor.display()
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All records; attributes stand on a line of their own behind theirs.
fn records(printed: &str) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in printed.lines() {
        match (line.split_once("ADDITIONAL ATTRIBUTES: "), records.last_mut()) {
            (Some((blank, attributes)), Some(last)) if blank.trim().is_empty() => {
                last.details += "; ";
                last.details += attributes;
            }
            _ => records.extend(record(line)),
        }
    }
    records
}

/// Reads a line such as `ENTER   0   1234  Region: "MPI_Send" <3>`.
fn record(line: &str) -> Option<Record> {
    let mut parts = line.split_whitespace();
    let kind = parts
        .next()
        .filter(|kind| kind.chars().all(|c| c.is_ascii_uppercase() || "_0123456789".contains(c)))?;
    let location = parts.next()?.parse().ok()?;
    let timestamp = parts.next()?.parse().ok()?;
    let details = parts.collect::<Vec<_>>().join(" ");
    Some(Record { kind: kind.to_owned(), location, timestamp, details })
}

/// The location in `Receiver: 3 ("rank 0" <0>), ...`.
fn peer(details: &str) -> u64 {
    let number = details.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(number, _)| number);
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no peer in {details}"))
}

/// The name in `Region: "NAME" <3>`.
fn region(details: &str) -> &str {
    details.split('"').nth(1).unwrap_or(details)
}

/// What OTF2's own reader prints of the archive in a directory: definitions with their numbers, clock offsets, events.
///
/// # Panics
///
/// If there is none, or the reader has any complaint.
pub fn printed(directory: &Path) -> [String; 3] {
    [&["-G"][..], &["-C"], &[]].map(|options| otf2_print(&anchor(directory), options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(lines: &[&str]) -> Trace {
        Trace { records: records(&lines.join("\n")), definitions: Vec::new() }
    }

    #[test]
    fn lines_are_read() {
        let trace = trace(&[
            "=== Events ===",
            "Event                               Location            Timestamp  Attributes",
            "ENTER                                      0                   10  Region: \"MPI_Send\" <3>",
            "LEAVE                                      0                   12  Region: \"MPI_Send\" <3>",
        ]);
        assert_eq!(trace.records.len(), 2);
        assert_eq!(trace.enters(), BTreeMap::from([("MPI_Send", 1)]));
        assert_eq!(trace.disorder(), None);
    }

    #[test]
    fn attributes_and_metrics_are_read() {
        let trace = trace(&[
            "MPI_RECV 1 11 Sender: 0 (\"rank 0\" <0>), Communicator: \"x\" <0>, Tag: 0, Length: 8",
            "    ADDITIONAL ATTRIBUTES: (\"tag\" <2>; INT32; 7), (\"unexpected for\" <5>; UINT64; 22713)",
            "METRIC 3 12 Metric: 0, 1 Value: (\"pml_ob1_unex: x\" <0>; UINT64; 2)",
        ]);
        assert_eq!(trace.attribute("unexpected for"), [22713]);
        assert_eq!(trace.metrics(), BTreeMap::from([(("pml_ob1_unex: x".to_owned(), 3), vec![2])]));
        assert_eq!((trace.count("MPI_RECV"), trace.count("MPI_SEND")), (1, 0));
    }

    #[test]
    fn texts_of_regions_are_read() {
        let trace = trace(&[
            "ENTER 0 10 Region: \"MPI_Send\" <3>",
            "    ADDITIONAL ATTRIBUTES: (\"call site\" <0>; STRING; \"a.c:7 (f)\" <16>)",
            "ENTER 0 12 Region: \"MPI_Recv\" <4>",
            "ENTER 1 12 Region: \"MPI_Recv\" <4>",
        ]);
        let entered = [("MPI_Send", Some("a.c:7 (f)")), ("MPI_Recv", None)];
        assert_eq!(trace.entered_with(0, "call site"), entered);
        assert_eq!(trace.entered_with(1, "of another name"), entered[1..]);
    }

    #[test]
    fn messages_from_the_future_are_found() {
        let send = "MPI_ISEND 0 10 Receiver: 1 (\"rank 1\" <1>), Communicator: \"x\" <0>, Tag: 0, Length: 8";
        let receive = "MPI_RECV 1 11 Sender: 0 (\"rank 0\" <0>), Communicator: \"x\" <0>, Tag: 0, Length: 8";
        let early = "MPI_RECV 1 7 Sender: 0 (\"rank 0\" <0>), Communicator: \"x\" <0>, Tag: 0, Length: 8";
        assert_eq!(trace(&[send, receive]).received_before_sent(), 0);
        assert_eq!(trace(&[early, send]).received_before_sent(), 3);
        assert!(trace(&[send, receive, receive]).received_before_sent() > 1 << 60);
    }

    #[test]
    fn disorder_is_found() {
        assert!(trace(&["ENTER 0 10 Region: \"a\"", "LEAVE 0 9 Region: \"a\""]).disorder().is_some());
        assert!(trace(&["ENTER 0 10 Region: \"a\"", "LEAVE 0 10 Region: \"b\""]).disorder().is_some());
        assert!(trace(&["ENTER 0 10 Region: \"a\"", "LEAVE 1 11 Region: \"a\""]).disorder().is_some());
        assert!(trace(&["ENTER 0 10 Region: \"a\""]).disorder().is_some());
    }
}
