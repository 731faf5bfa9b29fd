//! Each call that the tool makes for itself gives the right answer on several processes.

mod common;

#[test]
fn own_calls_work() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let probe = common::preloadable("abi_probe");
    let probe = probe.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "calls.c", &[probe]);
        for ranks in [1, 3, 4] {
            let outcome = mpi.run(ranks, &program, &[("LD_PRELOAD", probe)]).succeeded();
            assert_eq!(outcome.stdout, "", "{}, {ranks} ranks", mpi.name);
        }
    }
}
