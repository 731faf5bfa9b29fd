//! What the ob1 model does not follow works as without MEL, is counted, and leaves all other numbers sound.

use std::ffi::OsStr;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, libmel, mel};
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};

/// Runs a program on two ranks, by itself and with the queue profile. `None` where it does not run by itself, or says
/// that the MPI has no such thing.
fn run(mpi: &Mpi, name: &str, args: &[&str]) -> Option<(Finished, Option<Profile>)> {
    let program = compile_special(mpi, name);
    let plain = Job::new(mpi, 2, &program).args(args).run();
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let watched = Job::new(mpi, 2, &program).args(args);
    let watched = watched.under_mel(["-o".as_ref(), output.as_os_str()]).run();
    if plain.code != Some(0) {
        eprintln!("skipped: {name} does not run on {}: {}", mpi.name, plain.stderr);
        return None;
    }
    watched.expect(
        watched.code == Some(0) && watched.stdout == plain.stdout,
        &format!("{name} on {}", mpi.name),
    );
    if plain.stdout.starts_with("no ") {
        return None;
    }
    watched.expect(plain.stdout.ends_with("OK\n"), &format!("{name} on {}", mpi.name));
    let profile = match output.join("profile.json").exists() {
        true => Some(Profile::read(&output)),
        // Ranks without a world leave what each of them has.
        false => output.join("rank-0.table").exists().then(|| Profile::reported(&output)),
    };
    Some((watched, profile))
}

/// The counts of all ranks, and everything else is sound.
fn counts(profile: &Profile) -> [u64; 3] {
    assert_eq!(profile.contradictions(2), [""; 0], "{}", profile.json());
    ["communicators", "calls", "partitioned"].map(|kind| profile.total(&format!("not_followed.{kind}")))
}

#[test]
fn processes_of_other_jobs() {
    for mpi in &Mpi::all_and_newer() {
        let Some((run, profile)) = run(mpi, "spawn", &["and-by-port"]) else { continue };
        let profile = profile.expect("rank 0 leaves a profile");
        // Each of two ranks: the children's communicator, the merged one, and that of the port. A receive and a send in
        // each. What is sent in MPI_COMM_WORLD is followed.
        let communicators = if run.stdout.contains("without a port") { 4 } else { 6 };
        assert_eq!(counts(&profile), [communicators, 2 * communicators, 0], "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 2, "{}", mpi.name);
        let line = format!(
            "not followed, so neither in the queues nor in who waits for whom: {communicators} communicators"
        );
        let said = run.stderr.replace("\n      ", " ");
        run.expect(said.contains(&line), mpi.name);
    }
}

#[test]
fn jobs_that_are_started_by_others_have_their_own_results() {
    for mpi in &Mpi::all_and_newer() {
        let program = compile_special(mpi, "spawn");
        if Job::new(mpi, 2, &program).run().code != Some(0) {
            eprintln!("skipped: MPI_Comm_spawn does not work on {}", mpi.name);
            continue;
        }
        let directory = fresh_dir();
        let output = directory.path().join("run");
        // For the launcher too, which gives it to all that are started later.
        let job = Job::new(mpi, 2, &program).env("LD_PRELOAD", libmel()).env("MEL_PROFILE", "queues");
        let run = job.env("MEL_TRACE", "1").env("MEL_OUTPUT", &output).run();
        run.expect(run.code == Some(0), mpi.name);
        assert_eq!(counts(&Profile::read(&output)), [4, 8, 0], "{}", mpi.name);
        let of_children = directory.path().join("run-spawned-1");
        // The children do not make the communicator with their parents: they are born with it.
        assert_eq!(counts(&Profile::read(&of_children)), [2, 8, 0], "{}", mpi.name);
        run.expect(of_children.join("traces.otf2").exists(), mpi.name);
    }
}

#[test]
fn partitioned_messages() {
    for mpi in &Mpi::all_and_newer() {
        let Some((_, profile)) = run(mpi, "partitioned", &[]) else { continue };
        let profile = profile.expect("rank 0 leaves a profile");
        assert_eq!(counts(&profile), [0, 0, 4], "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 2, "{}", mpi.name);
    }
}

#[test]
fn sessions_beside_mpi_init() {
    for mpi in &Mpi::all_and_newer() {
        let Some((_, profile)) = run(mpi, "sessions", &["world"]) else { continue };
        let profile = profile.expect("rank 0 leaves a profile");
        assert_eq!(counts(&profile), [0, 0, 0], "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 2 * 20, "{}", mpi.name);
    }
}

#[test]
fn sessions_alone_are_followed_from_their_communicator_of_all_processes() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let program = compile_special(mpi, "sessions");
        let plain = Job::new(mpi, 2, &program).args(["fewer"]).run();
        if plain.code != Some(0) || !plain.stdout.starts_with("OK") {
            eprintln!("skipped: {} has no sessions that work", mpi.name);
            continue;
        }
        let options = ["--trace", "--profile", "calls,queues,matrix", "-o"].map(OsStr::new);
        let options = options.into_iter().chain([output.as_os_str()]);
        let run = Job::new(mpi, 2, &program).args(["fewer"]).under_mel(options).run();
        run.expect(run.code == Some(0) && run.stdout == plain.stdout, mpi.name);
        run.expect(run.stderr.contains("a program of sessions: each rank leaves its numbers"), mpi.name);
        let profile = Profile::reported(&output);
        assert_eq!(profile.ranks(), [0, 1], "{}", mpi.name);
        assert_eq!(counts(&profile), [0, 0, 0], "{}", mpi.name);
        // Twice ten rounds on each of two ranks, in two communicators.
        assert_eq!(profile.total("truth.matched"), 40, "{}: {}", mpi.name, profile.json());
        let text = profile.json().to_string();
        assert!(text.contains("communicator of all ranks"), "{text}");
        assert!(!text.contains("MPI_Finalize\""), "none was called: {text}");
        for rank in profile.json()["ranks"].as_array().expect("ranks") {
            assert_eq!(rank["ended"], "finalised", "{}: its sessions have ended: {rank}", mpi.name);
        }
        let matrix = Command::new(mel()).arg("report").arg(&output).args(["--matrix", "--csv"]).output();
        let matrix = matrix.expect("mel can be started");
        let rows = String::from_utf8_lossy(&matrix.stdout).into_owned();
        let of_both = rows.lines().filter(|row| row.ends_with(",p2p,0,1,10,40")).count();
        assert_eq!(of_both, 2, "ten messages in each of two communicators: {rows}");
        let analysed = Command::new(mel()).arg("analyze").arg(&output).output().expect("mel can be started");
        assert!(analysed.status.success(), "{}", String::from_utf8_lossy(&analysed.stderr));
        let text = String::from_utf8_lossy(&analysed.stdout).into_owned();
        assert!(text.starts_with("2 ranks, "), "{text}");
    }
}

#[test]
fn a_world_that_comes_later_is_followed_too() {
    for mpi in &Mpi::all_and_newer() {
        let Some((run, profile)) = run(mpi, "sessions", &["late"]) else { continue };
        let profile = profile.expect("each rank leaves a table");
        assert_eq!(counts(&profile), [0, 0, 0], "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 60, "{}: {}", mpi.name, run.stderr);
    }
}

#[test]
fn what_stands_for_the_world_may_be_freed() {
    for mpi in &Mpi::all_and_newer() {
        let Some((_, profile)) = run(mpi, "sessions", &["freed"]) else { continue };
        let profile = profile.expect("each rank leaves a table");
        assert_eq!(counts(&profile), [0, 0, 0], "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 60, "{}", mpi.name);
    }
}

/// All is one run, which ends with MPI_Finalize.
#[test]
fn a_world_may_come_when_the_sessions_are_closed() {
    for mpi in &Mpi::all_and_newer() {
        let Some((run, profile)) = run(mpi, "sessions", &["closed"]) else { continue };
        let profile = profile.expect("rank 0 leaves a profile");
        assert_eq!(counts(&profile), [0, 0, 0], "{}", mpi.name);
        assert_eq!(profile.total("truth.matched"), 80, "{}: {}", mpi.name, run.stderr);
        run.expect(!run.stderr.contains("a program of sessions"), "it has a world at its end");
        for rank in [0, 1] {
            let (run_s, computing_s) =
                (profile.seconds(rank, "run_s"), profile.seconds(rank, "budget.computing_s"));
            assert!(computing_s > 0.09 && computing_s < run_s, "{}: {computing_s} of {run_s}", mpi.name);
        }
    }
}

/// Two threads make a communicator of all processes each, in another order on each rank: none of them may be misled by what MEL does there.
#[test]
fn threads_that_make_their_worlds_at_once_are_not_hurt() {
    // Open MPI 5 comes to no end.
    for mpi in Mpi::all_and_newer().iter().filter(|mpi| !mpi.name.starts_with("openmpi")) {
        let program = compile_special(mpi, "sessions_in_threads");
        let plain = Job::new(mpi, 2, &program).run();
        if plain.code != Some(0) || plain.stdout != "OK\n" {
            eprintln!("skipped: {}: {} {}", mpi.name, plain.stdout, plain.stderr);
            continue;
        }
        for _ in 0..5 {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let run = Job::new(mpi, 2, &program).under_mel(["-o".as_ref(), output.as_os_str()]).run();
            run.expect(run.code == Some(0) && run.stdout == plain.stdout, mpi.name);
        }
    }
}

#[test]
fn sessions_without_all_processes_are_not_measured() {
    for mpi in &Mpi::all_and_newer() {
        let Some((run, profile)) = run(mpi, "sessions", &["part"]) else { continue };
        run.expect(profile.is_none(), mpi.name);
        let count = run.mel_lines().filter(|line| line.contains("no communicator of all processes")).count();
        run.expect(count == 1 && run.mel_lines().count() == 1, &format!("{}: one line says it", mpi.name));
    }
}
