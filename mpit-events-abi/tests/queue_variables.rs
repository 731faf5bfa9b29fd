//! Performance variables of our own, as a tool sees them that knows nothing of MEL: beside those of the MPI, on every MPI.

use std::ffi::OsStr;
use std::path::Path;

use mel_tests::Mpi;

use crate::common;

/// How many variables of the MPI itself say how long its queues are.
fn of_mpi(mpi: &Mpi) -> u32 {
    match mpi.name {
        "mpich-events" => 1,
        name if name.starts_with("openmpi") => 2,
        _ => 0,
    }
}

/// Runs the program with these environment variables, or words for `env`, and this argument.
fn compare(mpi: &Mpi, program: &Path, environment: &[&OsStr], argument: &str) {
    let words: Vec<&OsStr> = environment.iter().copied().chain([program.as_os_str()]).collect();
    let (last, first) = (OsStr::new(argument), words);
    let finished = mel_tests::Job::new(mpi, 2, "env").args(first).args([last]).run();
    let expected = format!("{} of the MPI's own compared, 0 failures\n", of_mpi(mpi));
    finished.expect(finished.code == Some(0) && finished.stdout == expected, mpi.name);
}

fn compiled(mpi: &Mpi, directory: &Path) -> std::path::PathBuf {
    let program = directory.join(format!("queue_variables.{}", mpi.name));
    let mut command = common::compiler(mpi, "c99");
    let source = common::root().join("mpit-events-abi/tests/c/queue_variables.c");
    common::succeed(command.arg("-o").arg(&program).arg(source));
    program
}

#[test]
fn lengths_of_queues_are_those_of_the_mpi_after_every_call() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let preloaded = common::preload([common::library()]);
    for mpi in Mpi::all() {
        let program = compiled(&mpi, directory.path());
        for argument in ["before", "late"] {
            compare(&mpi, &program, &[&preloaded], argument);
        }
    }
}

#[test]
fn so_they_are_beside_a_profile() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let preloaded = common::preload([common::libmel()]);
    let mut output = std::ffi::OsString::from("MEL_OUTPUT=");
    output.push(directory.path().join("run"));
    for mpi in Mpi::all() {
        let program = compiled(&mpi, directory.path());
        let environment =
            [&*preloaded, OsStr::new("MEL_PROFILE=calls,queues"), &output, OsStr::new("MEL_FORCE=1")];
        compare(&mpi, &program, &environment, "before");
    }
}

#[test]
#[ignore = "slow"]
fn ob1_itself_is_counted_where_it_reports() {
    let Some(mpi) = Mpi::with_peruse() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = compiled(&mpi, directory.path());
    compare(&mpi, &program, &[&common::preload([common::library()])], "observed");
}
