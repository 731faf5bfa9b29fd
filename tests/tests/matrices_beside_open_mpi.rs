//! Matrices beside those of Open MPI's own monitoring component, in the same run: messages and bytes of each pair are equal.
//!
//! The component does not count persistent requests, and counts messages that `MPI_Alltoallv` and `MPI_Intercomm_create` are made of as
//! the program's: programs with these are left out. So that MEL's own messages at the end are in neither count, ranks leave their tables.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::cases::{Case, for_each_case_on};
use mel_tests::fortran::{compile_fortran, interfaces};
use mel_tests::{Job, Mpi};

const PROGRAMS: [&str; 12] = [
    "sendrecv",
    "probes",
    "wildcards",
    "random",
    "threads",
    "out_of_order_tags",
    "large",
    "many_to_one",
    "completion",
    "unexpected",
    "status_ignore",
    "expected",
];

/// Messages and bytes by sender and receiver.
type Pairs = BTreeMap<(u32, u32), (u64, u64)>;

fn add(pairs: &mut Pairs, [from, to, messages, bytes]: [u64; 4]) {
    // The component counts nothing that a process sends to itself.
    if from != to && messages > 0 {
        let pair = pairs.entry((from as u32, to as u32)).or_default();
        *pair = (pair.0 + messages, pair.1 + bytes);
    }
}

/// The lines of the component's files: `E`, sender, receiver, `N bytes`, `M msgs sent`, sizes.
fn of_component(directory: &Path) -> Pairs {
    let mut pairs = Pairs::new();
    for entry in std::fs::read_dir(directory).expect("the directory is there").flatten() {
        if entry.path().extension().is_none_or(|extension| extension != "prof") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("it is text");
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |field: &str| {
                field.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
            };
            if let ["E", from, to, bytes, messages, ..] = fields[..] {
                add(&mut pairs, [from, to, messages, bytes].map(number));
            }
        }
    }
    pairs
}

/// What `mel report --matrix --csv` prints.
fn of_mel(output: &Path) -> Pairs {
    let mut command = Command::new(mel());
    let printed = command.args(["report", "--matrix", "--csv", "--kind", "p2p"]).arg(output).output();
    let printed = printed.expect("mel runs");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let text = String::from_utf8(printed.stdout).expect("it is text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("phase,communicator,kind,sender,receiver,messages,bytes"));
    let mut pairs = Pairs::new();
    for line in lines {
        let fields: Vec<&str> = line.rsplitn(5, ',').collect();
        let number = |place: usize| fields[place].parse().expect("a number");
        add(&mut pairs, [number(3), number(2), number(1), number(0)]);
    }
    pairs
}

/// Runs a program with both, and gives what they have counted: the component first.
fn counted(job: Job<'_>, what: &str) -> (Pairs, Pairs) {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let job = job
        .env("OMPI_MCA_pml_monitoring_enable", "2")
        .env("OMPI_MCA_pml_monitoring_enable_output", "3")
        .env("OMPI_MCA_pml_monitoring_filename", directory.path().join("theirs"))
        .env("MEL_COLLECT", "0");
    let run = job.under_mel(["--profile=matrix".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), what);
    (of_component(directory.path()), of_mel(&output))
}

fn open_mpi() -> Option<Mpi> {
    Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi")
}

#[test]
#[ignore = "slow"]
fn counts_are_those_of_the_component() {
    let Some(mpi) = open_mpi() else { return };
    for name in PROGRAMS {
        for_each_case_on(std::slice::from_ref(&mpi), name, |case: &Case<'_>| {
            let (theirs, ours) = counted(case.job(), &case.to_string());
            if case.ranks > 1 {
                assert!(!theirs.is_empty(), "{case}: the component counts something");
            }
            assert_eq!(ours, theirs, "{case}");
        });
    }
}

/// The program starts a persistent send four times, which the component does not count: all else is the same.
#[test]
#[ignore = "slow"]
fn counts_of_a_fortran_program_are_those_of_the_component() {
    let Some(mpi) = open_mpi() else { return };
    for interface in interfaces(&mpi) {
        let program = compile_fortran(&mpi, "calls", interface);
        let (mut theirs, ours) = counted(Job::new(&mpi, 2, program), "calls.F90");
        assert!(theirs.len() == 2 && theirs.values().all(|pair| pair.0 > 20), "{theirs:?}");
        theirs.values_mut().for_each(|pair| *pair = (pair.0 + 4, pair.1 + 16));
        assert_eq!(ours, theirs, "{interface:?}");
    }
}

#[test]
#[ignore = "slow"]
fn counts_of_lammps_are_those_of_the_component() {
    let Some(mpi) = open_mpi() else { return };
    if Command::new("lmp").arg("-help").output().is_err() {
        return eprintln!("skipped: there is no LAMMPS; scripts/install-deps installs it");
    }
    let input = root().join("tests/inputs/melt.lammps");
    let job =
        Job::new(&mpi, 4, "lmp").args(["-log", "none", "-in"]).args([input]).env("OMP_NUM_THREADS", "1");
    let (theirs, ours) = counted(job, "LAMMPS");
    assert!(theirs.len() >= 8 && theirs.values().all(|pair| pair.0 > 100), "{theirs:?}");
    assert_eq!(ours, theirs);
}
