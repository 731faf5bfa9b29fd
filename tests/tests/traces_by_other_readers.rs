//! The readers that others have written take a trace, and find as much in it as `otf2-print` does.

use std::path::Path;
use std::process::{Command, Output};

use mel_tests::artifacts::fresh_dir;
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi, Program};

/// Counts events, metric values and communicators; looks at everything that an event refers to.
const READ: &str = r#"
import sys, otf2
from otf2.events import Metric
with otf2.reader.open(sys.argv[1]) as trace:
    events = metrics = 0
    for location, event in trace.events:
        events += 1
        repr(event)
        [(key.name, value) for key, value in (event.attributes or {}).items()]
        if isinstance(event, Metric):
            metrics += 1
            assert event.metric.members[0].unit == "entries"
    print(events, metrics, *sorted(comm.name for comm in trace.definitions.comms))
"#;

fn run(program: &str, args: &[&str], anchor: &Path) -> Output {
    let output = Command::new(program).args(args).arg(anchor).output();
    output.unwrap_or_else(|error| panic!("{program} (scripts/install-deps installs it): {error}"))
}

#[test]
fn find_the_same() {
    for mpi in &Mpi::all() {
        // Without communicators of two groups: versions 3.0.2 of both readers fail at their definitions.
        for program in ["random", "completion"] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let job = Job::new(mpi, 4, Program::named(program).compile(mpi));
            let finished = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
            finished.expect(finished.code == Some(0), mpi.name);
            let (anchor, trace) = (output.join("traces.otf2"), Trace::read(&output));

            // It reads all events to write snapshots of the state between them.
            let snapshots = run("otf2-snapshots", &["-n", "3"], &anchor);
            let complaints = String::from_utf8_lossy(&snapshots.stderr).into_owned();
            // Version 3.0.2 counts the samples of its own thumbnails wrongly, for any trace.
            let other =
                complaints.lines().find(|line| !line.is_empty() && !line.contains("OTF2_Thumbnail.c"));
            assert!(snapshots.status.success() && other.is_none(), "{} {program}: {complaints}", mpi.name);

            // The distribution's packages are the distribution's Python's.
            let python = run("/usr/bin/python3", &["-c", READ], &anchor);
            let complaints = String::from_utf8_lossy(&python.stderr).into_owned();
            assert!(python.status.success(), "{} {program}: {complaints}", mpi.name);
            let read = String::from_utf8_lossy(&python.stdout).into_owned();
            let expected = format!("{} {} ", trace.records.len(), trace.count("METRIC"));
            assert!(read.starts_with(&expected), "{} {program}: {read}, not {expected}", mpi.name);
            assert!(read.contains("MPI_COMM_WORLD"), "{read}");
        }
    }
}
