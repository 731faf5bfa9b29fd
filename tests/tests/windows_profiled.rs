//! Sixteen threads put and get at once: nothing is lost, and the profile counts what the log holds and what the
//! program has done.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::counts::{Alone, disagreements};
use mel_tests::events::Log;
use mel_tests::profile::Profile;
use mel_tests::readers::Python;
use mel_tests::trace::Trace;
use mel_tests::windows::{WINDOW_EVENTS, WindowProgram};
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

const THREADS: u64 = 16;

/// What each rank has printed: puts, gets and bytes.
fn printed(finished: &Finished) -> BTreeMap<u64, [u64; 3]> {
    let lines = finished.stdout.lines().filter_map(|line| line.strip_prefix("rank "));
    lines
        .map(|line| {
            let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            (numbers[0], [numbers[1], numbers[2], numbers[3]])
        })
        .collect()
}

/// The sum of a number over the threads of a window.
fn sum(window: &Value, of: impl Fn(&Value) -> Option<u64>) -> u64 {
    window["threads"].as_array().expect("a list of threads").iter().filter_map(of).sum()
}

#[test]
fn sixteen_threads_lose_nothing() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "window_threads");
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options =
            ["--profile=queues,rma".as_ref(), "--lines".as_ref(), "-e".as_ref(), WINDOW_EVENTS.as_ref()];
        let options = options.into_iter().chain(["-o".as_ref(), output.as_os_str()]);
        let run = Job::new(mpi, 2, program).args(["40", &THREADS.to_string()]).under_mel(options).run();
        run.expect(run.code == Some(0), mpi.name);
        let log = Log::of_run(&output);
        let text = fs::read_to_string(output.join("profile.json")).expect("there is a profile");
        let profile: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(profile["profiled"], serde_json::json!(["queues", "rma"]));
        let printed = printed(&run);
        run.expect(printed.len() == 2, "both ranks print what they did");
        for (rank, [puts, gets, bytes]) in printed {
            let events = log.rank(rank as u32);
            let count = |name: &str| {
                events.iter().filter(|event| event.name == format!("osc_rdma_{name}")).count() as u64
            };
            let seen = ["put_started", "put_complete", "get_started", "get_complete"].map(count);
            assert_eq!(seen, [puts, puts, gets, gets], "{} rank {rank}", mpi.name);
            assert_eq!(count("flush_started"), count("flush_complete"), "{} rank {rank}", mpi.name);

            let windows = profile["ranks"][rank as usize]["windows"].as_array().expect("a list of windows");
            assert_eq!(windows.len(), 1, "{} rank {rank}", mpi.name);
            let of =
                |kind: &str, key: &str| sum(&windows[0], |thread| thread["operations"][kind][key].as_u64());
            assert_eq!([of("put", "started"), of("get", "started")], [puts, gets]);
            assert_eq!(of("put", "bytes") + of("get", "bytes"), bytes);
            assert_eq!(sum(&windows[0], |thread| thread["completed"].as_u64()), puts + gets);
            assert_eq!(sum(&windows[0], |thread| thread["completion"]["count"].as_u64()), puts + gets);
            assert_eq!(windows[0]["locks_held"]["count"], 1);
            // The main thread only locks and unlocks.
            let threads = windows[0]["threads"].as_array().expect("a list").len() as u64;
            assert_eq!(threads, THREADS + 1, "{} rank {rank}", mpi.name);
        }
        run.expect(
            run.stderr.contains("[MEL] Window statistics rank: 1 Window: 0 Num Operations: "),
            "it is reported",
        );
        run.expect(run.stderr.contains("[MEL] Posted queue statistics rank: 1 "), "the queues, too");
    }
}

#[test]
fn a_killed_rank_leaves_its_operations() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "window_kill");
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["-e".as_ref(), WINDOW_EVENTS.as_ref(), "-o".as_ref(), output.as_os_str()];
        let run = Job::new(mpi, 2, program).under_mel(options).run();
        run.expect(run.code != Some(0), mpi.name);
        let log = Log::of_run(&output);
        let count =
            |name: &str| log.rank(1).iter().filter(|event| event.name == format!("osc_rdma_{name}")).count();
        assert_eq!(
            [count("put_started"), count("put_complete"), count("lock_acquired")],
            [10, 8, 1],
            "{}",
            mpi.name
        );
        let heading = log.heading(1).unwrap_or_default();
        assert!(heading.contains("ended early"), "{}: {heading}", mpi.name);
    }
}

#[test]
fn a_killed_rank_leaves_the_profile_of_its_windows() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "window_kill");
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--profile".as_ref(), "calls,rma".as_ref(), "-o".as_ref(), output.as_os_str()];
        let run = Job::new(mpi, 2, program).under_mel(options).run();
        run.expect(run.code != Some(0), mpi.name);
        let report = Command::new(mel()).args(["report", "--lines"]).arg(&output).output().expect("mel runs");
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        let line = text.lines().find(|line| line.starts_with("[MEL] Window statistics rank: 1 Window: 0 "));
        let said = line.is_some_and(|line| line.contains(" Num Operations: 10 "));
        assert!(said, "{}: {text}{}", mpi.name, String::from_utf8_lossy(&report.stderr));
    }
}

#[test]
fn without_the_queues_only_windows_are_reported() {
    let mpi = &Mpi::all()[0];
    let program = compile_special(mpi, "window_threads");
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let options = ["--profile=rma".as_ref(), "--lines".as_ref(), "-o".as_ref(), output.as_os_str()];
    let run = Job::new(mpi, 2, program).args(["8", "2"]).under_mel(options).run();
    run.expect(run.code == Some(0), mpi.name);
    run.expect(
        run.stderr.contains("[MEL] Window statistics rank: 0 Window: 0 Num Operations: 32 "),
        "reported",
    );
    run.expect(!run.stderr.contains("queue statistics"), "the queues were not counted");
}

/// Runs a program with a trace and a profile of its windows, and holds the two against each other.
fn trace_as_profiled(context: &str, job: Job<'_>) -> Trace {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let options = ["--profile".as_ref(), "queues,rma".as_ref(), "--trace".as_ref(), "-o".as_ref()];
    let run = job.under_mel(options.into_iter().chain([output.as_os_str()])).run();
    run.expect(run.code == Some(0), context);
    let (trace, profile) = (Trace::read(&output), Profile::read(&output));
    assert_eq!(trace.disorder(), None, "{context}");
    assert_eq!(disagreements(&trace, &profile, Alone::default()), [""; 0], "{context}");
    for python in Python::all() {
        assert_eq!(python.disagreement(&output, &trace), None, "{context}");
    }
    trace
}

#[test]
fn the_trace_has_what_the_profile_counts() {
    for mpi in &Mpi::all() {
        let job = Job::new(mpi, 2, compile_special(mpi, "window_threads")).args(["12", "4"]);
        let trace = trace_as_profiled(mpi.name, job);
        let once =
            ["RMA_WIN_CREATE", "RMA_REQUEST_LOCK", "RMA_ACQUIRE_LOCK", "RMA_RELEASE_LOCK", "RMA_WIN_DESTROY"];
        assert_eq!(once.map(|kind| trace.count(kind)), [2; 5], "{}", mpi.name);
        assert_eq!(trace.enters().get("lock_all epoch"), Some(&2), "{}", mpi.name);
        assert_eq!(trace.definition_kinds()["RMA_WIN"], 1, "{}: both ranks have the same window", mpi.name);
    }
}

#[test]
fn traces_show_every_way_to_synchronise() {
    let mpi = &Mpi::all()[0];
    for name in WindowProgram::names() {
        let program = WindowProgram::named(&name);
        let trace = trace_as_profiled(&name, Job::new(mpi, program.ranks, program.compile(mpi)));
        let kinds = match &*name {
            "fence" => &["RMA_COLLECTIVE_BEGIN", "RMA_COLLECTIVE_END"][..],
            "pscw" => &["RMA_GROUP_SYNC"],
            "requests" => &["RMA_OP_COMPLETE_NON_BLOCKING", "RMA_ATOMIC"],
            "accumulate" => &["RMA_ATOMIC"],
            _ => &["RMA_WIN_CREATE"],
        };
        assert!(kinds.iter().all(|kind| trace.count(kind) > 0), "{name}: {kinds:?}");
    }
}
