//! A known order of sends and receives gives a known order of queue events.

use std::collections::BTreeSet;

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::for_each_case;
use mel_tests::events::{self, Log};
use mel_tests::{Job, Mpi, Program, test_every_program};

fn keeps_its_promise(name: &str) {
    if Program::named(name).events.is_empty() {
        return; // promises no order
    }
    for_each_case(name, |case| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["-e".as_ref(), events::QUEUE_EVENTS.as_ref(), "-o".as_ref(), output.as_os_str()];
        let run = case.job().under_mel(options).run();
        run.expect(case.program.exit.allows(run.code), &case.to_string());

        let seen = Log::of_run(&output);
        for (rank, promised) in case.program.events.iter().filter(|(rank, _)| **rank < case.ranks) {
            let events = seen.rank(*rank);
            if let Err(difference) = events::compare(promised, events) {
                panic!("{case}: rank {rank}:\n{difference}");
            }
            let ordered = events.is_sorted_by_key(|event| event.seconds);
            assert!(ordered, "{case}: rank {rank}: time goes backwards: {events:?}");
            let first = events.first().map_or(0.0, |event| event.seconds);
            assert!(first >= 0.0, "{case}: rank {rank}: before MPI_Init: {events:?}");
        }
    });
}

/// A pattern, the end of a name, and the name that the prototype exports; each event with the communicator that it is bound to.
#[test]
fn events_are_chosen_by_patterns_and_ends_of_names() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let words = "pml_ob1_posted_*,unex_insert,ompi_pml_ob1_unex_remove";
        let options = ["-e".as_ref(), words.as_ref(), "-o".as_ref(), output.as_os_str()];
        let run = Job::new(mpi, 2, Program::named("unexpected").compile(mpi)).under_mel(options).run();
        run.expect(run.code == Some(0), mpi.name);
        let seen = Log::of_run(&output);
        let names: BTreeSet<&str> =
            [0, 1].iter().flat_map(|rank| seen.rank(*rank)).map(|event| event.name.as_str()).collect();
        let chosen = ["posted_insert", "posted_remove", "unex_insert", "unex_remove"];
        let is_chosen = |name: &&str| chosen.iter().any(|chosen| *name == format!("pml_ob1_{chosen}"));
        assert!(
            names.contains("pml_ob1_unex_insert") && names.iter().all(is_chosen),
            "{}: {names:?}",
            mpi.name
        );
        let text = std::fs::read_to_string(output.join("events-1.txt")).expect("the text of rank 1");
        let mut lines = text.lines().filter(|line| line.starts_with('['));
        assert!(lines.all(|line| line.ends_with(" communicator='MPI_COMM_WORLD'")), "{}: {text}", mpi.name);
        // What is counted is counted beside it.
        assert!(run.stderr.contains("[MEL] directory"), "{}: {}", mpi.name, run.stderr);
    }
}

test_every_program!(keeps_its_promise);
