//! A bug in a hook ends measurement with one line, and changes nothing for the application.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

fn run(what: &str) -> Vec<common::Outcome> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("meddle");
    let library = library.to_str().expect("a path in UTF-8");
    common::installed()
        .into_iter()
        .map(|mpi| {
            let program = mpi.compile(directory.path(), "sends.c", &[]);
            let outcome = mpi.run(1, &program, &[("LD_PRELOAD", library), ("MEDDLE", what)]);
            // Each message once, in order, the spoilt destination mended, and the exit status kept.
            assert_eq!(outcome.stdout, "100 101 102 103 104 0\n", "{outcome:#?}");
            assert_eq!(outcome.code, Some(3), "{outcome:#?}");
            outcome
        })
        .collect()
}

#[test]
fn before_the_call() {
    for outcome in run("panic-enter") {
        let complaints: Vec<_> = outcome.stderr.lines().filter(|line| line.starts_with("[MEL] ")).collect();
        assert_eq!(complaints.len(), 1, "{outcome:#?}");
        let start = "[MEL] internal error in MPI_Send: as it was asked to, in two lines at ";
        assert!(complaints[0].starts_with(start), "{outcome:#?}");
        let end = "; measurement stopped, the application continues";
        assert!(complaints[0].ends_with(end), "{outcome:#?}");
        assert!(!outcome.stderr.contains("panicked"), "{outcome:#?}");
        // The other hook saw the two sends before, and nothing after.
        let others = |text: &str| outcome.stderr.lines().filter(|line| *line == text).count();
        assert_eq!(others("enter behind MPI_Send"), 2, "{outcome:#?}");
        assert_eq!(others("leave behind MPI_Send 0"), 2, "{outcome:#?}");
        assert_eq!(others("enter behind MPI_Wait"), 0, "{outcome:#?}");
        assert_eq!(others("enter behind MPI_Finalize"), 0, "{outcome:#?}");
    }
}

#[test]
fn after_the_call() {
    for outcome in run("panic-leave") {
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:#?}");
        let start = "[MEL] internal error in MPI_Send: as it was asked to at ";
        assert!(outcome.stderr.starts_with(start), "{outcome:#?}");
    }
}

#[test]
fn at_start() {
    for outcome in run("panic-startup") {
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:#?}");
        assert!(outcome.stderr.starts_with("[MEL] internal error in startup: "), "{outcome:#?}");
    }
}
