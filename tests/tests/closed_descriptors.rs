//! A program that closes descriptors which it has not opened, and opens files of its own on their numbers: it runs as it does without
//! MEL, its files are as it wrote them, and what was recorded until then can be read.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};

/// All parts of the profile; everything that keeps something open in one way or another.
const MODES: [&[&str]; 6] = [
    &[],
    &["--profile", "calls,queues,rma,matrix,net"],
    &["--trace"],
    &["-e", "pml_ob1_message_arrived,pml_ob1_posted_insert,pml_ob1_posted_remove,pml_ob1_unex_insert"],
    &["--profile", "calls", "--vars", "all", "--every", "10ms", "--settable", "--sample"],
    &["--attribute", "mel_*"],
];

/// Messages of a rank: several chunks of a log, and many rows of a table.
const MESSAGES: &str = "16000";

fn job<'a>(mpi: &'a Mpi, ranks: u32, program: &Path, args: [&str; 2], output: &Path) -> Job<'a> {
    let directory = output.parent().expect("a directory");
    Job::new(mpi, ranks, program).args(args).args([output]).current_dir(directory)
}

/// How many lines say that recording ends because of what the program has closed.
fn lines(run: &Finished) -> usize {
    run.mel_lines().filter(|line| line.contains("the program has closed file descriptors of MEL")).count()
}

/// Runs the program without and with MEL.
#[track_caller]
fn unharmed(mpi: &Mpi, ranks: u32, args: [&str; 2], options: &[&str], output: &Path) -> Finished {
    let program = compile_special(mpi, "closes_descriptors");
    let what = format!("{args:?} with {options:?} on {}", mpi.name);
    let plain = job(mpi, ranks, &program, args, output).run();
    plain.expect(plain.code == Some(0) && plain.stdout.ends_with("OK\n"), &what);
    let options = options.iter().copied().chain(["-o", output.to_str().expect("a name")]);
    let run = job(mpi, ranks, &program, args, output).under_mel(options).run();
    run.expect(run.code == Some(0) && run.stdout == plain.stdout, &what);
    run.expect(lines(&run) <= ranks as usize, "one line of each process at most");
    run
}

/// What `mel report` says of the run.
fn report(output: &Path) -> String {
    let report = Command::new(mel()).arg("report").arg(output).output().expect("mel can be run");
    assert!(report.status.success(), "{}: {report:?}", output.display());
    String::from_utf8_lossy(&report.stdout).into_owned()
}

#[test]
#[ignore = "slow"]
fn files_of_the_program_stay_as_they_are_in_every_mode() {
    for mpi in &Mpi::all_and_newer() {
        for options in MODES {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let run = unharmed(mpi, 2, ["ours", MESSAGES], options, &output);
            run.expect(lines(&run) == 2, &format!("each process says so with {options:?} on {}", mpi.name));
            if options.first() != Some(&"-e") {
                assert!(report(&output).contains("MPI_Sendrecv"), "{}: what came before is there", mpi.name);
            }
        }
    }
}

#[test]
fn a_log_that_has_grown_keeps_what_came_before() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = unharmed(mpi, 2, ["late", "60000"], &["--trace"], &output);
        run.expect(lines(&run) == 2, mpi.name);
        let text =
            Command::new(mel()).args(["convert", "--text"]).arg(&output).output().expect("mel can be run");
        assert!(text.status.success(), "{}: {text:?}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn every_file_of_the_process_may_be_closed() {
    for mpi in &Mpi::all_and_newer() {
        for ranks in [1, 2] {
            let directory = fresh_dir();
            unharmed(mpi, ranks, ["all", MESSAGES], &["--trace"], &directory.path().join("run"));
        }
    }
}

/// A process opens the memory of another one when it first sends to it.
#[test]
#[ignore = "slow"]
fn what_is_under_the_number_of_shared_memory_is_not_written_to() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        unharmed(mpi, 4, ["ours", "0"], &["--profile", "queues"], &output);
        assert_eq!(Profile::read(&output).ranks(), [0, 1, 2, 3], "{}", mpi.name);
    }
}
