//! Which requests end with a `pml_ob1_free`: those that MPI frees when they are complete, and those that the program frees. As in ob1, of which
//! PERUSE tells where there is one with it.

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::{Job, Mpi, compile_special};

/// How often `'before` + `pml_ob1_free'` is in the text of each rank's log.
fn freed(mpi: &Mpi, sources: &str, kind: &str, bytes: u32, before: &str) -> [usize; 2] {
    let directory = fresh_dir();
    let output = directory.path().join("run").display().to_string();
    let events = format!("{before}pml_ob1_free");
    let job = Job::new(mpi, 2, compile_special(mpi, "requests")).args([kind, &bytes.to_string()]);
    let run = job.env("MPIT_SOURCES", sources).under_mel(["-e", "all", "-o", &output]).run();
    run.expect(run.code == Some(0), &format!("{} {kind}", mpi.name));
    let said = std::process::Command::new(mel()).args(["convert", "--text", &output]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    [0, 1].map(|rank| {
        let text = std::fs::read_to_string(directory.path().join(format!("run/events-{rank}.txt"))).unwrap();
        let is_it = |line: &&str| line.contains(&format!("'{events}'")) && !line.contains("internal");
        text.lines().filter(is_it).count()
    })
}

/// Kind, bytes, how many rank 0 (which sends) and rank 1 (which receives) free. A send that is over at once may leave no request to free.
const KINDS: [(&str, u32, Option<usize>, usize); 9] = [
    ("blocking", 1, Some(0), 0),
    ("blocking", 100_000, Some(0), 0),
    ("nonblocking", 1, None, 10),
    ("nonblocking", 100_000, Some(10), 10),
    ("combined", 1, Some(10), 10),
    ("probed", 1, Some(0), 10),
    ("cancelled", 1, Some(0), 10),
    ("freed", 1, Some(0), 10),
    ("persistent", 1, Some(1), 1),
];

#[test]
fn requests_are_freed_where_they_end() {
    for mpi in &Mpi::all() {
        for (kind, bytes, sends, receives) in KINDS {
            let [of_sender, of_receiver] = freed(mpi, "model", kind, bytes, "");
            let right = sends.is_none_or(|sends| sends == of_sender) && of_receiver == receives;
            assert!(right, "{}: {kind}, {bytes} bytes: {of_sender}, {of_receiver}", mpi.name);
        }
    }
}

#[test]
fn ob1_frees_the_same() {
    let Some(mpi) = Mpi::with_peruse() else { return };
    for (kind, bytes, sends, _) in KINDS {
        let model = freed(&mpi, "peruse,model", kind, bytes, "model_");
        let ob1 = freed(&mpi, "peruse,model", kind, bytes, "");
        assert_eq!(ob1[1], model[1], "{kind}, {bytes} bytes");
        // A log whose events are all of one source, here of the MPI's own messages, does not name it.
        if sends.is_some_and(|sends| sends > 0) {
            assert_eq!(ob1[0], model[0], "{kind}, {bytes} bytes");
        }
    }
}
