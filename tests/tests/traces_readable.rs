//! OTF2's own reader takes the trace without a complaint, and finds in it what the profile counts.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::for_each_case_on;
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::{Exit, Mpi, Program, test_every_program};

/// The programs that newer MPIs run too.
const ON_NEWER: [&str; 4] = ["completion", "random", "threads", "wildcards"];

fn readable(name: &str) {
    if Program::named(name).exit != Exit::Code(0) {
        return; // such runs are converted afterwards
    }
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
        let enters = trace.enters();
        for queue in ["posted", "unexpected"] {
            let searches = profile.total(&format!("{queue}_search.searches"));
            let regions: u64 = enters
                .iter()
                .filter(|(region, _)| region.ends_with(&format!("search_{queue}")))
                .map(|(_, count)| count)
                .sum();
            assert_eq!(regions, searches, "{case}: {queue} searches; regions: {enters:?}");
        }
        assert!(enters.contains_key("MPI_Reduce"), "{case}: {enters:?}");
        assert_eq!(trace.received_before_sent(), 0, "{case}");
        assert_eq!(trace.count("MPI_COLLECTIVE_BEGIN"), trace.count("MPI_COLLECTIVE_END"), "{case}");
        let received = trace.count("MPI_RECV") + trace.count("MPI_IRECV");
        let counted = profile.total("truth.matched") + profile.total("truth.rebound");
        assert_eq!(received, counted + profile.total("truth.synthesised"), "{case}: messages");
        for ((name, location), lengths) in trace.metrics() {
            assert_eq!(
                lengths.last(),
                Some(&0),
                "{case}: {name} of the process of location {location} is empty at the end"
            );
        }
    });
}

test_every_program!(readable);
