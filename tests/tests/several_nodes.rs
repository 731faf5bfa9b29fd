//! A job over two nodes, made of namespaces on this machine: envelopes between them go in messages, those within a
//! node through shared memory; the numbers are those of one node, the clocks are compared, the trace has all ranks.

use std::process::Command;

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::{Case, for_each_case_on};
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi, Program, marked_sentences};

/// The profile of a run, and its trace if there is one.
fn profile_of(job: Job<'_>, what: &str) -> Profile {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), what);
    let complains = |said: &String| said.contains("cannot") && !said.contains("cannot explain");
    run.expect(!marked_sentences(&run.stderr).iter().any(complains), what);
    Profile::read(&output)
}

const MAKE_COMMUNICATORS: [&str; 3] = ["communicators", "random", "threads"];

/// The same program on one node and on two.
fn agrees(name: &str) {
    for (here, nodes) in Mpi::on_two_nodes() {
        for_each_case_on(&[nodes], name, |case| {
            // Ranks of MPICH that wait keep their processors, and these programs wait all the time.
            let too_many = here.name == "mpich-5" && case.ranks > 2 && MAKE_COMMUNICATORS.contains(&name);
            if !too_many {
                case_agrees(&here, name, case);
            }
        });
    }
}

/// A case on two nodes has the numbers that it has on one.
fn case_agrees(here: &Mpi, name: &str, case: &Case<'_>) {
    let on_one = profile_of(Case { mpi: here, ..*case }.job(), &format!("{case}, on one node"));
    let on_two = profile_of(case.job(), &case.to_string());
    let mut wrong = on_two.contradictions(case.ranks);
    // A message that comes before its communicator is made is queued without a search, as ob1 does it.
    let makes_communicators = MAKE_COMMUNICATORS.contains(&name);
    wrong.retain(|wrong| !(makes_communicators && wrong.ends_with("in posted_search")));
    assert_eq!(wrong, [""; 0], "{case}: {}", on_two.json());
    for rank in 0..case.ranks {
        let matched =
            |profile: &Profile| profile.count(rank, "truth.matched") + profile.count(rank, "truth.rematched");
        assert_eq!(matched(&on_two), matched(&on_one), "{case}: rank {rank}: received messages");
        if makes_communicators {
            continue;
        }
        let arrived = |profile: &Profile| profile.count(rank, "posted_search.searches");
        assert_eq!(arrived(&on_two), arrived(&on_one), "{case}: rank {rank}: arrived messages");
    }
    // Where the order is fixed, so are the queues.
    for &rank in case.program.events.keys().filter(|rank| **rank < case.ranks) {
        for queue in ["posted.messages", "unexpected.messages", "unexpected_search.searches"] {
            assert_eq!(on_two.count(rank, queue), on_one.count(rank, queue), "{case}: rank {rank}: {queue}");
        }
    }
}

macro_rules! test_programs {
    ($($name:ident)*) => {
        $(
            #[test]
            #[ignore = "slow"]
            fn $name() {
                agrees(stringify!($name));
            }
        )*
    };
}

test_programs! {
    communicators completion expected large many_to_one modes persistent probes random selfsend sendrecv threads unexpected
    wildcards
}

#[test]
#[ignore = "slow"]
fn clocks_are_compared() {
    for (_, nodes) in Mpi::on_two_nodes() {
        let program = Program::named("sendrecv").compile(&nodes);
        let profile = profile_of(Job::new(&nodes, 4, program), "sendrecv");
        for rank in 0..4 {
            let host = ["node-a", "node-b"][rank as usize % 2];
            assert_eq!(profile.json()["ranks"][rank as usize]["host"], host);
            // Both nodes are this machine, and so are their clocks.
            let (offset, error) =
                (profile.seconds(rank, "clock_offset_s"), profile.seconds(rank, "clock_offset_error_s"));
            assert!(offset.abs() <= error, "rank {rank}: {offset} s, give or take {error} s");
            assert_eq!(error == 0.0, host == "node-a", "rank {rank}: {error} s");
        }
    }
}

#[test]
#[ignore = "slow"]
fn the_trace_has_all_ranks_in_one_time() {
    for (_, nodes) in Mpi::on_two_nodes() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = Job::new(&nodes, 4, Program::named("random").compile(&nodes))
            .args(["1", "5"])
            .under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()])
            .run();
        run.expect(run.code == Some(0), "random");
        let trace = Trace::read(&output);
        assert_eq!(trace.disorder(), None);
        // The trace's clock counts nanoseconds.
        let profile = Profile::read(&output);
        let error = (0..4).map(|rank| profile.seconds(rank, "clock_offset_error_s")).fold(0.0, f64::max);
        let early = trace.received_before_sent() as f64 / 1e9;
        assert!(early <= error, "received {early} s before it was sent, the clocks are right to {error} s");
        // Readers add these to the times of each location.
        let offsets = Command::new("otf2-print").arg("-C").arg(output.join("traces.otf2")).output();
        let offsets = offsets.expect("otf2-print is installed");
        let offsets = String::from_utf8_lossy(&offsets.stdout).into_owned();
        for location in 0..4 {
            let is_of = |line: &&str| {
                let mut words = line.split_whitespace();
                words.next() == Some("CLOCK_OFFSET") && words.next() == Some(&location.to_string())
            };
            assert_eq!(offsets.lines().filter(is_of).count(), 2, "at the begin and at the end: {offsets}");
        }
        let defined = |name: &str| trace.definitions.iter().any(|line| line.contains(&format!("\"{name}\"")));
        for name in ["node-a", "node-b", "rank 0", "rank 1", "rank 2", "rank 3"] {
            assert!(defined(name), "{name}: {:?}", trace.definitions);
        }
    }
}
