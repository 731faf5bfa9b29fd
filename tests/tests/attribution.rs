//! Performance variables by MPI function, call site and region: what all places have together is what the variable has grown by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::browser::Browser;
use mel_tests::docs::is_shown;
use mel_tests::fortran::{Interface, compile_fortran, interfaces};
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

use super::pages_in_a_browser::{OVERLAPS, page_in, picture, texts};

fn run(mpi: &Mpi, program: &Path, options: &[&str], args: &[&str], directory: &Path) -> (Finished, Profile) {
    let output = directory.to_str().expect("a name");
    let job = Job::new(mpi, 2, program).args(args);
    let run = job.under_mel(options.iter().copied().chain(["-o", output])).run();
    run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
    (run, Profile::read(directory))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn variables(profile: &Profile, rank: usize) -> impl Iterator<Item = &Value> {
    list(&profile.json()["ranks"][rank]["attributed"])
}

fn variable<'a>(profile: &'a Profile, rank: usize, name: &str) -> &'a Value {
    variables(profile, rank).find(|of| of["name"] == name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn amount(share: &Value) -> f64 {
    share["amount"].as_f64().unwrap_or(0.0)
}

/// What a variable has grown by, by a key of its shares.
fn by(of: &Value, key: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for share in list(&of["shares"]) {
        *sums.entry(share[key].as_str().unwrap_or_default().to_owned()).or_default() += amount(share);
    }
    sums.retain(|_, sum: &mut f64| *sum != 0.0);
    sums
}

fn expected<const N: usize>(of: [(&str, f64); N]) -> BTreeMap<String, f64> {
    of.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

/// All places together have what the variable has grown by: exactly, in the parts that it is counted in.
#[track_caller]
fn sums_are_exact(profile: &Profile, what: &str) {
    for rank in 0..2 {
        for of in variables(profile, rank) {
            let Some(grown) = of["grown"].as_f64() else { continue };
            let sum: f64 = list(&of["shares"]).map(amount).sum();
            let (first, last) = (of["first"].as_f64().unwrap(), of["last"].as_f64().unwrap());
            // Times are whole numbers of ticks, which are no whole numbers of nanoseconds.
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            assert!(near(sum, grown), "{what}: {}: {sum} is not {grown}: {of}", of["name"]);
            assert!(near(grown, last - first), "{what}: {}: {first} {last} {grown}", of["name"]);
            assert_eq!(of["every"], 1, "{what}: {of}");
        }
    }
}

const SENT: &str = "mel_messages_sent";

#[test]
fn one_line_sends_and_all_of_it_is_that_lines() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let program = compile_special(mpi, "attributed");
        let (run, profile) = run(mpi, &program, &["--attribute", "mel_*"], &[], &output);
        sums_are_exact(&profile, mpi.name);
        let line: u64 = run.stdout.lines().find_map(|line| line.strip_prefix("line ")?.parse().ok()).unwrap();
        for (name, sum) in [(SENT, 20.0), ("mel_bytes_sent", 2000.0)] {
            let of = variable(&profile, 0, name);
            assert_eq!(by(of, "function"), expected([("MPI_Send", sum)]), "{}", mpi.name);
            assert_eq!(by(of, "region"), expected([("main/send", sum)]), "{}", mpi.name);
            let [share] = &list(&of["shares"]).collect::<Vec<_>>()[..] else { panic!("{of}") };
            assert_eq!((share["times"].as_u64(), share["changes"].as_u64()), (Some(20), Some(20)), "{share}");
            let site = &profile.json()["sites"][share["site"].as_u64().unwrap_or(0) as usize];
            if cfg!(target_arch = "x86_64") {
                assert_eq!(site["line"].as_u64(), Some(line), "{}: {site}", mpi.name);
            }
            assert!(list(&variable(&profile, 1, name)["shares"]).next().is_none(), "rank 1 sends nothing");
        }
        // One search for each receive, and one for each message.
        for name in ["mel_unexpected_searches", "mel_posted_searches"] {
            let of = variable(&profile, 1, name);
            assert_eq!(of["grown"].as_f64(), Some(20.0), "{}: {of}", mpi.name);
            let receives = by(of, "function");
            assert!(receives.keys().all(|name| matches!(&**name, "MPI_Recv" | "MPI_Barrier")), "{of}");
        }
        let of = variable(&profile, 1, "mel_unexpected_searches");
        assert_eq!(by(of, "region"), expected([("main/send", 20.0)]), "{}: {of}", mpi.name);
        // What the program itself has read of the same variables.
        for text in run.stdout.lines().filter_map(|line| line.strip_prefix("variable ")) {
            let parts: Vec<&str> = text.split(' ').collect();
            let [rank, name, first, last] = parts[..] else { panic!("{text}") };
            let of = variable(&profile, rank.parse().unwrap(), name);
            let (first, last): (f64, f64) = (first.parse().unwrap(), last.parse().unwrap());
            let found = match of["grown"].as_f64() {
                Some(grown) => grown - (last - first),
                None => of["last"].as_f64().unwrap() - last,
            };
            // Times are rounded.
            assert!(found.abs() <= 1.0, "{}: {text}: {of}", mpi.name);
            if !name.ends_with("_time") {
                assert_eq!(found, 0.0, "{}: {text}: {of}", mpi.name);
            }
        }
        for text in [&run.stderr, &report(&output, &[])] {
            let parts =
                ["performance variables by MPI function", "variables by region", "variables by call site"];
            run.expect(parts.iter().all(|part| text.contains(part)), mpi.name);
            assert!(text.contains("main/send") && text.contains("observed: "), "{text}");
        }
        let csv = report(&output, &["--csv"]);
        assert!(csv.contains(",attribution,mel_messages_sent,"), "{csv}");
    }
}

fn report(directory: &Path, options: &[&str]) -> String {
    let output = Command::new(mel()).arg("report").args(options).arg(directory).output().expect("mel starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_variable_by_mpi_function() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let program = compile_special(mpi, "attributed");
        let options = ["--attribute", "mel_*_searches,mel_messages_sent"];
        let output = directory.path().join("run");
        let (_, profile) = run(mpi, &program, &options, &["figure"], &output);
        sums_are_exact(&profile, mpi.name);
        is_shown("docs/variables.md", "performance variables by MPI function", &report(&output, &[]));
        for rank in 0..2 {
            let sent = by(variable(&profile, rank, SENT), "function");
            assert_eq!(sent, expected([("MPI_Isend", 300.0)]), "{}", mpi.name);
            let searches = variable(&profile, rank, "mel_unexpected_searches");
            assert_eq!(by(searches, "function"), expected([("MPI_Irecv", 300.0)]), "{}", mpi.name);
            let searches = variable(&profile, rank, "mel_posted_searches");
            assert_eq!(searches["grown"].as_f64(), Some(300.0), "{}", mpi.name);
            let waits = list(&searches["shares"]).filter(|share| share["function"] == "MPI_Wait");
            let (times, changes) = waits.fold((0, 0), |(times, changes), share| {
                (times + share["times"].as_u64().unwrap(), changes + share["changes"].as_u64().unwrap())
            });
            assert!(times <= 600 && changes <= 300, "{}: {searches}", mpi.name);
        }
    }
}

#[test]
fn regions_lie_in_each_other_and_ends_that_do_not_fit_are_counted() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let program = compile_special(mpi, "attributed");
        let (run, profile) =
            run(mpi, &program, &["--attribute", SENT], &["nested"], &directory.path().join("run"));
        let regions = by(variable(&profile, 0, SENT), "region");
        assert_eq!(regions, expected([("a/b/c", 20.0), ("d", 20.0), ("", 20.0)]), "{}", mpi.name);
        sums_are_exact(&profile, mpi.name);
        assert_eq!(profile.json()["ranks"][0]["mismatched_regions"], 2, "{}", mpi.name);
        let told = run.stderr.matches("a region was ended that was not the last one begun").count();
        run.expect(told == 1, "once, by the first rank");
    }
}

#[test]
fn levels_of_mpi_pcontrol_are_places_too() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let program = compile_special(mpi, "attributed");
        let (run, profile) =
            run(mpi, &program, &["--attribute", SENT], &["levels"], &directory.path().join("run"));
        sums_are_exact(&profile, mpi.name);
        let phase = |share: &Value| {
            let place = share["phase"].as_u64().unwrap_or(0) as usize;
            let name = profile.json()["phases"][place].as_str().unwrap_or_default().to_owned();
            (name, share["region"].as_str().unwrap_or_default().to_owned(), amount(share))
        };
        let mut found: Vec<_> = list(&variable(&profile, 0, SENT)["shares"]).map(phase).collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let expected = [("3".into(), String::new(), 20.0), ("4".into(), "in four".into(), 20.0)];
        assert_eq!(found, expected, "{}", mpi.name);
        run.expect(run.stderr.contains("4: in four"), mpi.name);
    }
}

#[test]
fn what_threads_do_adds_up() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let program = compile_special(mpi, "attributed_threads");
        let (run, profile) =
            run(mpi, &program, &["--attribute", "mel_*"], &[], &directory.path().join("run"));
        if run.stdout.contains("no threads") {
            continue;
        }
        sums_are_exact(&profile, mpi.name);
        let sent = variable(&profile, 0, SENT);
        assert_eq!(sent["grown"].as_f64(), Some(400.0), "{}: {sent}", mpi.name);
        let regions: Vec<String> = by(sent, "region").into_keys().collect();
        assert!(regions.contains(&"thread 0".into()) && regions.contains(&"thread 1".into()), "{regions:?}");
    }
}

#[test]
fn some_calls_only_are_read_where_the_budget_is_small_and_that_is_told() {
    const OPERATIONS: &str = "coll_monitoring_a2a_count";
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let program = compile_special(mpi, "attributed");
        let chosen = ["--attribute", "coll_monitoring_*"];
        let every_call = [&chosen[..], &["--attribute-budget", "none"]].concat();
        let (_, whole) = run(mpi, &program, &every_call, &["figure"], &directory.path().join("whole"));
        sums_are_exact(&whole, mpi.name);
        let reductions = by(variable(&whole, 0, OPERATIONS), "function");
        assert_eq!(reductions.get("MPI_Allreduce"), Some(&30.0), "{}: {reductions:?}", mpi.name);
        let little = [&chosen[..], &["--attribute-budget", "0.01%"]].concat();
        let (run, part) = run(mpi, &program, &little, &["figure"], &directory.path().join("part"));
        let of = variable(&part, 0, OPERATIONS);
        assert!(of["every"].as_u64() > Some(1), "{}: {of}", mpi.name);
        // The total is that of the program, and the shares are of it.
        assert_eq!(of["grown"], variable(&whole, 0, OPERATIONS)["grown"], "{}", mpi.name);
        let sum: f64 = list(&of["shares"]).map(amount).sum();
        let grown = of["grown"].as_f64().unwrap();
        assert!((sum - grown).abs() < 1e-6 * grown, "{}: {of}", mpi.name);
        run.expect(run.stderr.contains("one in up to"), "estimates are called so");
    }
}

#[test]
fn a_mpis_own_variables_are_read_in_every_call_where_nothing_limits_it() {
    for mpi in Mpi::with_events().iter().chain(&Mpi::all()) {
        let directory = fresh_dir();
        let program = compile_special(mpi, "attributed");
        let options = ["--attribute", "all", "--attribute-budget", "none"];
        let (_, profile) = run(mpi, &program, &options, &["plain"], &directory.path().join("run"));
        sums_are_exact(&profile, mpi.name);
        if mpi.name.contains("events") {
            let own =
                variables(&profile, 0).filter(|of| of["of_mpi"] == true && of["grown"].as_f64() > Some(0.0));
            assert!(own.count() > 0, "{}", mpi.name);
        }
        // Those that do something are listed, and no more.
        let flush = variable(&profile, 0, "pml_monitoring_flush");
        assert!(flush["every"] == 0 && flush["shares"].is_null(), "{flush}");
    }
}

#[test]
fn a_program_in_fortran_names_its_regions() {
    for mpi in &Mpi::all() {
        for interface in interfaces(mpi) {
            let program = compile_fortran(mpi, "regions", interface);
            let plain = Job::new(mpi, 2, &program).run();
            plain.expect(plain.code == Some(0) && plain.stdout.contains("OK"), mpi.name);
            let directory = fresh_dir();
            let (_, profile) = run(mpi, &program, &["--attribute", SENT], &[], &directory.path().join("run"));
            let regions = by(variable(&profile, 0, SENT), "region");
            assert_eq!(
                regions,
                expected([("outer", 2.0), ("outer/inner", 3.0)]),
                "{} {interface:?}",
                mpi.name
            );
            if interface == Interface::Mpi {
                sums_are_exact(&profile, mpi.name);
            }
        }
    }
}

/// A library with Caliper's functions, which write what they are called with.
fn mock_of_caliper(directory: &Path) -> PathBuf {
    let source = directory.join("caliper.c");
    let text = "#include <stdio.h>\n\
                void cali_begin_region(const char *name) { printf(\"caliper begins %s\\n\", name); }\n\
                void cali_end_region(const char *name) { printf(\"caliper ends %s\\n\", name); }\n";
    std::fs::write(&source, text).expect("a temporary file");
    let library = directory.join("libcaliper-mock.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compiler.status().expect("there is a compiler").success());
    library
}

#[test]
fn regions_of_calipers_names_are_seen_and_caliper_sees_them() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let program = compile_special(mpi, "caliper");
        let plain = Job::new(mpi, 2, &program).run();
        plain.expect(plain.code == Some(0) && plain.stderr.is_empty(), mpi.name);
        let options = ["--attribute", SENT];
        // Without Caliper.
        let (run_alone, alone) = run(mpi, &program, &options, &[], &directory.path().join("alone"));
        let regions = by(variable(&alone, 0, SENT), "region");
        assert_eq!(regions, expected([("exchange", 3.0)]), "{}", mpi.name);
        run_alone.expect(!run_alone.stdout.contains("caliper"), mpi.name);
        // With it, with and without attribution.
        let library = mock_of_caliper(directory.path());
        let linked = directory.path().join("linked");
        let mut compiler = mpi.mpicc();
        compiler.arg("-o").arg(&linked).arg(root().join("tests/programs/special/caliper.c"));
        compiler.arg("-Wl,--no-as-needed").arg(&library);
        compiler.arg(format!("-Wl,-rpath,{}", directory.path().display()));
        assert!(compiler.status().expect("there is a compiler").success());
        for options in [&options[..], &[]] {
            let output = directory.path().join(format!("with-{}", options.len()));
            let output = output.to_str().expect("a name");
            let job = Job::new(mpi, 2, &linked);
            let run = job.under_mel(options.iter().copied().chain(["-o", output])).run();
            run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
            run.expect(run.stdout.matches("caliper begins exchange").count() == 6, mpi.name);
            run.expect(run.stdout.matches("caliper ends exchange").count() == 6, mpi.name);
            let attributed = Profile::read(Path::new(output)).json()["ranks"][0]["attributed"].clone();
            assert_eq!(attributed.is_null(), options.is_empty(), "{}", mpi.name);
        }
    }
}

#[test]
fn a_kill_loses_nothing() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let name = output.to_str().expect("a name");
        let program = compile_special(mpi, "endless");
        let running = Job::new(mpi, 2, &program).under_mel(["--attribute", "mel_*", "-o", name]).start();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let sent = || {
            let json: Value = serde_json::from_str(&report(&output, &["--json"])).ok()?;
            let of = list(&json["ranks"][0]["attributed"]).find(|of| of["name"] == SENT)?.clone();
            (of["grown"].as_f64() >= Some(3.0)).then_some(of)
        };
        while !(output.join("rank-0.table").exists() && sent().is_some()) {
            assert!(std::time::Instant::now() < deadline, "{}: nothing in a minute", mpi.name);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        for rank in 0..2 {
            // The fifth number of a table is the process.
            let table = std::fs::read(output.join(format!("rank-{rank}.table"))).expect("it has begun");
            let pid = u64::from_ne_bytes(table[32..40].try_into().expect("8 bytes"));
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
        running.wait();
        let of = sent().expect("it is there");
        let sum: f64 = list(&of["shares"]).map(amount).sum();
        assert_eq!(Some(sum), of["grown"].as_f64(), "{}: {of}", mpi.name);
        assert_eq!(by(&of, "function").len(), 1, "{}: {of}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn the_page_has_a_table_of_functions_regions_and_call_sites() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    run(mpi, &compile_special(mpi, "attributed"), &["--attribute", "mel_*"], &[], &output);
    browser.open(&page_in(&output));
    let text = texts(&mut browser, "#attribution");
    for part in [
        "By MPI function",
        "By region",
        "By call site",
        "mel_messages_sent",
        "main/send",
        "100.0 %",
        "observed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    browser.value("document.querySelector('#attribution').scrollIntoView()");
    picture(&mut browser, "attribution.png");
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}
