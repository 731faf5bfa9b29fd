//! A log that has the size it may have: the program runs on, one line for each rank says so, what was recorded until then
//! can be read, and a marker shows where the rest is missing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, root};
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi, Program, compile_source};

#[test]
#[ignore = "slow"]
fn a_trace_of_a_limited_size() {
    for mpi in &Mpi::all() {
        let executable = Program::named("flood").compile(mpi);
        let job = || Job::new(mpi, 2, &executable).args(["400000"]);
        let plain = job().run();
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options =
            ["--trace".as_ref(), "--limit".as_ref(), "5M".as_ref(), "-o".as_ref(), output.as_os_str()];
        let run = job().under_mel(options).run();
        run.expect(run.code == plain.code && run.stdout == plain.stdout, mpi.name);
        let count = run.stderr.lines().filter(|line| line.contains("--limit")).count();
        run.expect((1..=2).contains(&count), "each rank that reaches the limit says so once");

        for rank in 0..2 {
            let log = fs::metadata(output.join(format!("rank-{rank}.mlog"))).expect("there is a log");
            assert!(log.size() <= (5 << 20) + 4096, "{}: {} bytes", mpi.name, log.size());
        }
        let trace = Trace::read(&output);
        assert_eq!(trace.disorder(), None, "{}", mpi.name);
        assert!(trace.count("MPI_SEND") > 1000, "{}: what came before the limit is there", mpi.name);
        let markers =
            Command::new("otf2-marker").arg(output.join("traces.otf2")).output().expect("otf2-tools");
        let markers = String::from_utf8_lossy(&markers.stdout).into_owned();
        assert!(markers.contains("records missing") && markers.contains("missing from here on"), "{markers}");
    }
}

#[test]
#[ignore = "slow"]
fn the_size_of_logs_is_reported_while_they_grow() {
    for mpi in &Mpi::all() {
        let executable = Program::named("flood").compile(mpi);
        let reports = |size: &str| {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = ["--trace", "--tell-size", size, "-o", output.to_str().expect("a path in UTF-8")];
            let run = Job::new(mpi, 2, &executable).args(["40000"]).under_mel(options).run();
            run.expect(run.code == Some(0), mpi.name);
            let lines =
                run.stderr.lines().filter(|line| line.starts_with("[MEL] the event logs of 2 ranks have "));
            lines.count()
        };
        assert!((1..=4).contains(&reports("4M")), "{}", mpi.name);
        assert_eq!((reports("0"), reports("1T")), (0, 0), "{}", mpi.name);
    }
}

#[test]
fn a_size_that_is_none_is_an_error() {
    let run =
        Command::new(mel_tests::artifacts::mel()).args(["run", "--limit", "much", "--", "true"]).output();
    let run = run.expect("mel runs");
    assert_eq!(run.status.code(), Some(2));
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(text.contains("500M"), "{text}");
}

/// What a stencil does again and again takes little space: an iteration of each rank has 18 records, of 32 bytes while it runs. How many
/// remain depends on its times, which the other programs on this machine disturb.
#[test]
fn a_stencil_s_log_takes_a_fifth_at_rest() {
    const ITERATIONS: u64 = 10_000;
    let Some(mpi) = Mpi::all().into_iter().next() else { return };
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let program = compile_source(&mpi, &root().join("examples/programs/halo2d.c"));
    let options = ["--trace".as_ref(), "-o".as_ref(), output.as_os_str()];
    let iterations = ITERATIONS.to_string();
    let arguments =
        ["--iterations", &iterations, "--slow-us", "0", "--late-us", "0", "--nx", "64", "--ny", "64"];
    let run = Job::new(&mpi, 4, program).args(arguments).patient().under_mel(options).run();
    run.expect(run.code == Some(0), "the program ends well");
    for rank in 0..4 {
        let log = fs::metadata(output.join(format!("rank-{rank}.mlog"))).expect("there is a log");
        let of_iteration = log.blocks() * 512 / ITERATIONS;
        assert!(
            (18..=18 * 32 / 5).contains(&of_iteration),
            "{of_iteration} bytes for an iteration of rank {rank}"
        );
    }
}
