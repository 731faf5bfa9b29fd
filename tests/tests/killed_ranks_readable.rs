//! What was recorded before a rank died can be read afterwards, and the log says that the rank ended early.

use mel_tests::artifacts::fresh_dir;
use mel_tests::events::{Log, QUEUE_EVENTS};
use mel_tests::{Job, Mpi, Program};

/// Runs a program with the queue events logged, and reads the log.
fn log_of(mpi: &Mpi, name: &str, args: &[&str]) -> Log {
    let program = Program::named(name);
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let options = ["-e".as_ref(), QUEUE_EVENTS.as_ref(), "-o".as_ref(), output.as_os_str()];
    let run = Job::new(mpi, 2, program.compile(mpi)).args(args).under_mel(options).run();
    run.expect(program.exit.allows(run.code), name);
    Log::of_run(&output)
}

fn count(log: &Log, rank: u32, name: &str) -> usize {
    log.rank(rank).iter().filter(|event| event.name == format!("pml_ob1_{name}")).count()
}

#[test]
fn a_killed_rank_has_logged_everything_before() {
    for mpi in &Mpi::all() {
        let log = log_of(mpi, "kill_me", &["500"]);
        let heading = log.heading(1).unwrap_or_else(|| panic!("{}: no rank 1: {:?}", mpi.name, log.remarks));
        assert!(heading.contains("ended early"), "{}: {heading}", mpi.name);
        // Each of the 500 receives searched the unexpected queue, and then a probe; each message left one of the queues.
        assert_eq!(count(&log, 1, "search_unexpected_begin"), 501, "{}", mpi.name);
        let received = count(&log, 1, "posted_remove") + count(&log, 1, "unex_remove");
        assert_eq!(received, 500, "{}", mpi.name);
    }
}

#[test]
fn an_aborted_run_has_logged_everything_before() {
    for mpi in &Mpi::all() {
        let log = log_of(mpi, "abort", &[]);
        for rank in 0..2 {
            let heading = log.heading(rank).unwrap_or_else(|| panic!("{}: no rank {rank}", mpi.name));
            assert!(!heading.contains("finalised"), "{}: {heading}", mpi.name);
            // One receive that never completes and ten that do.
            assert_eq!(count(&log, rank, "search_unexpected_begin"), 11, "{}: rank {rank}", mpi.name);
        }
    }
}

#[test]
fn a_run_that_exits_without_finalize_has_logged_everything_before() {
    for mpi in &Mpi::all() {
        let log = log_of(mpi, "exit_without_finalize", &["all"]);
        for rank in 0..2 {
            assert_eq!(count(&log, rank, "search_unexpected_begin"), 10, "{}: rank {rank}", mpi.name);
        }
    }
}
