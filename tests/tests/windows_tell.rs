//! What is done with windows gives a known order of `osc_rdma_*` events, on every MPI.

use mel_tests::artifacts::fresh_dir;
use mel_tests::events::Log;
use mel_tests::fortran::{compile_fortran, interfaces};
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

test_every_window_program! { accumulate errors fence flavours lock pscw requests shared }

/// What a Fortran program does with windows has the events of what a C program does.
#[test]
fn fortran_has_the_events_of_c() {
    let promised = [
        "fence",
        "put_started target=1 size=8",
        "put_complete target=1 size=8",
        "fence",
        "lock_acquired target=1",
        "get_started target=1 size=8",
        "get_complete target=1 size=8",
        "lock_released target=1",
    ];
    for mpi in &Mpi::all() {
        for interface in interfaces(mpi) {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let program = compile_fortran(mpi, "windows", interface);
            let options = ["-e".as_ref(), WINDOW_EVENTS.as_ref(), "-o".as_ref(), output.as_os_str()];
            let run = Job::new(mpi, 2, program).under_mel(options).run();
            run.expect(run.code == Some(0), &format!("{interface:?} with {}", mpi.name));
            let log = Log::of_run(&output);
            let events = log.rank(0).iter().map(|event| {
                let elements = event.elements.iter().filter(|(key, _)| key != "address");
                let elements: String = elements.map(|(key, value)| format!(" {key}={value}")).collect();
                event.name.trim_start_matches("osc_rdma_").to_owned() + &elements
            });
            assert_eq!(events.collect::<Vec<_>>(), promised, "{interface:?} with {}", mpi.name);
            assert_eq!(log.rank(1).len(), 2, "{interface:?} with {}: its fences", mpi.name);
            // Both see the same place of the target's memory.
            let addresses = log.rank(0).iter().flat_map(|event| &event.elements);
            let mut addresses: Vec<i64> =
                addresses.filter(|(key, _)| key == "address").map(|(_, address)| *address).collect();
            addresses.dedup();
            assert!(addresses.len() == 1 && addresses[0] > 4096, "{interface:?}: {addresses:?}");
        }
    }
}
