//! What README and tutorial show of the text at the end of a run is what is printed today: the same sentences, whatever their figures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::docs::{self, form};
use mel_tests::watching::wait_for;
use mel_tests::{Job, Mpi, compile_source, marked_sentences};

/// The first output that a page has behind a command.
fn shown(page: &str, command: &str) -> String {
    let text = std::fs::read_to_string(root().join(page)).expect("a page");
    let behind =
        text.split_once(&format!("{command}\n")).unwrap_or_else(|| panic!("{page} has no {command}")).1;
    let block = behind.split_once("```text\n").and_then(|(_, rest)| rest.split_once("\n```"));
    block.unwrap_or_else(|| panic!("{page} has no output of {command}")).0.to_owned()
}

/// What MEL says, without the sentence that says where results go.
fn sentences(text: &str) -> Vec<String> {
    let mut all = marked_sentences(text);
    all.retain(|sentence| !sentence.starts_with("measuring;"));
    all
}

/// The beginning of a form, which tells one sentence from another.
fn begin(form: &str) -> String {
    form.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Whether a sentence is the same on all machines: not the program with the date, nor how many processors there are.
fn is_of_all(sentence: &str) -> bool {
    !sentence.starts_with(['.', '/']) && !sentence.contains("of the time the ranks had no processor")
}

fn is_what_a_run_prints(page: &str, command: &str, source: &str, ranks: u32) {
    let wanted = shown(page, command);
    let mpi = &Mpi::all()[0];
    let program = compile_source(mpi, &root().join(source));
    let room = fresh_dir();
    let output = room.path().join("run");
    let job = Job::new(mpi, ranks, &program).env("MEL_FULL", "");
    let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), page);
    let kept = |text: &str| -> Vec<String> {
        sentences(text).into_iter().filter(|sentence| is_of_all(sentence)).collect()
    };
    let (in_page, printed) = (kept(&wanted), kept(&run.stderr));
    let is_verdict = |sentence: &&String| form(sentence).starts_with("# rank");
    // The head: both have the same sentences in the same order.
    let head = |all: &[String]| -> Vec<String> {
        all.iter()
            .take_while(|sentence| !is_verdict(sentence))
            .map(|sentence| begin(&form(sentence)))
            .collect()
    };
    let (page_head, run_head) = (head(&in_page), head(&printed));
    let is_whole = !wanted.starts_with("[...]");
    run.expect(
        if is_whole { page_head == run_head } else { run_head.ends_with(&page_head) },
        &format!("{page} has {page_head:#?}, the run {run_head:#?}"),
    );
    // The first finding: function and line, whoever is the cause.
    let place = |all: &[String]| {
        let first = all.iter().find(is_verdict).expect("a finding");
        first.split(" in ").nth(1).and_then(|rest| rest.split(',').next()).map(str::to_owned)
    };
    let (of_page, of_run) = (place(&in_page), place(&printed));
    run.expect(of_page == of_run, &format!("{page} shows {of_page:?}, the run {of_run:?}"));
}

#[test]
fn the_readme_shows_what_a_run_prints() {
    let command = "mpirun -n 4 --oversubscribe mel run ./halo2d";
    is_what_a_run_prints("README.md", command, "examples/programs/halo2d.c", 4);
}

#[test]
fn the_tutorial_shows_what_a_run_prints() {
    let command = "mpirun -n 4 --oversubscribe mel run ./uneven";
    is_what_a_run_prints("docs/tutorial.md", command, "examples/tutorial/uneven.c", 4);
}

/// So many words of a sentence are the same in each run; what comes after them may depend on its times.
const WORDS: usize = 12;

/// Runs a command of the tutorial, where its programs are; with all that it prints.
fn shell(command: &str, room: &Path) -> Command {
    let mut shell = Command::new("sh");
    let path = std::env::var("PATH").unwrap_or_default();
    let own = [room.join("bin").display().to_string(), path].join(":");
    shell.args(["-ec", &format!("exec 2>&1; {command}")]).current_dir(room).env("PATH", own);
    shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    shell
}

/// A page's commands and what it shows of them, in its order.
fn blocks(page: &str) -> Vec<(bool, String)> {
    let text = std::fs::read_to_string(root().join(page)).expect("a page");
    let block = |part: &str| {
        let (kind, rest) = part.split_once('\n')?;
        ["sh", "text"].contains(&kind).then(|| (kind == "sh", rest.trim_end().to_owned()))
    };
    text.split("```").skip(1).step_by(2).filter_map(block).collect()
}

/// Each command of the tutorial is run, in its order, and what it shows begins as the tutorial has it.
#[test]
#[ignore = "slow"]
fn the_tutorial_is_gone_through() {
    let mpi = &Mpi::all()[0];
    let room = fresh_dir();
    let room = room.path();
    std::fs::create_dir_all(room.join("bin")).expect("a folder");
    let program = |command: Command| PathBuf::from(command.get_program());
    let all = [("mel", mel()), ("mpirun", program(mpi.launcher(1))), ("mpicc", program(mpi.mpicc()))];
    for (name, program) in all {
        let found = which(&program);
        std::os::unix::fs::symlink(found, room.join("bin").join(name)).expect("a link");
    }
    for entry in std::fs::read_dir(root().join("examples/tutorial")).expect("the programs") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, room.join(path.file_name().expect("a name"))).expect("a copy");
    }
    let mut printed = String::new();
    let mut hangs = None;
    for (is_command, block) in blocks("docs/tutorial.md") {
        let command = block.replace("cd examples/tutorial\n", "");
        if !is_command {
            let there = format!(" {} ", form(&printed));
            for sentence in docs::sentences(&block).iter().filter(|sentence| is_of_each_machine(sentence)) {
                let begin = form(sentence).split(' ').take(WORDS).collect::<Vec<_>>().join(" ");
                assert!(
                    there.contains(&format!(" {begin} ")),
                    "{sentence}\nis not printed as\n{begin}\nby\n{printed}"
                );
            }
        } else if command.contains("hangs 100000") && !command.contains("mended") {
            // It is looked at from another terminal.
            hangs = Some(
                shell(&format!("exec {command}"), room).stdout(Stdio::null()).spawn().expect("it starts"),
            );
        } else {
            let run = || shell(&command, room).output().expect("a shell");
            let output = match &hangs {
                Some(_) => wait_for("a hang", || {
                    Some(run()).filter(|run| run.stdout.windows(9).any(|part| part == b"No rank h"))
                }),
                None => run(),
            };
            printed = String::from_utf8_lossy(&output.stdout).into_owned();
            // `mel diff` ends with 1 where runs differ, as those do.
            assert!(output.status.success() || command.contains("mel diff"), "{command}: {printed}");
            if let Some(mut hangs) = hangs.take() {
                let _ = Command::new("kill").args(["-TERM", &hangs.id().to_string()]).status();
                hangs.wait().expect("its end");
            }
        }
    }
}

/// Where a program is.
fn which(program: &Path) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&folders).map(|folder| folder.join(program));
    all.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{} is there", program.display()))
}

/// Not the program with the date, nor who has run it on which host, nor how many processors there are.
fn is_of_each_machine(sentence: &str) -> bool {
    let text = sentence.trim_start_matches("[MEL] ");
    !text.contains(" by mpirun") && is_of_all(text)
}

#[test]
fn sentences_are_marked() {
    let text = "[MEL] measuring; x\nprogram\n[MEL] one\n      goes on\n a table\n[MEL] two\n";
    assert_eq!(sentences(text), ["one goes on", "two"]);
}
