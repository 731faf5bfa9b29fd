//! What is sent to `MPI_PROC_NULL` is sent to nobody: it counts in no number of bytes.

use mel_tests::artifacts::fresh_dir;
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, Program};

#[test]
fn bytes_to_nobody_are_none() {
    for mpi in &Mpi::all() {
        let program = Program::named("proc_null").compile(mpi);
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = Job::new(mpi, 1, program).under_mel(["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0), mpi.name);
        let profile = Profile::read(&output);
        let calls = profile.json()["ranks"][0]["calls"].as_array().expect("a list of calls");
        let of = |function: &str| calls.iter().find(|call| call["function"] == function);
        for function in ["MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Sendrecv", "MPI_Sendrecv_replace"] {
            let call = of(function).unwrap_or_else(|| panic!("{}: no {function}", mpi.name));
            assert_eq!((&call["calls"], &call["bytes_sent"]), (&1.into(), &0.into()), "{}: {call}", mpi.name);
        }
    }
}
