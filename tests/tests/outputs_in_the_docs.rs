//! What README and tutorial show of the text at the end of a run is what is printed today: the same sentences, whatever their figures.

use mel_tests::artifacts::{fresh_dir, root};
use mel_tests::docs::form;
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

#[test]
fn sentences_are_marked() {
    let text = "[MEL] measuring; x\nprogram\n[MEL] one\n      goes on\n a table\n[MEL] two\n";
    assert_eq!(sentences(text), ["one goes on", "two"]);
}
