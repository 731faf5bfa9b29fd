//! mpi4py's own tests of messages and communicators pass and fail under MEL as without. The whole suite takes too long
//! for every change.

use std::path::PathBuf;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, root};
use mel_tests::{Job, Mpi, Output};

/// Where `scripts/mpi4py-tests` has put the suite, if it has.
fn suite(mpi: &Mpi) -> Option<PathBuf> {
    let script = root().join("scripts/mpi4py-tests");
    let output = Command::new(script).args(["--prefix", mpi.name]).output().ok()?;
    let prefix = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    prefix.join(".complete").exists().then_some(prefix)
}

/// What each process says at its end: how many tests it ran, and how they ended.
fn verdicts(outputs: &[Output]) -> Vec<String> {
    let told = outputs.iter().flat_map(|output| output.stderr.lines().chain(output.stdout.lines()));
    let of_suite =
        told.filter(|line| ["Ran ", "OK", "FAIL", "ERROR"].iter().any(|word| line.starts_with(word)));
    let mut verdicts: Vec<String> = of_suite
        .map(|line| line.split(" in ").next().unwrap_or(line).trim_end_matches('.').to_owned())
        .collect();
    verdicts.sort();
    verdicts
}

#[test]
fn messages_and_communicators_are_as_without() {
    let mpis: Vec<Mpi> = Mpi::all().into_iter().filter(|mpi| suite(mpi).is_some()).collect();
    if mpis.is_empty() {
        eprintln!("skipped: mpi4py's tests are not there; scripts/mpi4py-tests builds them");
    }
    for mpi in &mpis {
        let Some(prefix) = suite(mpi) else { continue };
        let job = || {
            let main = prefix.join("test/main.py");
            let args = [main.as_os_str(), "-i".as_ref(), "p2p".as_ref(), "-i".as_ref(), "comm".as_ref()];
            Job::new(mpi, 2, prefix.join("bin/python")).args(args)
        };
        let (plain, told_plain) = job().run_apart();
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let (watched, told) = job().under_mel(["-o".as_ref(), output.as_os_str()]).run_apart();
        plain.expect(verdicts(&told_plain).iter().any(|line| line.starts_with("Ran ")), mpi.name);
        watched.expect(watched.code == plain.code, &format!("{}: was {:?}", mpi.name, plain.code));
        assert_eq!(verdicts(&told), verdicts(&told_plain), "{}", mpi.name);
        watched.expect(output.join("profile.json").exists(), mpi.name);
    }
}
