//! The MPI's own events beside ours, on the MPICH that `scripts/mpich-with-events` builds.

use std::ffi::OsStr;

use mel_tests::Mpi;

use crate::common;

const RULES: [&str; 8] = [
    "numbers_are_dense_and_stay",
    "the_mpis_types_are_described",
    "the_mpis_sources_are_described",
    "the_mpis_events_are_delivered",
    "the_mpis_handles_are_checked",
    "the_mpis_drops_are_told",
    "categories_have_the_mpis_events_and_ours",
    "registrations_of_the_mpi_end_with_the_last_finalisation",
];

/// Runs `tests/c/native.c` on two ranks, each of which must tell that all rules hold.
fn rules_hold(environment: &[&OsStr]) {
    let Some(mpi) = Mpi::with_events() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let executable = common::linked(&mpi, "native", directory.path());
    let (finished, outputs) = common::run(&mpi, 2, &executable, environment);
    for output in outputs {
        let holds: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("holds ")).collect();
        finished.expect(holds == RULES, &output);
    }
    finished.expect(finished.code == Some(0), "the program ends well");
}

#[test]
#[ignore = "slow"]
fn what_the_mpi_has_first_comes_first() {
    rules_hold(&[]);
}

#[test]
#[ignore = "slow"]
fn what_the_mpi_makes_later_comes_last() {
    rules_hold(&["EARLY=1".as_ref()]);
}
