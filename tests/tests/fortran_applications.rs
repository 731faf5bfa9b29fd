//! A solver in Fortran, as Debian packages it, finds the same solution under MEL, and its messages are followed.
//!
//! MUMPS includes `mpif.h`; Debian builds it against Open MPI.

use std::path::Path;

use mel_tests::artifacts::{absent, fresh_dir};
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi};

const RANKS: u32 = 3;
const PROGRAM: &str = "/usr/lib/mumps/dsimpletest";
/// Read by rank 0.
const INPUT: &str = "/usr/lib/mumps/input_simpletest_real";

fn mumps(mpi: &Mpi) -> Job<'_> {
    Job::new(mpi, RANKS, "sh").args(["-c", &format!("exec {PROGRAM} <{INPUT}")])
}

/// The solution, to as many digits as do not depend on the order of sums.
fn solution(stdout: &str) -> Vec<f64> {
    let numbers = stdout.lines().find_map(|line| line.trim().strip_prefix("Solution is"));
    let numbers = numbers.unwrap_or_default().split_whitespace();
    numbers.map(|number| (number.parse::<f64>().expect("a number") * 1e9).round() / 1e9).collect()
}

#[test]
#[ignore = "slow"]
fn mumps_solves_the_same_system() {
    let open_mpi = Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi");
    let Some(mpi) = open_mpi.filter(|_| Path::new(PROGRAM).exists()) else {
        absent(PROGRAM, "scripts/install-deps installs it, and Open MPI");
        return;
    };
    let plain = mumps(&mpi).run();
    let expected = [1.0, 2.0, 3.0, 4.0, 5.0];
    plain.expect(plain.code == Some(0) && solution(&plain.stdout) == expected, "MUMPS by itself");

    let directory = fresh_dir();
    let output = directory.path().join("run");
    let watched = mumps(&mpi).under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    watched.expect(watched.code == Some(0) && solution(&watched.stdout) == expected, "MUMPS under MEL");

    let (profile, trace) = (Profile::read(&output), Trace::read(&output));
    assert_eq!(profile.contradictions(RANKS), [""; 0], "{}", profile.json());
    for rank in 0..RANKS {
        assert!(profile.count(rank, "truth.matched") > 0, "rank {rank}: {}", profile.json());
    }
    assert_eq!(trace.disorder(), None);
    let enters = trace.enters();
    for function in ["MPI_Init", "MPI_Isend", "MPI_Iprobe", "MPI_Bcast", "MPI_Comm_dup"] {
        assert!(enters.contains_key(function), "{function}: {enters:?}");
    }
}
