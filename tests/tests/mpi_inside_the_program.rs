//! A program that has the MPI library linked into it runs as without MEL, and one line says that nothing was measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, root};
use mel_tests::{Job, Mpi};

/// A test program with MPICH's static library in it. Says why where there is none that can be linked.
fn linked_statically(mpi: &Mpi, directory: &Path) -> Option<PathBuf> {
    let (object, program) = (directory.join("program.o"), directory.join("program"));
    let source = root().join("tests/programs/sendrecv.c");
    let mut compiler = mpi.mpicc();
    compiler.args(["-c", "-O1", "-o"]).args([&object, &source]);
    assert!(compiler.status().is_ok_and(|status| status.success()), "{compiler:?}");
    // What it would call; its libraries stand before all that is given to it, where they are of no use.
    let shown = mpi.mpicc().args(["-static-mpi", "-show"]).output().expect("the compiler can be run").stdout;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let mut words = shown.split_whitespace();
    let mut linker = Command::new(words.next()?);
    let output = linker.arg("-o").args([&program, &object]).args(words).arg("-lm").output().ok()?;
    if !output.status.success() {
        eprintln!(
            "skipped: {} cannot be linked statically: {}",
            mpi.name,
            String::from_utf8_lossy(&output.stderr)
        );
        return None;
    }
    Some(program)
}

#[test]
fn one_line_says_that_nothing_is_measured() {
    let Some(mpi) = Mpi::all().into_iter().find(|mpi| mpi.name == "mpich") else {
        absent("MPICH", "scripts/install-deps installs it");
        return;
    };
    let directory = fresh_dir();
    let Some(program) = linked_statically(&mpi, directory.path()) else { return };
    let plain = Job::new(&mpi, 2, &program).run();
    plain.expect(plain.code == Some(0), "by itself");

    let output = directory.path().join("run");
    let run = Job::new(&mpi, 2, &program).under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == plain.code && run.stdout == plain.stdout, "under MEL");
    run.expect(
        run.mel_lines().count() == 1 && run.stderr.contains("has the MPI library linked into it"),
        "warned once",
    );
    assert!(!output.exists(), "nothing was measured");
}
