//! The example of a tool in C, preloaded into an ordinary program on every MPI.

use std::ffi::OsStr;
use std::path::Path;

use mel_tests::Mpi;

use crate::common;

/// What the tool tells of the ring, preloaded behind `libraries`, of two ranks on each MPI.
fn listen(libraries: &[&Path], environment: &[&str], look: impl Fn(&Mpi, &str)) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for mpi in Mpi::all_and_newer() {
        let tool = common::example(&mpi, "c-tool/event_logger.c", directory.path());
        let ring = common::example(&mpi, "c-tool/ring.c", directory.path());
        let preload = common::preload(libraries.iter().copied().chain([tool.as_path()]));
        let environment: Vec<&OsStr> =
            environment.iter().map(OsStr::new).chain([preload.as_os_str()]).collect();
        let (finished, outputs) = common::run(&mpi, 2, &ring, &environment);
        finished.expect(finished.code == Some(0), mpi.name);
        finished.expect(!finished.stderr.contains("event_logger"), "no call fails");
        let output = outputs.concat();
        assert!(output.contains("ring: 0 7 14"), "the program does what it does:\n{output}");
        look(&mpi, &output);
    }
}

/// Everything that the tool must hear of the ring on two ranks, each line once.
fn heard_all(mpi: &Mpi, output: &str) {
    let told = |text: &str| {
        let line = format!("[event_logger] {text}");
        let found = output.lines().filter(|told| told.starts_with(&line)).count();
        assert_eq!(found, 1, "{}: {found} lines begin with {line} in\n{output}", mpi.name);
    };
    told(&format!("{} event types", common::num_event_types(mpi)));
    told("  pml_ob1_unex_insert              4 elements  ");
    // Rank 0 posts all three receives before anything is sent to it, so all are queued.
    told("rank 0: pml_ob1_posted_insert: 3 events in ");
    for rank in 0..2 {
        told(&format!("rank {rank}: pml_ob1_message_arrived: 3 events in "));
        for number in 0..3 {
            let (peer, tag, number) = (1 - rank, 10 + number, number + 1);
            told(&format!("rank {rank}:   context id=0 source={peer} tag={tag} sequence number={number}"));
        }
    }
    let lossless = output.lines().filter(|line| line.ends_with(" us, 0 lost")).count();
    assert_eq!(lossless, 4, "two ranks listen to two events and lose nothing:\n{output}");
}

#[test]
fn the_example_tool_hears_what_the_ring_does() {
    listen(&[common::library()], &[], heard_all);
}

#[test]
fn a_second_copy_of_the_library_stands_aside() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let copy = directory.path().join("libanother.so");
    std::fs::copy(common::library(), &copy).expect("room for a copy");
    listen(&[common::library(), &copy], &[], heard_all);
}

#[test]
fn libmel_in_front_raises_the_events_for_other_tools() {
    listen(&[common::libmel(), common::library()], &[], heard_all);
    listen(&[common::libmel(), common::library()], &["MEL_PROFILE=none"], heard_all);
}

#[test]
fn libmel_has_the_interface_itself() {
    listen(&[common::libmel()], &[], heard_all);
}

#[test]
fn libmel_raises_events_for_other_tools_while_it_measures() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = format!("MEL_OUTPUT={}", directory.path().join("run").display());
    let environment = ["MEL_PROFILE=queues", "MEL_FORCE=1", &output];
    listen(&[common::libmel(), common::library()], &environment, heard_all);
}
