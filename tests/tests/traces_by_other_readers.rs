//! `otf2-snapshots` goes through a whole trace, and has nothing to complain of. It is run on programs without messages on a
//! communicator of one process, such as `MPI_COMM_SELF`: for these, version 3.0.2 looks up the members of a group that by
//! the definition of OTF2 has none, and crashes.

use std::process::Command;

use mel_tests::artifacts::fresh_dir;
use mel_tests::{Job, Mpi, Program};

#[test]
fn make_snapshots_of_it() {
    for mpi in &Mpi::all() {
        for program in ["random", "completion", "wildcards"] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let job = Job::new(mpi, 4, Program::named(program).compile(mpi));
            let finished = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
            finished.expect(finished.code == Some(0), mpi.name);
            let mut snapshots = Command::new("otf2-snapshots");
            let snapshots = snapshots.args(["-n", "3"]).arg(output.join("traces.otf2")).output();
            let snapshots =
                snapshots.expect("otf2-snapshots (scripts/install-deps installs it) can be started");
            let complaints = String::from_utf8_lossy(&snapshots.stderr).into_owned();
            // Version 3.0.2 counts the samples of its own thumbnails wrongly, for any trace.
            let other =
                complaints.lines().find(|line| !line.is_empty() && !line.contains("OTF2_Thumbnail.c"));
            assert!(snapshots.status.success() && other.is_none(), "{} {program}: {complaints}", mpi.name);
        }
    }
}
