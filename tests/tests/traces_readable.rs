//! OTF2's own reader takes the trace without a complaint, and finds in it what the profile counts; other readers find the
//! same.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::for_each_case_on;
use mel_tests::counts::{Alone, disagreements};
use mel_tests::profile::Profile;
use mel_tests::readers::Python;
use mel_tests::trace::Trace;
use mel_tests::{Exit, Mpi, Program, test_every_program};

/// The programs that newer MPIs run too.
const ON_NEWER: [&str; 4] = ["completion", "random", "threads", "wildcards"];

/// What the programs do that leaves records without a counterpart.
fn alone(name: &str, ranks: u32) -> Alone {
    match name {
        "error_handler" => Alone { failed_receives: 1, ..Alone::default() },
        "exceptions" => Alone { failed_receives: u64::from(ranks) - 1, ..Alone::default() },
        "persistent" => Alone { freed_sends: 1, ..Alone::default() },
        _ => Alone::default(),
    }
}

fn readable(name: &str) {
    if Program::named(name).exit != Exit::Code(0) {
        return; // such runs are converted afterwards
    }
    let pythons = Python::all();
    let mut mpis = Mpi::all();
    if ON_NEWER.contains(&name) {
        mpis.extend(Mpi::newer());
    }
    for_each_case_on(&mpis, name, |case| {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = case.job().under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0), &case.to_string());

        let (trace, profile) = (Trace::read(&output), Profile::read(&output));
        assert_eq!(trace.disorder(), None, "{case}");
        assert!(trace.enters().contains_key("MPI_Reduce"), "{case}: {:?}", trace.enters());
        assert_eq!(trace.received_before_sent(), 0, "{case}");
        let alone = alone(name, case.ranks);
        assert_eq!(disagreements(&trace, &profile, alone), [""; 0], "{case}");
        for python in &pythons {
            assert_eq!(python.disagreement(&output, &trace), None, "{case}");
        }
        for ((name, location), lengths) in trace.metrics() {
            assert_eq!(
                lengths.last(),
                Some(&0),
                "{case}: {name} of the process of location {location} is empty at the end"
            );
        }
    });
}

test_every_program!(slow readable);
