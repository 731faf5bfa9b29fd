//! Where Open MPI has PERUSE, events come from inside ob1: every test program's order of events is the one
//! that it promises, the statistics agree, and the program notices nothing.
//!
//! Skipped, with a line, where `scripts/openmpi-with-peruse` has built nothing.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::{Case, for_each_case_on};
use mel_tests::events::{self, Event, Log};
use mel_tests::profile::Profile;
use mel_tests::{Mpi, test_every_program};
use serde_json::json;

fn peruse() -> Vec<Mpi> {
    Mpi::with_peruse().into_iter().collect()
}

/// Whether an event is about a message of the application: those of the MPI itself have other tags.
fn of_application(event: &Event) -> bool {
    event.elements.iter().all(|(name, value)| name != "tag" || *value >= -1)
}

fn matches_ob1(name: &str) {
    for_each_case_on(&peruse(), name, |case| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["-e".as_ref(), events::QUEUE_EVENTS.as_ref(), "-o".as_ref(), output.as_os_str()];
        let run = case.job().under_mel(options).run();
        run.expect(case.program.exit.allows(run.code), &case.to_string());
        if case.program.events.is_empty() {
            return; // promises no order
        }
        let seen = Log::of_run(&output);
        for (rank, promised) in case.program.events.iter().filter(|(rank, _)| **rank < case.ranks) {
            let events: Vec<Event> =
                seen.rank(*rank).iter().filter(|event| of_application(event)).cloned().collect();
            if let Err(difference) = events::compare(promised, &events) {
                panic!("{case}: rank {rank}:\n{difference}");
            }
            // The application's and the MPI's own messages are two sources.
            let ordered = events.is_sorted_by_key(|event| event.seconds);
            assert!(ordered, "{case}: rank {rank}: time goes backwards: {events:?}");
        }
        if matches!(case.program.exit, mel_tests::Exit::Code(0)) && case.program.name != "never_init" {
            let profile = profile_of(case);
            assert_eq!(profile.json()["backend"], json!("peruse"), "{case}");
            assert_eq!(profile.contradictions(case.ranks), [""; 0], "{case}: {}", profile.json());
        }
    });
}

fn profile_of(case: &Case<'_>) -> Profile {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = case.job().under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), &case.to_string());
    Profile::read(&output)
}

test_every_program!(slow matches_ob1);
