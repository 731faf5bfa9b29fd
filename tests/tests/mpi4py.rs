//! mpi4py's own tests pass and fail under MEL, with the queue profile and a trace, as without. On every change those of
//! messages, communicators and what belongs to them; `make mpi4py-all` runs the whole suite, which takes half an hour.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mel_tests::artifacts::{fresh_dir, installed_by};
use mel_tests::verdict::remarks_on;
use mel_tests::{Job, Mpi, Output};

/// Where `scripts/mpi4py-tests` has put the suite, if it has.
fn suite(mpi: &Mpi) -> Option<PathBuf> {
    // Of these the script builds it.
    ["openmpi", "mpich"].contains(&mpi.name).then(|| installed_by("scripts/mpi4py-tests", Some(mpi.name)))?
}

/// What each process says: how each test ended, and at its end how many it ran. Sorted.
fn verdicts(outputs: &[Output]) -> Vec<String> {
    let lines = outputs.iter().flat_map(|output| output.stderr.lines().chain(output.stdout.lines()));
    let of_suite = lines.filter(|line| {
        line.contains(" ... ") || ["Ran ", "OK", "FAIL", "ERROR"].iter().any(|word| line.starts_with(word))
    });
    let mut verdicts: Vec<String> = of_suite
        .map(|line| if line.starts_with("Ran ") { line.split(" in ").next().unwrap_or(line) } else { line })
        .map(str::to_owned)
        .collect();
    verdicts.sort();
    verdicts
}

/// Runs these tests without and with MEL, and compares how they ended. Gives how many each process has run; `None`
/// where they do not end by themselves without MEL within so many seconds.
fn as_without(mpi: &Mpi, suite: &Path, ranks: u32, tests: &[&str], seconds: u32) -> Option<String> {
    let what = format!("{} on {} with {ranks} processes", tests.join(" "), mpi.name);
    let job = || {
        let job = Job::new(mpi, ranks, suite.join("bin/python"));
        let job = job.args([suite.join("test/main.py").as_os_str(), "-v".as_ref()]).args(tests);
        // Under MEL it takes longer, and the trace is written.
        job.patient().time_limit(Duration::from_secs(4 * u64::from(seconds)))
    };
    const ENDED_BY_TIMEOUT: [Option<i32>; 2] = [Some(124), Some(137)];
    let (plain, plain_outputs) =
        job().launched_by(["timeout", "--kill-after=10", &seconds.to_string()]).run_apart();
    if ENDED_BY_TIMEOUT.contains(&plain.code) {
        eprintln!("skipped: {what}: they do not end, without MEL either");
        return None;
    }
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let watched = job().under_mel(["--check".as_ref(), "-o".as_ref(), output.as_os_str()]);
    let (watched, outputs) = watched.run_apart();
    let ran = verdicts(&plain_outputs).into_iter().find(|line| line.starts_with("Ran "));
    plain.expect(ran.is_some(), &what);
    watched.expect(watched.code == plain.code, &format!("{what}: was {:?}", plain.code));
    assert_eq!(verdicts(&outputs), verdicts(&plain_outputs), "{what}");
    for file in ["profile.json", "traces.otf2"] {
        watched.expect(output.join(file).exists(), &what);
    }
    if ranks > 1 {
        // What its authors want to fail is no mistake.
        let remarks = remarks_on(&output);
        let wrong: Vec<_> = remarks.iter().filter(|remark| remark["kind"] != "truncated").collect();
        assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    }
    ran
}

/// The MPIs for which the suite is there.
fn suites() -> Vec<(Mpi, PathBuf)> {
    Mpi::all().into_iter().filter_map(|mpi| suite(&mpi).map(|suite| (mpi, suite))).collect()
}

#[test]
#[ignore = "slow"]
fn messages_and_communicators_are_as_without() {
    let modules =
        ["p2p", "comm", "request", "status", "group", "session", "util_pkl5", "cco_obj", "errhandler"];
    let tests: Vec<&str> = modules.iter().flat_map(|module| ["-i", module]).collect();
    for (mpi, suite) in suites() {
        as_without(&mpi, &suite, 2, &tests, 150);
    }
}

/// Modules that do not end with some numbers of processes, without MEL either.
const UNENDING: [(&str, &[&str]); 2] =
    [("openmpi", &["test_spawn", "test_util_sync"]), ("mpich", &["test_util_sync"])];

fn whole_suite(name: &str, ranks: u32) {
    let Some((mpi, suite)) = suites().into_iter().find(|(mpi, _)| mpi.name == name) else { return };
    let alone = UNENDING.iter().find(|(mpi, _)| *mpi == name).map_or(&[][..], |(_, alone)| alone);
    let others: Vec<&str> = alone.iter().flat_map(|module| ["-e", module]).collect();
    let ran = as_without(&mpi, &suite, ranks, &others, 1500).expect("all others end");
    eprintln!("{name}, {ranks} processes, without {}: {ran}", alone.join(" and "));
    for module in alone {
        if let Some(ran) = as_without(&mpi, &suite, ranks, &["-i", module], 150) {
            eprintln!("{name}, {ranks} processes, {module}: {ran}");
        }
    }
}

macro_rules! whole_suites {
    ($($test:ident: $mpi:literal $ranks:literal)*) => {
        $(
            #[test]
            #[ignore = "takes minutes: make mpi4py-all"]
            fn $test() {
                whole_suite($mpi, $ranks);
            }
        )*
    };
}

whole_suites! {
    whole_suite_openmpi_1: "openmpi" 1
    whole_suite_openmpi_2: "openmpi" 2
    whole_suite_openmpi_4: "openmpi" 4
    whole_suite_mpich_1: "mpich" 1
    whole_suite_mpich_2: "mpich" 2
    whole_suite_mpich_4: "mpich" 4
}
