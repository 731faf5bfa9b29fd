//! Collective operations that a program makes of messages between two are named, with their lines and with what the library has for them; what
//! only looks like some is not.

use std::fs;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::browser::Browser;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

use super::pages_in_a_browser::{OVERLAPS, page_in, texts};

#[test]
fn loops_over_all_ranks_are_named() {
    let source = fs::read_to_string(root().join("tests/programs/special/by_hand.c")).unwrap();
    let line = |name: &str| {
        let is_it = |line: &str| line.contains(&format!("/* line {name} */"));
        1 + source.lines().position(is_it).unwrap()
    };
    let planted = [
        ("MPI_Send", "BCAST", "to_all", "MPI_Bcast"),
        ("MPI_Send", "SCATTER", "to_all", "MPI_Scatter"),
        ("MPI_Recv", "GATHER", "from_all", "MPI_Gather"),
    ];
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let job = Job::new(mpi, 4, compile_special(mpi, "by_hand")).current_dir(directory.path());
        let run = job.under_mel(["--trace", "--callsites", "-o", &output]).run();
        run.expect(run.code == Some(0), mpi.name);
        let said = Command::new(mel()).args(["analyze", "--json", &output]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let said: Value = serde_json::from_slice(&said.stdout).unwrap();
        let found = said["by_hand"].as_array().unwrap();
        assert_eq!(found.len(), planted.len(), "{}: {found:#?}", mpi.name);
        for (function, name, direction, instead) in planted {
            let call = format!("{function} at by_hand.c:{} (main)", line(name));
            let of = found.iter().find(|of| of["call"] == call.as_str());
            let of = of.unwrap_or_else(|| panic!("{}: no {call}: {found:#?}", mpi.name));
            let numbers = ["others", "loops", "bytes"].map(|key| of[key].as_u64().unwrap());
            assert_eq!(numbers, [3, 10, 10 * 3 * 512 * 8], "{}: {of}", mpi.name);
            assert_eq!(
                (&of["direction"], &of["instead"]),
                (&direction.into(), &instead.into()),
                "{}",
                mpi.name
            );
            assert_eq!(
                (of["ranks"].to_string(), &of["communicator"]),
                ("[0]".into(), &"MPI_COMM_WORLD".into())
            );
            assert!(of["seconds"].as_f64().unwrap() > 0.0);
        }
    }
}

/// What `mel analyze` says of a trace, the page says, too: the path, what is made by hand, and what was hidden behind work.
#[test]
#[ignore = "slow"]
fn the_page_says_what_the_analysis_says() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let job = Job::new(mpi, 4, compile_special(mpi, "by_hand")).args(["work"]).current_dir(directory.path());
    let run = job.under_mel(["--trace", "--callsites", "-o", output.to_str().unwrap()]).run();
    run.expect(run.code == Some(0), mpi.name);
    let said = |options: &[&str]| {
        let said = Command::new(mel()).arg("analyze").args(options).arg(&output).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    };
    let in_a_row = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let json: Value = serde_json::from_str(&said(&["--json"])).unwrap();
    let text = in_a_row(&said(&["--top", "100"]));
    browser.open(&page_in(&output));
    let verdict = in_a_row(&texts(&mut browser, "#verdict"));
    let path = verdict.find("The critical path computes for").expect("the page has the path");
    let sentence = &verdict[path..];
    let sentence = &sentence[..sentence.find(" (").unwrap_or(sentence.len())];
    assert!(text.contains(sentence), "{sentence}: {text}");
    let report = Command::new(mel()).arg("report").arg(&output).output().unwrap();
    let report = in_a_row(&String::from_utf8(report.stdout).unwrap());
    assert!(report.contains(sentence), "{sentence}: {report}");
    let findings = texts(&mut browser, "#findings");
    let told = text.matches("sends to each of").count() + text.matches("receives from each of").count();
    let shown =
        findings.matches("sends to each of").count() + findings.matches("receives from each of").count();
    assert_eq!(told, shown, "{text}\n{findings}");
    assert!(told > 0, "{text}");
    let reported =
        report.matches("sends to each of").count() + report.matches("receives from each of").count();
    assert_eq!(told, reported, "{report}");
    let waits = texts(&mut browser, "#waits");
    let pairs = json["overlap"].as_array().expect("something overlaps");
    assert!(!pairs.is_empty() && waits.contains("Hidden behind work"), "{waits}");
    for pair in pairs.iter().take(20) {
        for line in ["started", "completed"] {
            assert!(waits.contains(pair[line].as_str().unwrap()), "{pair}: {waits}");
        }
    }
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}
