//! What a program prints and how it ends is the same without MEL and with everything on.

use mel_tests::artifacts::fresh_dir;
use mel_tests::cases::for_each_case_on;
use mel_tests::{Exit, Mpi, Program, test_every_program};

fn unchanged(name: &str) {
    // What ends well runs on newer MPIs elsewhere: in `profiles_agree.rs`.
    let ends_well = Program::named(name).exit == Exit::Code(0);
    let mpis = if ends_well { Mpi::all() } else { Mpi::all_and_newer() };
    for_each_case_on(&mpis, name, |case| {
        let plain = case.job().run();
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let watched = case.job().under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        match case.program.exit {
            // How a launcher reports a failed rank depends on who dies first.
            Exit::Nonzero => {
                watched.expect(case.program.exit.allows(watched.code), &format!("{case}: exit code"))
            }
            Exit::Code(_) | Exit::Any => {
                watched.expect(watched.code == plain.code, &format!("{case}: was {:?}", plain.code));
                watched.expect(watched.stdout == plain.stdout, &format!("{case}: was\n{}", plain.stdout));
            }
        }
        let complaint = watched.stderr.to_lowercase().contains("panicked");
        watched.expect(!complaint, &format!("{case}: a panic in the tool"));
    });
}

test_every_program!(unchanged);
