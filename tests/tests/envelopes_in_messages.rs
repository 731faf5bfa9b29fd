//! Envelopes in messages, as between nodes: the same results, and the ob1 model finds the same matches as through shared memory.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::{Case, for_each_case};
use mel_tests::profile::Profile;
use mel_tests::{Exit, Finished, test_every_program};

fn run(case: &Case<'_>, in_messages: bool) -> (Finished, Option<Profile>) {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let mut job = case.job();
    if in_messages {
        job = job.env("MPIT_ENVELOPES", "messages");
    }
    let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
    let profile = (case.program.exit == Exit::Code(0)).then(|| Profile::read(&output));
    (run, profile)
}

/// Here receives fail with a message that is too long. Such a receive does not say which message it was, so an envelope
/// that comes only afterwards is never received.
const RECEIVES_FAIL: [&str; 2] = ["error_handler", "exceptions"];

fn same(name: &str) {
    for_each_case(name, |case| {
        let (shared, shared_profile) = run(case, false);
        let (messages, messages_profile) = run(case, true);
        messages.expect(case.program.exit.allows(messages.code), &format!("{case}: exit code"));
        let (Some(through_memory), Some(through_messages)) = (shared_profile, messages_profile) else {
            return; // what was printed before a bad end may get lost
        };
        messages.expect(messages.stdout == shared.stdout, &format!("{case}: was\n{}", shared.stdout));
        if RECEIVES_FAIL.contains(&name) {
            return;
        }
        let wrong = through_messages.contradictions(case.ranks);
        assert_eq!(wrong, [""; 0], "{case}: {}", through_messages.json());
        for rank in 0..case.ranks {
            // Envelopes come at other times than through shared memory, so a wildcard may be rematched, and
            // another queue have held the message; the messages are the same.
            let received = |profile: &Profile| {
                profile.count(rank, "truth.matched") + profile.count(rank, "truth.rematched")
            };
            assert_eq!(
                received(&through_messages),
                received(&through_memory),
                "{case}: rank {rank}: received messages"
            );
            let arrived = |profile: &Profile| profile.count(rank, "posted_search.searches");
            assert_eq!(
                arrived(&through_messages),
                arrived(&through_memory),
                "{case}: rank {rank}: arrived messages"
            );
        }
    });
}

test_every_program!(slow same);
