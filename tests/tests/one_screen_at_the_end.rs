//! What a run prints at its end where not all tables are asked for: one screen, as wide as the terminal of the launcher and with its
//! colours; with `--full` all tables.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::terminal::Terminal;
use mel_tests::{Job, Mpi, compile_source};

const RANKS: u32 = 4;
/// The most lines of one screen.
const LINES: usize = 25;

/// The halo exchange of the examples, in which rank 1 comes late to each of 20 exchanges.
fn program(mpi: &Mpi) -> Vec<String> {
    let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
    let options = "--iterations 20 --late-rank -1 --slow-rank 1 --slow-us 5000";
    let options = options.split_whitespace().map(str::to_owned);
    std::iter::once(program.display().to_string()).chain(options).collect()
}

/// What MEL says at the end: all that its first line begins, behind the one that it says at the start.
fn end_of_run(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let first = lines
        .iter()
        .position(|line| line.contains("[MEL]") && !line.contains("measuring;"))
        .unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines[first..last.max(first)].to_vec()
}

#[test]
fn all_tables_are_for_those_who_ask() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let words = program(mpi);
        for (options, is_short) in [(&["--full"][..], false), (&[], true)] {
            let output = directory.path().join(if is_short { "short" } else { "full" });
            let options = options.iter().map(AsRef::as_ref).chain(["-o".as_ref(), output.as_os_str()]);
            let job =
                Job::new(mpi, RANKS, &words[0]).args(&words[1..]).env("MEL_FULL", "").under_mel(options);
            let run = job.run();
            run.expect(run.code == Some(0), mpi.name);
            let end = end_of_run(&run.stderr);
            run.expect((end.len() <= LINES) == is_short, mpi.name);
            run.expect(run.stderr.contains("all tables: mel report") == is_short, mpi.name);
            run.expect(run.stderr.contains("time by rank") != is_short, mpi.name);
            run.expect(
                run.stderr.contains("called from") && run.stderr.contains("What costs time:"),
                mpi.name,
            );
            run.expect(!run.stderr.contains('\x1b'), "a file is no terminal");
        }
    }
}

/// The job in a terminal of so many columns; the text on it, and whether that line of the end is in bold letters.
fn in_terminal(mpi: &Mpi, columns: u16, output: &Path, variables: &[(&str, &str)]) -> (String, bool) {
    let mut command = mpi.launcher(RANKS);
    command.arg(mel()).arg("run").arg("-o").arg(output).arg("--").args(program(mpi));
    command.envs(variables.iter().copied());
    let mut terminal = Terminal::start(command, 60, columns);
    let status = terminal.wait();
    let text = terminal.until("the end", |text| text.contains("all tables:").then(|| text.to_owned()));
    assert!(status.success(), "{}: {text}", mpi.name);
    let is_bold = terminal.is_bold("[MEL] 1. ");
    (text, is_bold)
}

#[test]
fn it_is_as_wide_as_the_terminal_of_the_launcher() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        for columns in [80, 100, 200] {
            let output = directory.path().join(columns.to_string());
            let (text, is_bold) = in_terminal(mpi, columns, &output, &[]);
            let end = end_of_run(&text);
            assert!(end.len() <= LINES, "{}: {text}", mpi.name);
            // A terminal breaks what is longer: words that hang together would be torn.
            let longest = end.iter().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest <= usize::from(columns.min(120)), "{}: {longest} {text}", mpi.name);
            assert!(columns < 100 || longest > 80, "{}: {longest} {text}", mpi.name);
            assert!(is_bold, "{}: {text}", mpi.name);
        }
        let output = directory.path().join("plain");
        let (text, is_bold) = in_terminal(mpi, 80, &output, &[("NO_COLOR", "1")]);
        assert!(!is_bold, "{}: {text}", mpi.name);
    }
}

#[test]
fn a_file_of_the_launcher_is_no_terminal() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (output, errors) = (directory.path().join("run"), directory.path().join("errors"));
        let mut command = Command::new("sh");
        // The terminal is there, and what is told goes into a file.
        command.args(["-c", r#"to=$1; shift; exec "$@" 2>"$to""#, "sh"]).arg(&errors);
        let launcher = mpi.launcher(RANKS);
        command.arg(launcher.get_program()).args(launcher.get_args());
        command.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.arg(mel()).arg("run").arg("-o").arg(&output).arg("--").args(program(mpi));
        let mut terminal = Terminal::start(command, 24, 72);
        assert!(terminal.wait().success(), "{}: {}", mpi.name, terminal.text());
        let text = std::fs::read_to_string(&errors).expect("what was told");
        assert!(text.contains("all tables:") && !text.contains('\x1b'), "{}: {text}", mpi.name);
        assert!(end_of_run(&text).iter().any(|line| line.chars().count() > 72), "{}: {text}", mpi.name);
    }
}
