//! The examples of applications that listen to their own queues, in C and in Rust, on every MPI.

use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::{Job, Mpi};

use crate::common;

/// With each phase that has unexpected messages the applications post more receives early, until
/// there are none. That does not depend on time: barriers stand between sending and receiving.
fn tunes_itself(mpi: &Mpi, program: &Path) {
    let finished = Job::new(mpi, 3, program).run();
    finished.expect(finished.code == Some(0), mpi.name);
    let phases = [(0, 96), (4, 84), (8, 72), (16, 48), (32, 0), (32, 0)];
    let lines = phases.iter().enumerate().map(|(phase, (early, unexpected))| {
        format!("phase {phase}: {early:2} receives posted early, {unexpected:3} of 96 messages unexpected\n")
    });
    finished.expect(finished.stdout == lines.collect::<String>(), mpi.name);
    finished.expect(finished.stderr.is_empty(), "there is nothing to complain of");
}

#[test]
fn in_c() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = common::library().parent().expect("a file in a directory").display();
    for mpi in Mpi::all() {
        let program = directory.path().join("self_tuning");
        let mut command = common::compiler(&mpi, "c11");
        command.arg("-o").arg(&program).arg(common::root().join("examples/in-app/self_tuning.c"));
        command.args(["-Wl,--no-as-needed", "-lmpit_events"]);
        common::succeed(command.arg(format!("-L{place}")).arg(format!("-Wl,-rpath,{place}")));
        tunes_itself(&mpi, &program);
    }
}

#[test]
#[ignore = "slow"]
fn in_rust() {
    // One whose libraries are found where the system looks for libraries.
    for mpi in Mpi::all().iter().filter(|mpi| mpi.name != "mpich-events") {
        tunes_itself(mpi, &built(mpi));
    }
}

/// Builds the example with rsmpi for an MPI, beside the other things that are built from source once: most of it is others'.
fn built(mpi: &Mpi) -> PathBuf {
    let home = std::env::var_os("HOME").expect("a home directory");
    let target = Path::new(&home).join(".cache/mel/rust-tool").join(mpi.name);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--target-dir"]).arg(&target);
    command.env("MPICC", mpi.mpicc().get_program()).current_dir(common::root().join("examples/rust-tool"));
    common::succeed(&mut command);
    target.join("debug/self-tuning")
}
