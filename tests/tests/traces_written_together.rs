//! The archive that all ranks write together is, number by number, the one that one process writes from their logs.

use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::program::{compile_source, compile_special};
use mel_tests::{Job, Mpi, Program};

const RANKS: u32 = 8;

/// What OTF2's own reader prints of an archive: definitions with their numbers, clock offsets, events.
fn printed(directory: &Path) -> [String; 3] {
    [&["-G"][..], &["-C"], &[]].map(|options| {
        let mut command = Command::new("otf2-print");
        let output = command.args(options).arg(directory.join("traces.otf2")).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    })
}

/// A program that runs on any number of ranks, and its arguments.
fn programs(mpi: &Mpi) -> Vec<(PathBuf, Vec<&'static str>)> {
    let window = |name: &str| compile_source(mpi, &root().join(format!("tests/programs/windows/{name}.c")));
    vec![
        (Program::named("communicators").compile(mpi), vec![]),
        (Program::named("random").compile(mpi), vec!["3", "5"]),
        (compile_special(mpi, "collectives"), vec![]),
        // Recording is switched off on some ranks for a while.
        (compile_special(mpi, "phases"), vec![]),
        (window("fence"), vec![]),
        (window("lock"), vec![]),
    ]
}

#[test]
fn all_ranks_write_what_one_process_writes() {
    for mpi in Mpi::all() {
        for (program, arguments) in programs(&mpi) {
            let what = format!("{} on {}", program.display(), mpi.name);
            let directory = fresh_dir();
            let (run, alone) = (directory.path().join("run"), directory.path().join("alone"));
            let job = Job::new(&mpi, RANKS, &program).args(arguments).patient();
            let finished = job.under_mel(["--trace".as_ref(), "-o".as_ref(), run.as_os_str()]).run();
            finished.expect(finished.code == Some(0), &what);
            finished.expect(finished.stderr.contains("the trace is"), &what);
            for rank in 0..RANKS {
                assert!(run.join(format!("traces/{rank}.evt")).exists(), "{what}: rank {rank}");
            }
            let converted =
                Command::new(mel()).args(["convert", "--otf2", "-o"]).args([&alone, &run]).output();
            assert!(converted.as_ref().unwrap().status.success(), "{what}: {converted:?}");
            for (together, alone) in printed(&run).iter().zip(&printed(&alone)) {
                for (together, alone) in together.lines().zip(alone.lines()) {
                    assert_eq!(together, alone, "{what}");
                }
                assert_eq!(together.lines().count(), alone.lines().count(), "{what}");
            }
        }
    }
}
