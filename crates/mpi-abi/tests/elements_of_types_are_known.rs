//! What the elements of a datatype are is the same however it was made.

mod common;

#[test]
fn elements_of_types_are_known() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let probe = common::preloadable("abi_probe");
    let probe = probe.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "types.c", &[probe]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", probe)]).succeeded();
        assert_eq!(outcome.stdout, "", "{}", mpi.name);
    }
}
