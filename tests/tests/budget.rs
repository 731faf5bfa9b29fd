//! Where receives come so densely that following all would take too much of the run, some stand for others (`--budget`, `--exact`): what
//! is exact stays exact, and the report says what is not.

use mel_tests::artifacts::fresh_dir;
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};

/// How many windows, of how many messages: receives that one call waits for, and blocking ones.
const KINDS: [(u64, u64); 2] = [(4000, 32), (80_000, 1)];

/// Two ranks that do nothing but communicate, as users run it with these options.
fn run(mpi: &Mpi, (windows, window): (u64, u64), options: &[&str]) -> (Finished, Profile) {
    let directory = fresh_dir();
    let output = directory.path().join("run").display().to_string();
    let program = compile_special(mpi, "dense");
    let job = Job::new(mpi, 2, &program).args([windows.to_string(), window.to_string()]);
    let run = job.under_mel([options, &["-o", &output]].concat()).run();
    run.expect(run.code == Some(0) && run.stdout.ends_with("OK\n"), mpi.name);
    let profile = Profile::read(&directory.path().join("run"));
    assert_eq!(profile.contradictions(2), [""; 0], "{}", profile.json());
    (run, profile)
}

/// What must not depend on the budget: messages that were matched, and calls with their bytes.
fn exact(profile: &Profile) -> Vec<u64> {
    let of_calls = |key: &str| -> u64 {
        let ranks = profile.json()["ranks"].as_array().cloned().unwrap_or_default();
        let calls = ranks.iter().flat_map(|rank| rank["calls"].as_array().cloned().unwrap_or_default());
        calls.map(|call| call[key].as_u64().unwrap_or(0)).sum()
    };
    vec![
        profile.total("truth.matched"),
        profile.total("truth.rematched"),
        profile.total("truth.envelopes_lost"),
        of_calls("calls"),
        of_calls("sent_bytes"),
        of_calls("received_bytes"),
    ]
}

#[test]
fn some_receives_stand_for_others_and_the_report_says_so() {
    for (mpi, kind) in Mpi::all().iter().flat_map(|mpi| KINDS.map(|kind| (mpi, kind))) {
        let (windows, window) = kind;
        // So little that any machine is over it.
        let (run_sampled, sampled) = run(mpi, kind, &["--budget", "0.01%"]);
        let (run_exact, of_all) = run(mpi, kind, &["--exact"]);
        assert_eq!(exact(&sampled), exact(&of_all), "{}", mpi.name);
        let receives = windows * window;
        assert_eq!(sampled.total("truth.matched"), receives + windows, "{}", mpi.name);

        let not_followed = |profile: &Profile| {
            ["receives", "bursts", "bursts_followed"].map(|key| profile.total(&format!("not_followed.{key}")))
        };
        assert_eq!(not_followed(&of_all), [0; 3], "{}", mpi.name);
        let [left_out, bursts, followed] = not_followed(&sampled);
        assert!(
            left_out > 1000 && bursts > followed && followed > 0,
            "{}: {left_out} {bursts} {followed}",
            mpi.name
        );

        // Those that are followed stand for the others, but for the last ones.
        let counted = ["posted.messages", "unexpected.messages"].map(|key| sampled.total(key));
        let all = ["posted.messages", "unexpected.messages"].map(|key| of_all.total(key));
        let (counted, all) = (counted.iter().sum::<u64>(), all.iter().sum::<u64>());
        assert!(
            all >= receives && counted <= all + all / 20 && counted >= all - all / 4,
            "{counted} of {all}"
        );

        assert_eq!(sampled.total("posted.left") + sampled.total("unexpected.left"), 0, "{}", mpi.name);

        let sentence = "estimated: the queues were followed in one of";
        let says = |run: &Finished| {
            run.stderr
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .replace("[MEL] ", "")
                .contains(sentence)
        };
        run_sampled.expect(says(&run_sampled), "the report says it");
        run_exact.expect(!says(&run_exact), "nothing is estimated");
    }
}

#[test]
fn a_short_run_is_exact() {
    for mpi in &Mpi::all() {
        let (_, profile) = run(mpi, (100, 32), &["--budget", "0.01%"]);
        assert_eq!(profile.total("not_followed.bursts"), 0, "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 100 * 32 + 100, "{}", mpi.name);
    }
}

#[test]
fn variables_of_the_queues_are_of_all_receives() {
    for mpi in &Mpi::all() {
        let options = ["--budget", "0.01%", "--vars", "mel_posted*", "--every", "0"];
        let (_, profile) = run(mpi, KINDS[0], &options);
        assert_eq!(profile.total("not_followed.bursts"), 0, "{}", mpi.name);
    }
}

#[test]
fn a_backlog_is_unexpected_where_receives_block() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let job = Job::new(mpi, 2, compile_special(mpi, "backlog"));
        let run = job.under_mel(["-o", &output]).run();
        run.expect(run.code == Some(0), mpi.name);
        let profile = Profile::read(&directory.path().join("run"));
        let unexpected = profile.total("unexpected.messages");
        assert!(unexpected > 2500, "{}: {unexpected} of 3000", mpi.name);
    }
}
