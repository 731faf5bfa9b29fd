//! Where there is nothing to measure, the application behaves as without us.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

use mel_tests::artifacts::absent;
use std::path::Path;

fn library() -> String {
    common::preloadable("count_calls").to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn before_init_and_after_finalize() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = library();
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "early.c", &[]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", &library)]).succeeded();
        assert_eq!(outcome.stdout, "0 0 1 1 1 1\n", "{}", mpi.name);
        // Seen from MPI_Init on: of two calls of MPI_Initialized, the second.
        let seen: Vec<_> = outcome.stderr.lines().collect();
        assert_eq!(seen, ["MPI_Finalize 1 0", "MPI_Init 1 1", "MPI_Initialized 1 1"]);
    }
}

#[test]
fn a_function_that_this_mpi_lacks_ends_the_program_as_the_linker_would() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = library();
    for mpi in common::installed() {
        // In a shared object, where the linker allows an undefined symbol.
        let part = mpi.compile(directory.path(), "lacking.c", &["-shared", "-fPIC"]);
        let host = directory.path().join("host");
        common::compile("cc", &common::source("host.c"), &host, &["-ldl"]);
        let arguments = [part.to_str().expect("a path in UTF-8"), "lazily"];
        let without = mpi.run_with(1, &host, &[], &arguments);
        let with = mpi.run_with(1, &host, &[("LD_PRELOAD", &library)], &arguments);
        assert_eq!(with.code, without.code, "{with:#?}");
        assert_eq!(with.stdout, without.stdout, "{with:#?}");
        if without.code != Some(0) {
            assert_eq!(with.code, Some(127), "{with:#?}");
            let message = "symbol lookup error: ";
            assert!(without.stderr.contains(message), "{without:#?}");
            assert!(with.stderr.contains(message), "{with:#?}");
            assert!(with.stderr.ends_with("undefined symbol: MPI_Isendrecv\n"), "{with:#?}");
        }
    }
}

#[test]
fn exceptions_that_the_application_throws_through_mpi() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = library();
    for mpi in common::installed() {
        if !common::present(mpi.cxx) {
            absent(mpi.cxx, "scripts/install-deps installs it");
            continue;
        }
        let program = mpi.compile(directory.path(), "exception.cc", &[]);
        let without = mpi.run(1, &program, &[]);
        let with = mpi.run(1, &program, &[("LD_PRELOAD", &library)]);
        assert_eq!((with.code, &with.stdout), (without.code, &without.stdout), "{with:#?}");
        assert_eq!(with.stdout, "126\n", "{with:#?}");
        // Begun and never ended; and what follows is seen again.
        assert!(with.stderr.contains("MPI_Send 3 0\n"), "{with:#?}");
        assert!(with.stderr.contains("MPI_Barrier 1 1\n"), "{with:#?}");
    }
}

#[test]
fn an_mpi_of_no_known_abi() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let here = |name: &str| directory.path().join(name);
    let mpi = here("libstrange.so");
    common::compile("cc", &common::source("strange_mpi.c"), &mpi, &["-shared", "-fPIC"]);
    let program = here("app");
    let flags = [mpi.to_str().expect("a path in UTF-8"), "-Wl,-rpath,$ORIGIN"];
    common::compile("cc", &common::source("strange_app.c"), &program, &flags);
    let run = |library: Option<&str>| {
        let mut command = std::process::Command::new(&program);
        command.env("LD_LIBRARY_PATH", directory.path());
        if let Some(library) = library {
            command.env("LD_PRELOAD", Path::new(library));
        }
        command.output().expect("the program")
    };
    let (without, with) = (run(None), run(Some(&library())));
    assert_eq!((with.status, &with.stdout), (without.status, &without.stdout));
    assert_eq!(with.stdout, b"rank 4\n");
    let complaint = String::from_utf8_lossy(&with.stderr);
    assert_eq!(
        complaint,
        "[MEL] the MPI in libstrange.so (Strange MPI 0.1) is neither Open MPI nor of MPICH's or the \
         standard ABI; nothing is measured, the application continues\n"
    );
}

#[test]
fn a_program_without_mpi() {
    let output = std::process::Command::new("ls")
        .arg("/")
        .env("LD_PRELOAD", library())
        .output()
        .expect("the program ls");
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}
