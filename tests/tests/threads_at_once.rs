//! Threads that call MPI at the same time: the program verifies its results, the ob1 model is not misled, the events of
//! each thread are in order and complete, and nobody waits for ever.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::events::{Log, QUEUE_EVENTS};
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::{Finished, Job, Mpi, compile_special};

/// Runs the storm of threads under MEL.
fn storm(
    mpi: &Mpi,
    ranks: u32,
    rounds: u32,
    options: &[&str],
    envelopes: &str,
) -> (Finished, tempfile::TempDir) {
    let directory = fresh_dir();
    let output = directory.path().join("run").display().to_string();
    let job = Job::new(mpi, ranks, compile_special(mpi, "thread_storm")).args([rounds.to_string()]);
    let run = job.env("MPIT_ENVELOPES", envelopes).under_mel([&["-o", &output], options].concat()).run();
    let what = format!("{} with {options:?}, {ranks} ranks, {envelopes}", mpi.name);
    run.expect(run.code == Some(0) && run.stdout.ends_with("OK\n"), &what);
    run.expect(!run.stderr.contains("panicked"), &what);
    (run, directory)
}

fn is_sound(profile: &Profile, ranks: u32) {
    let mut wrong = profile.contradictions(ranks);
    // A message that comes before its communicator is made is queued without a search.
    wrong.retain(|wrong| !wrong.ends_with("in posted_search"));
    assert_eq!(wrong, [""; 0], "{}", profile.json());
    for rank in 0..ranks {
        for queue in ["posted", "unexpected"] {
            assert_eq!(profile.count(rank, &format!("{queue}.left")), 0, "rank {rank}: {queue}");
        }
    }
}

/// The converter keeps the order of each stream of the log, which is that of a thread, and reports where times go back.
fn each_thread_is_in_order(run: &Path) {
    let convert = Command::new(mel()).arg("convert").arg(run).args(["--otf2", "--force"]).output();
    let convert = convert.expect("mel can be started");
    let said = String::from_utf8_lossy(&[convert.stdout, convert.stderr].concat()).into_owned();
    assert!(convert.status.success() && said.contains("MPI calls"), "{said}");
    assert!(!said.contains("times went back"), "{said}");
    let trace = Trace::read(run);
    assert_eq!(trace.disorder(), None);
    for rank in 0..4 {
        for thread in 1..5 {
            let name = format!("\"rank {rank} thread {thread}\"");
            assert!(trace.definitions.iter().any(|line| line.contains(&name)), "no location {name}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn profile_and_trace_are_sound() {
    for mpi in &Mpi::all() {
        for envelopes in ["", "messages"] {
            let (_, directory) = storm(mpi, 4, 24, &["--trace"], envelopes);
            is_sound(&Profile::read(&directory.path().join("run")), 4);
            each_thread_is_in_order(&directory.path().join("run"));
        }
    }
}

#[test]
#[ignore = "slow"]
fn over_two_nodes_too() {
    for (_, nodes) in Mpi::on_two_nodes() {
        let (_, directory) = storm(&nodes, 4, 24, &[], "");
        is_sound(&Profile::read(&directory.path().join("run")), 4);
    }
}

#[test]
#[ignore = "slow"]
fn nobody_waits_for_ever() {
    for mpi in &Mpi::all() {
        for repetition in 0..10 {
            storm(mpi, 2, 12, &[], ["", "messages"][repetition % 2]);
        }
    }
}

#[test]
fn every_insert_has_its_remove() {
    for mpi in &Mpi::all() {
        let (_, directory) = storm(mpi, 2, 24, &["-e", QUEUE_EVENTS], "");
        is_complete(mpi, &directory.path().join("run"));
    }
}

/// The log of two ranks has a remove for each insert.
fn is_complete(mpi: &Mpi, run: &Path) {
    let log = Log::of_run(run);
    for rank in 0..2 {
        for queue in ["posted", "unex"] {
            let mut inside: BTreeMap<i64, i64> = BTreeMap::new();
            for event in log.rank(rank) {
                let change = match event.name.strip_prefix(&format!("pml_ob1_{queue}_")) {
                    Some("insert") => 1,
                    Some("remove") => -1,
                    _ => continue,
                };
                let request =
                    event.elements.iter().find(|(name, _)| name == "request").map(|(_, value)| *value);
                *inside.entry(request.expect("a request")).or_default() += change;
            }
            assert!(!inside.is_empty(), "{}: rank {rank}: nothing was ever {queue}", mpi.name);
            let odd: Vec<_> = inside.iter().filter(|(_, count)| **count != 0).collect();
            assert!(odd.is_empty(), "{}: rank {rank}: {queue}: {odd:?}", mpi.name);
        }
    }
}

/// Threads that are never there at the same time share the ob1 model, without a lock. However many there are, one has the streams
/// and the source of another one that has ended.
#[test]
#[ignore = "slow"]
fn in_turn() {
    for mpi in &Mpi::all() {
        for (rounds, options) in
            [(1500, vec!["--trace"]), (60, vec!["--profile", "queues", "-e", QUEUE_EVENTS]), (200, vec![])]
        {
            let directory = fresh_dir();
            let run = directory.path().join("run");
            let output = run.display().to_string();
            let job = Job::new(mpi, 2, compile_special(mpi, "threads_in_turn")).args([rounds.to_string()]);
            let ran = job.under_mel([vec!["-o", &output], options.clone()].concat()).run();
            ran.expect(
                ran.code == Some(0) && ran.stdout.ends_with("OK\n"),
                &format!("{} {options:?}", mpi.name),
            );
            let profile = Profile::read(&run);
            is_sound(&profile, 2);
            for rank in 0..2 {
                assert_eq!(profile.count(rank, "posted_search.searches"), 6 * rounds, "{}", profile.json());
            }
            if options.contains(&"-e") {
                is_complete(mpi, &run);
            }
            if options == ["--trace"] {
                let trace = Trace::read(&run);
                let locations = trace.definitions.iter().filter(|line| line.starts_with("LOCATION "));
                // Of each rank the main thread, that of the others, and a source of each.
                assert_eq!(locations.count(), 2 * 4, "{}", mpi.name);
                assert_eq!(trace.disorder(), None);
            }
        }
    }
}

/// An MPI may give a persistent request another handle as it is started: Open MPI does for buffered sends that it has not sent yet.
#[test]
fn buffered_sends_that_are_started_again_lose_no_envelope() {
    const MESSAGES: u64 = 96;
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--profile=calls,queues,matrix".into(), "-o".into(), output.display().to_string()];
        let run = Job::new(mpi, 2, compile_special(mpi, "buffered_starts")).under_mel(options).run();
        run.expect(run.code == Some(0) && run.stdout.contains("96 messages"), mpi.name);
        run.expect(!run.stderr.contains("truth: "), "the truth line has something to say");
        let profile = Profile::read(&output);
        assert_eq!(profile.count(1, "truth.matched"), MESSAGES, "{}", mpi.name);
        assert_eq!(profile.count(1, "truth.envelopes_lost"), 0, "{}", mpi.name);
        let traffic = profile.json()["ranks"][0]["traffic"].as_array().cloned().unwrap_or_default();
        let sent: u64 = traffic
            .iter()
            .filter(|row| row["kind"] == "p2p")
            .map(|row| row["bytes"].as_u64().unwrap_or(0))
            .sum();
        assert_eq!(sent, MESSAGES * 4096, "{}", mpi.name);
    }
}
