//! Perfetto's published definitions read our traces: nothing unknown, no crossing slices, no message that goes back in
//! time, and the searches are those that the profile counts.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, installed_by, mel, root};
use mel_tests::cases::for_each_case_on;
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::windows::WindowProgram;
use mel_tests::{Job, Mpi, compile_special, test_every_program};
use serde_json::Value;

/// Programs with all ways to receive. Where threads share a tag, only they know whose message was whose.
const PROGRAMS: [&str; 2] = ["random", "wildcards"];

/// Converts a run, and reads what has become of it with the definitions in that environment.
fn read(prefix: &Path, run: &Path) -> Value {
    let trace = run.join("app.perfetto");
    let mut convert = Command::new(mel());
    convert.args(["convert", "--perfetto"]).arg(&trace).arg(run);
    assert!(convert.status().expect("mel can be started").success());
    let mut reader = Command::new(prefix.join("bin/python"));
    let read = reader.arg(root().join("tests/readers/read_perfetto.py")).arg(&trace).output();
    let read = read.expect("python can be started");
    serde_json::from_slice(&read.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&read.stderr)))
}

#[test]
#[ignore = "slow"]
fn operations_on_windows_and_epochs_are_slices() {
    let Some(prefix) = installed_by("scripts/pypi-readers", Some("perfetto")) else { return };
    let mpi = &Mpi::all()[0];
    for name in ["lock", "pscw", "fence"] {
        let program = WindowProgram::named(name);
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--trace".as_ref(), "-o".as_ref(), output.as_os_str()];
        let run = Job::new(mpi, program.ranks, program.compile(mpi)).under_mel(options).run();
        run.expect(run.code == Some(0), name);
        let (trace, read) = (Trace::read(&output), read(&prefix, &output));
        assert_eq!(read["faults"], Value::Array(Vec::new()), "{name}");
        let started = ["RMA_PUT", "RMA_GET", "RMA_ATOMIC"].map(|kind| trace.count(kind)).iter().sum::<u64>();
        assert!(started > 0 && read["operations"] == started, "{name}: {started} operations: {read}");
        assert_eq!(read["epoch_operations"], started, "{name}: each was started in an epoch: {read}");
    }
}

#[test]
#[ignore = "slow"]
fn regions_of_the_program_are_slices() {
    let Some(prefix) = installed_by("scripts/pypi-readers", Some("perfetto")) else { return };
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let options = ["--trace".as_ref(), "-o".as_ref(), output.as_os_str()];
    let run = Job::new(mpi, 4, compile_special(mpi, "regions_in_time")).patient().under_mel(options).run();
    run.expect(run.code == Some(0), mpi.name);
    let read = read(&prefix, &output);
    assert_eq!(read["faults"], Value::Array(Vec::new()), "{read}");
    for (region, times) in [("main", 4), ("step", 40), ("assemble", 40), ("output", 4)] {
        assert_eq!(read["slices"][format!("regions: {region}")], times, "{read}");
    }
}

#[test]
#[ignore = "slow"]
fn where_recording_was_off_is_a_slice_and_no_arrow_joins_what_does_not_belong_together() {
    let Some(prefix) = installed_by("scripts/pypi-readers", Some("perfetto")) else { return };
    for mpi in &Mpi::all() {
        let (program, mut arrows) = (compile_special(mpi, "phases"), None);
        for (options, off) in [
            (&["--trace"][..], 2),
            (&["--trace", "--no-calls", "MPI_Recv,MPI_Send,MPI_Wait"], 2),
            (&["--trace", "--paused"], 2),
        ] {
            let lacks_calls = options.contains(&"--no-calls");
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = options.iter().map(AsRef::as_ref).chain(["-o".as_ref(), output.as_os_str()]);
            let run = Job::new(mpi, 2, &program).under_mel(options).run();
            run.expect(run.code == Some(0), mpi.name);
            let read = read(&prefix, &output);
            assert_eq!(read["faults"], Value::Array(Vec::new()), "{}: {read}", mpi.name);
            assert_eq!(read["slices"]["recording: recording off"], off, "{}: {read}", mpi.name);
            assert!(read["flows"].as_u64() > Some(3), "{}: {read}", mpi.name);
            // An arrow needs no call to begin or end in.
            let flows = (read["flows"].clone(), read["open_flows"].clone());
            if lacks_calls {
                assert_eq!(Some(&flows), arrows.as_ref(), "{}: {read}", mpi.name);
                let sent = read["instants"]["MPI calls: message sent"].as_u64();
                assert!(sent >= read["flows"].as_u64(), "{}: {read}", mpi.name);
            }
            arrows.get_or_insert(flows);
            for (queue, lengths) in read["lengths"].as_object().expect("counters") {
                let last = lengths.as_array().and_then(|lengths| lengths.last());
                assert_eq!(last, Some(&0.into()), "{}: {queue}: {lengths}", mpi.name);
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn what_was_sampled_is_counters() {
    let Some(prefix) = installed_by("scripts/pypi-readers", Some("perfetto")) else { return };
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let variable = "pml_monitoring_messages_count";
        let options = ["--trace", "--vars", variable, "--every", "10ms", "-o"].map(AsRef::as_ref);
        let job = Job::new(mpi, 2, compile_special(mpi, "sampled")).args(["200"]);
        let run = job.under_mel(options.into_iter().chain([output.as_os_str()])).run();
        run.expect(run.code == Some(0), mpi.name);
        let read = read(&prefix, &output);
        assert_eq!(read["faults"], Value::Array(Vec::new()), "{}: {read}", mpi.name);
        let profile = Profile::read(&output);
        let of_world = &profile.json()["ranks"][0]["variables"][0];
        let values = read["lengths"][format!("rank 0, {variable} on MPI_COMM_WORLD")].as_array();
        let values: Vec<f64> = values.expect("a counter").iter().filter_map(Value::as_f64).collect();
        assert_eq!(Some(values.len() as u64), of_world["samples"].as_u64(), "{}: {values:?}", mpi.name);
        assert_eq!((values[0], values.last()), (0.0, Some(&205.0)), "{}: {values:?}", mpi.name);
        let other = &read["lengths"][format!("rank 0, {variable} on the other")];
        assert_eq!(other.as_array().and_then(|all| all.last()), Some(&5.into()), "{}: {read}", mpi.name);
    }
}

fn readable(name: &str) {
    if !PROGRAMS.contains(&name) {
        return;
    }
    let Some(prefix) = installed_by("scripts/pypi-readers", Some("perfetto")) else { return };
    for_each_case_on(&Mpi::all(), name, |case| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--profile", "queues", "--trace", "-e", "pml_ob1_message_arrived", "-o"];
        let options = options.iter().map(AsRef::as_ref).chain([output.as_os_str()]);
        let run = case.job().under_mel(options).run();
        run.expect(run.code == Some(0), &case.to_string());

        let read = read(&prefix, &output);
        assert_eq!(read["faults"], Value::Array(Vec::new()), "{case}");
        let profile = Profile::read(&output);
        for queue in ["posted", "unexpected"] {
            let searches = profile.total(&format!("{queue}_search.searches"));
            let slices = read["slices"].as_object().expect("slices").iter();
            let slices: u64 = slices
                .filter(|(slice, _)| {
                    slice.starts_with("searches") && slice.ends_with(&format!("search_{queue}"))
                })
                .filter_map(|(_, count)| count.as_u64())
                .sum();
            assert_eq!(slices, searches, "{case}: {queue} searches: {read}");
        }
        assert!(read["flows"].as_u64() > Some(0), "{case}: {read}");
        for (counter, queue) in [("posted receives", "posted"), ("unexpected messages", "unexpected")] {
            let waited = profile.total(&format!("{queue}.messages"));
            assert!(read["counters"][counter].as_u64().unwrap_or(0) >= waited, "{case}: {counter}: {read}");
        }
        let search = &read["search"];
        let complete = search["tag"].is_number() && search["queue length"].is_number();
        assert!(complete && search["communicator"].is_string(), "{case}: {read}");
        assert_eq!(read["threads"], case.ranks, "{case}: {read}");
    });
}

test_every_program!(slow readable);
