//! Collective operations in a trace: what each process sent and received, and on which communicator, by its name.

use mel_tests::artifacts::fresh_dir;
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi, compile_special};

/// Operation, root, and the bytes that ranks 0, 1 and 2 sent and received, on the communicator with a name.
#[rustfmt::skip]
const OPERATIONS: [(&str, &str, [u64; 3], [u64; 3]); 18] = [
    ("BARRIER", "NONE", [0, 0, 0], [0, 0, 0]),
    ("BCAST", "1", [0, 24, 0], [8, 8, 8]),
    ("GATHER", "1", [8, 8, 8], [0, 24, 0]),
    ("GATHER", "0", [0, 8, 8], [16, 0, 0]),
    ("GATHERV", "2", [4, 8, 12], [0, 0, 24]),
    ("SCATTER", "0", [36, 0, 0], [12, 12, 12]),
    ("SCATTERV", "2", [0, 0, 24], [4, 8, 12]),
    ("ALLGATHER", "NONE", [24, 24, 24], [24, 24, 24]),
    ("ALLGATHERV", "NONE", [8, 16, 24], [20, 16, 12]),
    ("ALLTOALL", "NONE", [24, 24, 24], [24, 24, 24]),
    ("ALLTOALLV", "NONE", [12, 12, 12], [12, 12, 12]),
    ("ALLTOALLW", "NONE", [12, 12, 12], [12, 12, 12]),
    ("REDUCE", "2", [16, 16, 16], [0, 0, 48]),
    ("ALLREDUCE", "NONE", [32, 32, 32], [32, 32, 32]),
    ("REDUCE_SCATTER", "NONE", [24, 24, 24], [12, 24, 36]),
    ("REDUCE_SCATTER_BLOCK", "NONE", [24, 24, 24], [24, 24, 24]),
    ("SCAN", "NONE", [12, 8, 4], [4, 8, 12]),
    ("EXSCAN", "NONE", [8, 4, 0], [0, 4, 8]),
];

#[test]
fn with_bytes_and_names() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let job = Job::new(mpi, 3, compile_special(mpi, "collectives"));
        let run = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0), mpi.name);
        let trace = Trace::read(&output);
        assert_eq!(trace.disorder(), None, "{}", mpi.name);
        for rank in 0..3 {
            let of_rank = || trace.records.iter().filter(|record| record.location == rank as u64);
            let ends: Vec<&str> = of_rank()
                .filter(|record| record.kind == "MPI_COLLECTIVE_END")
                .map(|record| record.details.as_str())
                .collect();
            let begun = of_rank().filter(|record| record.kind == "MPI_COLLECTIVE_BEGIN").count();
            assert_eq!(begun, ends.len(), "{}", mpi.name);

            let named: Vec<_> = ends.iter().filter(|end| end.contains("\"the halo\"")).collect();
            assert_eq!(named.len(), OPERATIONS.len(), "{}: {ends:#?}", mpi.name);
            for (end, (operation, root, sent, received)) in named.into_iter().zip(OPERATIONS) {
                let context = format!("{}: rank {rank}: {operation}: {end}", mpi.name);
                assert!(end.starts_with(&format!("Operation: {operation},")), "{context}");
                let roots = end.split("Root: ").nth(1).unwrap_or_default();
                assert!(roots.starts_with(root), "{context}");
                let bytes = format!("Sent: {}, Received: {}", sent[rank], received[rank]);
                assert!(end.ends_with(&bytes), "{context}");
            }
            // The broadcast between two groups: rank 0 sends to both others.
            let between =
                ends.iter().find(|end| end.starts_with("Operation: BCAST") && !end.contains("halo"));
            let between = between.unwrap_or_else(|| panic!("{}: {ends:#?}", mpi.name));
            let bytes = if rank == 0 { "Sent: 40, Received: 0" } else { "Sent: 0, Received: 20" };
            assert!(between.ends_with(bytes), "{}: rank {rank}: {between}", mpi.name);
        }
    }
}

/// The same of operations with a request, on either communicator.
#[rustfmt::skip]
const WITH_REQUESTS: [(&str, &str, [u64; 3], [u64; 3]); 9] = [
    ("BARRIER", "NONE", [0, 0, 0], [0, 0, 0]),
    ("BCAST", "1", [0, 24, 0], [8, 8, 8]),
    ("ALLREDUCE", "NONE", [48, 48, 48], [48, 48, 48]),
    ("GATHERV", "2", [4, 8, 12], [0, 0, 24]),
    ("BCAST", "0", [8, 8, 8], [8, 8, 8]),
    ("ALLREDUCE", "NONE", [16, 16, 16], [16, 16, 16]),
    // One integer goes to the neighbour below, two go to the one above.
    ("ALLTOALLV", "NONE", [8, 12, 4], [4, 12, 8]),
    ("BCAST", "0", [60, 0, 0], [20, 20, 20]),
    ("BCAST", "0", [60, 0, 0], [20, 20, 20]),
];

#[test]
fn with_requests_and_among_neighbours() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let job = Job::new(mpi, 3, compile_special(mpi, "collective_requests"));
        let run = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0), mpi.name);
        let trace = Trace::read(&output);
        assert_eq!(trace.disorder(), None, "{}", mpi.name);
        let request = |details: &str| {
            let (_, rest) = details.split_once("Request: ").unwrap_or_else(|| panic!("{details}"));
            rest.split([',', ' ']).next().unwrap_or_default().to_owned()
        };
        for rank in 0..3 {
            let of_rank = |kind: &str| -> Vec<&str> {
                let records = trace.records.iter().filter(|r| r.location == rank as u64 && r.kind == kind);
                records.map(|record| record.details.as_str()).collect()
            };
            let begun: Vec<String> =
                of_rank("NON_BLOCKING_COLLECTIVE_REQUEST").into_iter().map(request).collect();
            let ends = of_rank("NON_BLOCKING_COLLECTIVE_COMPLETE");
            let expected = if of_rank("NON_BLOCKING_COLLECTIVE_COMPLETE").len() > 7 { 9 } else { 7 };
            assert_eq!(
                begun,
                ends.iter().map(|end| request(end)).collect::<Vec<_>>(),
                "{}: {rank}",
                mpi.name
            );
            assert_eq!(ends.len(), expected, "{}: rank {rank}: {ends:#?}", mpi.name);
            for (end, (operation, root, sent, received)) in ends.iter().zip(WITH_REQUESTS) {
                let context = format!("{}: rank {rank}: {operation}: {end}", mpi.name);
                assert!(end.starts_with(&format!("Operation: {operation},")), "{context}");
                let roots = end.split("Root: ").nth(1).unwrap_or_default();
                assert!(roots.starts_with(root), "{context}");
                let bytes = format!("Sent: {}, Received: {}", sent[rank], received[rank]);
                assert!(end.contains(&bytes), "{context}");
            }
            let tested = of_rank("MPI_REQUEST_TEST");
            assert_eq!(
                tested.iter().any(|test| request(test) == begun[0]),
                rank != 0,
                "{}: {tested:?}",
                mpi.name
            );
            let among = of_rank("MPI_COLLECTIVE_END");
            let among = among.iter().find(|end| end.starts_with("Operation: ALLGATHER,"));
            let among = among.unwrap_or_else(|| panic!("{}: no operation among neighbours", mpi.name));
            let bytes = if rank == 1 { "Sent: 16, Received: 16" } else { "Sent: 8, Received: 8" };
            assert!(among.contains("\"the row\"") && among.ends_with(bytes), "{}: {among}", mpi.name);
        }
    }
}
