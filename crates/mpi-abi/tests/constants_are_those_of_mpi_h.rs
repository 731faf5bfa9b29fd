//! Every constant and layout agrees with the header of each installed MPI.

mod common;

#[test]
fn constants_are_those_of_mpi_h() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let probe = common::preloadable("abi_probe");
    let probe = probe.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "constants.c", &[probe]);
        agree(mpi.run(1, &program, &[("LD_PRELOAD", probe)]).succeeded());
    }
}

/// Both lists that the program has printed are the same.
fn agree(outcome: common::Outcome) {
    let (header, ours) = outcome.stdout.split_once("--\n").expect("two lists");
    let (header, ours): (Vec<_>, Vec<_>) = (header.lines().collect(), ours.lines().collect());
    assert!(header.len() > 40, "{outcome:#?}");
    assert_eq!(header, ours, "{}", outcome.mpi);
}

#[test]
fn another_mpi_that_a_library_brings_is_not_mistaken_for_the_programs() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let probe = common::preloadable("abi_probe");
    let probe = probe.to_str().expect("a path in UTF-8");
    for (mpi, other) in common::pairs() {
        let part = other.compile(directory.path(), "statuses.c", &["-shared", "-fPIC"]);
        let part = part.to_str().expect("a path in UTF-8");
        let flags = [probe, "-Wl,--no-as-needed,--allow-shlib-undefined", part];
        let program = mpi.compile(directory.path(), "constants.c", &flags);
        assert!(common::mpi_libraries(&program).len() == 2, "both are mapped");
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", probe)]);
        if outcome.stderr.contains("undefined symbol") {
            // Both bring libraries of the same name, and neither works with the other's.
            eprintln!("skipped: {} and {} cannot be in one process", mpi.name, other.name);
            continue;
        }
        agree(outcome.succeeded());
    }
}
