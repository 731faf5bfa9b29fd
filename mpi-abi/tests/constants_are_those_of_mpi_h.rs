//! Every constant and layout agrees with the header of each installed MPI.

mod common;

#[test]
fn constants_are_those_of_mpi_h() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let probe = common::preloadable("abi_probe");
    let probe = probe.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "constants.c", &[probe]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", probe)]).succeeded();
        let (header, ours) = outcome.stdout.split_once("--\n").expect("two lists");
        let header: Vec<_> = header.lines().collect();
        let ours: Vec<_> = ours.lines().collect();
        assert!(header.len() > 40, "{outcome:#?}");
        assert_eq!(header, ours, "{}", mpi.name);
    }
}
