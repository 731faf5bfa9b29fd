//! A send that waits for its receiver makes progress, whether it is blocking or waited for later: what comes meanwhile is
//! unexpected. Open MPI's ob1 waits above 256 bytes over shared memory, long before messages need an answer of their receive.

use mel_tests::artifacts::fresh_dir;
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, compile_special};

const ROUNDS: u64 = 50;

/// ob1 may see that the receiver is done before it sees the message: it polls two places, and both come in between.
const RACES: u64 = 15;

/// The profile of a run.
fn queues(mpi: &Mpi, bytes: u64, how: &str, sources: &str, options: &[&str]) -> Profile {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let mut all = vec!["-o", output.to_str().expect("a path in UTF-8")];
    all.extend(options);
    let run = Job::new(mpi, 2, compile_special(mpi, "sends_that_wait"))
        .args([bytes.to_string(), how.to_owned()])
        .env("MPIT_SOURCES", sources)
        .under_mel(all)
        .run();
    run.expect(run.code == Some(0), mpi.name);
    Profile::read(&output)
}

fn holds(mpi: &Mpi, how: &str, sources: &str, parts: &[&str]) {
    for bytes in [300, 1000, 4000] {
        for options in [&[][..], &["--profile", "queues", "-e", "pml_ob1_unex_insert"]] {
            let profile = queues(mpi, bytes, how, sources, options);
            for part in parts {
                let count = |queue: &str| profile.count(1, &format!("{part}{queue}.messages"));
                let counted = (count("unexpected"), count("posted"));
                let what = format!("{bytes} bytes, {how}, {part}, {options:?}: {counted:?}");
                assert_eq!(counted.0 + counted.1, ROUNDS, "{what}");
                assert!(counted.0 >= ROUNDS - RACES, "{what}");
            }
        }
    }
}

fn the_model_says_so(how: &str) {
    for mpi in Mpi::all().iter().filter(|mpi| mpi.name.starts_with("openmpi")) {
        holds(mpi, how, "model", &[""]);
    }
}

fn ob1_says_so(how: &str) {
    if let Some(mpi) = Mpi::with_peruse() {
        holds(&mpi, how, "peruse,model", &["", "comparison."]);
    }
}

#[test]
fn the_model_makes_progress_in_blocking_sends() {
    the_model_says_so("blocking");
}

#[test]
fn the_model_makes_progress_where_sends_are_waited_for() {
    the_model_says_so("nonblocking");
}

#[test]
#[ignore = "slow"]
fn ob1_does_as_the_twin_says_in_blocking_sends() {
    ob1_says_so("blocking");
}

#[test]
#[ignore = "slow"]
fn ob1_does_as_the_twin_says_where_sends_are_waited_for() {
    ob1_says_so("nonblocking");
}
