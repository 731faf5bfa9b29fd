//! Why a rank is slow that others wait for: each planted reason is told of the right rank, and none of one that computes longer.

use std::path::Path;

use mel_tests::artifacts::fresh_dir;
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};

/// Runs two ranks, of which the second is slow.
fn run(mpi: &Mpi, mode: &str, before: &[&str], directory: &Path) -> (Finished, Profile) {
    let output = directory.join("run");
    let job = Job::new(mpi, 2, compile_special(mpi, "slow_rank")).args([mode]).current_dir(directory);
    let job = job.launched_by(before);
    let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0) && run.stdout.contains("OK"), mode);
    (run, Profile::read(&output))
}

/// What the verdict says of why rank 1 is slow.
fn why(mpi: &Mpi, mode: &str) -> Option<String> {
    let directory = fresh_dir();
    let (_, profile) = run(mpi, mode, &[], directory.path());
    let verdict = profile.json()["verdict"].as_array().cloned().unwrap_or_default();
    let finding = verdict.iter().find(|finding| finding["cause_rank"] == 1);
    let finding = finding.unwrap_or_else(|| panic!("{}, {mode}: rank 1 is named: {verdict:#?}", mpi.name));
    finding["why"].as_str().map(str::to_owned)
}

fn is_told(mode: &str, parts: &[&str]) {
    for mpi in &Mpi::all() {
        let said = why(mpi, mode).unwrap_or_else(|| panic!("{}, {mode}: nothing is told", mpi.name));
        assert!(
            said.starts_with("rank 1 was ") && parts.iter().all(|part| said.contains(part)),
            "{}: {said}",
            mpi.name
        );
    }
}

#[test]
fn who_computes_longer_has_no_other_reason() {
    for mpi in &Mpi::all() {
        assert_eq!(why(mpi, "computes"), None, "{}", mpi.name);
    }
}

#[test]
fn pages_that_are_new_each_time() {
    is_told("faults", &["in the operating system", "page faults"]);
}

#[test]
fn a_file_that_is_written_through() {
    is_told("writes", &["and wrote "]);
}

#[test]
fn a_rank_that_sleeps_and_one_that_is_stopped() {
    is_told("sleeps", &["asleep for 5", "or was stopped"]);
    is_told("stopped", &["asleep for ", "or was stopped"]);
}

#[test]
fn a_hog_on_the_processor_of_a_rank() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (run, _) = run(mpi, "hog", &[], directory.path());
        let is_told = run.stderr.contains("rank 1 had no processor for ");
        run.expect(is_told, "the rank that has company is told");
    }
}

#[test]
fn all_ranks_on_one_of_the_processors() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (run, _) = run(mpi, "computes", &["taskset", "-c", "0"], directory.path());
        let is_told = run.stderr.contains("2 ranks on 1 processor: ") && run.stderr.contains("the host has ");
        run.expect(is_told, "there are more processors than they may use");
    }
}
