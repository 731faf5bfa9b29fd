//! Matrices beside those of Open MPI's own monitoring component, in the same run: messages and bytes of each pair are equal.
//!
//! The component does not count persistent requests, and counts messages that `MPI_Alltoallv` and `MPI_Intercomm_create` are made of as
//! the program's: where a program has these, the difference is known. Of a partitioned request, which Open MPI 5 has, it counts how both
//! sides make it known to each other, and no partition. So that MEL's own messages at the end are in neither count, ranks leave their tables.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, mel, root};
use mel_tests::cases::{Case, for_each_case_on};
use mel_tests::fortran::{compile_fortran, interfaces};
use mel_tests::{Job, Mpi, compile_special};

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

/// The lines of the component's files that begin with a letter: `E`, sender, receiver, `N bytes`, `M msgs sent`, sizes.
fn of_component(directory: &Path, letter: &str) -> Pairs {
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
            if let [begin, from, to, bytes, messages, ..] = fields[..]
                && begin == letter
            {
                add(&mut pairs, [from, to, messages, bytes].map(number));
            }
        }
    }
    pairs
}

/// What `mel report --matrix --csv` prints.
fn of_mel(output: &Path, kind: &str) -> Pairs {
    let mut command = Command::new(mel());
    let printed = command.args(["report", "--matrix", "--csv", "--kind", kind]).arg(output).output();
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
    measure(job, what, directory.path());
    (of_component(directory.path(), "E"), of_mel(&directory.path().join("run"), "p2p"))
}

/// Runs a program with both; their files are in this directory, and ours below `run` in it.
fn measure(job: Job<'_>, what: &str, directory: &Path) {
    let output = directory.join("run");
    let job = job
        .env("OMPI_MCA_pml_monitoring_enable", "2")
        .env("OMPI_MCA_pml_monitoring_enable_output", "3")
        .env("OMPI_MCA_pml_monitoring_filename", directory.join("theirs"))
        // The component of 4.1 reads memory of intercommunicators that it has not written, and ends with a signal in MPI_Finalize where
        // that is not zero, without MEL, too. glibc fills what it gives with the complement of this.
        .env("MALLOC_PERTURB_", "255")
        .env("MEL_COLLECT", "0");
    let run = job.under_mel(["--profile=matrix".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), what);
}

/// The Open MPI of the distribution, 4.1.
fn open_mpi() -> Option<Mpi> {
    Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi")
}

fn open_mpi_5() -> Option<Mpi> {
    Mpi::newer().into_iter().find(|mpi| mpi.name == "openmpi-5")
}

/// Both: the component of the second is in `libmpi`, and not a library of its own.
fn open_mpis() -> impl Iterator<Item = Mpi> {
    open_mpi().into_iter().chain(open_mpi_5())
}

#[test]
#[ignore = "slow"]
fn counts_are_those_of_the_component() {
    let mpis: Vec<Mpi> = open_mpis().collect();
    for name in PROGRAMS {
        for_each_case_on(&mpis, name, |case: &Case<'_>| {
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
        return absent("LAMMPS", "scripts/install-deps installs it");
    }
    let input = root().join("tests/inputs/melt.lammps");
    let job =
        Job::new(&mpi, 4, "lmp").args(["-log", "none", "-in"]).args([input]).env("OMP_NUM_THREADS", "1");
    let (theirs, ours) = counted(job, "LAMMPS");
    assert!(theirs.len() >= 8 && theirs.values().all(|pair| pair.0 > 100), "{theirs:?}");
    assert_eq!(ours, theirs);
}

/// What `exchanges NAME TIMES` does.
fn exchanges(mpi: &Mpi, name: &str, times: u32) -> (Pairs, Pairs) {
    let program = compile_special(mpi, "exchanges");
    counted(Job::new(mpi, 4, program).args([name, &times.to_string()]), name)
}

/// The pairs of a ring of four, with messages and bytes.
fn ring(messages: u64, bytes: u64) -> Pairs {
    (0..4).map(|rank| ((rank, (rank + 1) % 4), (messages, bytes))).collect()
}

#[test]
#[ignore = "slow"]
fn counts_of_exchanges_are_those_of_the_component() {
    for mpi in open_mpis() {
        for name in ["halo", "transpose", "wavefront", "rows", "replace", "matched"] {
            let (theirs, ours) = exchanges(&mpi, name, 3);
            assert!(theirs.len() >= 4, "{name} on {}: {theirs:?}", mpi.name);
            assert_eq!(ours, theirs, "{name} on {}", mpi.name);
        }
    }
}

/// What the component counts of making the intercommunicator is in it without any exchange, too. It is between the leaders, who exchange
/// nothing else; its bytes are those of names, which have the launcher's process in them.
#[test]
#[ignore = "slow"]
fn counts_on_an_intercommunicator_are_those_of_the_component() {
    for mpi in open_mpis() {
        let directory = fresh_dir();
        let job = Job::new(&mpi, 4, compile_special(&mpi, "exchanges")).args(["groups", "0"]);
        measure(job, "groups", directory.path());
        let made = of_component(directory.path(), "E");
        let (mut theirs, ours) = exchanges(&mpi, "groups", 3);
        for (pair, (messages, _)) in made {
            let again = theirs.remove(&pair).map(|(messages, _)| messages);
            assert_eq!(again, Some(messages), "{}: it is made as before", mpi.name);
        }
        assert_eq!(theirs.len(), 4, "{}: {theirs:?}", mpi.name);
        assert_eq!(ours, theirs, "{}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn persistent_requests_are_counted_though_the_component_does_not() {
    for mpi in open_mpis() {
        let (theirs, ours) = exchanges(&mpi, "persistent", 5);
        assert_eq!((theirs, ours), (Pairs::new(), ring(10, 600)), "{}", mpi.name);
    }
}

/// Open MPI 5 makes each partition a persistent request of its own, which the component does not count. It counts a message of 40 bytes to
/// the receiver when the request is made, and another one back: the same for any number of starts.
#[test]
#[ignore = "slow"]
fn partitioned_requests_are_counted_though_the_component_sees_only_how_they_are_made() {
    let Some(mpi) = open_mpi_5() else { return };
    let back = ring(1, 40).into_iter().map(|((from, to), cell)| ((to, from), cell));
    let made: Pairs = ring(1, 40).into_iter().chain(back).collect();
    for starts in [1, 5] {
        let (theirs, ours) = exchanges(&mpi, "partitioned", starts);
        let starts = u64::from(starts);
        assert_eq!((theirs, ours), (made.clone(), ring(starts, 300 * starts)));
    }
}

/// The component counts the request of a get as a message that is sent, without bytes.
#[test]
#[ignore = "slow"]
fn counts_of_a_window_are_those_of_the_component() {
    for mpi in open_mpis() {
        let directory = fresh_dir();
        let job = Job::new(&mpi, 4, compile_special(&mpi, "exchanges")).args(["window", "3"]);
        measure(job, "window", directory.path());
        let run = directory.path().join("run");
        let (put, get) = (of_mel(&run, "put"), of_mel(&run, "get"));
        assert_eq!((&put, get.len()), (&ring(6, 4800), 4), "{}", mpi.name);
        let sent: Pairs =
            put.iter().map(|(pair, (messages, bytes))| (*pair, (messages + 3, *bytes))).collect();
        assert_eq!(of_component(directory.path(), "S"), sent, "{}", mpi.name);
        // In the matrix, what is fetched flows from the window's rank to the one that calls.
        let got: Pairs = get.into_iter().map(|((from, to), cell)| ((to, from), cell)).collect();
        assert_eq!(of_component(directory.path(), "R"), got, "{}", mpi.name);
    }
}
