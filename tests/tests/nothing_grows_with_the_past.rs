//! What a call costs does not depend on what was before: instructions of MEL's own, counted by callgrind, of the 100th and of the 10 000th
//! making and freeing of each kind of thing (`programs/special/making.c`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mel_tests::artifacts::fresh_dir;
use mel_tests::{Job, Mpi, compile_special};

/// The library of which the instructions are counted.
const OURS: &str = "/libmel.so";
/// Where its calls are counted in full: the C library, and what finds the thread's variables.
const HELPERS: [&str; 3] = ["/libc.so", "/ld-linux", "/libm.so"];
/// Fewer instructions of ten makings do not matter: two hundred each.
const LITTLE: u64 = 2000;

/// MEL's instructions in a dump of callgrind: those in its library, and those of the C library that it calls; none of MPI, neither those
/// of the program's calls nor those of MEL's. And what the dump is called.
fn counted(dump: &str) -> (String, u64) {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut trigger = String::new();
    let (mut object, mut callee, mut of_call) = ("", None, false);
    let mut sum = 0;
    // `(7) name` the first time, `(7)` from then on.
    let mut named = |text| {
        let (number, name): (&str, &str) = str::split_once(text, ' ').unwrap_or((text, ""));
        *names
            .entry(number)
            .and_modify(|known| *known = if name.is_empty() { known } else { name })
            .or_insert(name)
    };
    for line in dump.lines() {
        if let Some(text) = line.strip_prefix("desc: Trigger: Client Request: ") {
            trigger = text.to_owned();
        } else if let Some(text) = line.strip_prefix("ob=") {
            object = named(text);
        } else if let Some(text) = line.strip_prefix("cob=") {
            callee = Some(named(text));
        } else if line.starts_with("calls=") {
            of_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost: u64 = line.split_whitespace().nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0);
            let callee = callee.take();
            // The cost of a call is that of all that the callee does.
            let counts = match std::mem::take(&mut of_call) {
                false => true,
                true => callee.is_some_and(|callee| HELPERS.iter().any(|helper| callee.contains(helper))),
            };
            if object.ends_with(OURS) && counts {
                sum += cost;
            }
        }
    }
    (trigger, sum)
}

/// Instructions of ten makings of these kinds, early and late.
fn measure(mpi: &Mpi, options: &[&str], kinds: &[&str], scratch: &Path) -> BTreeMap<String, [u64; 2]> {
    let executable = compile_special(mpi, "making");
    let output = scratch.join("run").display().to_string();
    let options = options.iter().copied().chain(["-o", &output]);
    let dumps = format!("--callgrind-out-file={}", scratch.join("dump").display());
    let valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", &dumps];
    let run = Job::new(mpi, 1, "valgrind")
        .under_mel(options)
        .args(&valgrind[1..])
        .args([executable.as_os_str(), scratch.as_os_str()])
        .args(kinds)
        .run();
    run.expect(run.code == Some(0) && run.stdout.ends_with("OK\n"), mpi.name);
    let mut found = BTreeMap::<String, [u64; 2]>::new();
    for entry in fs::read_dir(scratch).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("dump.")) {
            let (trigger, sum) = counted(&fs::read_to_string(&path).expect("a dump is text"));
            let (kind, which) = trigger.rsplit_once(' ').unwrap_or_default();
            if !kind.is_empty() {
                found.entry(kind.to_owned()).or_default()[usize::from(which == "10000")] = sum;
            }
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
