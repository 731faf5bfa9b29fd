//! A Fortran program, whatever interface it uses, is seen as the C program that makes the same calls: each call once,
//! the same messages, the same searches; and it notices nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mel_tests::artifacts::{fresh_dir, root};
use mel_tests::fortran::{Interface, compile_fortran, interfaces};
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi, compile_source};

const RANKS: u32 = 2;

/// How often these are called depends on how long messages take; the programs print the sum.
const COUNTED: [&str; 5] = ["MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Waitsome"];

/// What MEL saw of a run.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// How often each function was called, but for those that are counted.
    calls: BTreeMap<String, u64>,
    /// By rank: messages and cancelled receives, searches of both queues, matches.
    queues: Vec<[u64; 4]>,
    /// Messages in the trace.
    messages: u64,
}

fn seen(mpi: &Mpi, program: PathBuf) -> Seen {
    let what = program.display().to_string();
    let plain = Job::new(mpi, RANKS, &program).run();
    plain.expect(plain.code == Some(0) && plain.stdout.ends_with("OK\n"), &format!("{what} by itself"));

    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = Job::new(mpi, RANKS, program)
        .under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()])
        .run();
    run.expect(run.code == Some(0), &what);
    let mut lines = run.stdout.lines();
    let tests: Option<u64> = lines.next().and_then(|line| line.strip_prefix("tests ")?.parse().ok());
    run.expect(lines.eq(["OK"]), &format!("{what} with MEL"));

    let (trace, profile) = (Trace::read(&output), Profile::read(&output));
    assert_eq!(trace.disorder(), None, "{what}");
    assert_eq!(profile.contradictions(RANKS), [""; 0], "{what}: {}", profile.json());
    let enters = trace.enters();
    let counted = COUNTED.iter().map(|name| enters.get(name).copied().unwrap_or(0)).sum();
    assert_eq!(tests, Some(counted), "{what}: {enters:?}");
    let calls = enters
        .into_iter()
        .filter(|(name, _)| name.starts_with("MPI_") && !COUNTED.contains(name))
        .map(|(name, count)| (name.to_owned(), count));
    let queues = (0..RANKS).map(|rank| {
        assert_eq!(profile.count(rank, "truth.rematched"), 0, "{what}: {}", profile.json());
        let count = |field: &str| profile.count(rank, field);
        [
            count("posted.messages") + count("unexpected.messages"),
            count("posted_search.searches"),
            count("unexpected_search.searches"),
            count("truth.matched"),
        ]
    });
    let sends = trace.records.iter().filter(|record| record.kind.ends_with("SEND"));
    Seen { calls: calls.collect(), queues: queues.collect(), messages: sends.count() as u64 }
}

fn same_as_c(interface: Interface) {
    for mpi in &Mpi::all_and_newer() {
        if !interfaces(mpi).contains(&interface) {
            continue;
        }
        let c = seen(mpi, compile_source(mpi, &root().join("tests/programs/languages/calls.c")));
        assert_eq!(c.calls["MPI_Init"], u64::from(RANKS), "{c:?}");
        assert!(
            c.calls.len() > 40 && c.queues.iter().all(|rank| rank.iter().all(|&count| count > 30)),
            "{c:?}"
        );
        let fortran = seen(mpi, compile_fortran(mpi, "calls", interface));
        assert_eq!(fortran, c, "{} with {interface:?} beside C", mpi.name);
    }
}

#[test]
fn mpif_h() {
    same_as_c(Interface::MpifH);
}

#[test]
fn module_mpi() {
    same_as_c(Interface::Mpi);
}

#[test]
fn module_mpi_f08() {
    same_as_c(Interface::MpiF08);
}
