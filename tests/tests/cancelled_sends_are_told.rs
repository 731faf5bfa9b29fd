//! A send that is cancelled ends in the trace as cancelled, and not as sent. None of the MPIs that the tests know cancels
//! sends: one is made to.

use mel_tests::artifacts::fresh_dir;
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi, compile_preloadable, compile_special};

/// The requests in records of a kind.
fn requests(trace: &Trace, kind: &str) -> Vec<String> {
    let of_kind = trace.records.iter().filter(|record| record.kind == kind);
    let request = |details: &str| {
        details
            .split_once("Request: ")
            .map(|(_, rest)| rest.split([',', ' ']).next().unwrap_or(rest).to_owned())
    };
    of_kind.filter_map(|record| request(&record.details)).collect()
}

#[test]
fn as_cancelled_whether_the_program_asks_or_not() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        // Stands between MEL and the MPI.
        let job = Job::new(mpi, 2, compile_special(mpi, "cancelled_send"))
            .env("LD_PRELOAD", compile_preloadable(mpi, "cancels"));
        let run = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0), mpi.name);
        let trace = Trace::read(&output);
        assert_eq!(trace.disorder(), None, "{}", mpi.name);
        let sent = requests(&trace, "MPI_ISEND");
        assert_eq!(sent.len(), 2, "{}", mpi.name);
        assert_eq!(requests(&trace, "MPI_REQUEST_CANCELLED"), sent, "{}", mpi.name);
        assert_eq!(trace.count("MPI_ISEND_COMPLETE"), 0, "{}", mpi.name);
    }
}
