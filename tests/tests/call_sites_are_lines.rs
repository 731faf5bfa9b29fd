//! A trace has the line of each MPI call, as far as the program has it; with `--callsites` that of the first caller outside of MPI.

use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::fresh_dir;
use mel_tests::fortran::{compile_fortran, interfaces};
use mel_tests::trace::Trace;
use mel_tests::{Finished, Job, Mpi, compile_special};

const RANKS: u32 = 2;
const ATTRIBUTE: &str = "call site";

fn traced(mpi: &Mpi, program: &Path, options: &[&str]) -> (Finished, Trace) {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let output = output.to_str().expect("a path in UTF-8");
    let options = [&["--profile", "none", "--trace", "-o", output], options].concat();
    let run = Job::new(mpi, RANKS, program).under_mel(&options).run();
    run.expect(run.code == Some(0), &format!("{}: {options:?}", mpi.name));
    let trace = Trace::read(output.as_ref());
    assert_eq!(trace.disorder(), None, "{}: {options:?}", mpi.name);
    (run, trace)
}

/// The calls of a rank, with where they come from: up to the blank, behind which the function stands.
fn calls(trace: &Trace, rank: u32) -> Vec<(&str, &str)> {
    let entered = trace.entered_with(rank.into(), ATTRIBUTE);
    let place = |site: Option<&'_ str>| site.map_or(0, |site| site.find(' ').unwrap_or(site.len()));
    entered.into_iter().map(|(name, site)| (name, &site.unwrap_or_default()[..place(site)])).collect()
}

/// A copy of a program with less in it.
fn reduced(program: &Path, option: &str, directory: &Path) -> PathBuf {
    let copy = directory.join("reduced");
    let status = Command::new("objcopy").arg(option).args([program, &copy]).status();
    assert!(status.expect("objcopy (binutils) can be run").success(), "objcopy {option}");
    copy
}

#[test]
fn each_call_has_its_line() {
    for mpi in &Mpi::all() {
        let (run, trace) = traced(mpi, &compile_special(mpi, "call_sites"), &["--callsites"]);
        for rank in 0..RANKS {
            let printed = run.stdout.lines().filter_map(|line| line.strip_prefix(&format!("{rank} ")));
            let printed: Vec<(&str, &str)> = printed.filter_map(|line| line.split_once(' ')).collect();
            assert_eq!(printed.len(), 8, "{}", run.stdout);
            assert_eq!(calls(&trace, rank), printed, "{}", mpi.name);
        }
        let sites = trace.entered_with(0, ATTRIBUTE);
        let ends = |of: usize, function: &str| sites[of].1.is_some_and(|site| site.ends_with(function));
        assert!(ends(2, " (swap)") && ends(3, " (meet)") && ends(4, " (main)"), "{}: {sites:?}", mpi.name);
    }
}

#[test]
fn without_unwinding_it_is_the_line_that_the_call_returns_to() {
    for mpi in &Mpi::all() {
        let (run, trace) = traced(mpi, &compile_special(mpi, "call_sites"), &[]);
        let printed = run.stdout.lines().filter_map(|line| line.strip_prefix("0 "));
        let printed: Vec<(&str, &str)> = printed.filter_map(|line| line.split_once(' ')).collect();
        // Of the calls that initialise and finalise MPI it is not known.
        let known = printed.into_iter().map(|(name, site)| match name {
            "MPI_Init" | "MPI_Finalize" => (name, ""),
            _ => (name, site),
        });
        let known: Vec<(&str, &str)> = known.collect();
        assert_eq!(calls(&trace, 0), known, "{}", mpi.name);
    }
}

#[test]
fn what_is_not_known_is_not_there() {
    for mpi in &Mpi::all() {
        let (program, directory) = (compile_special(mpi, "call_sites"), fresh_dir());
        let (_, trace) = traced(mpi, &reduced(&program, "--strip-debug", directory.path()), &["--callsites"]);
        for (name, site) in calls(&trace, 0) {
            let function = if name == "MPI_Barrier" { "meet+0x" } else { "main+0x" };
            assert!(site.starts_with(function), "{}: {name} from {site}", mpi.name);
        }

        let (_, trace) = traced(mpi, &reduced(&program, "--strip-all", directory.path()), &["--callsites"]);
        let calls = calls(&trace, 0);
        assert!(calls.iter().all(|(_, site)| site.starts_with("reduced+0x")), "{}: {calls:?}", mpi.name);
        // One function meets both times.
        assert!(calls[3] == calls[5] && calls[3].1 != calls[4].1, "{}: {calls:?}", mpi.name);
    }
}

/// A layer of MPI between the program and us is no caller.
#[test]
fn subroutines_are_called_from_the_program() {
    for mpi in &Mpi::all() {
        // One is enough: the layers of the others are alike.
        for interface in interfaces(mpi).into_iter().take(1) {
            let (_, trace) = traced(mpi, &compile_fortran(mpi, "calls", interface), &["--callsites"]);
            let calls = calls(&trace, 0);
            let here = |(_, site): &(&str, &str)| site.starts_with("calls.F90:");
            assert!(calls.len() > 3 && calls.iter().all(here), "{} {interface:?}: {calls:?}", mpi.name);
        }
    }
}
