//! The names that Fortran compilers make of MPI's subroutines: seen where they are MPI's, left alone
//! where they are somebody else's.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

use std::path::Path;

/// The library of MPI's subroutines, as an option of the linker; `None` where it is not installed.
fn subroutines(mpi: common::Mpi, directory: &Path) -> Option<&'static str> {
    let library = match mpi {
        common::OPEN_MPI => "-lmpi_mpifh",
        common::MPICH => "-lmpichfort",
        _ => return None,
    };
    let output = directory.join("probe");
    let found = std::process::Command::new(mpi.cc)
        .args(["-shared", "-o"])
        .arg(output)
        .arg(library)
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {} has no {library}", mpi.name);
    }
    found.then_some(library)
}

/// Each MPI with its subroutines, and the library to preload.
fn each(check: impl Fn(common::Mpi, &Path, &'static str, &str)) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = common::preloadable("count_calls");
    let library = library.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        if let Some(subroutines) = subroutines(mpi, directory.path()) {
            check(mpi, directory.path(), subroutines, library);
        }
    }
}

fn expect_lines(outcome: &common::Outcome, lines: &[&str]) {
    for line in lines {
        assert_eq!(outcome.stderr.lines().filter(|found| found == line).count(), 1, "{line}: {outcome:#?}");
    }
}

#[test]
fn every_spelling_is_seen_once() {
    each(|mpi, directory, subroutines, library| {
        let program = mpi.compile(directory, "fortran_names.c", &[subroutines]);
        let without = mpi.run(1, &program, &[]).succeeded();
        let with = mpi.run(1, &program, &[("LD_PRELOAD", library)]).succeeded();
        assert_eq!(with.stdout, without.stdout);
        assert_eq!(with.stdout, "1 0 2 1\n");
        // MPICH's pmpi_send_ calls MPI_Send.
        let sends = if mpi == common::OPEN_MPI { "MPI_Send 12 12" } else { "MPI_Send 15 15" };
        let others =
            ["MPI_Comm_rank 1 1", "MPI_Irecv 1 1", "MPI_Waitany 1 1", "MPI_Init 1 1", "MPI_Finalize 1 0"];
        expect_lines(&with, &[sends]);
        expect_lines(&with, &others);
        assert_eq!(with.stderr.lines().count(), 1 + others.len(), "{with:#?}");
    });
}

#[test]
fn two_copies_of_the_tool_see_them_once() {
    each(|mpi, directory, subroutines, library| {
        let second = directory.join("libsecond.so");
        std::fs::copy(library, &second).expect("a copy of the library");
        let both = format!("{library} {}", second.display());
        let program = mpi.compile(directory, "fortran_names.c", &[subroutines]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", &both)]).succeeded();
        assert_eq!(outcome.stdout, "1 0 2 1\n");
        expect_lines(&outcome, &["MPI_Irecv 1 1", "MPI_Waitany 1 1", "MPI_Init 1 1"]);
    });
}

#[test]
fn namesakes_are_left_alone() {
    each(|mpi, directory, subroutines, library| {
        common::compile(
            "cc",
            &common::source("namesakes.c"),
            &directory.join("libnamesakes.so"),
            &["-shared", "-fPIC"],
        );
        let directory_name = directory.to_str().expect("a path in UTF-8");
        let path = format!("-Wl,-rpath,{directory_name}");
        let link = ["-L", directory_name, "-lnamesakes", &path];
        for with_fortran in [false, true] {
            let mut flags = link.to_vec();
            if with_fortran {
                flags.extend(["-Wl,--no-as-needed", subroutines]);
            }
            let program = mpi.compile(directory, "namesakes_app.c", &flags);
            let outcome = mpi.run(1, &program, &[("LD_PRELOAD", library)]).succeeded();
            assert_eq!(outcome.stdout, "95\n95 10\n", "{outcome:#?}");
            expect_lines(&outcome, &["MPI_Send 1 1", "MPI_Init 1 1", "MPI_Finalize 1 0"]);
            assert_eq!(outcome.stderr.lines().count(), 3, "{outcome:#?}");
        }
    });
}

#[test]
fn subroutines_that_are_loaded_privately_are_found() {
    each(|mpi, directory, subroutines, library| {
        let host = directory.join("host");
        common::compile("cc", &common::source("host.c"), &host, &["-ldl"]);
        let part = mpi.compile(directory, "part_fortran.c", &["-shared", "-fPIC", subroutines]);
        let part = part.to_str().expect("a path in UTF-8");
        let with = mpi.run_with(1, &host, &[("LD_PRELOAD", library)], &[part]);
        let without = mpi.run_with(1, &host, &[], &[part]);
        assert_eq!((with.code, &with.stdout), (without.code, &without.stdout), "{with:#?}");
        if without.code == Some(0) {
            expect_lines(&with, &["MPI_Init 1 1", "MPI_Barrier 1 1", "MPI_Finalize 1 0"]);
        } else {
            eprintln!("skipped: {} does not run when loaded privately", mpi.name);
        }
    });
}
