//! Events of the MPI itself are logged like any other, on the MPICH that `scripts/mpich-with-events` builds.

use std::process::{Command, Stdio};

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::events::{Event, Log};
use mel_tests::{Job, Mpi, Program};

const NATIVE: [&str; 2] = ["unexp_message_enqueued", "unexp_message_dequeued"];

/// The MPI, if it is there, and a program whose rank 0 gets messages before it asks for them.
fn with_program(check: impl FnOnce(&Mpi, Job<'_>)) {
    let Some(mpi) = Mpi::with_events() else { return };
    let program = Program::named("unexpected").compile(&mpi);
    check(&mpi, Job::new(&mpi, 2, program));
}

/// The events of this name, on all ranks.
fn of_name<'a>(log: &'a Log, name: &str) -> Vec<(u32, &'a Event)> {
    let all = log.ranks.iter().flat_map(|(&rank, events)| events.iter().map(move |event| (rank, event)));
    all.filter(|(_, event)| event.name == name).collect()
}

#[test]
#[ignore = "slow"]
fn they_are_logged_with_their_elements_beside_those_of_the_model() {
    with_program(|_, job| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let names = format!("{},{},pml_ob1_unex_insert", NATIVE[0], NATIVE[1]);
        let finished =
            job.under_mel(["-e".as_ref(), names.as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        finished.expect(finished.code == Some(0), "the program ends well");
        let log = Log::of_run(&output);
        let modelled = of_name(&log, "pml_ob1_unex_insert");
        let [enqueued, dequeued] = NATIVE.map(|name| of_name(&log, name));
        finished.expect(!modelled.is_empty(), &format!("the ob1 model sees unexpected messages: {log:#?}"));
        // Messages of collective operations go through the MPI's queue too.
        finished.expect(enqueued.len() >= modelled.len(), &format!("the MPI reports each: {log:#?}"));
        finished.expect(!dequeued.is_empty(), &format!("and of its end: {log:#?}"));
        for (rank, event) in &enqueued {
            let elements: Vec<&str> = event.elements.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(elements, ["source", "context"]);
            assert_eq!(
                event.elements[0].1,
                i64::from(1 - rank),
                "the first element is the sender: {event:?}"
            );
        }
        for (_, event) in enqueued.iter().chain(&dequeued) {
            assert!((0.0..3600.0).contains(&event.seconds), "since MPI_Init, not since 1970: {event:?}");
        }
    });
}

#[test]
#[ignore = "slow"]
fn they_are_listed_where_mel_was_asked_nothing() {
    with_program(|_, job| {
        let finished = job.preloaded(&[]).run();
        finished.expect(finished.code == Some(0), "the program ends well");
        let line = "[MEL]   unexp_message_enqueued(source, context): message added to unexpected queue, as pml_ob1_unex_insert";
        let listed = finished.mel_lines().filter(|printed| *printed == line).count();
        finished.expect(listed == 1, "the MPI's own types are in the list");
    });
}

#[test]
#[ignore = "slow"]
fn profiles_and_traces_do_without_them() {
    with_program(|_, job| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let finished = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        finished.expect(finished.code == Some(0), "the program ends well");
        finished.expect(output.join("traces.otf2").exists(), "there is a trace");
    });
}

#[test]
#[ignore = "slow"]
fn the_command_lists_those_of_a_programs_mpi() {
    let native = Mpi::with_events();
    for mpi in Mpi::all_and_newer().into_iter().chain(native.clone()) {
        let program = Program::named("unexpected").compile(&mpi);
        let output = Command::new(mel()).arg("events").arg(&program).stdin(Stdio::null()).output();
        let output = output.expect("mel can be started");
        let (text, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: {errors}", mpi.name);
        assert!(text.contains("pml_ob1_message_arrived"), "{}: {text}", mpi.name);
        let (library, interface) = match mpi.name {
            "openmpi" => ("Open MPI v4.", "(MPI-3.1, the ABI of Open MPI)"),
            "openmpi-5" => ("Open MPI v5.", "(MPI-3.1, the ABI of Open MPI)"),
            "mpich" | "mpich-events" => ("MPICH Version: 4.", "(MPI-4.0, the ABI of MPICH)"),
            "mpich-5" => ("MPICH Version: 5.", "(MPI-5.0, the ABI of MPICH)"),
            _ => ("MPICH Version: 5.", "(MPI-5.0, the standard ABI of MPI-5)"),
        };
        let named = text.lines().find_map(|line| line.strip_prefix("MPI: "));
        let is_named = named.is_some_and(|line| line.starts_with(library) && line.ends_with(interface));
        assert!(is_named, "{}: {text}", mpi.name);
        let has_own = native.as_ref().is_some_and(|native| native.name == mpi.name);
        for name in NATIVE {
            let line = text.lines().find(|line| line.trim_start().starts_with(name));
            assert_eq!(line.is_some(), has_own, "{}: {text}", mpi.name);
            assert!(line.is_none_or(|line| line.contains("native")), "{text}");
        }
        let counted = format!("backend: native ({} event types of ", if has_own { 2 } else { 0 });
        assert!(text.contains(&counted), "{}: {text}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn tools_see_the_originals_only() {
    with_program(|mpi, _| {
        let directory = fresh_dir();
        let (program, output) = (directory.path().join("native"), directory.path().join("run"));
        // It checks the numbers and names of all event types, and that events come once.
        let source = root().join("mpit-events-abi/tests/c/native.c");
        let mut compiler = mpi.mpicc();
        compiler.args(["-std=c99", "-I"]).arg(root().join("include")).arg("-o").args([&program, &source]);
        assert!(compiler.status().is_ok_and(|status| status.success()), "{compiler:?}");
        let options = ["-e".as_ref(), NATIVE[0].as_ref(), "-o".as_ref(), output.as_os_str()];
        let finished = Job::new(mpi, 2, program).under_mel(options).run();
        finished.expect(finished.code == Some(0), "the rules hold while MEL has copies of the MPI's types");
        let log = Log::of_run(&output);
        finished.expect(!of_name(&log, NATIVE[0]).is_empty(), "and MEL hears of them");
    });
}
