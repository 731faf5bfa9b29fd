//! What a call costs: instructions of our own, counted by callgrind (`programs/special/cost.c`). The bars are above what a build without
//! link-time optimisation takes; one with it takes less.

use std::collections::BTreeMap;
use std::path::Path;

use mel_tests::artifacts::{built, fresh_dir};
use mel_tests::instructions::in_dumps;
use mel_tests::{Job, Mpi, compile_preloadable, compile_special};

/// Rounds that `cost.c` counts.
const CALLS: u64 = 1000;

/// Instructions of one round of each kind, in the library of this name.
fn measure(mpi: &Mpi, job: Job<'_>, library: &str, kinds: &[&str], scratch: &Path) -> BTreeMap<String, u64> {
    let executable = compile_special(mpi, "cost");
    let dumps = format!("--callgrind-out-file={}.%p", scratch.join("dump").display());
    let run = job
        .args(["-q", "--tool=callgrind", "--instr-atstart=no", &dumps])
        .args([executable])
        .args(kinds)
        .run();
    let expected = format!("{} kinds\nOK\n", kinds.len());
    run.expect(run.code == Some(0) && run.stdout.ends_with(&expected), mpi.name);
    let found = in_dumps(scratch, library);
    run.expect(kinds.iter().all(|kind| found.contains_key(*kind)), "each kind was counted");
    found.into_iter().map(|(kind, sum)| (kind, sum / CALLS)).collect()
}

/// Under `mel run` with these options a round of each kind takes no more than this on any of so many ranks.
#[track_caller]
fn costs_at_most(ranks: u32, options: &[&str], bars: &[(&str, u64)]) {
    for mpi in &Mpi::all() {
        let scratch = fresh_dir();
        let output = scratch.path().join("run").display().to_string();
        let options: Vec<&str> = options.iter().copied().chain(["-o", &output]).collect();
        // A sample that comes meanwhile costs as much as hundreds of calls.
        let job = Job::new(mpi, ranks, "valgrind").env("MEL_SAMPLE", "0").under_mel(&options);
        let kinds: Vec<&str> = bars.iter().map(|(kind, _)| *kind).collect();
        let found = measure(mpi, job, "/libmel.so", &kinds, scratch.path());
        println!("{} {options:?}: {found:?}", mpi.name);
        for (kind, bar) in bars {
            assert!((1..=*bar).contains(&found[*kind]), "{}: {kind}: {found:?}, at most {bar}", mpi.name);
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_loop_that_polls_is_cheap() {
    costs_at_most(
        1,
        &[],
        &[
            ("test", 750),
            ("testall", 850),
            ("testany", 850),
            ("testsome", 850),
            ("get_status", 1150),
            ("iprobe", 1050),
            ("improbe", 1450),
        ],
    );
}

#[test]
#[ignore = "slow"]
fn messages_are_cheap() {
    costs_at_most(2, &[], &[("round_trip", 4200), ("window", 64 * 1250), ("allreduce", 1300)]);
}

#[test]
#[ignore = "slow"]
fn the_library_of_events_is_free_without_a_tool() {
    let events = built("libmpit_events.so").display().to_string();
    // Elsewhere the library follows from the start.
    for mpi in Mpi::all().iter().filter(|mpi| mpi.name.starts_with("openmpi")) {
        // A tool that listens to nothing is none.
        let tool = compile_preloadable(mpi, "listens_to_events");
        for preloaded in [events.clone(), format!("{} {events}", tool.display())] {
            let scratch = fresh_dir();
            let job = Job::new(mpi, 1, "valgrind").through_env("LD_PRELOAD", &preloaded).env("LISTEN", "no");
            let kinds = ["test", "test_and_iprobe", "to_oneself"];
            let found = measure(mpi, job, "/libmpit_events.so", &kinds, scratch.path());
            println!("{} {preloaded}: {found:?}", mpi.name);
            for (kind, calls) in kinds.iter().zip([1, 2, 3]) {
                assert!((1..=30 * calls).contains(&found[*kind]), "{}: {kind}: {found:?}", mpi.name);
            }
        }
    }
}
