//! `mel stuck` names who waits for whom in jobs that hang, while they hang and after they were killed; of the same without the mistake it
//! says nothing of the kind.

use std::fs;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::docs::is_shown;
use mel_tests::fortran::{Interface, compile_fortran, interfaces};
use mel_tests::watching::wait_for;
use mel_tests::{Finished, Job, Mpi, compile_source, compile_special};
use serde_json::{Value, json};

const RANKS: u32 = 4;

/// A case of a program that waits for messages, as its head comment has it.
struct Case {
    name: String,
    ranks: u32,
    kind: String,
    waiting: Vec<u32>,
    causes: Vec<u32>,
    words: String,
    /// The lines of its calls that wait.
    lines: Vec<String>,
}

/// The cases of a source below `tests/programs`: lines of its head comment that begin so. The lines of a case have its name in a comment
/// between these at their end.
fn cases(path: &str, begin: &str, comment: (&str, &str)) -> Vec<Case> {
    let path = root().join("tests/programs").join(path);
    let source = fs::read_to_string(&path).expect("the source");
    let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
    let list = |word: &str| word.split(',').filter_map(|rank| rank.parse().ok()).collect::<Vec<u32>>();
    let is_of = |line: &str, name: &str| {
        let remark = line.rsplit_once(comment.0).and_then(|(_, remark)| remark.strip_suffix(comment.1));
        remark.is_some_and(|names| names.split(' ').any(|one| one == name))
    };
    let case = |line: &str| {
        let mut words = line.strip_prefix(begin)?.split_whitespace();
        let name = words.next()?.to_owned();
        let (ranks, kind) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let (waiting, causes) = (list(words.next()?), list(words.next()?));
        let lines = source.lines().enumerate().filter(|(_, line)| is_of(line, &name));
        let lines = lines.map(|(number, _)| format!("{file}:{}", number + 1)).collect();
        let words = words.collect::<Vec<_>>().join(" ");
        Some(Case { name, ranks, kind, waiting, causes, words, lines })
    };
    let cases: Vec<Case> = source.lines().filter_map(case).collect();
    assert!(!cases.is_empty() && cases.iter().all(|case| !case.lines.is_empty()), "{file}");
    cases
}

impl Case {
    fn is_told(&self, said: &Value) -> bool {
        said["findings"].as_array().is_some_and(|findings| {
            findings.iter().any(|finding| {
                let sentence = finding["sentence"].as_str().unwrap_or_default();
                finding["kind"] == self.kind
                    && finding["waiting"] == json!(self.waiting)
                    && finding["causes"] == json!(self.causes)
                    && sentence.contains(&self.words)
                    && self.lines.iter().any(|line| sentence.contains(line))
            })
        })
    }

    /// It is told while it hangs, and after it was killed; without its mistake the program ends, and nothing is told.
    fn check(&self, mpi: &Mpi, program: &Path) {
        let what = format!("{}, {}", mpi.name, self.name);
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let options = ["-o".as_ref(), run.as_os_str()];
        let job = Job::new(mpi, self.ranks, program).args([&self.name]).patient().under_mel(options);
        while_it_hangs(&what, job, &run, |said| self.is_told(said).then_some(()));
        let gone = wait_for("the end", || stuck(&run).filter(|said| said["job"] == "gone"));
        assert!(self.is_told(&gone), "{what}: {gone:#}");
        let right = directory.path().join("right");
        let options = ["-o".as_ref(), right.as_os_str()];
        let job = Job::new(mpi, self.ranks, program).args([&self.name, "right"]).patient();
        let finished = job.under_mel(options).run();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), &what);
        let said = stuck(&right).unwrap_or_default();
        let of_right = (&said["job"], &said["findings"]);
        assert_eq!(of_right, (&json!("ended_well"), &json!([])), "{what}: {said:#}");
    }
}

/// What `mel stuck --json` says of a directory; none where it says nothing.
fn stuck(directory: &Path) -> Option<Value> {
    let output =
        Command::new(mel()).args(["stuck", "--json"]).arg(directory).output().expect("mel can be started");
    serde_json::from_slice(&output.stdout).ok()
}

/// The line in the source of the program that has this remark.
fn line(remark: &str) -> String {
    let source = fs::read_to_string(root().join("tests/programs/special/stuck.c")).expect("the source");
    let number =
        source.lines().position(|line| line.ends_with(&format!("/* {remark} */"))).expect("a remark");
    format!("stuck.c:{}", number + 1)
}

/// The first finding, if it is of this kind.
fn finding(said: &Value, kind: &str) -> Option<Value> {
    said["findings"].as_array()?.iter().find(|finding| finding["kind"] == kind).cloned()
}

/// The case hangs: its finding is of this kind, with these ranks that wait, these that are waited for, and these words, and is the same
/// when the job was killed.
#[track_caller]
fn hangs(case: &str, kind: &str, ranks: (&[u32], &[u32]), words: &[&str]) {
    hangs_as(case, [kind; 2], ranks, words);
}

/// The same, where the finding is of another kind when the job was killed.
#[track_caller]
fn hangs_as(case: &str, kinds: [&str; 2], (waiting, causes): (&[u32], &[u32]), words: &[&str]) {
    for mpi in &Mpi::of_distribution_or_every() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let options = ["-o".as_ref(), run.as_os_str()];
        let job =
            Job::new(mpi, RANKS, compile_special(mpi, "stuck")).args([case]).patient().under_mel(options);
        let is_as_told = |said: &Value| {
            let kind = kinds[usize::from(said["job"] == "gone")];
            let finding = finding(said, kind)?;
            let is_right = finding["waiting"] == json!(waiting) && finding["causes"] == json!(causes);
            (is_right && ["still", "gone"].iter().any(|job| said["job"] == *job)).then_some(finding)
        };
        let found = while_it_hangs(&format!("{}, {case}", mpi.name), job, &run, is_as_told);
        let sentence = found["sentence"].as_str().expect("a sentence");
        for word in words {
            assert!(sentence.contains(word), "{}, {case}: {word}: {sentence}", mpi.name);
        }
        let gone = wait_for("the end", || stuck(&run).filter(|said| said["job"] == "gone"));
        assert!(is_as_told(&gone).is_some(), "{}, {case}: {gone:#}", mpi.name);
        let text = Command::new(mel()).arg("stuck").arg(&run).output().expect("mel can be started");
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(
            text.contains("No process of the run is there any more") && text.contains("stuck.c:"),
            "{text}"
        );
    }
}

/// Without its mistake the case ends, and `mel stuck` says so.
#[track_caller]
fn ends(case: &str) {
    for mpi in &Mpi::of_distribution_or_every() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let options = ["-o".as_ref(), run.as_os_str()];
        let job = Job::new(mpi, RANKS, compile_special(mpi, "stuck"))
            .args([case, "right"])
            .patient()
            .under_mel(options);
        let finished = job.run();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
        let said = stuck(&run).unwrap_or_default();
        assert_eq!(
            (&said["job"], &said["findings"]),
            (&json!("ended_well"), &json!([])),
            "{}, {case}: {said:#}",
            mpi.name
        );
    }
}

#[test]
fn different_operations_of_one_number() {
    let (allreduce, bcast) = (line("allreduce"), line("bcast"));
    let words =
        [allreduce.as_str(), &bcast, "51st operation on first", "rank 2 is in MPI_Bcast", "they never meet"];
    hangs("mismatch", "mismatch", (&[0, 1, 2, 3], &[]), &words);
    ends("mismatch");
}

#[test]
fn a_barrier_that_a_rank_has_left_out() {
    let words = ["rank 2 has not come to it", "called MPI_Finalize", "51st operation on first"];
    hangs("left_out", "ended", (&[0, 1, 3], &[2]), &words);
    ends("left_out");
}

#[test]
fn a_rank_in_a_loop_outside_of_mpi() {
    hangs(
        "loop",
        "outside",
        (&[0, 1, 3], &[2]),
        &["it has been in no call that is counted for", "last in MPI_Allreduce"],
    );
    ends("loop");
}

/// What is wanted of a job that hangs, as soon as `mel stuck` says it. Then the job is ended; some launchers have ended it already.
#[track_caller]
fn while_it_hangs<T>(what: &str, job: Job<'_>, run: &Path, wanted: impl Fn(&Value) -> Option<T>) -> T {
    let job = job.start();
    let mut last = None;
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        wait_for("the hang", || {
            last = stuck(run);
            wanted(last.as_ref()?)
        })
    }));
    let launcher = job.launcher().to_string();
    // What makes two nodes hears no other signal, and takes them with it.
    let _ = Command::new("pkill").args(["-KILL", "-P", &launcher, "unshare"]).status();
    let _ = Command::new("kill").args(["-TERM", &launcher]).status();
    let finished = job.wait();
    found.unwrap_or_else(|_| panic!("{what}: {last:#?}\n{}", finished.stderr))
}

#[test]
fn a_rank_outside_of_mpi_is_told_with_its_stack() {
    for mpi in &Mpi::of_distribution_or_every() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let job = Job::new(mpi, RANKS, compile_special(mpi, "stuck")).args(["loop"]).patient();
        let job = job.under_mel(["-o".as_ref(), run.as_os_str()]);
        let has_stack = |said: &Value| (said["stacks"][0]["rank"] == 2).then(|| said.clone());
        let said = while_it_hangs(mpi.name, job, &run, has_stack);
        let frame = said["stacks"][0]["frames"][0].as_str().unwrap_or_default();
        assert!(frame.starts_with("stuck.c:") && frame.ends_with(" (loop)"), "{}: {said:#}", mpi.name);
        let sentence = said["sentences"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let wanted = format!("Rank 2 is at {frame}, called from stuck.c:");
        assert!(sentence.as_str().is_some_and(|text| text.starts_with(&wanted)), "{}: {said:#}", mpi.name);
    }
}

/// The program of the tutorial: it is told while its messages are short, and while it hangs; mended it ends.
#[test]
#[ignore = "slow"]
fn the_program_of_the_tutorial_that_hangs() {
    let source = root().join("examples/tutorial/hangs.c");
    for mpi in &Mpi::of_distribution_or_every() {
        let directory = fresh_dir();
        let program = compile_source(mpi, &source);
        let job = |arguments: &[&str]| Job::new(mpi, RANKS, &program).args(arguments).patient();
        let short = directory.path().join("short");
        let finished = job(&["100"]).under_mel(["--check".as_ref(), "-o".as_ref(), short.as_os_str()]).run();
        finished.expect(finished.code == Some(0), mpi.name);
        let said = Command::new(mel()).arg("analyze").arg(&short).output().expect("mel can be started");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("in MPI_Send at hangs.c:12 (pass_on)"), "{}: {said}", mpi.name);
        let long = directory.path().join("long");
        let hangs = job(&["100000"]).under_mel(["-o".as_ref(), long.as_os_str()]);
        while_it_hangs(mpi.name, hangs, &long, |said| {
            let text = finding(said, "cycle")?["sentence"].to_string();
            (text.contains("hangs.c:12") && text.contains("each sends first")).then_some(())
        });
        let mended = directory.path().join("mended");
        let finished = job(&["100000", "mended"]).under_mel(["-o".as_ref(), mended.as_os_str()]).run();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("done"), mpi.name);
    }
}

/// Three groups, whatever the number of ranks, and what they do.
fn is_in_thirds(said: &Value, ranks: u32) -> bool {
    let groups = said["groups"].as_array().cloned().unwrap_or_default();
    let of = |function: &str, first: u32| {
        let all: Vec<u32> = (first..ranks).step_by(3).collect();
        groups.iter().any(|group| group["function"] == function && group["ranks"] == json!(all))
    };
    let is_told = finding(said, "mismatch").is_some_and(|finding| {
        let sentence = finding["sentence"].as_str().unwrap_or_default();
        ["third_in_barrier", "third_in_allreduce"].iter().all(|name| sentence.contains(&line(name)))
    });
    groups.len() == 3
        && of("MPI_Barrier", 0)
        && of("MPI_Allreduce", 1)
        && of("MPI_Recv", 2)
        && is_told
        && said["job"] == "still"
}

#[test]
#[ignore = "slow"]
fn sixty_four_ranks_are_three_groups() {
    for mpi in &Mpi::of_distribution_or_every() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let job = Job::new(mpi, 64, compile_special(mpi, "stuck")).args(["thirds"]).patient();
        let job = job.under_mel(["-o".as_ref(), run.as_os_str()]);
        while_it_hangs(mpi.name, job, &run, |said| is_in_thirds(said, 64).then_some(()));
    }
}

#[test]
#[ignore = "slow"]
fn ranks_of_two_nodes_are_seen_from_one() {
    for (_, nodes) in &Mpi::on_two_nodes() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let job = Job::new(nodes, RANKS, compile_special(nodes, "stuck")).args(["thirds"]).patient();
        let job = job.under_mel(["-o".as_ref(), run.as_os_str()]);
        while_it_hangs(nodes.name, job, &run, |said| is_in_thirds(said, RANKS).then_some(()));
    }
}

#[test]
fn a_rank_that_has_exited_early() {
    hangs(
        "exits",
        "ended",
        (&[0, 1, 3], &[2]),
        &["rank 2 has not come to it: it has exited without MPI_Finalize"],
    );
    ends("exits");
}

#[test]
fn two_communicators_in_opposite_orders() {
    let words =
        ["51st operation on first", "1st operation on second", "they wait for each other in a circle"];
    hangs("orders", "cycle", (&[0, 1, 2, 3], &[]), &words);
    ends("orders");
}

#[test]
fn a_message_that_differs_in_its_tag_from_what_is_waited_for() {
    let receive = line("receive");
    let words = [
        receive.as_str(),
        "for a message with tag 8 of rank 1 on MPI_COMM_WORLD",
        "a message with tag 7 of rank 1 on MPI_COMM_WORLD has come",
        "the two differ in the tag alone",
    ];
    hangs("receive", "differs", (&[0], &[1]), &words);
    ends("receive");
}

#[test]
fn a_rank_that_tests_in_vain() {
    let poll = line("poll");
    let words = [poll.as_str(), "it tests again and again with MPI_Iprobe", "without success for"];
    hangs_as("polls", ["elsewhere", "outside"], (&[0, 1, 3], &[2]), &words);
    ends("polls");
}

/// A run of a case with a watchdog that waits for a second.
fn watched(mpi: &Mpi, run: &Path, arguments: &[&str], options: &[&str]) -> Finished {
    let watched = ["-o", run.to_str().expect("a name"), "--stuck-after", "1s"];
    let options = watched.iter().chain(options);
    let job = Job::new(mpi, RANKS, compile_special(mpi, "stuck")).args(arguments).patient();
    job.under_mel(options).run()
}

#[test]
#[ignore = "slow"]
fn the_watchdog_says_once_who_waits_and_ends_the_job_where_it_is_to() {
    let cases = [
        ("mismatch", "they never meet"),
        ("left_out", "rank 2 has not come to it: it has called MPI_Finalize"),
        ("polls", "rank 2 has not come to it: it tests again and again with MPI_Iprobe"),
    ];
    for mpi in &Mpi::of_distribution_or_every() {
        for (case, words) in cases {
            let directory = fresh_dir();
            let run = directory.path().join("run");
            let finished = watched(mpi, &run, &[case], &["--stuck-abort"]);
            finished.expect(finished.code == Some(86), mpi.name);
            let times = |words: &str| finished.stderr.matches(words).count();
            finished.expect(times(words) == 1 && times("nothing has moved for") == 1, mpi.name);
            let kept = fs::read(run.join("stuck.json")).expect("what was said");
            let kept: Value = serde_json::from_slice(&kept).expect("JSON");
            let sentence = kept["findings"][0]["sentence"].as_str().expect("a sentence");
            assert!(kept["job"] == "still" && sentence.contains(words), "{}, {case}: {kept:#}", mpi.name);
            // All files are whole.
            let report = Command::new(mel()).arg("report").arg(&run).output().expect("mel can be started");
            assert!(report.status.success(), "{}, {case}: {report:?}", mpi.name);
            // A launcher may end before the last process.
            let gone =
                wait_for("the end of all processes", || stuck(&run).filter(|said| said["job"] == "gone"));
            let sentence = gone["findings"][0]["sentence"].as_str().unwrap_or_default();
            assert!(sentence.contains(words), "as it was before: {}, {case}: {gone:#}", mpi.name);
        }
    }
}

#[test]
#[ignore = "slow"]
fn the_watchdog_takes_its_word_back_where_the_job_moves_again() {
    for mpi in &Mpi::of_distribution_or_every() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let finished = watched(mpi, &run, &["late"], &[]);
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
        let times = |words: &str| finished.stderr.matches(words).count();
        let said = times("nothing has moved for") == 1 && times("the job moves again") == 1;
        finished.expect(said && !run.join("stuck.json").exists(), mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn waits_for_messages_are_told() {
    let wanted = std::env::var("MEL_STUCK_CASE").unwrap_or_default();
    for mpi in &Mpi::of_distribution_or_every() {
        let program = compile_special(mpi, "stuck_messages");
        let cases = cases("special/stuck_messages.c", " *   ", ("/* ", " */"));
        cases
            .iter()
            .filter(|case| wanted.is_empty() || case.name == wanted)
            .for_each(|case| case.check(mpi, &program));
    }
}

#[test]
#[ignore = "slow"]
fn waits_for_windows_and_files_are_told() {
    for mpi in &Mpi::of_distribution_or_every() {
        let program = compile_special(mpi, "stuck_windows");
        let cases = cases("special/stuck_windows.c", " *   ", ("/* ", " */"));
        cases.iter().for_each(|case| case.check(mpi, &program));
    }
}

#[test]
#[ignore = "slow"]
fn waits_of_fortran_programs_are_told() {
    for mpi in &Mpi::of_distribution_or_every() {
        assert!(interfaces(mpi).contains(&Interface::Mpi), "{}", mpi.name);
        let program = compile_fortran(mpi, "stuck", Interface::Mpi);
        for case in cases("languages/stuck.F90", "!   ", ("! ", "")) {
            case.check(mpi, &program);
        }
    }
}

#[test]
#[ignore = "slow"]
fn who_watches_the_run_and_who_reads_its_report_see_why_it_hangs() {
    for mpi in &Mpi::of_distribution_or_every() {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let options = ["-o".as_ref(), run.as_os_str()];
        let job = Job::new(mpi, RANKS, compile_special(mpi, "stuck")).args(["mismatch"]).patient();
        let job = job.under_mel(options).start();
        let said = |arguments: &[&str]| {
            let output = Command::new(mel()).args(arguments).arg(&run).output().expect("mel can be started");
            String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let meets = |arguments: &[&str]| said(arguments).contains("they never meet").then_some(());
        wait_for("the report", || meets(&["report"]));
        wait_for("the watch", || meets(&["watch", "--once"]));
        let still = wait_for("a hang", || {
            Some(said(&["stuck"])).filter(|said| said.contains("No rank has entered or left a call"))
        });
        is_shown("docs/stuck.md", "they never meet", &still);
        let launcher = job.launcher();
        let _ = Command::new("kill").args(["-TERM", &launcher.to_string()]).status();
        job.wait();
        let report = said(&["report"]);
        assert!(report.starts_with("No process of the run is there any more"), "{}: {report}", mpi.name);
        assert!(report.contains("they never meet"), "{}: {report}", mpi.name);
    }
}
