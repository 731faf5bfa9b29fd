//! However MPI comes into the process, the wrappers continue with the library that the program means.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::{Mpi, Outcome};

fn library() -> String {
    common::preloadable("count_calls").to_str().expect("a path in UTF-8").to_owned()
}

/// How often this function was called, as the library has seen it.
fn seen<'a>(outcome: &'a Outcome, function: &str) -> Vec<&'a str> {
    outcome.stderr.lines().filter_map(|line| line.strip_prefix(function)?.strip_prefix(' ')).collect()
}

/// Runs a program with and without the library in front; it must end the same way. `None`, with a word, where it does
/// not run without.
fn same(mpi: Mpi, program: &Path, arguments: &[&str]) -> Option<Outcome> {
    let library = library();
    let without = mpi.run_with(1, program, &[], arguments);
    let with = mpi.run_with(1, program, &[("LD_PRELOAD", &library)], arguments);
    assert_eq!((with.code, &with.stdout), (without.code, &without.stdout), "{with:#?}");
    if without.code != Some(0) {
        // Some builds do not find their own plug-ins when they are loaded privately: not our matter.
        eprintln!("skipped: {} does not run this way: {}", mpi.name, without.stderr);
    }
    (without.code == Some(0)).then_some(with)
}

#[test]
fn an_extension_module_that_is_linked_with_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let host = directory.path().join("host");
    common::compile("cc", &common::source("host.c"), &host, &["-ldl"]);
    for mpi in common::installed() {
        let part = mpi.compile(directory.path(), "part.c", &["-shared", "-fPIC"]);
        let part = part.to_str().expect("a path in UTF-8");
        if let Some(outcome) = same(mpi, &host, &[part]) {
            assert_eq!(outcome.stdout, "5\n", "{outcome:#?}");
            assert_eq!(seen(&outcome, "MPI_Sendrecv"), ["1 1"], "{outcome:#?}");
        }
    }
}

#[test]
fn an_extension_module_beside_one_with_another_mpi() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let host = directory.path().join("host");
    common::compile("cc", &common::source("two_parts.c"), &host, &["-ldl"]);
    for (one, other) in common::pairs() {
        let parts = [other, one].map(|mpi| mpi.compile(directory.path(), "part.c", &["-shared", "-fPIC"]));
        let parts = parts.each_ref().map(|part| part.to_str().expect("a path in UTF-8"));
        if let Some(outcome) = same(one, &host, &parts) {
            assert_eq!(outcome.stdout, "5\n", "{outcome:#?}");
            assert_eq!(seen(&outcome, "MPI_Sendrecv"), ["1 1"], "{outcome:#?}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_that_opens_it_and_looks_its_functions_up() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let host = directory.path().join("opens");
    common::compile("cc", &common::source("opens.c"), &host, &["-ldl"]);
    for mpi in common::installed() {
        let libraries = common::mpi_libraries(&mpi.compile(directory.path(), "order.c", &[]));
        let library = libraries.first().expect("an MPI library");
        for how in ["local", "global"] {
            if let Some(outcome) = same(mpi, &host, &[library, how]) {
                assert!(outcome.stdout.ends_with("\n0 1 1\n"), "{outcome:#?}");
                // Seen from MPI_Init on, and without the one by the name for tools.
                assert_eq!(seen(&outcome, "MPI_Initialized"), ["1 1"], "{outcome:#?}");
                assert_eq!(seen(&outcome, "MPI_Finalize"), ["1 0"], "{outcome:#?}");
                assert_eq!(outcome.stderr.lines().count(), 3, "{outcome:#?}");
            }
        }
    }
}
