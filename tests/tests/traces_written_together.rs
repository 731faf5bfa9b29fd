//! The archive that all ranks write together is, number by number, the one that one process writes from their logs.

use std::path::PathBuf;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::trace::printed;
use mel_tests::{Job, Mpi, Program, compile_source, compile_special};

/// Programs, their numbers of ranks and their arguments.
fn programs(mpi: &Mpi) -> Vec<(PathBuf, u32, Vec<&'static str>)> {
    let window = |name: &str| compile_source(mpi, &root().join(format!("tests/programs/windows/{name}.c")));
    vec![
        (Program::named("communicators").compile(mpi), 8, vec![]),
        (Program::named("random").compile(mpi), 8, vec!["3", "5"]),
        (compile_special(mpi, "collectives"), 3, vec![]),
        // Recording is switched off on some ranks for a while.
        (compile_special(mpi, "phases"), 2, vec![]),
        (window("fence"), 2, vec![]),
        (window("lock"), 3, vec![]),
    ]
}

#[test]
#[ignore = "slow"]
fn all_ranks_write_what_one_process_writes() {
    for mpi in Mpi::all() {
        for (program, ranks, arguments) in programs(&mpi) {
            let what = format!("{} on {ranks} ranks of {}", program.display(), mpi.name);
            let directory = fresh_dir();
            let (run, alone) = (directory.path().join("run"), directory.path().join("alone"));
            let job = Job::new(&mpi, ranks, &program).args(arguments).patient();
            let finished = job.under_mel(["--trace".as_ref(), "-o".as_ref(), run.as_os_str()]).run();
            finished.expect(finished.code == Some(0), &what);
            finished.expect(finished.stderr.contains("the trace is"), &what);
            for rank in 0..ranks {
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
