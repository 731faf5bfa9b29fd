//! What a program leaves behind is remarked on after a run that ended well: in `profile.json`, at the end of the run and by
//! `mel report`; of one that cleans up nothing is said.

use mel_tests::artifacts::fresh_dir;
use mel_tests::docs::is_shown;
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, compile_special};

/// The sentences about a run, and what it printed.
fn remarks(mpi: &Mpi, args: &[&str]) -> (Vec<String>, String) {
    let program = compile_special(mpi, "leftovers");
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let run = Job::new(mpi, 2, program).args(args).under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), mpi.name);
    let profile = Profile::read(&output);
    let remarks = profile.json()["remarks"].as_array().cloned().unwrap_or_default();
    let text = |remark: &serde_json::Value| remark["text"].as_str().expect("a sentence").to_owned();
    (remarks.iter().map(text).collect(), run.stderr)
}

#[test]
fn what_is_left_behind_is_named_with_its_line() {
    for mpi in &Mpi::all() {
        let (said, printed) = remarks(mpi, &[]);
        let words = |text: &str| text.replace("[MEL]", "").split_whitespace().collect::<Vec<_>>().join(" ");
        let not_freed =
            |what: &str, by: &str| format!("did not free {what} before MPI_Finalize, made by {by} (main)");
        let wanted = [
            "rank 1 never received a message that came (modelled)".to_owned(),
            "rank 1 ended with a receive that no message came for (modelled)".to_owned(),
            // Rank 0 has freed one that may have been this.
            "rank 1 ".to_owned() + &not_freed("1 of 1 communicator", "MPI_Comm_dup at leftovers.c:17"),
            "ranks 0, 1 ".to_owned()
                + &not_freed("6 of 8 datatypes", "MPI_Type_contiguous at leftovers.c:25"),
            "ranks 0, 1 ".to_owned()
                + &not_freed("2 of 2 persistent requests", "MPI_Send_init at leftovers.c:22"),
        ];
        assert_eq!(said, wanted, "{}", mpi.name);
        is_shown("docs/stuck.md", "never received a message", &printed);
        for sentence in &wanted {
            assert!(words(&printed).contains(sentence), "{}: {sentence} is not in\n{printed}", mpi.name);
        }
    }
}

#[test]
fn of_a_program_that_cleans_up_nothing_is_said() {
    for mpi in &Mpi::all() {
        let (said, _) = remarks(mpi, &["clean"]);
        assert_eq!(said, [""; 0], "{}", mpi.name);
    }
}
