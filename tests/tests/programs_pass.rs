//! Every test program does what it promises on every MPI by itself, without MEL. Where this fails, the other tests mean nothing.

use mel_tests::cases::for_each_case;
use mel_tests::{Exit, test_every_program};

fn passes(name: &str) {
    for_each_case(name, |case| {
        let run = case.job().run();
        run.expect(case.program.exit.allows(run.code), &format!("{case}: another exit code than promised"));
        if case.program.exit == Exit::Code(0) {
            run.expect(run.stdout.ends_with("\nOK\n"), &format!("{case}: the last line is not OK"));
        }
    });
}

test_every_program!(slow passes);
