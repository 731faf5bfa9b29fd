//! Whatever a program gives as a name, no terminal obeys it, and no spreadsheet takes it for a formula: in no output of any command.

use std::fs;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::terminal::Terminal;
use mel_tests::watching::watch;
use mel_tests::{Job, Mpi, compile_special};

/// An argument of the program.
const ARGUMENT: &str = "\x1b]0;title\x07=cmd()\u{202e}";
/// A line that a name begins: it must not stand alone.
const FORGED: &str = "[MEL] all is well";

/// What a terminal would obey, but for the ends of lines and tabulators.
fn is_obeyed(character: char) -> bool {
    let is_direction = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (character.is_control() && !matches!(character, '\n' | '\t')) || is_direction
}

fn is_harmless(what: &str, bytes: &[u8]) {
    let text = String::from_utf8(bytes.to_vec()).unwrap_or_else(|error| panic!("{what}: {error}"));
    for line in text.lines() {
        assert!(!line.contains(is_obeyed), "{what}: {line:?}");
        assert!(!line.starts_with(FORGED), "{what}: {line:?}");
    }
}

fn ends_well(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let output =
        Command::new(mel()).args(arguments).current_dir(directory).output().expect("mel can be started");
    let what = format!("mel {}", arguments.join(" "));
    is_harmless(&what, &output.stderr);
    let code = output.status.code();
    assert!(code == Some(0), "{what}: {code:?}, {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The cells of a line of CSV.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells
}

fn has_no_formulas(what: &str, bytes: &[u8]) {
    is_harmless(what, bytes);
    let text = String::from_utf8_lossy(bytes).into_owned();
    assert!(text.contains("'=1+1") && text.contains("'@SUM(A1)"), "{what}: the names are not there: {text}");
    for line in text.lines() {
        for cell in cells(line) {
            let is_number = cell.parse::<f64>().is_ok();
            assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{what}: {line}");
        }
    }
}

#[test]
fn names_reach_no_terminal_and_no_spreadsheet_as_they_are() {
    for mpi in &Mpi::all()[..] {
        let room = fresh_dir();
        let options = ["--trace", "--profile", "calls,queues,rma,matrix", "--attribute", "mel_messages_sent"];
        let path = room.path().join("run");
        let options = options.iter().map(AsRef::as_ref).chain(["-o".as_ref(), path.as_os_str()]);
        let program = compile_special(mpi, "hostile_names");
        let finished = Job::new(mpi, 2, program).args([ARGUMENT]).under_mel(options).run();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
        is_harmless("mel run", finished.stderr.as_bytes());

        for arguments in [
            &["report", "run"][..],
            &["report", "--json", "run"],
            &["report", "--matrix", "run"],
            &["report", "--matrix", "--by", "function", "run"],
            &["report", "--phase", "=1+1", "run"],
            &["analyze", "run"],
            &["analyze", "--json", "run"],
            &["advise", "run"],
            &["diff", "run", "run"],
            &["place", "run"],
            &["watch", "--once", "run"],
            &["watch", "--json", "run"],
            &["convert", "--text", "--calls", "run"],
            &["report", "--matrix", "--mat", "square.mat", "--matrix-market", "sparse.mtx", "run"],
            &["report", "--matrix", "--prof", "prof", "run"],
        ] {
            is_harmless(
                &format!("{}: mel {}", mpi.name, arguments.join(" ")),
                &ends_well(room.path(), arguments),
            );
        }
        for name in ["square.mat", "sparse.mtx"] {
            is_harmless(name, &fs::read(room.path().join(name)).expect("the file is there"));
        }
        for arguments in [&["report", "--csv", "run"][..], &["report", "--matrix", "--csv", "run"]] {
            has_no_formulas(&arguments.join(" "), &ends_well(room.path(), arguments));
        }
        // What programs read has the names as they are.
        let json = ends_well(room.path(), &["report", "--json", "run"]);
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        let phases: Vec<&str> =
            json["phases"].as_array().expect("phases").iter().filter_map(|name| name.as_str()).collect();
        assert!(
            phases.iter().any(|name| name.contains("\u{9b}2Jb")) && phases.contains(&"@SUM(A1)"),
            "{phases:?}"
        );

        let mut terminal = Terminal::start(watch(&path, &[]), 40, 160);
        let text = terminal
            .until("the end of the run", |text| text.contains("the run has ended").then(|| text.to_owned()));
        assert!(text.contains("\\u001b]0;title") && !text.contains(is_obeyed), "{text}");
        terminal.press("q");
        assert!(terminal.wait().success());
    }
}

#[test]
fn a_log_of_events_has_a_line_for_each() {
    for mpi in &Mpi::all()[..] {
        let room = fresh_dir();
        let path = room.path().join("run");
        let options =
            ["-e", "pml_ob1_message_arrived", "--vars", "mel_messages_sent", "--every", "10ms", "-o"];
        let options = options.iter().map(AsRef::as_ref).chain([path.as_os_str()]);
        let program = compile_special(mpi, "hostile_names");
        let finished = Job::new(mpi, 2, program).under_mel(options).run();
        finished.expect(finished.code == Some(0), mpi.name);
        for rank in 0..2 {
            let text = fs::read(path.join(format!("events-{rank}.txt"))).expect("a log");
            is_harmless("events", &text);
            for line in String::from_utf8_lossy(&text).lines() {
                assert!(line.starts_with(['#', '[']), "{line}");
            }
        }
    }
}
