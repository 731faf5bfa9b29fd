//! The stress of lifetimes under valgrind: nothing is read or written after it was released.
//!
//! Whether bytes that were never written are used is not looked at: MPI libraries hand such bytes to
//! the system. Valgrind's checks of threads know locks of pthreads, not atomics, on which the core is
//! built; its orders are checked by the models in `crates/mpit-events/src/models.rs`.

use std::process::Command;

use mel_tests::{Job, Mpi};

use crate::common;

#[test]
#[ignore = "slow"]
fn nothing_is_used_after_its_end() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("valgrind is not installed: not checked");
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    for mpi in Mpi::all() {
        let program = common::linked(&mpi, "stress", directory.path());
        let options =
            ["-q", "--undef-value-errors=no", "--leak-check=no", "--error-exitcode=9", "--fair-sched=yes"];
        let job = Job::new(&mpi, 1, "valgrind").args(options).args([program.as_os_str(), "50".as_ref()]);
        let finished = job.run();
        finished.expect(finished.code == Some(0), mpi.name);
        finished.expect(finished.stdout.matches("holds ").count() == 3, mpi.name);
        finished.expect(!finished.stderr.contains("Invalid"), "no access is invalid");
    }
}
