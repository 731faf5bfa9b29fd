//! Other tools that interpose MPI keep working beside ours, in front of it and behind it.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};

fn tool(mpi: common::Mpi, directory: &Path, name: &str) -> PathBuf {
    mpi.compile(directory, name, &["-shared", "-fPIC", "-ldl"])
}

fn preload(libraries: &[&Path]) -> String {
    libraries.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_tool_in_front_that_passes_on_to_the_next_one() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ours = common::preloadable("count_calls");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "counted.c", &[]);
        let other = tool(mpi, directory.path(), "tool_next.c");
        let libraries = preload(&[&other, &ours]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", &libraries)]).succeeded();
        for line in ["next tool: 3 sends, 4 barriers", "MPI_Send 3 3", "MPI_Barrier 4 4"] {
            assert!(outcome.stderr.lines().any(|found| found == line), "{line}: {outcome:#?}");
        }
    }
}

#[test]
fn a_tool_behind_that_continues_with_pmpi() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ours = common::preloadable("count_calls");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "counted.c", &[]);
        let other = tool(mpi, directory.path(), "tool_pmpi.c");
        let libraries = preload(&[&ours, &other]);
        let outcome = mpi.run(2, &program, &[("LD_PRELOAD", &libraries)]).succeeded();
        for line in ["pmpi tool: 3 sends, 4 barriers", "MPI_Send 3 3", "MPI_Barrier 4 4"] {
            let found = outcome.stderr.lines().filter(|found| *found == line).count();
            assert_eq!(found, 2, "{line}: {outcome:#?}");
        }
        // The messages that the other tool makes a barrier of pass through our wrappers, in which
        // the barrier is still under way: they are not calls of the application.
        assert!(!outcome.stderr.contains("MPI_Sendrecv_replace"), "{outcome:#?}");
        assert!(outcome.stderr.contains("MPI_Comm_rank 1 1"), "{outcome:#?}");
    }
}
