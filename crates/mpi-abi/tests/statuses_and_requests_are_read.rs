//! The fields of a status, and requests in an array, are read as each MPI lays them out.

mod common;

#[test]
fn fields_of_a_status() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let probe = common::preloadable("abi_probe");
    let probe = probe.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "statuses.c", &[probe]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", probe)]).succeeded();
        let expected = [
            "source 0 tag 17 error 5 cancelled 0 bytes Some(42) ignore false",
            "MPI says 1",
            "source 0 tag 0 error 0 cancelled 1 bytes Some(0) ignore false",
            "source 0 tag 0 error 0 cancelled 0 bytes Some(5000000000) ignore false",
        ];
        assert_eq!(outcome.stdout.lines().collect::<Vec<_>>(), expected, "{}", mpi.name);
    }
}

#[test]
fn requests_given_out_twice_are_recognised() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let probe = common::preloadable("abi_probe");
    let probe = probe.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "statuses.c", &[probe]);
        let outcome = mpi.run(2, &program, &[("LD_PRELOAD", probe)]).succeeded();
        let kinds: Vec<_> = outcome.stdout.lines().collect();
        // A receive has a request of its own. A small send is complete at once on these MPIs, and so
        // is one to MPI_PROC_NULL.
        assert_eq!(kinds, ["own", "shared", "shared", "null"], "{outcome:#?}");
    }
}
