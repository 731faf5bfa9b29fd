//! Mistakes that do no harm yet are remarked on by `mel analyze` with ranks and line, and nothing is said of what looks like them.

use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::planted::marked;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::{Value, json};

const SOURCE: &str = include_str!("../programs/special/mistakes.c");

/// What `mel analyze` remarks on, of a case of the program with four ranks.
fn remarks(mpi: &Mpi, case: &str) -> Vec<Value> {
    let program = compile_special(mpi, "mistakes");
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = Job::new(mpi, 4, program).args([case]).patient();
    let run = run.under_mel(["--check".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), case);
    let said = Command::new(mel()).args(["analyze", "--json"]).arg(&output).output().expect("mel starts");
    assert!(said.status.success(), "{case}: {}", String::from_utf8_lossy(&said.stderr));
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    said["remarks"].as_array().cloned().unwrap_or_default()
}

/// In each case there is one remark, of this kind, about these ranks, which names these lines.
fn found(mpi: &Mpi, case: &str, kind: &str, ranks: &[u32], marks: &str) {
    let said = remarks(mpi, case);
    let [remark] = &said[..] else { panic!("{}, {case}: {said:#?}", mpi.name) };
    assert_eq!((&remark["kind"], &remark["ranks"]), (&json!(kind), &json!(ranks)), "{}, {case}", mpi.name);
    assert!(remark["text"].as_str().is_some_and(|text| !text.contains("MPI at")), "{}, {case}", mpi.name);
    for line in marked(marks, "mistakes.c", SOURCE).expect("the line is marked") {
        let text = remark["text"].as_str().expect("a sentence");
        assert!(text.contains(&line), "{}, {case}: {line} is not in {text}", mpi.name);
    }
}

const ALL: [u32; 4] = [0, 1, 2, 3];

fn is_of_the_distribution(mpi: &&Mpi) -> bool {
    ["openmpi", "mpich"].contains(&mpi.name)
}

#[test]
fn sends_that_have_to_be_stored() {
    for mpi in Mpi::all().iter().filter(is_of_the_distribution) {
        found(mpi, "head_to_head", "needs_storage", &[0, 1], "SEND");
        found(mpi, "ring", "needs_storage", &ALL, "SEND");
        found(mpi, "to_itself", "needs_storage", &ALL, "SEND");
        found(mpi, "over_a_barrier", "needs_storage", &[0, 1], "SEND|BARRIER");
        // MPICH completes the send at once, so that nothing waits for it.
        if mpi.name == "openmpi" {
            found(mpi, "waits_first", "needs_storage", &ALL, "WAIT");
        }
    }
}

#[test]
fn collective_operations_that_do_not_fit() {
    for mpi in Mpi::all().iter().filter(is_of_the_distribution) {
        found(mpi, "less_than_is_gathered", "collectives_differ", &ALL, "GATHER");
        // Open MPI hangs at the end.
        if mpi.name == "mpich" {
            found(mpi, "two_roots", "collectives_differ", &ALL, "TWO_ROOTS");
        }
    }
}

#[test]
fn of_what_is_right_nothing_is_said() {
    let right = [
        "head_to_head_in_turn",
        "ring_that_one_opens",
        "ring_of_both",
        "waits_last",
        "receives_first",
        "tests_between",
        "to_itself_received_first",
        "before_a_barrier",
        "any_worker",
        "probed_worker",
        "tokens",
        "buffered",
        "as_much_as_is_gathered",
    ];
    for mpi in Mpi::all().iter().filter(is_of_the_distribution) {
        for case in right {
            assert_eq!(remarks(mpi, case), [json!(null); 0], "{}, {case}", mpi.name);
        }
    }
}
