//! A full file system: the results are the program's own, what cannot be kept is said in one line each, and what was
//! recorded until then can be read.
//!
//! The directory is a small file system in memory. Mounting it takes the rights of root; without them there is nothing to test.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, mel};
use mel_tests::events::QUEUE_EVENTS;
use mel_tests::{Finished, Job, Mpi, Program};
use tempfile::TempDir;

/// A file system of a given size, unmounted when the value is dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None`, with the reason on standard error, where mounting is not allowed.
    fn mount(kib: u32) -> Option<SmallDisk> {
        let directory = fresh_dir();
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "mel-tests"])
            .arg(directory.path())
            .output()
            .expect("mount can be started");
        if output.status.success() {
            return Some(SmallDisk(directory));
        }
        absent("a file system to fill", String::from_utf8_lossy(&output.stderr).trim());
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// Runs `flood 5000` with its output on a disk of that size; it must behave as without MEL.
fn flood(mpi: &Mpi, disk: &SmallDisk, options: &[&str]) -> (Finished, PathBuf) {
    let executable = Program::named("flood").compile(mpi);
    let job = || Job::new(mpi, 2, &executable).args(["5000"]);
    let plain = job().run();
    let output = disk.path().join("run");
    let options = options.iter().map(OsStr::new).chain(["-o".as_ref(), output.as_os_str()]);
    let run = job().under_mel(options).run();
    run.expect(run.code == plain.code && run.stdout == plain.stdout, mpi.name);
    run.expect(!run.stderr.to_lowercase().contains("panicked"), mpi.name);
    (run, output)
}

/// The lines that say that something could not be written.
fn complaints(run: &Finished) -> Vec<&str> {
    run.stderr.lines().filter(|line| line.contains("No space left") || line.contains("no room")).collect()
}

#[test]
fn a_profile_without_space_is_one_line() {
    for mpi in &Mpi::all() {
        // A page for the directory's probe, none for the profile.
        let Some(disk) = SmallDisk::mount(4) else { return };
        std::fs::write(disk.path().join("filler"), [1; 4096]).expect("the disk has one page");
        let (run, output) = flood(mpi, &disk, &["--lines"]);
        run.expect(complaints(&run).len() == 1, "not exactly one line");
        run.expect(complaints(&run)[0].contains(&*output.to_string_lossy()), "the directory is not named");
        run.expect(run.stderr.contains("queue statistics rank: 1 "), "the statistics are not printed");
        assert!(!output.join("profile.json").exists(), "{}: half a profile", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn logs_and_traces_without_space_are_a_line_each() {
    for mpi in &Mpi::all() {
        for options in [&["--trace", "--profile=none"][..], &["-e", QUEUE_EVENTS, "--profile=none"]] {
            for kib in [4, 64, 2048] {
                let Some(disk) = SmallDisk::mount(kib) else { return };
                let (run, _) = flood(mpi, &disk, options);
                // One of each rank for its log, one for the trace.
                let lines = complaints(&run).len();
                run.expect(
                    (1..=3).contains(&lines),
                    &format!("{} {options:?} with {kib} KiB: {lines} lines", mpi.name),
                );
                let count = run.mel_lines().count();
                // And one that names the directory.
                run.expect(count <= 5, &format!("{} {options:?} with {kib} KiB: {count} lines", mpi.name));
            }
        }
    }
}

#[test]
fn what_was_logged_before_the_disk_was_full_is_readable() {
    for mpi in &Mpi::all() {
        // Space for both ranks' definitions and one chunk of events.
        let Some(disk) = SmallDisk::mount(3500) else { return };
        let (_, output) = flood(mpi, &disk, &["-e", QUEUE_EVENTS, "--profile=none"]);
        let converted = Command::new(mel())
            .arg("convert")
            .arg(&output)
            .arg("--text")
            .output()
            .expect("mel can be started");
        let complaint = String::from_utf8_lossy(&converted.stderr);
        assert!(converted.status.success(), "{}: {complaint}", mpi.name);
        let text = String::from_utf8_lossy(&converted.stdout);
        let events = text.lines().filter(|line| line.contains("'pml_ob1_")).count();
        assert!(events > 1000, "{}: {events} events\n{complaint}", mpi.name);
    }
}
