//! What is done with windows gives a known order of `osc_rdma_*` events, on every MPI.

use mel_tests::artifacts::fresh_dir;
use mel_tests::events::Log;
use mel_tests::windows::{WINDOW_EVENTS, WindowProgram, bases, compare};
use mel_tests::{Job, Mpi};

fn keeps_its_promise(name: &str) {
    let program = WindowProgram::named(name);
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let executable = program.compile(mpi);
        let options = ["-e".as_ref(), WINDOW_EVENTS.as_ref(), "-o".as_ref(), output.as_os_str()];
        let plain = Job::new(mpi, program.ranks, &executable).run();
        plain.expect(plain.code == Some(0), &format!("{name} with {}, without MEL", mpi.name));
        let run = Job::new(mpi, program.ranks, &executable).under_mel(options).run();
        run.expect(run.code == Some(0), &format!("{name} with {}", mpi.name));
        let result = |stdout: &str| {
            stdout.lines().filter(|line| !line.starts_with("base ")).collect::<Vec<_>>().join("\n")
        };
        run.expect(result(&run.stdout) == result(&plain.stdout), "the program's output is what it was");
        let (seen, bases) = (Log::of_run(&output), bases(&run));
        for (rank, promised) in &program.events {
            let events = seen.rank(*rank);
            if let Err(difference) = compare(promised, events, &bases) {
                panic!("{name} with {}: rank {rank}:\n{difference}", mpi.name);
            }
            assert!(
                events.is_sorted_by_key(|event| event.seconds),
                "{name}: time goes backwards: {events:?}"
            );
        }
    }
}

macro_rules! test_every_window_program {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                keeps_its_promise(stringify!($name));
            }
        )*

        #[test]
        fn no_program_is_forgotten() {
            assert_eq!(WindowProgram::names(), [$(stringify!($name)),*]);
        }
    };
}

test_every_window_program! { accumulate errors fence flavours lock pscw requests }
