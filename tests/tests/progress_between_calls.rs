//! With `MPIT_PROGRESS` a program does the same, and the profile agrees with the real library as without.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::for_each_case;
use mel_tests::profile::Profile;
use mel_tests::{Exit, test_every_program};

/// Here receives fail with a message that is too long. Such a receive does not say which message it was, so an envelope
/// that comes only afterwards is never received.
const RECEIVES_FAIL: [&str; 2] = ["error_handler", "exceptions"];

fn same(name: &str) {
    for_each_case(name, |case| {
        let plain = case.job().run();
        for progress in ["thread", "signal"] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = ["--trace".as_ref(), "-o".as_ref(), output.as_os_str()];
            let run = case.job().env("MPIT_PROGRESS", progress).under_mel(options).run();
            run.expect(case.program.exit.allows(run.code), &format!("{case}: {progress}: exit code"));
            run.expect(!run.stderr.contains("panicked"), &format!("{case}: {progress}: a panic in the tool"));
            if case.program.exit != Exit::Code(0) {
                continue; // what was printed before a bad end may get lost
            }
            run.expect(run.stdout == plain.stdout, &format!("{case}: {progress}: was\n{}", plain.stdout));
            if RECEIVES_FAIL.contains(&name) {
                continue;
            }
            let profile = Profile::read(&output);
            let wrong = profile.contradictions(case.ranks);
            assert_eq!(wrong, [""; 0], "{case}: {progress}: {}", profile.json());
        }
    });
}

test_every_program!(slow same);
