//! MPI's own errors reach the program where they are its own, and no others do: whatever handles a program passes, it gets the same
//! answers, and its error handlers are called as often, with MEL as without.

use mel_tests::artifacts::fresh_dir;
use mel_tests::{Finished, Job, Mpi, compile_preloadable, compile_special};

/// The options of all modes, which between them ask MPI all that MEL ever does.
const MODES: [&[&str]; 7] = [
    &[],
    &["--trace"],
    &["--profile", "calls,queues,rma,matrix,net"],
    &["--vars", "all"],
    &["--attribute", "mel_*"],
    &["-e", "pml_ob1_unex_insert,pml_ob1_posted_insert,osc_rdma_put_started"],
    &["--trace", "--profile", "calls,queues,rma,matrix,net", "--vars", "all", "--attribute", "mel_*"],
];

/// One case of `handles`, or all, on one rank; with `mel run` and these options, or without it.
fn run(mpi: &Mpi, case: Option<&str>, options: Option<&[&str]>) -> Finished {
    let directory = fresh_dir();
    let job = Job::new(mpi, 1, compile_special(mpi, "handles")).args(case).current_dir(directory.path());
    match options {
        Some(options) => job.under_mel(["-o", "run"].iter().chain(options)).run(),
        None => job.run(),
    }
}

/// The first lines that differ.
fn difference(plain: &Finished, watched: &Finished) -> Option<String> {
    let lines = plain.stdout.lines().zip(watched.stdout.lines());
    let differing: Vec<_> = lines.filter(|(one, other)| one != other).collect();
    let first = differing.first().map(|(one, other)| {
        format!("{} lines differ; the first is\n{one}\nand with MEL\n{other}", differing.len())
    });
    first.or_else(|| (plain.stdout != watched.stdout).then(|| "one run ends before the other".into()))
}

#[test]
#[ignore = "slow"]
fn whatever_handles_are_passed_mpi_answers_as_without_mel() {
    for mpi in &Mpi::all_and_newer() {
        let plain = run(mpi, None, None);
        plain.expect(plain.code == Some(0) && plain.stdout.ends_with("\nOK\n"), mpi.name);
        for options in MODES {
            let watched = run(mpi, None, Some(options));
            let differs = difference(&plain, &watched);
            let what =
                format!("{} {options:?}: {}", mpi.name, differs.as_deref().unwrap_or("another exit code"));
            watched.expect(watched.code == plain.code && differs.is_none(), &what);
        }
    }
}

/// With the error handlers that MPI has at first, which end the program.
#[test]
#[ignore = "slow"]
fn an_error_of_the_program_ends_it_and_none_of_mel_does() {
    let cases = ["send t=null 0", "get_accumulate_no_op t=null 1", "bcast c=null 1"];
    for mpi in &Mpi::all() {
        for case in cases {
            let plain = run(mpi, Some(case), None);
            plain.expect(plain.stdout.contains(case), &format!("{}: {case} is tried", mpi.name));
            for options in [MODES[0], MODES[MODES.len() - 1]] {
                let watched = run(mpi, Some(case), Some(options));
                let same = watched.code == plain.code && watched.stdout == plain.stdout;
                watched
                    .expect(same, &format!("{} {options:?}: {case}, without MEL {:?}", mpi.name, plain.code));
            }
        }
    }
}

#[test]
fn nothing_is_asked_of_mpi_comm_world_in_a_program_of_sessions_alone() {
    for mpi in &Mpi::all_and_newer() {
        let program = compile_special(mpi, "sessions");
        let plain = Job::new(mpi, 2, &program).args(["fewer"]).run();
        if plain.code != Some(0) || plain.stdout.starts_with("no ") {
            eprintln!("skipped: {} has no sessions", mpi.name);
            continue;
        }
        for options in MODES {
            let directory = fresh_dir();
            let job = Job::new(mpi, 2, &program).args(["fewer"]).current_dir(directory.path());
            let job = job.env("LD_PRELOAD", compile_preloadable(mpi, "world_unasked"));
            let watched = job.under_mel(["-o", "run"].iter().chain(options)).run();
            let same = watched.code == Some(0) && watched.stdout == plain.stdout;
            watched.expect(same, &format!("{} {options:?}", mpi.name));
        }
    }
}
