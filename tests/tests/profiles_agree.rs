//! The queue profile's numbers do not contradict each other, and are those that the program promises.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::{Case, for_each_case_on};
use mel_tests::profile::Profile;
use mel_tests::{Exit, Mpi, Program, test_every_program};

fn profile_of(case: &Case<'_>) -> Profile {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = case.job().under_mel(["--lines".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0) && run.stdout.ends_with("\nOK\n"), &case.to_string());
    for rank in 0..case.ranks {
        let line = format!("queue statistics rank: {rank} Num Messages: ");
        run.expect(run.stderr.contains(&line), &format!("{case}: no statistics of rank {rank}"));
    }
    Profile::read(&output)
}

fn agrees(name: &str) {
    if Program::named(name).exit != Exit::Code(0) {
        return; // such runs leave no profile by rank 0
    }
    let mpis: Vec<Mpi> = Mpi::all_and_newer().into_iter().chain(Mpi::with_events()).collect();
    for_each_case_on(&mpis, name, |case| {
        let profile = profile_of(case);
        assert_eq!(profile.contradictions(case.ranks), [""; 0], "{case}: {}", profile.json());
        for (&rank, promised) in case.program.events.iter().filter(|(rank, _)| **rank < case.ranks) {
            let count =
                |words: &[&str]| promised.iter().filter(|one| words.contains(&&*one.word)).count() as u64;
            let expected = [
                ("posted.messages", count(&["post"])),
                ("unexpected.messages", count(&["unexpected"])),
                ("posted_search.searches", count(&["match", "unexpected"])),
                ("unexpected_search.searches", count(&["post", "claim"])),
            ];
            for (field, expected) in expected {
                assert_eq!(profile.count(rank, field), expected, "{case}: rank {rank}: {field}");
            }
        }
    });
}

test_every_program!(agrees);

/// The one case of a program on `mpi` with the given arguments.
fn profile_with(mpi: &Mpi, name: &str, ranks: u32, args: &[&str]) -> Profile {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    profile_of(&Case { mpi, program: &Program::named(name), ranks, args: &args })
}

#[test]
fn a_flood_fills_the_unexpected_queue() {
    for mpi in &Mpi::all() {
        let profile = profile_with(mpi, "flood", 2, &["1000"]);
        assert_eq!(profile.count(1, "unexpected.messages"), 1000);
        assert_eq!(profile.count(1, "unexpected.max_length"), 1000);
        assert_eq!(profile.count(1, "posted.messages"), 0);
        assert_eq!(profile.count(0, "posted_search.searches"), 0);
    }
}

#[test]
fn many_to_one_is_half_posted_half_unexpected() {
    for mpi in &Mpi::all() {
        let profile = profile_with(mpi, "many_to_one", 4, &[]);
        for queue in ["posted", "unexpected"] {
            assert_eq!(profile.count(0, &format!("{queue}.messages")), 9);
            assert_eq!(profile.total(&format!("{queue}.messages")), 9, "the other ranks receive nothing");
        }
        assert_eq!(profile.count(0, "posted.max_length"), 9);
        assert_eq!(profile.count(0, "truth.matched"), 18);
    }
}
