//! A program names its phases, and each has its own numbers; what is stopped or reset is in none.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::fortran::{Interface, compile_fortran, interfaces};
use mel_tests::profile::Profile;
use mel_tests::verdict::{Basis, Case};
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

fn run(mpi: &Mpi, program: &Path, mode: &str, directory: &Path) -> (Finished, Profile) {
    let job = Job::new(mpi, 2, program).args([mode]);
    let run = job.under_mel(["-o".as_ref(), directory.as_os_str()]).run();
    run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
    (run, Profile::read(directory))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The phases of a rank that were there while it was measured: one that was named only before MPI was initialised has no queues.
fn phases(rank: &Value) -> impl Iterator<Item = &Value> {
    list(&rank["phases"]).filter(|phase| phase["run_s"].as_f64().is_some_and(|run_s| run_s > 0.0))
}

/// How many calls of the function a rank made, by the name of the phase.
fn calls(profile: &Profile, rank: usize, function: &str) -> BTreeMap<String, u64> {
    let json = profile.json();
    let mut calls = BTreeMap::new();
    for call in list(&json["ranks"][rank]["calls"]).filter(|call| call["function"] == function) {
        let phase = call["phase"].as_u64().unwrap_or(0) as usize;
        let name = json["phases"][phase].as_str().unwrap_or_default();
        *calls.entry(name.to_owned()).or_default() += call["calls"].as_u64().unwrap_or(0);
    }
    calls.retain(|_, calls| *calls > 0);
    calls
}

/// A number of the queues of a rank, by the name of the phase.
fn queues(profile: &Profile, rank: usize, [part, number]: [&str; 2]) -> BTreeMap<String, u64> {
    let json = profile.json();
    let phases = phases(&json["ranks"][rank]).map(|phase| {
        let name = json["phases"][phase["phase"].as_u64().expect("a phase") as usize].as_str();
        let value = phase["queues"][part][number].as_u64().expect("queues are counted by phase");
        (name.unwrap_or_default().to_owned(), value)
    });
    phases.filter(|(_, value)| *value > 0).collect()
}

fn expected<const N: usize>(of: [(&str, u64); N]) -> BTreeMap<String, u64> {
    of.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

/// Numbers by phase add up to those of the run, as far as they are counts, to the last one; times to a billionth.
#[track_caller]
fn sums_are_whole(profile: &Profile, what: &str) {
    for rank in list(&profile.json()["ranks"]) {
        for part in ["posted", "unexpected", "posted_search", "unexpected_search"] {
            for (number, value) in rank[part].as_object().into_iter().flatten() {
                if !matches!(&**number, "messages" | "searches" | "left" | "total_s" | "populated_s") {
                    continue;
                }
                let of_phases = phases(rank).map(|phase| phase["queues"][part][number].as_f64());
                let sum: f64 = of_phases.map(Option::unwrap).sum();
                let whole = value.as_f64().unwrap();
                assert!(
                    (sum - whole).abs() <= 1e-9 * whole.max(1.0),
                    "{what}: {part} {number}: {sum}, {whole}"
                );
            }
        }
        let sum: f64 = list(&rank["phases"]).map(|phase| phase["run_s"].as_f64().unwrap()).sum();
        let run_s = rank["run_s"].as_f64().unwrap();
        assert!((sum - run_s).abs() < 1e-6, "{what}: {sum} s, {run_s} s");
    }
}

fn report(directory: &Path, options: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(mel()).arg("report").args(options).arg(directory).output().expect("mel starts");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.code(), text.concat())
}

#[test]
fn each_phase_has_its_calls_and_queues() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let program = compile_special(mpi, "named_phases");
        let (run, profile) = run(mpi, &program, "phases", &output);
        let sends = expected([("", 4), ("first", 15), ("second", 20)]);
        assert_eq!(calls(&profile, 0, "MPI_Send"), sends, "{}", mpi.name);
        assert_eq!(calls(&profile, 1, "MPI_Recv"), sends, "{}", mpi.name);
        assert_eq!(calls(&profile, 0, "MPI_Ssend"), expected([("second", 1)]), "{}", mpi.name);
        assert_eq!(calls(&profile, 1, "MPI_Irecv"), expected([("first", 1)]), "{}", mpi.name);
        // One for each receive that is posted; one for each message that comes.
        let searches = queues(&profile, 1, ["unexpected_search", "searches"]);
        assert_eq!(searches, expected([("", 4), ("first", 16), ("second", 20)]), "{}", mpi.name);
        let searches = queues(&profile, 1, ["posted_search", "searches"]);
        assert_eq!(searches, expected([("", 4), ("first", 15), ("second", 21)]), "{}", mpi.name);
        sums_are_whole(&profile, mpi.name);
        assert_eq!(profile.contradictions(2), [""; 0], "{}", mpi.name);
        let (code, text) = report(&output, &[]);
        for text in [&run.stderr, &text] {
            assert!(text.contains(" phases: ") && text.contains("(no phase)"), "{}: {text}", mpi.name);
        }
        let (_, first) = report(&output, &["--phase", "first"]);
        assert!(code == Some(0) && first.contains("MPI_Irecv") && !first.contains("MPI_Ssend"), "{first}");
        let (code, error) = report(&output, &["--phase", "third"]);
        assert!(
            code != Some(0) && error.contains("there is no phase third; there are (no phase), "),
            "{error}"
        );
        let (_, csv) = report(&output, &["--csv"]);
        assert!(csv.lines().next().is_some_and(|names| names.ends_with(",phase")), "{csv}");
    }
}

#[test]
fn what_was_counted_before_a_reset_is_zero() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let (_, profile) = run(mpi, &compile_special(mpi, "named_phases"), "reset", &output);
        assert_eq!(calls(&profile, 1, "MPI_Recv"), expected([("after", 2)]), "{}", mpi.name);
        let searches = queues(&profile, 1, ["unexpected_search", "searches"]);
        assert_eq!(searches, expected([("after", 2)]), "{}", mpi.name);
        sums_are_whole(&profile, mpi.name);
    }
}

#[test]
fn levels_from_three_on_are_phases_and_the_others_are_not() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let (_, profile) = run(mpi, &compile_special(mpi, "named_phases"), "levels", &output);
        assert_eq!(calls(&profile, 0, "MPI_Send"), expected([("3", 2), ("4", 4)]), "{}", mpi.name);
        sums_are_whole(&profile, mpi.name);
    }
}

#[test]
fn a_program_that_names_phases_runs_without_mel() {
    for mpi in &Mpi::all() {
        for mode in ["phases", "reset"] {
            let run = Job::new(mpi, 2, compile_special(mpi, "named_phases")).args([mode]).run();
            run.expect(run.code == Some(0) && run.stdout.contains("OK") && run.stderr.is_empty(), mpi.name);
        }
    }
}

#[test]
fn a_program_in_fortran_names_its_phases() {
    for mpi in &Mpi::all() {
        if !interfaces(mpi).contains(&Interface::Mpi) {
            continue;
        }
        let program = compile_fortran(mpi, "named_phases", Interface::Mpi);
        let plain = Job::new(mpi, 2, &program).run();
        plain.expect(plain.code == Some(0) && plain.stdout.contains("OK"), mpi.name);
        let directory = fresh_dir();
        let (_, profile) = run(mpi, &program, "", &directory.path().join("run"));
        let messages = expected([("first", 10), ("second", 20)]);
        assert_eq!(calls(&profile, 0, "MPI_Send"), messages, "{}", mpi.name);
        assert_eq!(calls(&profile, 1, "MPI_Recv"), messages, "{}", mpi.name);
        sums_are_whole(&profile, mpi.name);
    }
}

/// Compilers and ways to link that a weak reference could fail in.
#[test]
fn the_header_compiles_alone_and_needs_no_library() {
    let directory = fresh_dir();
    let text = "#include <mel.h>\nint main(void) { mel_phase(\"a\"); mel_stop(); mel_start(); mel_reset(); mel_sample(); mel_region_begin(\"a\"); mel_region_end(\"a\"); return 0; }\n";
    for (compiler, name, options) in [
        ("cc", "pie.c", vec!["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]),
        ("cc", "fixed.c", vec!["-no-pie", "-fno-pie", "-O0"]),
        ("cc", "static.c", vec!["-static"]),
        ("c++", "plus.cpp", vec!["-std=c++17", "-Wall", "-Wextra", "-Werror"]),
    ] {
        let source = directory.path().join(name);
        std::fs::write(&source, text).expect("a temporary file");
        let program = source.with_extension("");
        let compiled = Command::new(compiler)
            .args(options)
            .arg("-I")
            .arg(root().join("include"))
            .args([&source, &"-o".into(), &program])
            .output()
            .expect("there is a compiler");
        assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
        assert!(Command::new(&program).status().expect("it starts").success(), "{name}");
    }
}

/// The phase that a wait is lost in is named, by the default run and from a trace.
#[test]
fn findings_name_their_phases() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "late_in_a_phase");
        let case = Case { mpi, ranks: 2, program, args: &[], options: &[] };
        for basis in [Basis::Estimated, Basis::Exact] {
            let (verdict, _) = case.verdict(basis);
            let is_of_the_barrier = |finding: &&Value| finding["rule"] == "wait_at_barrier";
            let found = verdict.iter().find(is_of_the_barrier).expect("rank 0 waits for 0.4 s");
            // Where the machine is busy, barriers of the other phase lose time, too: less.
            assert_eq!(found["phases"][0], "solve", "{case}, {basis:?}: {found}");
            let told = [" in phase solve", " in phases solve, write"];
            assert!(
                found["text"].as_str().is_some_and(|text| told.iter().any(|told| text.contains(told))),
                "{found}"
            );
        }
    }
}
