//! A log or a table that is cut off, or not there, is noticed by each command that reads it: a line says which rank lacks what, the exit code
//! is 3, and the rest is shown.

use std::fs;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::{Job, Mpi, Program, compile_special};

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Half,
    To(u64),
    Gone,
}

const FATES: [Fate; 4] = [Fate::Half, Fate::To(5000), Fate::To(0), Fate::Gone];

/// Does that to a file; how many bytes it had.
fn befall(path: &Path, fate: Fate) -> u64 {
    let whole = fs::metadata(path).expect("the file is there").len();
    match fate {
        Fate::Gone => fs::remove_file(path).expect("it can be removed"),
        Fate::Half => set_length(path, whole / 2),
        Fate::To(length) => set_length(path, length),
    }
    whole
}

fn set_length(path: &Path, length: u64) {
    let file = fs::File::options().write(true).open(path).expect("it can be opened");
    file.set_len(length).expect("it can be cut off");
}

/// Runs `mel` in a directory: exit code, and all that it prints, in one line.
fn mel_says(arguments: &[&str], directory: &Path) -> (Option<i32>, String) {
    let output =
        Command::new(mel()).args(arguments).current_dir(directory).output().expect("mel can be started");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    // Without the marks of lines that were wrapped.
    (output.status.code(), text.replace("[MEL] ", "").split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What is to be said of a file of rank 1.
fn expected(fate: Fate, whole: u64, file: &str) -> Vec<String> {
    match fate {
        Fate::Gone => vec!["rank 1 ".into()],
        Fate::To(0) => vec![file.into(), "left out".into()],
        Fate::Half => vec![format!("is cut off: {} of {whole} bytes are there", whole / 2)],
        Fate::To(length) => vec![format!("is cut off: {length} of {whole} bytes are there")],
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("the run is there").flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
        }
    }
}

#[test]
fn a_cut_log_is_noticed_by_all_readers() {
    let mpi = &Mpi::all()[0];
    let (directory, counts) = (fresh_dir(), fresh_dir());
    let run = directory.path().join("run");
    let options = ["--trace".as_ref(), "-o".as_ref(), run.as_os_str()];
    let arguments = [counts.path().as_os_str(), "5000".as_ref()];
    let finished = Job::new(mpi, 2, compile_special(mpi, "steps")).args(arguments).under_mel(options).run();
    finished.expect(finished.code == Some(0), mpi.name);
    let readers: [&[&str]; 8] = [
        &["report", "run"],
        &["report", "--json", "run"],
        &["report", "--html", "page.html", "run"],
        &["convert", "--text", "--calls", "run"],
        &["convert", "--otf2", "--force", "run"],
        &["convert", "--perfetto", "trace.perfetto", "run"],
        &["convert", "--parquet", "tables", "run"],
        &["analyze", "run"],
    ];
    for reader in readers {
        let (code, text) = mel_says(reader, directory.path());
        assert_eq!(code, Some(0), "{reader:?}: {text}");
        assert!(!text.contains("cut off") && !text.contains("left out;"), "{reader:?}: {text}");
    }
    for fate in FATES {
        let room = fresh_dir();
        let damaged = room.path().join("run");
        copy(&run, &damaged);
        let whole = befall(&damaged.join("rank-1.mlog"), fate);
        for reader in readers {
            let (code, text) = mel_says(reader, room.path());
            let shown = &text[text.len().saturating_sub(2000)..];
            assert_eq!(code, Some(3), "{fate:?}: {reader:?}: {shown}");
            for part in expected(fate, whole, "rank-1.mlog") {
                assert!(text.contains(&part), "{fate:?}: {reader:?} does not say {part}: {shown}");
            }
            if fate == Fate::Half {
                assert!(text.contains("it is read until "), "{fate:?}: {reader:?}: {shown}");
            }
        }
        let (_, text) = mel_says(&["convert", "--text", "--calls", "run"], room.path());
        assert!(text.contains("# rank 0 of 2") && text.contains("enter MPI_Isend"), "the rest is shown");
        assert!(room.path().join("page.html").exists() && room.path().join("trace.perfetto").exists());
    }
}

#[test]
fn a_cut_table_is_noticed_by_all_readers() {
    for mpi in &Mpi::all() {
        let program = Program::named("kill_me");
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let options = ["-o".as_ref(), run.as_os_str()];
        let finished = Job::new(mpi, 2, program.compile(mpi)).args(["500"]).under_mel(options).run();
        finished.expect(program.exit.allows(finished.code), mpi.name);
        let readers: [&[&str]; 5] = [
            &["report", "run"],
            &["report", "--json", "run"],
            &["report", "--csv", "run"],
            &["report", "--html", "page.html", "run"],
            &["convert", "--cubex", "app.cubex", "run"],
        ];
        for reader in readers {
            let (code, text) = mel_says(reader, directory.path());
            assert_eq!(code, Some(0), "{}: {reader:?}: {text}", mpi.name);
        }
        for fate in FATES {
            let room = fresh_dir();
            let damaged = room.path().join("run");
            copy(&run, &damaged);
            let whole = befall(&damaged.join("rank-1.table"), fate);
            for reader in readers {
                let (code, text) = mel_says(reader, room.path());
                let shown = &text[text.len().saturating_sub(2000)..];
                assert_eq!(code, Some(3), "{}: {fate:?}: {reader:?}: {shown}", mpi.name);
                for part in expected(fate, whole, "rank-1.table") {
                    assert!(text.contains(&part), "{}: {fate:?}: {reader:?}: {part}: {shown}", mpi.name);
                }
            }
            let (_, text) = mel_says(&["report", "run"], room.path());
            assert!(text.contains("MPI_Send"), "{}: the rest is shown: {text}", mpi.name);
        }
    }
}
