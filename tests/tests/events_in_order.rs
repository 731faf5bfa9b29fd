//! A known order of sends and receives gives a known order of queue events.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::for_each_case;
use mel_tests::events::{self, Log};
use mel_tests::{Program, test_every_program};

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

test_every_program!(keeps_its_promise);
