//! What finds no space in the profile's tables is counted, and each output says so in the same words.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

/// What the program makes. MPI_COMM_SELF has a number, too, as it is used; MPI_COMM_WORLD is not.
const COMMUNICATORS: u64 = 17_000;
/// What is numbered, as docs/profile-table.md says.
const NUMBERS: u64 = 16_383;
/// Combinations of function, call site and communicator that have a row.
const ROWS: u64 = 16_383;

/// What MEL has said, in one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[MEL] ", "")
}

#[test]
fn each_output_says_what_found_no_space() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let program = compile_special(mpi, "filling");
        let run = Job::new(mpi, 1, program).under_mel(["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0) && run.stdout.ends_with("68000 calls\n"), mpi.name);

        let profile = Profile::read(&output);
        let rank = &profile.json()["ranks"][0];
        let number = |key: &str| rank["left_out"][key].as_u64().unwrap_or(0);
        assert_eq!(number("communicators"), COMMUNICATORS + 1 - NUMBERS, "{}: {rank}", mpi.name);
        // Two functions on each that has a number, and on those that have none; one on MPI_COMM_SELF; one that is on none.
        let wanted = 2 * (NUMBERS - 1) + 2 + 1 + 1;
        assert_eq!(number("contexts"), wanted - ROWS, "{}: {rank}", mpi.name);
        // Those are counted nevertheless: together.
        let calls = rank["calls"].as_array().expect("calls are counted");
        let sum: u64 = calls.iter().map(|call| call["calls"].as_u64().unwrap_or(0)).sum();
        assert_eq!(sum, 4 * COMMUNICATORS, "{}", mpi.name);

        let said = format!(
            "tables were full, and had no space for {} call sites by communicator, thread and phase (calls counted \
             together), {} communicators and windows (counted as if on none)",
            number("contexts"),
            number("communicators")
        );
        run.expect(unwrapped(&run.stderr).contains(&said), "mel run does not say it");
        let page = directory.path().join("page.html");
        let mel = |words: &[&str]| {
            let done = Command::new(mel()).args(words).arg(&output).output().expect("mel runs");
            String::from_utf8_lossy(&done.stdout).into_owned()
        };
        let report = mel(&["report"]);
        assert!(unwrapped(&report).contains(&said), "{report}");
        let csv = mel(&["report", "--csv"]);
        assert!(
            csv.contains(&format!(",left_out,contexts,count,{}", number("contexts"))),
            "{}",
            &csv[..2000]
        );
        let json: Value = serde_json::from_str(&mel(&["report", "--json"])).expect("JSON");
        assert_eq!(json["ranks"][0]["left_out"], rank["left_out"], "{}", mpi.name);
        mel(&["report", "--html", page.to_str().expect("a path in UTF-8")]);
        let html = std::fs::read_to_string(&page).expect("there is a page");
        assert!(html.contains(&said), "{}: the page does not say it", mpi.name);
        let watched = mel(&["watch", "--once"]);
        assert!(unwrapped(&watched).contains(&said), "{watched}");
    }
}

#[test]
fn what_a_log_has_no_numbers_for_is_said_with_what_found_no_space() {
    /// Two more are there without the program's doing: MPI_COMM_WORLD and MPI_COMM_SELF.
    const MADE: u64 = 65_600;
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (output, alone) = (directory.path().join("run"), directory.path().join("alone"));
        let program = compile_special(mpi, "filling");
        let run_with = |options: &[&str], output: &Path| {
            let options = options.iter().map(AsRef::as_ref).chain(["-o".as_ref(), output.as_os_str()]);
            let run = Job::new(mpi, 1, program.clone()).args([&MADE.to_string()]).under_mel(options).run();
            run.expect(run.code == Some(0) && run.stdout.ends_with("262400 calls\n"), mpi.name);
            run
        };
        let lost = MADE + 2 - u64::from(u16::MAX);
        let of_log = format!("{lost} communicators and windows of the event log (its records name none)");
        let run = run_with(&["--trace"], &output);
        run.expect(unwrapped(&run.stderr).matches(&of_log).count() == 1, "mel run does not say it once");
        let profile = Profile::read(&output);
        let left_out = &profile.json()["ranks"][0]["left_out"];
        assert_eq!(left_out["logged"], lost, "{}", mpi.name);
        // An analysis of the log says it as a report does.
        let analyzed = |option: &[&str]| {
            let done =
                Command::new(mel()).arg("analyze").args(option).arg(&output).output().expect("mel runs");
            String::from_utf8_lossy(&done.stdout).into_owned()
        };
        let text = unwrapped(&analyzed(&[]));
        let of_table =
            format!("{} communicators and windows (counted as if on none)", left_out["communicators"]);
        for said in ["tables were full, and had no space for", &of_table, &of_log] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let json: Value = serde_json::from_str(&analyzed(&["--json"])).expect("JSON");
        assert_eq!(json["left_out"], *left_out, "{}", mpi.name);
        // A log alone has no table that counts.
        let run = run_with(&["--trace", "--profile", "none"], &alone);
        run.expect(unwrapped(&run.stderr).matches(&of_log).count() == 1, "a log alone does not say it once");
    }
}
