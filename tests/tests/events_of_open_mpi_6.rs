//! Events that an MPI has before `MPI_Init` and after `MPI_Finalize`, types that are bound to communicators, and a source without order
//! that tells when it is asked: as Open MPI has them since version 6, by a library that has its types (`special/open_mpi_6.c`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use mel_tests::artifacts::fresh_dir;
use mel_tests::events::{Event, Log};
use mel_tests::{Finished, Job, Mpi, compile_preloadable, compile_special};

/// The events of a rank, by name without what all names begin with.
fn by_name(events: &[Event]) -> BTreeMap<&str, Vec<&Event>> {
    let mut all: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events {
        let name = event.name.strip_prefix("ompi.mpi.").unwrap_or(&event.name);
        all.entry(name).or_default().push(event);
    }
    all
}

fn element(event: &Event, name: &str) -> i64 {
    let found = event.elements.iter().find(|(element, _)| element == name);
    found.unwrap_or_else(|| panic!("{event:?} has no {name}")).1
}

/// Runs `lifecycle` on two ranks of an MPI that has such events, which it does not have itself: hence `--no-strict`.
fn logged(mpi: &Mpi, options: &[&str], output: &Path) -> (Finished, Log) {
    let job = Job::new(mpi, 2, compile_special(mpi, "lifecycle"));
    let job = job.env("LD_PRELOAD", compile_preloadable(mpi, "open_mpi_6"));
    let options = ["--no-strict"].iter().chain(options).chain(&["-o"]).map(OsStr::new);
    let finished = job.under_mel(options.chain([output.as_os_str()])).run();
    finished.expect(finished.code == Some(0), "the program ends well");
    (finished, Log::of_run(output))
}

#[test]
#[ignore = "slow"]
fn those_of_an_mpi_that_has_them_before_init_are_logged_from_its_begin_to_its_end() {
    for mpi in Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let (finished, log) = logged(&mpi, &["-e", "ompi.*"], &output);
        let ended = "registrations on objects in MPI_Finalize: 0";
        finished.expect(finished.stdout.matches(ended).count() == 2, "none outlives its object");
        for rank in 0..2 {
            let events = by_name(log.rank(rank));
            let count = |name: &str| events.get(name).map_or(0, Vec::len);
            let one = |name: &str| {
                finished.expect(count(name) == 1, &format!("one {name}: {log:#?}"));
                events[name][0]
            };
            let (begun, ended) = (one("initialization"), one("finalization"));
            assert_eq!(
                (element(begun, "world rank"), element(begun, "world size")),
                (i64::from(rank), 2),
                "{begun:?}"
            );
            assert_eq!(element(begun, "instance"), element(ended, "instance"));
            // In the order in which they are made.
            let handles = |name: &str| -> Vec<i64> {
                events[name].iter().map(|event| element(event, "handle")).collect()
            };
            let (made, freed) = (handles("communicator_created"), handles("communicator_freed"));
            finished.expect(made == freed && made.len() == 2, &format!("both are seen: {log:#?}"));
            let named = handles("communicator_name_set");
            assert_eq!(named, [made[0], made[1], made[1]], "each where it happens, once");
            assert_eq!(element(one("win_created"), "size"), 64);
            assert_eq!(element(one("win_created"), "handle"), element(one("win_freed"), "handle"));
            let released = &events["ompi.mca.memory.patcher.released"];
            let bytes: Vec<i64> = released.iter().map(|event| element(event, "bytes")).collect();
            assert_eq!(bytes, [4096, 4096, 8192], "while it runs, at the end, and behind it: {released:?}");
            let between = |event: &Event| begun.seconds < event.seconds && event.seconds < ended.seconds;
            let [.., last] = &released[..] else { unreachable!("three were counted") };
            assert!(between(released[0]) && between(released[1]) && last.seconds > ended.seconds, "{log:#?}");
            let barrier = events["win_created"][0].seconds;
            assert!(released[0].seconds < barrier, "it is asked before the program ends: {log:#?}");
            assert!(begun.seconds > 0.0 && begun.seconds < 60.0, "since the entry of MPI_Init: {begun:?}");
        }
        // The text that the process itself has left.
        let text = std::fs::read_to_string(output.join("events-0.txt")).expect("there is a text");
        let place = text.find("'ompi.mpi.finalization'").expect("it goes to the end");
        assert!(text[place..].contains("'ompi.mca.memory.patcher.released'"), "{text}");
        let second = "'ompi.mpi.communicator_name_set'";
        assert!(
            text.lines().any(|line| line.contains(second) && line.contains("communicator='again'")),
            "{text}"
        );
    }
}

#[test]
#[ignore = "slow"]
fn a_trace_has_those_until_its_end() {
    for mpi in Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let chosen = ["--trace", "-e", "ompi.mpi.initialization,ompi.mpi.finalization"];
        let (finished, log) = logged(&mpi, &chosen, &output);
        finished.expect(output.join("traces.otf2").exists(), "there is a trace");
        let count = |name: &str| log.rank(1).iter().filter(|event| event.name == name).count();
        assert_eq!(count("ompi.mpi.initialization"), 1, "{log:#?}");
        assert_eq!(count("ompi.mpi.finalization"), 0, "the trace is written before: {log:#?}");
    }
}
