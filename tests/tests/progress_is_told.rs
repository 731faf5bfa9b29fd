//! At a terminal, a bar shows the progress of writing a large trace, in `MPI_Finalize` and in the command; elsewhere it is
//! not printed.

use std::path::Path;
use std::process::{Command, Stdio};

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::{Mpi, compile_special};

/// More records than are worth a bar.
const CALLS: &str = "2200000";

/// Runs a command whose standard error is a terminal, or a pipe; returns what it printed.
fn terminal_output(terminal: bool, words: &[&str]) -> String {
    let quoted = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let mut command = Command::new(if terminal { "script" } else { "sh" });
    // Fancy output is for terminals that can do it, and are wide enough.
    command.env("TERM", "xterm").env("COLUMNS", "100");
    command.args(if terminal { &["-qec"] } else { &["-c"][..] }).arg(quoted);
    command.args(terminal.then_some("/dev/null"));
    let output = command.stdin(Stdio::null()).output().expect("the command can be started");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{words:?}: {text}");
    text
}

fn is_done(text: &str, run: &Path) {
    assert!(text.contains("traces.otf2"), "{text}");
    assert!(run.join("traces.otf2").exists(), "{text}");
}

#[test]
fn a_bar_at_a_terminal_and_nothing_elsewhere() {
    // One process needs no launcher.
    let mpi = &Mpi::all()[0];
    let program = compile_special(mpi, "many_calls");
    for terminal in [true, false] {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let names = [mel(), run.clone(), program.clone()].map(|path| path.display().to_string());
        let [mel, output, program] = names.each_ref().map(String::as_str);
        let finalize = terminal_output(terminal, &[mel, "run", "--trace", "-o", output, program, CALLS]);
        is_done(&finalize, &run);
        let convert = terminal_output(terminal, &[mel, "convert", "--otf2", "--force", output]);
        is_done(&convert, &run);
        for text in [finalize, convert] {
            assert_eq!(text.contains(" % of the records, "), terminal, "{text}");
            assert_eq!(text.contains("[MEL] writing the trace"), terminal, "{text}");
        }
    }
}
