//! When envelopes come faster than they are taken, some are lost: the results stay, the loss is counted and reported.

use std::time::Duration;

use mel_tests::artifacts::fresh_dir;
use mel_tests::profile::{Profile, QUEUES};
use mel_tests::{Job, Mpi, compile_special};

/// What the receiver's buffer holds, as `docs/how-true.md` says.
const CAPACITY: u64 = 16_384;
const MESSAGES: u64 = 20_000;

#[test]
fn more_messages_than_fit_are_counted_and_reported() {
    for mpi in &Mpi::all() {
        let executable = compile_special(mpi, "overflow");
        let job = || Job::new(mpi, 2, &executable).args([MESSAGES.to_string()]);
        let plain = job().run();
        plain.expect(plain.code == Some(0) && plain.stdout.ends_with("\nOK\n"), mpi.name);

        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = job().under_mel(["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0) && run.stdout == plain.stdout, mpi.name);

        let profile = Profile::read(&output);
        let dropped = profile.count(1, "truth.dropped");
        // How many envelopes the receiver took before it waited for the signal is open: one at most.
        let expected = MESSAGES - CAPACITY;
        run.expect(dropped.abs_diff(expected) <= 1, &format!("{}: {dropped} of {expected}", mpi.name));
        assert_eq!(profile.count(0, "truth.dropped"), 0, "{}", mpi.name);

        let truth: Vec<&str> = run.mel_lines().filter(|line| line.contains("truth: ")).collect();
        run.expect(truth.len() == 1, "not exactly one line on the truth");
        run.expect(run.stderr.contains(&format!(" {dropped} dropped")), "the loss is not reported");

        // Every receive is accounted for, and what entered a queue has left it.
        let received = profile.count(1, "truth.matched")
            + profile.count(1, "truth.rematched")
            + profile.count(1, "truth.envelopes_lost");
        assert_eq!(received, MESSAGES, "{}", mpi.name);
        assert_eq!(profile.count(1, "truth.envelopes_lost"), dropped, "{}", mpi.name);
        assert_eq!(profile.count(1, "truth.never_received"), 0, "{}", mpi.name);
        assert_eq!(profile.count(1, "unexpected_search.searches"), MESSAGES, "{}", mpi.name);
        for queue in QUEUES {
            assert_eq!(profile.count(1, &format!("{queue}.left")), 0, "{}: {queue}", mpi.name);
        }
        let queued: u64 = QUEUES.iter().map(|queue| profile.count(1, &format!("{queue}.messages"))).sum();
        assert_eq!(queued, MESSAGES, "{}", mpi.name);
    }
}

/// A loss costs no more where many receives are posted. If the ob1 model searched all of them for each, this would take
/// two minutes, not two seconds.
#[test]
fn many_receives_whose_envelopes_are_lost_take_no_time() {
    const RECEIVES: u64 = 250_000;
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let job = Job::new(mpi, 2, compile_special(mpi, "one_wait")).args([RECEIVES.to_string()]);
        let job = job.under_mel(["-o".as_ref(), output.as_os_str()]).time_limit(Duration::from_secs(60));
        let run = job.run();
        run.expect(run.code == Some(0) && run.stdout.ends_with("\nOK\n"), mpi.name);
        let profile = Profile::read(&output);
        let [matched, envelopes_lost, dropped, rematched] =
            ["matched", "envelopes_lost", "dropped", "rematched"]
                .map(|count| profile.count(1, &format!("truth.{count}")));
        assert_eq!((matched + envelopes_lost, rematched), (RECEIVES, 0), "{}: {}", mpi.name, profile.json());
        assert_eq!(envelopes_lost, dropped, "{}", mpi.name);
        assert!(matched >= CAPACITY, "{}: {matched}", mpi.name);
        assert_eq!(profile.count(1, "posted.left"), 0, "{}", mpi.name);
    }
}
