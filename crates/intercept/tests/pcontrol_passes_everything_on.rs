//! `MPI_Pcontrol`: seen from C and from Fortran, and another tool gets its further arguments.

#[path = "../../mpi-abi/tests/common/mod.rs"]
mod common;

fn has(outcome: &common::Outcome, line: &str) {
    assert_eq!(outcome.stderr.lines().filter(|found| *found == line).count(), 1, "{line}: {outcome:#?}");
}

#[test]
fn with_all_arguments() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ours = common::preloadable("count_calls");
    for mpi in common::installed() {
        let program = mpi.compile(directory.path(), "pcontrol.c", &[]);
        let other = mpi.compile(directory.path(), "tool_pcontrol.c", &["-shared", "-fPIC"]);
        let libraries = format!("{} {}", ours.display(), other.display());
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", &libraries)]).succeeded();
        has(&outcome, "level 0: one 2.5 three 4.5 five six 7.5 eight");
        has(&outcome, "level 2: one 2.5 three 4.5 five six 7.5 eight 9.5 ten");
        // Not the one before MPI_Init.
        has(&outcome, "MPI_Pcontrol 2 2");
    }
}

#[test]
fn from_fortran() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ours = common::preloadable("count_calls");
    let ours = ours.to_str().expect("a path in UTF-8");
    for mpi in common::installed() {
        let library = match mpi {
            common::OPEN_MPI => "-lmpi_mpifh",
            common::MPICH => "-lmpichfort",
            _ => continue,
        };
        let probe = directory.path().join("probe");
        let found = std::process::Command::new(mpi.cc).args(["-shared", library, "-o"]).arg(probe).output();
        if !found.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: {} has no {library}", mpi.name);
            continue;
        }
        let program = mpi.compile(directory.path(), "pcontrol_fortran.c", &[library]);
        let outcome = mpi.run(1, &program, &[("LD_PRELOAD", ours)]).succeeded();
        has(&outcome, "MPI_Pcontrol 4 4");
    }
}
