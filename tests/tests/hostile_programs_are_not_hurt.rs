//! Programs that do to themselves what programs do in the field: exit code and standard output are those without MEL, in every way of
//! measuring. Each file of `tests/hostile` is a test; its README says how to add one.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, quick};
use mel_tests::cases::{in_turn, one_in_turn};
use mel_tests::{Exit, Finished, Job, Leaves, Mpi, Program};
use serde_json::Value;

/// Ways of measuring, by their options.
const WAYS: [&[&str]; 4] = [
    &[],
    &["--trace", "--sample"],
    &["--profile", "calls,queues,rma,matrix,net", "--vars", "all", "--every", "50ms", "--attribute", "mel_*"],
    &["-e", "pml_ob1_message_arrived,pml_ob1_posted_insert,pml_ob1_unex_insert", "--profile", "queues"],
];

fn is_not_hurt(name: &str) {
    let program = Program::hostile(name);
    // `make test` looks at the way that most users take, on one MPI. Of the newer MPIs each program has one in turn, with that way.
    let usual = &WAYS[..1];
    let ways = if quick() { usual } else { &WAYS[..] };
    let newer = if quick() { None } else { one_in_turn(&mut Mpi::newer(), name) };
    let all = in_turn(Mpi::all(), name).into_iter().map(|mpi| (mpi, ways));
    for (mpi, ways) in &all.chain(newer.into_iter().map(|mpi| (mpi, usual))).collect::<Vec<_>>() {
        let executable = program.compile(mpi);
        let cases =
            program.ranks.iter().flat_map(|&ranks| program.args.iter().map(move |args| (ranks, args)));
        for (ranks, args) in cases {
            let job = || Job::new(mpi, ranks, &executable).args(args);
            let plain = job().run();
            plain.expect(program.exit.allows(plain.code), &format!("{}: {name} without MEL", mpi.name));
            for way in *ways {
                let directory = fresh_dir();
                let output = directory.path().join("run");
                let to = [Path::new("-o"), &output].map(Path::as_os_str);
                let options = way.iter().map(|option| option.as_ref()).chain(to);
                let run = job().env("HOSTILE_OUTPUT", &output).under_mel(options).run();
                let what = format!("{}: {name} with {way:?}; without MEL: {plain:?}", mpi.name);
                same(&program, &plain, &run, &what);
                left(&program, &output, ranks, &run, &what);
            }
        }
    }
}

fn same(program: &Program, plain: &Finished, run: &Finished, what: &str) {
    match program.exit {
        // Which code a launcher gives for a rank that failed depends on who dies first.
        Exit::Nonzero => run.expect(run.code != Some(0), what),
        Exit::Code(_) | Exit::Any => run.expect(run.code == plain.code, what),
    }
    if program.exit != Exit::Nonzero {
        run.expect(run.stdout == plain.stdout, what);
    }
    run.expect(!run.stderr.to_lowercase().contains("panicked"), what);
}

/// What is in the run's directory is what the program promises, and is read without a complaint.
fn left(program: &Program, output: &Path, ranks: u32, run: &Finished, what: &str) {
    if program.leaves == Leaves::Any {
        return;
    }
    let report = Command::new(mel()).args(["report", "--json"]).arg(output).output().expect("mel runs");
    run.expect(report.status.success(), &format!("{what}: {}", String::from_utf8_lossy(&report.stderr)));
    let profile: Value = serde_json::from_slice(&report.stdout).unwrap_or_else(|e| panic!("{what}: {e}"));
    let ends: Vec<&str> =
        profile["ranks"].as_array().into_iter().flatten().filter_map(|rank| rank["ended"].as_str()).collect();
    let finalised = ends.iter().filter(|end| **end == "finalised").count() as u32;
    let as_promised = match program.leaves {
        Leaves::Profile => finalised == ranks,
        Leaves::Killed => finalised < ranks,
        Leaves::Any => true,
    };
    run.expect(as_promised, &format!("{what}: ends of ranks: {ends:?}"));
}

include!(concat!(env!("OUT_DIR"), "/hostile.rs"));
