//! What the command makes of a profile is read by others: Cube profiles by pycubexr and Hatchet, comma-separated values by Python. All find the
//! sums that `profile.json` has.

use std::path::Path;
use std::process::{Command, Output};

use mel_tests::artifacts::{fresh_dir, installed_by, mel, root};
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, Program};
use serde_json::Value;

/// A program's profile, with the run's directory.
fn profiled(mpi: &Mpi, directory: &Path) -> Profile {
    let job = Job::new(mpi, 4, Program::named("many_to_one").compile(mpi));
    let run = job.under_mel(["-o".as_ref(), directory.as_os_str()]).run();
    run.expect(run.code == Some(0), mpi.name);
    Profile::read(directory)
}

/// The sum of a number over the calls between `MPI_Init` and `MPI_Finalize`: of all ranks, or of one.
fn sum(profile: &Profile, rank: Option<u64>, of: impl Fn(&Value) -> f64) -> f64 {
    let ranks = profile.json()["ranks"].as_array().expect("a list of ranks");
    let ranks = ranks.iter().filter(|one| rank.is_none_or(|rank| one["rank"] == rank));
    let calls = ranks.flat_map(|rank| rank["calls"].as_array().into_iter().flatten());
    let apart = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"];
    calls.filter(|call| !apart.contains(&call["function"].as_str().unwrap_or_default())).map(of).sum()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn lost(call: &Value) -> f64 {
    call["waits"].as_array().into_iter().flatten().map(|wait| number(&wait["lost_s"])).sum()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(1.0)
}

#[track_caller]
fn succeeded(output: Output) -> Vec<u8> {
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
    output.stdout
}

#[test]
fn cube_profiles_have_the_sums_of_the_profile() {
    let Some(prefix) = installed_by("scripts/pypi-readers", Some("pycubexr")) else { return };
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let profile = profiled(mpi, &run);
        let file = directory.path().join("run.cubex");
        let mut convert = Command::new(mel());
        convert.args(["convert".as_ref(), "--cubex".as_ref(), file.as_os_str(), run.as_os_str()]);
        succeeded(convert.output().expect("mel can be started"));
        let mut reader = Command::new(prefix.join("bin/python"));
        reader.arg(root().join("tests/readers/read_cubex.py")).arg(&file);
        let read = succeeded(reader.output().expect("python can be started"));
        let read: Value = serde_json::from_slice(&read).expect("the reader writes JSON");
        assert_eq!(
            (&read["program"], &read["locations"]),
            (&"many_to_one".into(), &4.into()),
            "{}",
            mpi.name
        );

        let of = |metric: &str, rank: u64| number(&read["metrics"][metric]["by_rank"][rank.to_string()]);
        for rank in 0..4 {
            let sum = |of: &dyn Fn(&Value) -> f64| sum(&profile, Some(rank), of);
            let waits =
                ["late_sender", "late_receiver", "wait_collective", "late_member", "polling", "wait_window"];
            let pairs = [
                (of("time", rank), profile.seconds(rank as u32, "run_s")),
                (of("visits", rank), 1.0 + sum(&|call| number(&call["calls"]))),
                (of("bytes_sent", rank), sum(&|call| number(&call["bytes_sent"]))),
                (of("bytes_received", rank), sum(&|call| number(&call["bytes_received"]))),
                (waits.iter().map(|wait| of(wait, rank)).sum(), sum(&lost)),
            ];
            assert!(
                pairs.iter().all(|(one, other)| close(*one, *other)),
                "{} rank {rank}: {pairs:?}",
                mpi.name
            );
        }
        let paths = read["metrics"]["visits"]["by_path"].as_object().expect("call paths");
        let receives =
            paths.iter().filter(|(path, _)| path.starts_with("MPI_Recv") || path.starts_with("MPI_Irecv"));
        let received: f64 = receives.map(|(_, calls)| number(calls)).sum();
        assert_eq!(received, 18.0, "{}: {paths:?}", mpi.name);
        assert!(paths.keys().any(|path| path.contains(" @ many_to_one.c:")), "{}: {paths:?}", mpi.name);
    }
}

#[test]
fn hatchet_reads_cube_profiles_as_trees_with_the_same_sums() {
    let Some(prefix) = installed_by("scripts/pypi-readers", Some("hatchet")) else { return };
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let profile = profiled(mpi, &run);
        let file = directory.path().join("run.cubex");
        let mut convert = Command::new(mel());
        convert.args(["convert".as_ref(), "--cubex".as_ref(), file.as_os_str(), run.as_os_str()]);
        succeeded(convert.output().expect("mel can be started"));
        let mut reader = Command::new(prefix.join("bin/python"));
        reader.arg(root().join("tests/readers/read_hatchet.py")).arg(&file);
        let output = reader.output().expect("python can be started");
        let complaints = String::from_utf8_lossy(&output.stderr);
        let read: Value = serde_json::from_slice(&output.stdout).expect(&complaints);
        let of = |metric: &str, rank: u64| number(&read["metrics"][metric][rank.to_string()]);
        for rank in 0..4 {
            let sum = |of: &dyn Fn(&Value) -> f64| sum(&profile, Some(rank), of);
            let pairs = [
                (of("time", rank), profile.seconds(rank as u32, "run_s")),
                (of("visits", rank), 1.0 + sum(&|call| number(&call["calls"]))),
                (of("bytes_sent", rank), sum(&|call| number(&call["bytes_sent"]))),
                (of("bytes_received", rank), sum(&|call| number(&call["bytes_received"]))),
            ];
            assert!(
                pairs.iter().all(|(one, other)| close(*one, *other)),
                "{} rank {rank}: {pairs:?}",
                mpi.name
            );
        }
        let visits = read["visits"].as_object().expect("call paths");
        let sum: f64 = visits.values().map(number).sum();
        assert_eq!(sum, 4.0 + self::sum(&profile, None, |call| number(&call["calls"])), "{}", mpi.name);
        assert_eq!(read["program"], "many_to_one", "{}", mpi.name);
        assert_eq!(read["below_it"].as_u64(), Some(visits.len() as u64 - 1), "{}: {visits:?}", mpi.name);
    }
}

#[test]
fn comma_separated_values_have_the_sums_of_the_profile() {
    let script = "import csv, json, sys
sums = {}
for row in csv.DictReader(sys.stdin):
    assert None not in row and None not in row.values(), row
    key = row['section'] + ' ' + row['quantity'] + ' ' + row['unit']
    sums[key] = sums.get(key, 0) + float(row['value'])
json.dump(sums, sys.stdout)";
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let profile = profiled(mpi, &run);
        let text = succeeded(
            Command::new(mel()).args(["report", "--csv"]).arg(&run).output().expect("mel can be started"),
        );
        let file = directory.path().join("run.csv");
        std::fs::write(&file, text).expect("the file can be written");
        let mut python = Command::new("python3");
        python.args(["-c", script]).stdin(std::fs::File::open(&file).expect("it is there"));
        let sums =
            succeeded(python.output().expect("python3 (scripts/install-deps installs it) can be started"));
        let sums: Value = serde_json::from_slice(&sums).expect("the script writes JSON");
        let pairs = [
            ("calls time s", sum(&profile, None, |call| number(&call["total_s"]))),
            ("calls calls count", sum(&profile, None, |call| number(&call["calls"]))),
            ("waits lost s", sum(&profile, None, lost)),
            ("rank run s", profile.total_seconds("run_s")),
            ("posted_queue receives count", profile.total("posted.messages") as f64),
            ("unexpected_queue messages count", profile.total("unexpected.messages") as f64),
        ];
        for (key, expected) in pairs {
            assert!(
                close(number(&sums[key]), expected),
                "{}: {key}: {}, not {expected}",
                mpi.name,
                sums[key]
            );
        }
    }
}
