//! What a run prints at its end, what `mel report` shows of it later, and what `mel diff` says of two.

use std::path::Path;
use std::process::{Command, Output};

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::{Finished, Job, Mpi, compile_source};

/// The halo exchange of the examples, in which rank 1 comes so much late to each of 50 exchanges, and nobody else does.
fn halo(mpi: &Mpi, directory: &Path, slow_us: u32, options: &[&str]) -> Finished {
    let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
    let slow = slow_us.to_string();
    let job = Job::new(mpi, 4, program);
    let job = job.args(["--iterations", "50", "--late-rank", "-1", "--slow-rank", "1", "--slow-us", &slow]);
    let options = options.iter().map(AsRef::as_ref).chain(["-o".as_ref(), directory.as_os_str()]);
    let run = job.under_mel(options).run();
    run.expect(run.code == Some(0), mpi.name);
    run
}

fn mel_of(arguments: &[&str], directories: &[&Path]) -> Output {
    Command::new(mel()).args(arguments).args(directories).output().expect("mel can be started")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_run_prints_what_mel_report_shows() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let run = halo(mpi, &output, 5000, &[]);
        let shown = text(&mel_of(&["report"], &[&output]));
        for part in [
            "What costs time:",
            "rank 1",
            "time by rank",
            "time by MPI function",
            "call sites that take",
            "wait states",
        ] {
            run.expect(
                run.stderr.contains(part) && shown.contains(part),
                &format!("{}: {part}\n{shown}", mpi.name),
            );
        }
        // The tables are the same to the letter: those between the first and the queues.
        let tables = |text: &str| {
            let (from, to) = (text.find(" time by rank"), text.find(" posted queue"));
            text[from.unwrap_or_default()..to.unwrap_or_default()].to_owned()
        };
        run.expect(
            tables(&run.stderr) == tables(&shown),
            &format!("{}: the tables differ:\n{shown}", mpi.name),
        );
        run.expect(!run.stderr.contains("statistics rank:"), "lines that nobody has asked for");
        let longest = shown
            .lines()
            .filter(|line| !line.starts_with("directory "))
            .map(|line| line.chars().count())
            .max();
        run.expect(longest <= Some(100), &format!("a line of {longest:?} columns:\n{shown}"));

        let lines = text(&mel_of(&["report", "--lines"], &[&output]));
        assert_eq!(lines.matches("statistics rank:").count(), 16, "{}: {lines}", mpi.name);
        assert!(lines.ends_with(&shown), "{}: {lines}", mpi.name);
    }
}

#[test]
fn without_calls_nobody_is_the_cause() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = halo(mpi, &output, 2000, &["--profile", "queues"]);
    run.expect(run.stderr.contains(" posted queue"), "there are the queues");
    for part in ["What costs time", "time by rank", "call sites", "posts its receives late"] {
        run.expect(!run.stderr.contains(part), part);
    }
}

#[test]
fn a_slower_run_fails_the_comparison() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let [quick, slow] = ["quick", "slow"].map(|name| directory.path().join(name));
    halo(mpi, &quick, 0, &[]);
    halo(mpi, &slow, 20_000, &[]);
    // The slow rank sleeps a second in all, and each of its neighbours waits for it.
    let conditions =
        ["--fail-if", "lost_time>+500ms", "--fail-if", "MPI_Waitall>+10%", "--fail-if", "calls>+1000%"];
    let diff = |a: &Path, b: &Path| mel_of(&[&["diff"], &conditions[..]].concat(), &[a, b]);
    let failed = diff(&quick, &slow);
    let complaints = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(1), "{complaints}");
    assert_eq!(complaints.matches("[MEL] failed: ").count(), 2, "{complaints}");
    assert!(complaints.contains("lost_time>+500ms is true: lost_time was "), "{complaints}");
    let first = text(&failed)
        .lines()
        .skip_while(|line| !line.starts_with(" time by call site"))
        .nth(2)
        .map(str::to_owned);
    assert!(
        first.is_some_and(|line| line.contains("halo2d.c:") && line.contains("MPI_Waitall")),
        "{}",
        text(&failed)
    );

    let passed = diff(&slow, &quick);
    assert_eq!((passed.status.code(), passed.stderr.len()), (Some(0), 0), "{}", text(&passed));
    assert_eq!(mel_of(&["diff", "--fail-if", "mpi_tme>5"], &[&quick, &slow]).status.code(), Some(2));
}
