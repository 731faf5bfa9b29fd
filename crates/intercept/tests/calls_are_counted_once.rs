//! Hooks see each call of the application exactly once, and nothing else.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

/// The counts that one process printed, function by function: (begun, ended).
fn counts(text: &str) -> BTreeMap<&str, (u64, u64)> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next().filter(|name| name.starts_with("MPI_"))?;
            Some((name, (words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
        })
        .collect()
}

/// What `counted.c` does.
fn expected(version_4: bool) -> BTreeMap<&'static str, (u64, u64)> {
    let mut expected: BTreeMap<_, _> = [
        ("MPI_Allreduce", 2),
        ("MPI_Barrier", 4),
        ("MPI_Comm_create_keyval", 1),
        ("MPI_Comm_dup", 1),
        ("MPI_Comm_free", 1),
        // Once by the program; the call inside the attribute's callback is not seen.
        ("MPI_Comm_rank", 1),
        ("MPI_Comm_set_attr", 1),
        ("MPI_Comm_size", 1),
        ("MPI_Init", 1),
        ("MPI_Irecv", 5),
        ("MPI_Isend", 5),
        ("MPI_Recv", 3),
        ("MPI_Send", 3),
        ("MPI_Waitall", 5),
    ]
    .into_iter()
    .map(|(name, count)| (name, (count, count)))
    .collect();
    if version_4 {
        expected.insert("MPI_Send_c", (1, 1));
    }
    // Printed at its beginning.
    expected.insert("MPI_Finalize", (1, 0));
    expected
}

#[test]
fn on_one_and_on_several_processes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("count_calls");
    let preload = [("LD_PRELOAD", library.to_str().expect("a path in UTF-8"))];
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "counted.c", &[]);
        let version_4 = mpi.has_large_counts();
        let alone = mpi.run(1, &program, &preload).succeeded();
        assert_eq!(counts(&alone.stderr), expected(version_4), "{}", mpi.name);
        assert_eq!(alone.stdout, "0 1 0\n");

        // The lines of the processes come in any order, so compare them sorted.
        let several = mpi.run(3, &program, &preload).succeeded();
        let mut lines: Vec<_> = several.stderr.lines().collect();
        lines.sort_unstable();
        let mut wanted: Vec<_> = expected(version_4)
            .into_iter()
            .flat_map(|(name, (begun, ended))| vec![format!("{name} {begun} {ended}"); 3])
            .collect();
        wanted.sort_unstable();
        assert_eq!(lines, wanted, "{}", mpi.name);
    }
}

#[test]
fn in_many_threads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("count_calls");
    let preload = [("LD_PRELOAD", library.to_str().expect("a path in UTF-8"))];
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "threads.c", &["-pthread"]);
        let outcome = mpi.run(1, &program, &preload).succeeded();
        if outcome.stdout != "multiple\n" {
            eprintln!("skipped: {} has no MPI_THREAD_MULTIPLE", mpi.name);
            continue;
        }
        let counts = counts(&outcome.stderr);
        assert_eq!(counts.get("MPI_Sendrecv"), Some(&(400, 400)), "{}", mpi.name);
        assert_eq!(counts.get("MPI_Init_thread"), Some(&(1, 1)), "{}", mpi.name);
    }
}

#[test]
fn when_two_copies_of_the_tool_are_loaded() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let first = common::preloadable("count_calls");
    let second = directory.path().join("libsecond.so");
    std::fs::copy(&first, &second).expect("a copy of the library");
    let both = format!("{} {}", first.display(), second.display());
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "counted.c", &[]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", &both)]).succeeded();
        let lines = outcome.stderr.lines().filter(|line| line.starts_with("MPI_Init ")).count();
        assert_eq!(lines, 1, "{outcome:#?}");
        assert_eq!(counts(&outcome.stderr), expected(mpi.has_large_counts()), "{}", mpi.name);
    }
}
