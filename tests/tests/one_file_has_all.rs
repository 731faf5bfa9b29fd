//! A command that was built with the feature `bundled` needs no other file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{built, fresh_dir};
use mel_tests::{Job, Mpi, Program};

fn folders(cache: &Path) -> Vec<PathBuf> {
    fs::read_dir(cache).expect("the cache").map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
#[ignore = "slow"]
fn one_file_measures_a_program() {
    let directory = fresh_dir();
    let [mel, home] = ["bin/mel", "home"].map(|name| directory.path().join(name));
    fs::create_dir(directory.path().join("bin")).unwrap();
    fs::create_dir(&home).unwrap();
    fs::copy(built("bundled/mel"), &mel).unwrap();
    for mpi in Mpi::all() {
        let program = Program::named("sendrecv").compile(&mpi);
        let output = directory.path().join(mpi.name);
        let job = Job::new(&mpi, 4, program).patient().env("HOME", &home).env("XDG_CACHE_HOME", "");
        let run = job.under_mel_at(&mel, ["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0) && run.stderr.contains("time by rank"), mpi.name);
        assert!(output.join("profile.json").exists(), "{}", mpi.name);
    }
    let unpacked = folders(&home.join(".cache/mel"));
    let [folder] = &unpacked[..] else { panic!("{unpacked:?}") };
    assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
    for name in ["libmel.so", "libmpit_events.so"] {
        assert!(fs::read(folder.join(name)).unwrap() == fs::read(built(name)).unwrap(), "{name}");
    }
    let doctor =
        Command::new(&mel).arg("doctor").env("HOME", &home).env_remove("XDG_CACHE_HOME").output().unwrap();
    let text = String::from_utf8_lossy(&doctor.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("unpacked from this command") && text.contains("can be preloaded"), "{text}");
}
