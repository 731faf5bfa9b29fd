//! However a run ends, no file but those of its directory and no shared-memory object stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mel_tests::artifacts::fresh_dir;
use mel_tests::{Job, Mpi, Program};

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    entries.map(|entry| entry.expect("can be listed").file_name().to_string_lossy().into_owned()).collect()
}

/// Objects in shared memory by their names, but for those of the MPIs, which runs beside this one may be using.
fn shared_memory() -> BTreeSet<String> {
    let of_an_mpi = ["vader_segment", "mpich", "psm", "ucx", "osc_rdma", "sem.", "sm_segment"];
    names(Path::new("/dev/shm"))
        .into_iter()
        .filter(|name| !of_an_mpi.iter().any(|prefix| name.to_lowercase().starts_with(prefix)))
        .collect()
}

/// Runs a program in an empty directory with an empty directory for temporary files; checks both afterwards.
fn leaves_nothing(name: &str, args: &[&str], options: &[&str], expected: &[&str]) {
    let program = Program::named(name);
    for mpi in &Mpi::all() {
        let (directory, temporary) = (fresh_dir(), fresh_dir());
        let before = shared_memory();
        let run = Job::new(mpi, program.ranks[0], program.compile(mpi))
            .args(args)
            .current_dir(directory.path())
            .env("TMPDIR", temporary.path())
            .under_mel(options)
            .run();
        run.expect(program.exit.allows(run.code), name);

        let found = names(directory.path());
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{name} with {options:?} on {}", mpi.name);
        // Launchers keep session directories there, and not all remove them after a rank was killed.
        let mut stray = names(temporary.path());
        stray.retain(|name| name.to_lowercase().contains("mel"));
        assert!(stray.is_empty(), "{name} on {} left {stray:?}", mpi.name);
        let new: Vec<String> = shared_memory().difference(&before).cloned().collect();
        assert!(new.is_empty(), "{name} on {} left {new:?} in shared memory", mpi.name);
    }
}

#[test]
fn after_a_profile_its_directory() {
    leaves_nothing("expected", &[], &[], &["mel-expected-1"]);
    leaves_nothing("expected", &[], &["-o", "mine"], &["mine"]);
}

#[test]
fn with_nothing_on_nothing() {
    leaves_nothing("expected", &[], &["--profile", "none"], &[]);
}

#[test]
fn without_mpi_init_nothing() {
    leaves_nothing("never_init", &[], &["--trace"], &[]);
}

#[test]
fn after_a_bad_end_the_log() {
    leaves_nothing("abort", &[], &["--trace", "-o", "run"], &["run"]);
    leaves_nothing("kill_me", &["100"], &["--trace", "-o", "run"], &["run"]);
    leaves_nothing("exit_without_finalize", &["all"], &["--trace", "-o", "run"], &["run"]);
}

#[test]
fn children_add_nothing() {
    leaves_nothing("fork_child", &[], &["--trace", "-o", "run"], &["run"]);
}
