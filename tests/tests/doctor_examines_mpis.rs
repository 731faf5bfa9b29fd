//! `mel doctor` knows the MPIs that are installed, by their compilers, programs and libraries, and says what each offers.

use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, mel, root};
use mel_tests::{Mpi, compile_source};
use serde_json::Value;

/// The report on what is named, and the exit code.
fn doctor(given: &[&Path]) -> (Option<i32>, Value) {
    report(Command::new(mel()).args(["doctor", "--json"]).args(given))
}

fn report(command: &mut Command) -> (Option<i32>, Value) {
    let output = command.env_remove("MEL_LIBRARY").output().expect("mel can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let report = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), report)
}

/// What was found of something.
fn found<'a>(report: &'a Value, what: &str) -> Vec<&'a Value> {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().filter(|finding| finding["what"] == what).collect()
}

fn halo(mpi: &Mpi) -> PathBuf {
    compile_source(mpi, &root().join("examples/programs/halo2d.c"))
}

#[test]
fn the_mpi_of_a_program_is_named() {
    for mpi in Mpi::all().iter().chain(&Mpi::with_events()) {
        let program = halo(mpi);
        let (code, report) = doctor(&[&program]);
        assert_eq!(code, Some(0), "{}: {report:#}", mpi.name);
        let mpis = report["mpis"].as_array().expect("MPIs");
        let name = mpis[0]["answer"]["name"].as_str().expect("a name");
        let wanted = if mpi.name.starts_with("openmpi") { "Open MPI v" } else { "MPICH" };
        assert!(mpis.len() == 1 && name.contains(wanted), "{}: {report:#}", mpi.name);
        // The library that was found, named itself.
        let library = PathBuf::from(mpis[0]["library"].as_str().expect("a path"));
        let (code, by_library) = doctor(&[&library]);
        assert_eq!((code, &by_library["mpis"][0]["answer"]), (Some(0), &mpis[0]["answer"]), "{}", mpi.name);
        if mpi.name == "mpich-events" {
            assert!(mpis[0]["answer"]["events"].as_u64() > Some(0), "{report:#}");
        }
    }
}

#[test]
fn what_is_on_the_path_is_found() {
    let (code, report) = report(Command::new(mel()).args(["doctor", "--json"]));
    assert_eq!(code, Some(0), "{report:#}");
    let text = report["mpis"].to_string();
    for mpi in Mpi::all().iter().filter(|mpi| ["openmpi", "mpich"].contains(&mpi.name)) {
        let wanted = if mpi.name == "openmpi" { "Open MPI v" } else { "MPICH" };
        assert!(text.contains(wanted), "{text}");
    }
    for what in ["libmel.so", "shared memory", "OTF2"] {
        assert!(found(&report, what).iter().all(|finding| finding["level"] == "ok"), "{what}: {report:#}");
    }
}

#[test]
fn peruse_is_found_where_open_mpi_has_it() {
    let Some(mpi) = Mpi::with_peruse() else { return };
    let (_, report) = doctor(&[&halo(&mpi)]);
    let finding = found(&report, "MPI")[0];
    assert!(finding["found"].as_str().expect("text").contains("observed by PERUSE in ob1"), "{finding}");
}

/// The most frequent mistake with two MPIs on one machine.
#[test]
fn the_launcher_of_another_mpi_is_named() {
    let all = Mpi::all();
    for mpi in all.iter().filter(|mpi| ["openmpi", "mpich"].contains(&mpi.name)) {
        let others = if mpi.name == "openmpi" {
            "echo HYDRA build details:"
        } else {
            "echo 'mpirun (Open MPI) 4.1.4'"
        };
        let directory = fresh_dir();
        let launcher = directory.path().join("mpirun");
        std::fs::write(&launcher, format!("#!/bin/sh\n{others}\n")).expect("a file can be written");
        let made = Command::new("chmod").arg("+x").arg(&launcher).status().expect("chmod");
        assert!(made.success());
        let path = format!("{}:/usr/bin:/bin", directory.path().display());
        let mut command = Command::new(mel());
        let (code, report) = report(command.args(["doctor", "--json"]).arg(halo(mpi)).env("PATH", path));
        let finding = found(&report, "launcher")[0];
        assert_eq!(code, Some(0), "{report:#}");
        assert!(finding["level"] == "less", "{}: {report:#}", mpi.name);
        assert!(finding["means"].as_str().expect("text").contains("a job of one rank"), "{finding}");
    }
}

#[test]
fn a_program_whose_mpi_is_not_loaded_says_which_it_needs() {
    let directory = fresh_dir();
    let (library, program) = (directory.path().join("libmpi.so.99"), directory.path().join("app"));
    let source = directory.path().join("a.c");
    std::fs::write(&source, "int MPI_Init(void) { return 0; }\n").expect("a file can be written");
    let compile = |arguments: &[&str], files: &[&Path]| {
        let status = Command::new("cc").args(arguments).args(files).status().expect("a C compiler");
        assert!(status.success());
    };
    compile(&["-shared", "-fPIC", "-Wl,-soname,libmpi.so.99", "-o"], &[&library, &source]);
    std::fs::write(&source, "int MPI_Init(void); int main(void) { return MPI_Init(); }\n").expect("a file");
    compile(&["-o"], &[&program, &source, &library]);
    std::fs::remove_file(&library).expect("a file can be removed");
    let (code, report) = doctor(&[&program]);
    let finding = found(&report, "MPI")[0];
    assert_eq!((code, &finding["level"]), (Some(1), &"broken".into()), "{report:#}");
    let text = finding["found"].as_str().expect("text");
    assert!(text.contains("needs libmpi.so.99") && text.contains("LD_LIBRARY_PATH"), "{text}");
}

/// As Docker gives it.
#[test]
fn little_shared_memory_is_noticed() {
    let script = "mount -t tmpfs -o size=64m shm /dev/shm && exec \"$0\" doctor --json /bin/sh";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount"]);
    if !command.arg("true").status().is_ok_and(|status| status.success()) {
        absent("namespaces", "allow user namespaces, or run as root");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(mel());
    let (_, report) = report(&mut command);
    let finding = found(&report, "/dev/shm")[0];
    assert_eq!((&finding["level"], &finding["found"]), (&"less".into(), &"64.0 MiB of 64.0 MiB free".into()));
    assert!(finding["remedy"].as_str().expect("text").contains("--shm-size"), "{finding}");
}

/// As in a container with a filter of system calls: without descriptors to spare there is no `memfd`.
#[test]
fn memory_that_cannot_be_shared_is_noticed() {
    let directory = fresh_dir();
    let library = directory.path().join("no_memfd.so");
    let source = directory.path().join("no_memfd.c");
    let text =
        "#include <errno.h>\nint memfd_create(const char *n, unsigned f) { errno = EPERM; return -1; }\n";
    std::fs::write(&source, text).expect("a file can be written");
    let built = Command::new("cc").args(["-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.expect("a C compiler").success());
    let mut command = Command::new(mel());
    let (code, report) = report(command.args(["doctor", "--json"]).env("LD_PRELOAD", &library));
    let finding = found(&report, "shared memory")[0];
    assert_eq!((code, &finding["level"]), (Some(0), &"less".into()), "{report:#}");
    assert!(finding["means"].as_str().expect("text").contains("envelopes go in messages"), "{finding}");
    assert_eq!(found(&report, "settings").len(), 1, "LD_PRELOAD is a setting: {report:#}");
}
