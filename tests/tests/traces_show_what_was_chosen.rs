//! A trace of chosen calls, communicators and phases: what was not wanted is not there, all else is as it was, and readers
//! have nothing to complain about.

use std::collections::BTreeSet;

use mel_tests::artifacts::fresh_dir;
use mel_tests::trace::{Record, Trace};
use mel_tests::{Finished, Job, Mpi, compile_special};

fn traced(mpi: &Mpi, options: &[&str]) -> (Finished, Trace) {
    traced_of(mpi, "phases", options)
}

fn traced_of(mpi: &Mpi, program: &str, options: &[&str]) -> (Finished, Trace) {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let output = output.to_str().expect("a path in UTF-8");
    let options: Vec<&str> = [&["--trace", "-o", output], options].concat();
    let run = Job::new(mpi, 2, compile_special(mpi, program)).under_mel(&options).run();
    run.expect(run.code == Some(0), &format!("{}: {options:?}", mpi.name));
    let trace = Trace::read(output.as_ref());
    assert_eq!(trace.disorder(), None, "{}: {options:?}", mpi.name);
    for ((name, _), lengths) in trace.metrics() {
        assert_eq!(lengths.last(), Some(&0), "{}: {options:?}: {name}", mpi.name);
    }
    (run, trace)
}

/// The number behind a word in a record.
fn number(record: &Record, word: &str) -> Option<u64> {
    let (_, rest) = record.details.split_once(&format!("{word}: "))?;
    rest.split([',', ';', ' ']).next()?.parse().ok()
}

/// The tags of the messages in records of these kinds.
fn tags(trace: &Trace, kinds: &[&str]) -> BTreeSet<u64> {
    let of_kind = trace.records.iter().filter(|record| kinds.contains(&record.kind.as_str()));
    of_kind.filter_map(|record| number(record, "Tag")).collect()
}

const GO: u64 = 900;
const CROSSING: u64 = 400;

/// The lengths in bytes of the messages with one tag, in records of this kind.
fn lengths(trace: &Trace, kind: &str, tag: u64) -> Vec<u64> {
    let of_tag =
        trace.records.iter().filter(|record| record.kind == kind && number(record, "Tag") == Some(tag));
    of_tag.filter_map(|record| number(record, "Length")).collect()
}

#[test]
fn phases() {
    for mpi in &Mpi::all() {
        let (_, trace) = traced(mpi, &[]);
        let recorded = [0, 1, 20, 21, 100, 102, 200, 300, CROSSING, GO].into();
        assert_eq!(tags(&trace, &["MPI_SEND"]), recorded, "{}", mpi.name);
        assert_eq!(tags(&trace, &["MPI_RECV", "MPI_IRECV"]), recorded, "{}", mpi.name);
        // Those that have one side only are left out: as they are, a reader would take them for one message.
        for kind in ["MPI_SEND", "MPI_RECV"] {
            assert_eq!(lengths(&trace, kind, CROSSING), [4, 16], "{}: {kind}", mpi.name);
        }
        // Posted before, and complete after the gap; posted in the gap, so that only its end is known.
        assert_eq!(tags(&trace, &["MPI_IRECV"]), [100, 102, 200].into(), "{}", mpi.name);
        assert_eq!(trace.count("MPI_IRECV_REQUEST"), 3, "{}", mpi.name);
        assert_eq!(trace.count("MPI_REQUEST_TEST"), 2, "{}", mpi.name);
        let switched = |mode: &str| {
            let is_it = |record: &&Record| {
                record.kind == "MEASUREMENT_ON_OFF" && record.details.contains(&format!("Mode: {mode}"))
            };
            let locations: BTreeSet<u64> =
                trace.records.iter().filter(is_it).map(|record| record.location).collect();
            locations.is_superset(&[0, 1].into())
        };
        assert!(switched("OFF") && switched("ON"), "{}", mpi.name);
        // In the gap there are two barriers, and only those of the others are seen.
        assert_eq!(trace.enters().get("MPI_Barrier"), Some(&(2 * 4)), "{}: {:?}", mpi.name, trace.enters());

        let (_, trace) = traced(mpi, &["--paused"]);
        assert_eq!(tags(&trace, &["MPI_SEND"]), [20, 21, 102, 200, 300, CROSSING, GO].into(), "{}", mpi.name);
        assert_eq!(lengths(&trace, "MPI_SEND", CROSSING), [16], "{}", mpi.name);
        for function in ["MPI_Init", "MPI_Finalize"] {
            assert_eq!(trace.enters().get(function), Some(&2), "{}: {function}", mpi.name);
        }
    }
}

#[test]
fn calls() {
    for mpi in &Mpi::all() {
        let (_, trace) = traced(mpi, &["--no-calls", "MPI_Iprobe,mpi_test*,MPI_Wait"]);
        let enters = trace.enters();
        assert!(enters.contains_key("MPI_Irecv") && enters.contains_key("MPI_Send"), "{enters:?}");
        assert!(!enters.contains_key("MPI_Test") && !enters.contains_key("MPI_Wait"), "{enters:?}");
        assert_eq!(trace.count("MPI_REQUEST_TEST"), 0, "{}", mpi.name);
        // What completes in calls that are not shown.
        assert_eq!(tags(&trace, &["MPI_IRECV"]), [100, 102, 200].into(), "{}", mpi.name);

        let (run, trace) = traced(mpi, &["--no-strict", "--only-calls", "MPI_Send,MPI_Recv,MPI_Sned"]);
        let calls: BTreeSet<&str> =
            trace.enters().into_keys().filter(|region| region.starts_with("MPI_")).collect();
        assert_eq!(calls, ["MPI_Finalize", "MPI_Init", "MPI_Recv", "MPI_Send"].into(), "{}", mpi.name);
        assert_eq!(trace.count("MPI_COLLECTIVE_BEGIN"), 0, "{}", mpi.name);
        run.expect(run.stderr.contains("there is no MPI function MPI_Sned; nearest: MPI_Send"), mpi.name);
    }
}

#[test]
fn communicators() {
    for mpi in &Mpi::all() {
        for (option, wanted) in [
            (["--only-comms", "the h*,the hallo"], [1, 21].into()),
            (["--no-comms", "the halo"], [0, 20, 100, 102, 200, 300, CROSSING, GO].into()),
        ] {
            let (run, trace) = traced(mpi, &option);
            let complaint = "there is no communicator the hallo; nearest: the halo";
            run.expect(run.stderr.contains(complaint) == (option[0] == "--only-comms"), mpi.name);
            run.expect(run.stderr.matches("there is no communicator").count() < 2, mpi.name);
            let wanted: BTreeSet<u64> = wanted;
            assert_eq!(tags(&trace, &["MPI_SEND"]), wanted, "{}: {option:?}", mpi.name);
            assert_eq!(tags(&trace, &["MPI_RECV", "MPI_IRECV"]), wanted, "{}: {option:?}", mpi.name);
            let of_halo = option[0] == "--only-comms";
            let enters = trace.enters();
            assert_eq!(enters.contains_key("MPI_Barrier"), !of_halo, "{}: {option:?}", mpi.name);
            assert_eq!(enters.contains_key("MPI_Comm_free"), of_halo, "{}: {option:?}", mpi.name);
            for (name, _) in trace.metrics().keys() {
                assert_eq!(name.ends_with(": the halo"), of_halo, "{}: {name}", mpi.name);
            }
        }
    }
}

/// A window is left out with the communicator that it was made on; a function that is left out takes no operation with it.
#[test]
fn windows() {
    for mpi in &Mpi::all() {
        let puts = |trace: &Trace| -> Vec<u64> {
            let puts = trace.records.iter().filter(|record| record.kind == "RMA_PUT");
            let mut bytes: Vec<u64> = puts.filter_map(|record| number(record, "Bytes")).collect();
            bytes.sort_unstable();
            bytes
        };
        for (options, bytes, made) in [
            (&[][..], &[4, 4, 8, 8][..], 4),
            (&["--no-comms", "the halo"], &[8, 8], 2),
            (&["--only-comms", "the halo"], &[4, 4], 2),
            (&["--no-calls", "MPI_Put"], &[4, 4, 8, 8], 4),
        ] {
            let (_, trace) = traced_of(mpi, "window_on_halo", options);
            let context = format!("{}: {options:?}", mpi.name);
            assert_eq!(puts(&trace), bytes, "{context}");
            assert_eq!(trace.count("RMA_WIN_CREATE"), made, "{context}");
            assert_eq!(trace.count("RMA_OP_COMPLETE_BLOCKING"), bytes.len() as u64, "{context}");
            let enters = trace.enters();
            let calls = if options.first() == Some(&"--no-calls") { None } else { Some(made) };
            assert_eq!(enters.get("MPI_Put").copied(), calls, "{context}: {enters:?}");
            assert_eq!(enters.get("MPI_Win_fence").copied(), Some(2 * made), "{context}: {enters:?}");
            for function in ["MPI_Win_create", "MPI_Win_free"] {
                assert_eq!(enters.get(function).copied(), Some(made), "{context}: {enters:?}");
            }
        }
    }
}
