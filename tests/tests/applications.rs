//! Real applications, as Debian packages them, run to the end under MEL with the same results and sound statistics.
//!
//! Debian builds them against Open MPI.

use std::fs;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, root};
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::verdict::remarks_on;
use mel_tests::{Job, Mpi};
use serde_json::json;

const RANKS: u32 = 4;

fn open_mpi() -> Mpi {
    Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi").expect("Open MPI is installed")
}

fn require(command: &str) {
    let found =
        Command::new("sh").args(["-c", &format!("command -v {command}")]).output().expect("there is a shell");
    assert!(found.status.success(), "{command} is not installed: run scripts/install-deps first");
}

fn lammps(mpi: &Mpi) -> Job<'_> {
    require("lmp");
    let input = root().join("tests/inputs/melt.lammps");
    Job::new(mpi, RANKS, "lmp").args(["-log", "none", "-in"]).args([input]).env("OMP_NUM_THREADS", "1")
}

/// The table of temperature, energies and pressure, which must agree to the last digit.
fn thermodynamics(stdout: &str) -> Vec<&str> {
    stdout
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("Step"))
        .take_while(|line| !line.starts_with("Loop time"))
        .collect()
}

#[test]
#[ignore = "slow"]
fn lammps_melts_the_same_crystal() {
    let mpi = open_mpi();
    let plain = lammps(&mpi).run();
    plain.expect(plain.code == Some(0) && thermodynamics(&plain.stdout).len() == 7, "LAMMPS by itself");

    let directory = fresh_dir();
    let output = directory.path().join("run");
    let watched = lammps(&mpi).under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    watched.expect(watched.code == Some(0), "LAMMPS under MEL");
    assert_eq!(thermodynamics(&watched.stdout), thermodynamics(&plain.stdout));

    let profile = sound_profile(&output);
    for rank in 0..RANKS {
        // Each rank exchanges atoms with its neighbours in every step.
        let received = profile.count(rank, "posted.messages") + profile.count(rank, "unexpected.messages");
        assert!(received > 100, "rank {rank} received {received} messages: {}", profile.json());
    }
    assert_eq!(Trace::read(&output).disorder(), None);
}

#[test]
#[ignore = "slow"]
fn hpcc_passes_its_own_checks() {
    require("hpcc");
    let mpi = open_mpi();
    let directory = fresh_dir();
    fs::copy(root().join("tests/inputs/hpccinf.txt"), directory.path().join("hpccinf.txt"))
        .expect("can be copied");
    let output = directory.path().join("run");
    let run = Job::new(&mpi, RANKS, "hpcc")
        .current_dir(directory.path())
        .under_mel(["--check".as_ref(), "-o".as_ref(), output.as_os_str()])
        .run();
    run.expect(run.code == Some(0), "hpcc under MEL");
    assert_eq!(remarks_on(&output), [json!(null); 0]);

    let results = fs::read_to_string(directory.path().join("hpccoutf.txt")).expect("hpcc leaves its results");
    for line in ["Success=1", "MPIRandomAccess_Errors=0"] {
        assert!(results.lines().any(|result| result == line), "no {line} in hpccoutf.txt:\n{results}");
    }
    let failed = results.lines().filter(|line| line.contains("tests completed and failed residual checks"));
    for line in failed {
        assert!(line.trim_start().starts_with("0 tests"), "{line}");
    }
    sound_profile(&output);
}

/// An application tells the same energies in lines of this beginning, in a plain run and under MEL. In its input something is less, so that
/// it takes no time.
fn has_the_same_energies(
    command: &str,
    input: &str,
    (more, less): (&str, &str),
    arguments: &[&str],
    beginning: &str,
) {
    let mpi = open_mpi();
    require(command);
    let energies = |with_mel: bool| {
        let directory = fresh_dir();
        let text = fs::read_to_string(root().join("tests/inputs").join(input)).expect("an input");
        assert!(text.contains(more), "{input} has no {more}");
        fs::write(directory.path().join(input), text.replace(more, less)).expect("room for it");
        let output = directory.path().join("run");
        let job = Job::new(&mpi, 2, command).args(arguments).current_dir(directory.path());
        let job = job.env("OMP_NUM_THREADS", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
        let options = ["-o".as_ref(), output.as_os_str()];
        let run = if with_mel { job.under_mel(options).run() } else { job.run() };
        run.expect(run.code == Some(0), command);
        if with_mel {
            assert_eq!(Profile::read(&output).contradictions(2), [""; 0]);
        }
        let lines = run.stdout.lines().filter(|line| line.trim_start().starts_with(beginning));
        let energy = |line: &str| line.split_whitespace().rev().find_map(|word| word.parse::<f64>().ok());
        lines.filter_map(energy).collect::<Vec<f64>>()
    };
    let (plain, watched) = (energies(false), energies(true));
    assert!(!plain.is_empty() && plain.len() == watched.len(), "{plain:?}, {watched:?}");
    // Sums of several ranks are not the same to the last digit.
    for (plain, watched) in plain.iter().zip(&watched) {
        assert!((plain - watched).abs() <= 1e-6 * plain.abs(), "{plain} and {watched}");
    }
}

#[test]
#[ignore = "slow"]
fn nwchem_finds_the_same_energy() {
    let less = ("6-311++g**", "6-31g*");
    has_the_same_energies("nwchem.openmpi", "water.nw", less, &["water.nw"], "Total SCF energy");
}

#[test]
#[ignore = "slow"]
fn cp2k_finds_the_same_energies() {
    let less = ("STEPS 4", "STEPS 1");
    has_the_same_energies("cp2k.popt", "water.cp2k", less, &["water.cp2k"], "ENERGY| Total FORCE_EVAL");
}

#[test]
#[ignore = "slow"]
fn quantum_espresso_finds_the_same_energy() {
    let less = ("16 16 16", "4 4 4");
    has_the_same_energies("pw.x", "aluminium.in", less, &["-in", "aluminium.in"], "!    total energy");
}

/// The profile, whose numbers must not contradict each other. Everything that was queued has left the queues.
fn sound_profile(output: &Path) -> Profile {
    let profile = Profile::read(output);
    assert_eq!(profile.contradictions(RANKS), [""; 0], "{}", profile.json());
    for rank in 0..RANKS {
        for queue in ["posted", "unexpected"] {
            assert_eq!(profile.count(rank, &format!("{queue}.left")), 0, "rank {rank}: {queue}");
        }
    }
    profile
}
