//! From where MPI is called: the return address of the wrapper.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

#[test]
#[cfg(target_arch = "x86_64")]
fn a_call_site_is_in_the_function_that_calls() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("meddle");
    let environment = [("LD_PRELOAD", library.to_str().expect("a path in UTF-8")), ("MEDDLE", "sites")];
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "sites.c", &["-rdynamic", "-pthread"]);
        let outcome = mpi.run(1, &program, &environment).succeeded();
        let expected = "\
MPI_Barrier from first
MPI_Comm_rank from own_wrapper
MPI_Comm_size from in_thread
MPI_Op_create from reduces
MPI_Allreduce from reduces
MPI_Op_free from reduces
MPI_Barrier from first
MPI_Finalize from main
";
        assert_eq!(outcome.stderr, expected, "{}", mpi.name);
    }
}
