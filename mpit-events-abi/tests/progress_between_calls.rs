//! With `MPIT_PROGRESS` messages are heard of while the program computes: from a thread, and in a timer
//! signal, each on its source and at its level.

use std::ffi::{OsStr, OsString};

use mel_tests::{Finished, Mpi};

use crate::common;

/// Runs `tests/c/NAME.c` on two ranks with this progress, and an empty directory as its argument.
fn run(mpi: &Mpi, program: &str, progress: &str) -> (Finished, Vec<String>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let points = tempfile::tempdir().expect("a temporary directory");
    let executable = common::linked(mpi, program, directory.path());
    let variable = OsString::from(format!("MPIT_PROGRESS={progress}"));
    // The directory is the last argument of the program, which is run by a shell.
    let script = r#"exec "$0" "$1""#;
    let args: [&OsStr; 5] =
        [&variable, "sh".as_ref(), "-c".as_ref(), script.as_ref(), executable.as_os_str()];
    common::run(mpi, 2, points.path(), &args)
}

fn rules_hold(progress: &str) {
    let rules = ["messages_arrive_while_the_program_computes", "handles_come_and_go_while_messages_arrive"];
    for mpi in Mpi::all() {
        let (finished, outputs) = run(&mpi, "progress", progress);
        for output in outputs {
            for rule in rules {
                let holds = output.lines().any(|line| line == format!("holds {rule}"));
                finished.expect(holds, &format!("{}: {rule} holds in\n{output}", mpi.name));
            }
        }
        finished.expect(finished.code == Some(0), mpi.name);
        finished.expect(!finished.stderr.contains("[MEL]"), "the library has nothing to complain of");
    }
}

#[test]
fn a_thread_makes_progress() {
    rules_hold("thread");
}

#[test]
fn a_timer_signal_makes_progress() {
    rules_hold("signal");
}

#[test]
fn what_cannot_be_done_is_told_once_and_changes_nothing() {
    let cases = [
        (
            "threads",
            "signal",
            "MPIT_PROGRESS=signal is ignored: several threads of this program may call MPI",
        ),
        ("delivery", "sometimes", "MPIT_PROGRESS=sometimes: give none, thread or signal"),
    ];
    for mpi in Mpi::all() {
        for (program, progress, line) in cases {
            let (finished, outputs) = run(&mpi, program, progress);
            finished.expect(finished.code == Some(0), mpi.name);
            finished.expect(finished.stderr.matches(line).count() == 1, "one rank tells why");
            finished.expect(!outputs.iter().any(|output| output.contains("WRONG")), "the rules hold");
        }
    }
}
