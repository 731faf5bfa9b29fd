//! Mistakes that do no harm yet are remarked on by `mel analyze` with ranks and line, and nothing is said of what looks like them.

use mel_tests::artifacts::fresh_dir;
use mel_tests::docs::sentence_is_shown;
use mel_tests::planted::marked;
use mel_tests::verdict::remarks_on;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::{Value, json};

/// A program that makes mistakes, and its text.
type Source = (&'static str, &'static str);

const CALLS: Source = ("mistakes", include_str!("../programs/special/mistakes.c"));
const DATA: Source = ("mistaken_data", include_str!("../programs/special/mistaken_data.c"));

/// What `mel analyze` remarks on, of a case of the program with four ranks.
fn remarks(mpi: &Mpi, program: Source, case: &str) -> Vec<Value> {
    let program = compile_special(mpi, program.0);
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = Job::new(mpi, 4, program).args([case]).patient();
    let run = run.under_mel(["--check".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), case);
    remarks_on(&output)
}

/// In each case there is one remark, of this kind, about these ranks, which names these lines. No ranks: rank 1 has come with something else,
/// and is compared with whoever came first.
fn found(mpi: &Mpi, (program, case): (Source, &str), kind: &str, ranks: &[u32], marks: &str) -> String {
    let said = remarks(mpi, program, case);
    let [remark] = &said[..] else { panic!("{}, {case}: {said:#?}", mpi.name) };
    assert_eq!(remark["kind"], kind, "{}, {case}", mpi.name);
    if ranks.is_empty() {
        assert!(remark["ranks"].as_array().is_some_and(|ranks| ranks.contains(&json!(1))), "{remark:#}");
    } else {
        assert_eq!(remark["ranks"], json!(ranks), "{}, {case}", mpi.name);
    }
    assert!(remark["text"].as_str().is_some_and(|text| !text.contains("MPI at")), "{}, {case}", mpi.name);
    for line in marked(marks, &format!("{}.c", program.0), program.1).expect("the line is marked") {
        let text = remark["text"].as_str().expect("a sentence");
        assert!(text.contains(&line), "{}, {case}: {line} is not in {text}", mpi.name);
    }
    format!("remark: {}", remark["text"].as_str().expect("a sentence"))
}

const ALL: [u32; 4] = [0, 1, 2, 3];

#[test]
fn sends_that_have_to_be_stored() {
    for mpi in &Mpi::of_distribution_or_every() {
        found(mpi, (CALLS, "head_to_head"), "needs_storage", &[0, 1], "SEND");
        let said = found(mpi, (CALLS, "ring"), "needs_storage", &ALL, "SEND");
        sentence_is_shown("docs/stuck.md", "would wait for each other forever", &said);
        found(mpi, (CALLS, "to_itself"), "needs_storage", &ALL, "SEND");
        found(mpi, (CALLS, "over_a_barrier"), "needs_storage", &[0, 1], "SEND|BARRIER");
        // MPICH completes the send at once, so that nothing waits for it.
        if mpi.name == "openmpi" {
            found(mpi, (CALLS, "waits_first"), "needs_storage", &ALL, "WAIT");
        }
    }
}

#[test]
fn collective_operations_that_do_not_fit() {
    for mpi in &Mpi::of_distribution_or_every() {
        let said = found(mpi, (CALLS, "less_than_is_gathered"), "collectives_differ", &ALL, "GATHER");
        sentence_is_shown("docs/stuck.md", "gave counts to", &said);
        // Open MPI hangs at the end.
        if mpi.name == "mpich" {
            found(mpi, (CALLS, "two_roots"), "collectives_differ", &ALL, "TWO_ROOTS");
        }
    }
}

#[test]
#[ignore = "slow"]
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
    for mpi in &Mpi::of_distribution_or_every() {
        for case in right {
            assert_eq!(remarks(mpi, CALLS, case), [json!(null); 0], "{}, {case}", mpi.name);
        }
    }
}

#[test]
fn data_that_does_not_fit() {
    for mpi in &Mpi::of_distribution_or_every() {
        let found = |case, kind, ranks: &[u32], marks| found(mpi, (DATA, case), kind, ranks, marks);
        found("integers_as_floats", "types_differ", &ALL, "SENT|RECEIVED");
        found("structures_the_other_way_round", "types_differ", &ALL, "SENT|RECEIVED");
        found("posted_types", "types_differ", &ALL, "STARTED|POSTED");
        found("sums_and_maxima", "collectives_differ", &[], "REDUCED");
        found("reduced_as_integers", "collectives_differ", &[], "SUMMED");
        found("cut_off", "truncated", &[1, 3], "CUT_OFF");
        found("after_a_cut", "truncated", &[1, 3], "CUT_BEFORE");
    }
}

#[test]
fn buffers_that_two_operations_use() {
    for mpi in &Mpi::of_distribution_or_every() {
        let said = found(mpi, (DATA, "sent_too_early"), "buffer_in_use", &ALL, "UNFINISHED|EARLY");
        sentence_is_shown("docs/stuck.md", "the buffer of", &said);
        found(mpi, (DATA, "received_twice"), "buffer_in_use", &ALL, "TWICE");
    }
}

/// A call that is not recorded begins unseen.
#[test]
fn calls_that_are_left_out_are_not_looked_at() {
    for mpi in &Mpi::of_distribution_or_every() {
        let (program, directory) = (compile_special(mpi, DATA.0), fresh_dir());
        let output = directory.path().join("run");
        for left_out in ["MPI_Wait*", "MPI_Test*,MPI_Wait", "MPI_Irecv,MPI_Isend"] {
            let run = Job::new(mpi, 4, &program).args(["used_in_turn"]).patient();
            let options: [&std::ffi::OsStr; 6] = [
                "--check".as_ref(),
                "--no-calls".as_ref(),
                left_out.as_ref(),
                "--force".as_ref(),
                "-o".as_ref(),
                output.as_os_str(),
            ];
            let run = run.under_mel(options).run();
            run.expect(run.code == Some(0), left_out);
        }
    }
}

#[test]
fn of_data_that_fits_nothing_is_said() {
    for mpi in &Mpi::of_distribution_or_every() {
        for case in
            ["the_same_in_other_words", "alike", "used_in_turn", "columns", "asked_about", "probed_in_order"]
        {
            assert_eq!(remarks(mpi, DATA, case), [json!(null); 0], "{}, {case}", mpi.name);
        }
    }
}
