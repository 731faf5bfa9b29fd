//! What a hook puts in place of an argument is what MPI gets, and handles and counts read right.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

fn lines_of(what: &str) -> Vec<(common::Mpi, common::Outcome)> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("meddle");
    let library = library.to_str().expect("a path in UTF-8");
    common::installed()
        .into_iter()
        .map(|mpi| {
            let program = mpi.compile(directory.path(), "arguments.c", &[]);
            let environment = [("LD_PRELOAD", library), ("MEDDLE", what)];
            let outcome = mpi.run(1, &program, &environment).succeeded();
            assert_eq!(outcome.stdout, "7 7\n", "{outcome:#?}");
            (mpi, outcome)
        })
        .collect()
}

#[test]
fn an_ignored_status_becomes_one_of_the_hook() {
    for (mpi, outcome) in lines_of("status") {
        let lines: Vec<_> = outcome.stderr.lines().collect();
        let receives = (0..4).map(|tag| format!("MPI_Wait 0: 0 {tag} Some(4)")).collect::<Vec<_>>();
        assert_eq!(lines[..4], receives, "{outcome:#?}");
        assert_eq!(lines[4], "MPI_Recv 0: 0 40 Some(12)", "{}", mpi.name);
        // lines[5] is the wait for the send: its status is nobody's business.
        assert_eq!(
            lines[6..8],
            ["MPI_Waitall 0: 0 50 Some(4)", "MPI_Waitall 0: 0 51 Some(4)"],
            "{}",
            mpi.name
        );
    }
}

#[test]
fn handles_and_counts_read_as_the_application_passed_them() {
    for (mpi, outcome) in lines_of("show") {
        let send = |tag: u32| format!("MPI_Send count 1 world true int true dest 0 tag {tag} size Ok(1)");
        let expected = [
            send(0),
            send(1),
            send(2),
            send(3),
            "MPI_Startall 4 of 4".into(),
            "MPI_Comm_dup true true".into(),
        ];
        assert_eq!(outcome.stderr.lines().collect::<Vec<_>>(), expected, "{}", mpi.name);
    }
}
