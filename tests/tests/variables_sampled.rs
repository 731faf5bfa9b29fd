//! Performance variables over time: what is sampled ends at what happened, and the program is as without it.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

fn run(mpi: &Mpi, options: &[&str], args: &[&str], directory: &Path) -> (Finished, Profile) {
    let job = Job::new(mpi, 2, compile_special(mpi, "sampled")).args(args);
    let output = directory.to_str().expect("a name");
    let run = job.under_mel(options.iter().copied().chain(["-o", output])).run();
    run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
    (run, Profile::read(directory))
}

/// The variables of a rank of this name, on this object.
fn variables<'a>(profile: &'a Profile, rank: usize, name: &str, object: &str) -> Vec<&'a Value> {
    let all = profile.json()["ranks"][rank]["variables"].as_array();
    let is = |of: &&Value| of["name"] == name && of["object"].as_str().unwrap_or_default() == object;
    all.into_iter().flatten().filter(is).collect()
}

/// Times and values of a curve.
fn curve(of: &Value) -> Vec<(f64, f64)> {
    let points = of["curve"].as_array().into_iter().flatten();
    points.map(|point| (point[0].as_f64().unwrap(), point[1].as_f64().unwrap())).collect()
}

const MESSAGES: &str = "pml_monitoring_messages_count";

#[test]
fn a_curve_rises_to_what_was_sent() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let chosen = "pml_monitoring_messages_count,coll_monitoring_a2a_count";
        let options = ["--vars", chosen, "--every", "10ms"];
        let (run, profile) = run(mpi, &options, &["200"], &directory.path().join("run"));
        let all = variables(&profile, 0, MESSAGES, "MPI_COMM_WORLD");
        // The sum, and what goes to each of the two.
        assert_eq!(all.len(), 3, "{}: {:?}", mpi.name, profile.json()["ranks"][0]["variables"]);
        let elements: Vec<_> = all.iter().map(|of| (of["element"].as_u64(), of["last"].as_f64())).collect();
        assert_eq!(
            elements,
            [(None, Some(205.0)), (Some(0), Some(0.0)), (Some(1), Some(205.0))],
            "{}",
            mpi.name
        );
        let points = curve(all[0]);
        assert_eq!((points[0].1, points.last().unwrap().1), (0.0, 205.0), "{}: {points:?}", mpi.name);
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{}: {points:?}", mpi.name);
        assert!(all[0]["samples"].as_u64() >= Some(3), "{}: {points:?}", mpi.name);
        let received = variables(&profile, 1, MESSAGES, "MPI_COMM_WORLD");
        assert_eq!(received[0]["last"].as_f64(), Some(0.0), "{}", mpi.name);
        // Of the communicator that was made and freed there is what was sent over it alone.
        let of_other: Vec<&Value> = profile.json()["ranks"][0]["variables"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|of| of["name"] == MESSAGES && of["object"] != "MPI_COMM_WORLD")
            .collect();
        let elements: Vec<_> =
            of_other.iter().map(|of| (of["element"].as_u64(), of["last"].as_f64())).collect();
        assert_eq!(
            elements,
            [(None, Some(5.0)), (Some(0), Some(0.0)), (Some(1), Some(5.0))],
            "{}: {of_other:?}",
            mpi.name
        );
        // What counts up has grown, and has rates.
        let barriers = variables(&profile, 0, "coll_monitoring_a2a_count", "MPI_COMM_WORLD");
        assert!(barriers[0]["grown"].as_f64() >= Some(1.0), "{}: {barriers:?}", mpi.name);
        run.expect(run.stderr.contains(MESSAGES), "the text at the end has the variables");
        let report = Command::new(mel()).arg("report").arg(directory.path().join("run")).output().unwrap();
        assert!(String::from_utf8_lossy(&report.stdout).contains(MESSAGES), "{report:?}");
    }
}

#[test]
fn a_program_takes_samples_when_it_asks_for_them() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let options = ["--vars", MESSAGES, "--every", "0"];
        let (_, profile) = run(mpi, &options, &["50", "asks"], &directory.path().join("run"));
        let all = variables(&profile, 0, MESSAGES, "MPI_COMM_WORLD");
        let values: Vec<f64> = curve(all[0]).iter().map(|(_, value)| *value).collect();
        // At first, ten times, and at the end.
        let expected: Vec<f64> = (0..=10).map(|part| f64::from(part * 5)).chain([55.0]).collect();
        assert_eq!(values, expected, "{}", mpi.name);
    }
}

#[test]
fn all_variables_are_sampled_on_every_mpi_and_the_program_is_as_without() {
    for mpi in &Mpi::all_and_newer() {
        let plain = Job::new(mpi, 2, compile_special(mpi, "sampled")).run();
        plain.expect(plain.code == Some(0) && plain.stderr.is_empty(), mpi.name);
        let directory = fresh_dir();
        let options = ["--vars", "all", "--every", "5ms"];
        let (run, profile) = run(mpi, &options, &[], &directory.path().join("run"));
        run.expect(run.stdout == plain.stdout && run.code == plain.code, mpi.name);
        let all = variables(&profile, 0, MESSAGES, "MPI_COMM_WORLD");
        run.expect(all.first().is_some_and(|of| of["last"].as_f64() == Some(35.0)), mpi.name);
        // Those that do something are listed, and no more.
        let flush = variables(&profile, 0, "pml_monitoring_flush", "");
        run.expect(flush.len() == 1 && flush[0]["samples"] == 0, mpi.name);
        assert_eq!(profile.json()["ranks"][0]["samples_lost"], Value::Null, "{}", mpi.name);
    }
}

#[test]
fn a_name_that_nothing_has_is_told() {
    let mpi = &Mpi::all()[0];
    let program = compile_special(mpi, "sampled");
    let misspelt = Job::new(mpi, 2, &program).under_mel(["--vars", "pml_monitoring_mesages_count"]).run();
    let line = "there is no performance variable pml_monitoring_mesages_count; nearest: pml_monitoring_messages_count";
    misspelt.expect(misspelt.code != Some(0) && misspelt.stderr.contains(line), "refused before it starts");
    misspelt.expect(!misspelt.stdout.contains("OK"), "nothing was started");
    // The MPI might have it.
    let directory = fresh_dir();
    let (run, _) = run(mpi, &["--vars", "unexpected_rcvq"], &[], &directory.path().join("run"));
    let told = run.stderr.matches("there is no performance variable unexpected_rcvq").count();
    run.expect(told == 1, "told once");
}

#[test]
fn what_a_killed_rank_has_sampled_is_in_its_report() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let name = output.to_str().expect("a name");
        let program = compile_special(mpi, "endless");
        let running =
            Job::new(mpi, 2, &program).under_mel(["--vars", MESSAGES, "--every", "20ms", "-o", name]).start();
        let table = output.join("rank-0.table");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let samples = || {
            let report = Command::new(mel()).args(["report", "--json"]).arg(&output).output().ok()?;
            let json: Value = serde_json::from_slice(&report.stdout).ok()?;
            json["ranks"][0]["variables"][0]["samples"].as_u64()
        };
        while !(table.exists() && samples() >= Some(3)) {
            assert!(std::time::Instant::now() < deadline, "{}: no samples in a minute", mpi.name);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        for rank in 0..2 {
            // The fifth number of a table is the process.
            let table = std::fs::read(output.join(format!("rank-{rank}.table"))).expect("it has begun");
            let pid = u64::from_ne_bytes(table[32..40].try_into().expect("8 bytes"));
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
        running.wait();
        assert!(samples() >= Some(3), "{}", mpi.name);
    }
}
