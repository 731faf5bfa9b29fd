//! Many ranks: what they have counted is collected along a tree. Up to a limit the profile has each of them; beyond, sums, which name the
//! same cause.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::browser::Browser;
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

use crate::pages_in_a_browser::{OVERLAPS, page_in, texts};

/// The rank that is late.
const LATE: u64 = 5;

fn run(mpi: &Mpi, ranks: u32, directory: &Path, exact: u32, options: &[&str]) -> Finished {
    let output = directory.to_str().expect("UTF-8");
    let options: Vec<&str> = options.iter().copied().chain(["-o", output]).collect();
    let job = Job::new(mpi, ranks, compile_special(mpi, "late_among_many")).patient();
    let job = job.env("MEL_EXACT_RANKS", exact.to_string()).time_limit(Duration::from_secs(600));
    let run = job.under_mel(options).run();
    run.expect(run.code == Some(0) && run.stdout.ends_with("OK\n"), &format!("{}: {ranks} ranks", mpi.name));
    run
}

fn report(directory: &Path, options: &[&str]) -> String {
    let output = Command::new(mel()).arg("report").arg(directory).args(options).output();
    let output = output.expect("mel can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn profile(directory: &Path) -> Value {
    serde_json::from_str(&report(directory, &["--json", "--estimated"])).expect("JSON")
}

/// The causing rank of the first finding.
fn cause(profile: &Value) -> Option<u64> {
    profile["verdict"][0]["cause_rank"].as_u64()
}

/// What processors count is in the sums: made up, as not each machine has counters.
#[test]
#[ignore = "slow"]
fn beyond_the_limit_processors_are_counted_too() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let job = Job::new(mpi, 6, compile_special(mpi, "late_among_many")).patient();
    let job = job.env("MEL_EXACT_RANKS", "5").env("MEL_FAKE_COUNTERS", "instructions=2e9;cycles=1e9");
    let run = job.under_mel(["--sample", "-o", output.to_str().expect("UTF-8")]).run();
    run.expect(run.code == Some(0), mpi.name);
    let profile = profile(&output);
    let over = profile["reduced"]["over_ranks"].as_array().expect("sums");
    let pace = over.iter().find(|of| of["group"] == "counters" && of["name"] == "instructions per cycle");
    let pace = pace.unwrap_or_else(|| panic!("no pace: {over:?}"));
    assert_eq!(pace["ranks"], 6, "{pace}");
    let mean = pace["sum"].as_f64().expect("a sum") / 6.0;
    assert!((mean - 2.0).abs() < 0.1, "{pace}");
    assert!(report(&output, &[]).contains("instructions per cycle"));
}

#[test]
#[ignore = "slow"]
fn beyond_the_limit_there_are_sums_and_the_same_cause() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let [exact, sums] = ["exact", "sums"].map(|name| directory.path().join(name));
        run(mpi, 8, &exact, 8, &[]);
        let said = run(mpi, 8, &sums, 7, &[]);
        said.expect(said.stderr.contains("shown in sums"), "it is said that these are sums");
        let mut left: Vec<_> = std::fs::read_dir(&sums)
            .expect("a directory")
            .map(|e| e.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["profile.json", "ranks.table"]);

        let [exact, reduced] = [&exact, &sums].map(|directory| profile(directory));
        assert_eq!(exact["ranks"].as_array().map(Vec::len), Some(8));
        assert_eq!([cause(&exact), cause(&reduced)], [Some(LATE); 2], "{}: {reduced}", mpi.name);
        assert_eq!(reduced["ranks"].as_array().map(Vec::len), Some(0));
        let of_sums = reduced;
        let reduced = &of_sums["reduced"];
        assert_eq!((reduced["ranks"].as_u64(), reduced["hosts"].as_u64()), (Some(8), Some(1)));
        // Counts are the same, for the program is.
        let calls = |function: &str| -> u64 {
            let all = exact["ranks"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|rank| rank["calls"].as_array().cloned().unwrap_or_default());
            all.filter(|call| call["function"] == function).filter_map(|call| call["calls"].as_u64()).sum()
        };
        let sum = |function: &str| -> u64 {
            let all =
                reduced["calls"].as_array().into_iter().flatten().filter(|call| call["function"] == function);
            all.filter_map(|call| call["calls"].as_u64()).sum()
        };
        for function in ["MPI_Recv", "MPI_Isend", "MPI_Allreduce", "MPI_Barrier"] {
            assert_eq!(calls(function), sum(function), "{function}");
            assert!(sum(function) >= 8);
        }
        assert_eq!(reduced["truth"]["matched"], 80);

        // A finding for each: the messages of the next rank, and the sum of all.
        let rules = |profile: &Value| -> Vec<String> {
            let of_late = |finding: &&Value| finding["cause_rank"] == LATE;
            let all = profile["verdict"].as_array().into_iter().flatten();
            let lost = |finding: &Value| finding["lost_s"].as_f64().unwrap_or(0.0);
            let most = all.clone().map(lost).fold(0.0, f64::max);
            // What is small beside the rest may be just above the threshold in one of the two runs.
            let all = all.filter(of_late).filter(|finding| lost(finding) >= 0.1 * most);
            // When ranks come to a barrier is up to a machine with fewer processors, and was not planted.
            let all = all.filter(|finding| finding["rule"] != "wait_at_barrier");
            let mut rules: Vec<String> = all.map(|finding| finding["rule"].to_string()).collect();
            rules.sort();
            rules.dedup();
            rules
        };
        assert_eq!(rules(&exact), rules(&of_sums), "{}: {of_sums}", mpi.name);

        let text = report(&sums, &[]);
        assert!(text.contains("8 ranks on ") && text.contains("time of a rank"), "{text}");
        let csv = report(&sums, &["--csv"]);
        assert!((0..8).all(|rank| csv.lines().any(|line| line.starts_with(&format!("{rank},")))), "{csv}");
    }
}

/// All that a user does with a run of so many ranks.
fn everything_works(mpi: &Mpi, ranks: u32) {
    let directory = fresh_dir();
    let [plain, traced, sums] = ["plain", "traced", "sums"].map(|name| directory.path().join(name));
    run(mpi, ranks, &plain, ranks, &[]);
    let seen = profile(&plain);
    assert_eq!(seen["ranks"].as_array().map(Vec::len), Some(ranks as usize));
    assert_eq!(cause(&seen), Some(LATE), "{}: {}", mpi.name, seen["verdict"]);
    run(mpi, ranks, &sums, ranks - 1, &[]);
    let seen = profile(&sums);
    assert_eq!(cause(&seen), Some(LATE), "{}: {}", mpi.name, seen["verdict"]);
    assert_eq!(seen["reduced"]["ranks"].as_u64(), Some(ranks.into()));
    run(mpi, ranks, &traced, ranks, &["--trace"]);
    let exact: Value = serde_json::from_str(&report(&traced, &["--json"])).expect("JSON");
    assert_eq!(exact["verdict"][0]["cause_rank"].as_u64(), Some(LATE), "{}", exact["verdict"]);
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    for run in [&plain, &traced, &sums] {
        browser.open(&page_in(run));
        assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()), "{}", run.display());
        let verdict = texts(&mut browser, "#verdict");
        assert!(verdict.contains(&format!("rank {LATE}")), "{verdict}");
    }
    // The last page is that of sums.
    let ask = format!(
        "(() => {{ const s = document.querySelector('#over-rank'); s.value = '{LATE}'; \
         s.dispatchEvent(new Event('input', {{bubbles: true}})); return document.querySelector('#over-found').innerText; }})()"
    );
    let found = browser.value(&ask);
    assert!(found.as_str().is_some_and(|found| found.contains("others wait for it")), "{found}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn sixty_four_ranks_of_open_mpi() {
    Mpi::all().iter().filter(|mpi| mpi.name == "openmpi").for_each(|mpi| everything_works(mpi, 64));
}

#[test]
#[ignore = "slow"]
fn sixty_four_ranks_of_mpich() {
    Mpi::all().iter().filter(|mpi| mpi.name == "mpich").for_each(|mpi| everything_works(mpi, 64));
}
