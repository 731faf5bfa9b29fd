//! Registration: order, limits, and the end.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

fn run(what: &str) -> Vec<common::Outcome> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("meddle");
    let library = library.to_str().expect("a path in UTF-8");
    common::installed()
        .into_iter()
        .map(|mpi| {
            let program = mpi.compile(directory.path(), "order.c", &[]);
            mpi.run(1, &program, &[("LD_PRELOAD", library), ("MEDDLE", what)]).succeeded()
        })
        .collect()
}

#[test]
fn enter_in_order_and_leave_in_reverse() {
    for outcome in run("order") {
        let expected = "\
enter first MPI_Init
enter second MPI_Init
leave second MPI_Init 0
leave first MPI_Init 0
enter first MPI_Comm_rank
enter second MPI_Comm_rank
leave second MPI_Comm_rank 0
leave first MPI_Comm_rank 0
enter first MPI_Barrier
enter second MPI_Barrier
enter late MPI_Barrier
leave late MPI_Barrier 0
leave second MPI_Barrier 0
leave first MPI_Barrier 0
enter first MPI_Finalize
enter second MPI_Finalize
enter late MPI_Finalize
leave late MPI_Finalize 0
leave second MPI_Finalize 0
leave first MPI_Finalize 0
";
        assert_eq!(outcome.stderr, expected, "{}", outcome.mpi);
    }
}

#[test]
fn sixteen_and_no_more() {
    for outcome in run("full") {
        assert_eq!(outcome.stderr, "16 hooks on 1\n", "{}", outcome.mpi);
    }
}

#[test]
fn none_after_stop() {
    for outcome in run("stop") {
        assert_eq!(outcome.stderr, "", "{}", outcome.mpi);
    }
}
