//! What a call costs does not depend on what was before: instructions of MEL's own, counted by callgrind, of the 100th and of the 10 000th
//! making and freeing of each kind of thing (`programs/special/making.c`).

use std::collections::BTreeMap;
use std::path::Path;

use mel_tests::artifacts::fresh_dir;
use mel_tests::instructions::in_dumps;
use mel_tests::{Job, Mpi, compile_special};

/// The library of which the instructions are counted.
const OURS: &str = "/libmel.so";
/// Fewer instructions of ten makings do not matter: two hundred each.
const LITTLE: u64 = 2000;

/// Instructions of ten makings of these kinds, early and late.
fn measure(mpi: &Mpi, options: &[&str], kinds: &[&str], scratch: &Path) -> BTreeMap<String, [u64; 2]> {
    let executable = compile_special(mpi, "making");
    let output = scratch.join("run").display().to_string();
    let options = options.iter().copied().chain(["-o", &output]);
    let dumps = format!("--callgrind-out-file={}", scratch.join("dump").display());
    let valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", &dumps];
    // A sample that comes meanwhile costs as much as hundreds of calls.
    let run = Job::new(mpi, 1, "valgrind")
        .env("MEL_SAMPLE", "0")
        // The C library joins freed pieces of memory when it comes to that, thousands at once, for a call that happens to free one.
        .env("GLIBC_TUNABLES", "glibc.malloc.mxfast=0")
        .under_mel(options)
        .args(&valgrind[1..])
        .args([executable.as_os_str(), scratch.as_os_str()])
        .args(kinds)
        .run();
    run.expect(run.code == Some(0) && run.stdout.ends_with("OK\n"), mpi.name);
    let mut found = BTreeMap::<String, [u64; 2]>::new();
    for (trigger, sum) in in_dumps(scratch, OURS) {
        let (kind, which) = trigger.rsplit_once(' ').unwrap_or_default();
        if !kind.is_empty() {
            found.entry(kind.to_owned()).or_default()[usize::from(which == "10000")] = sum;
        }
    }
    // An MPI may have been built without files.
    run.expect(run.stdout == format!("{} kinds\nOK\n", found.len()), mpi.name);
    let missing = kinds.iter().find(|kind| !found.contains_key(**kind) && **kind != "file");
    run.expect(missing.is_none(), &format!("{}: {missing:?} was not measured", mpi.name));
    found
}

/// The kinds of which the profile numbers each thing: a run has one, for there are fewer numbers than two kinds need.
const NUMBERED: [&[&str]; 5] = [&["communicator"], &["part"], &["grid"], &["graph"], &["window"]];
const OTHERS: &[&str] = &["datatype", "request", "receive", "file", "phase", "call site", "new code"];

#[track_caller]
fn costs_are_level(mpi: &Mpi, options: &[&str], kinds: &[&str]) {
    let scratch = fresh_dir();
    let found = measure(mpi, options, kinds, scratch.path());
    println!("{} {options:?}: {found:?}", mpi.name);
    for (kind, [early, late]) in &found {
        assert!(*early > 0, "{} {options:?}: {kind}: nothing was counted", mpi.name);
        let most = early + early / 4;
        assert!(*late <= most.max(LITTLE), "{} {options:?}: {kind}: {early} and {late}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn making_the_10000th_costs_what_the_100th_does() {
    for mpi in &Mpi::all() {
        for kinds in NUMBERED.into_iter().chain([OTHERS]) {
            costs_are_level(mpi, &[], kinds);
        }
    }
}

#[test]
#[ignore = "slow"]
fn so_it_does_where_all_is_measured() {
    let everything =
        ["--profile", "calls,queues,rma,matrix", "--attribute", "mel_*", "-e", "pml_ob1_unex_insert"];
    for mpi in &Mpi::all() {
        for options in [&["--trace"][..], &everything] {
            for kinds in [&["communicator"][..], &["window"], OTHERS] {
                costs_are_level(mpi, options, kinds);
            }
        }
    }
}
