//! Several processes of `mel convert --otf2`, started by a launcher, write the archive that one process writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::slurm::{in_slurm, mpis};
use mel_tests::trace::printed;
use mel_tests::{Finished, Job, Mpi, Program, compile_source, compile_special};

/// A traced run of a program in a directory.
fn traced(mpi: &Mpi, ranks: u32, program: &Path, arguments: &[&str], run: &Path) {
    let job = Job::new(mpi, ranks, program).args(arguments).patient();
    let finished = job.under_mel(["--trace".as_ref(), "-o".as_ref(), run.as_os_str()]).run();
    finished.expect(finished.code == Some(0), &program.display().to_string());
}

/// `mel convert --otf2` of a run by several processes.
fn together(mpi: &Mpi, processes: u32, run: &Path, to: &Path, options: &[&str]) -> Finished {
    let job = Job::new(mpi, processes, mel()).args(["convert", "--otf2"]).args(options);
    job.args(["-o".as_ref(), to.as_os_str(), run.as_os_str()]).run()
}

/// The same by one process.
fn alone(run: &Path, to: &Path, options: &[&str]) {
    let mut command = Command::new(mel());
    let output =
        command.args(["convert", "--otf2"]).args(options).arg("-o").args([to, run]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn are_equal(one: &Path, other: &Path, what: &str) {
    for (one, other) in printed(one).iter().zip(&printed(other)) {
        for (one, other) in one.lines().zip(other.lines()) {
            assert_eq!(one, other, "{what}");
        }
        assert_eq!(one.lines().count(), other.lines().count(), "{what}");
    }
    let markers = |directory: &Path| fs::read(directory.join("traces.marker")).ok();
    assert!(markers(one) == markers(other), "{what}: the markers differ");
    assert!(!one.join("traces.unfinished").exists(), "{what}");
}

#[test]
fn several_processes_write_what_one_writes() {
    for mpi in Mpi::all() {
        let programs: [(PathBuf, u32, &[&str]); 3] = [
            (Program::named("random").compile(&mpi), 5, &["3", "5"]),
            // It has something to mark.
            (compile_source(&mpi, &root().join("examples/programs/halo2d.c")), 3, &["--iterations", "5"]),
            // Recording is off on one of them for a while; and there are more processes than ranks.
            (compile_special(&mpi, "phases"), 2, &[]),
        ];
        for (program, ranks, arguments) in programs {
            let what = format!("{} on {ranks} ranks of {}", program.display(), mpi.name);
            let directory = fresh_dir();
            let [run, shared, one] = ["run", "shared", "one"].map(|name| directory.path().join(name));
            traced(&mpi, ranks, &program, arguments, &run);
            let finished = together(&mpi, 3, &run, &shared, &[]);
            finished.expect(finished.code == Some(0) && finished.stderr.is_empty(), &what);
            finished.expect(finished.stdout.matches("traces.otf2: ").count() == 1, "one process tells");
            finished.expect(finished.stdout.contains(&format!(": {ranks} ranks, ")), "of all ranks");
            alone(&run, &one, &[]);
            are_equal(&shared, &one, &what);
        }
    }
}

#[test]
fn without_markers_nothing_is_marked() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let [run, marked, plain, shared] =
        ["run", "marked", "plain", "shared"].map(|name| directory.path().join(name));
    let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
    traced(mpi, 3, &program, &["--iterations", "5"], &run);
    alone(&run, &marked, &[]);
    alone(&run, &plain, &["--no-markers"]);
    let finished = together(mpi, 2, &run, &shared, &["--no-markers"]);
    finished.expect(finished.code == Some(0), "with two processes");
    let has_markers = |directory: &Path| directory.join("traces.marker").exists();
    assert!(has_markers(&marked) && !has_markers(&plain) && !has_markers(&shared));
    are_equal(&shared, &plain, "without markers");
    assert_eq!(printed(&marked)[2], printed(&plain)[2], "the events are the same");
}

#[test]
fn what_is_in_the_way_is_told_once_and_what_an_earlier_try_has_left_is_replaced() {
    for mpi in Mpi::all() {
        let directory = fresh_dir();
        let [run, shared, one] = ["run", "shared", "one"].map(|name| directory.path().join(name));
        traced(&mpi, 2, &Program::named("sendrecv").compile(&mpi), &[], &run);
        let folder = shared.join("traces.unfinished");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir(shared.join("traces")).unwrap();
        for file in ["traces/0.evt", "traces.def", "traces.unfinished/hello-1", "traces.unfinished/plan"] {
            fs::write(shared.join(file), "an earlier try").unwrap();
        }
        let finished = together(&mpi, 2, &run, &shared, &[]);
        finished.expect(finished.code == Some(0), mpi.name);
        alone(&run, &one, &["--alone"]);
        are_equal(&shared, &one, mpi.name);
        let finished = together(&mpi, 3, &run, &shared, &[]);
        finished.expect(finished.code.is_some_and(|code| code != 0), mpi.name);
        finished.expect(finished.mel_lines().count() == 1 && finished.stderr.contains("--force"), "one line");
        let finished = together(&mpi, 3, &run, &shared, &["--force"]);
        finished.expect(finished.code == Some(0), mpi.name);
        are_equal(&shared, &one, mpi.name);
    }
}

/// A process as a launcher would start it.
fn process(rank: u32, size: u32, run: &Path, wait: &str) -> Child {
    let mut command = Command::new(mel());
    command.args(["convert", "--otf2", "--force", "--wait", wait]).arg(run);
    command.env("OMPI_COMM_WORLD_RANK", rank.to_string()).env("OMPI_COMM_WORLD_SIZE", size.to_string());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mel can be started")
}

/// What processes say that have failed: one line of all.
fn the_line(outputs: Vec<Output>) -> String {
    assert!(outputs.iter().all(|output| output.status.code() == Some(1)), "{outputs:?}");
    let text: String = outputs.iter().map(|output| String::from_utf8_lossy(&output.stderr)).collect();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn nobody_waits_for_a_process_that_was_killed() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let run = directory.path().join("run");
    traced(mpi, 3, &Program::named("sendrecv").compile(mpi), &[], &run);
    let folder = run.join("traces.unfinished");
    // One never comes: it was killed when it was started.
    let there = [process(0, 3, &run, "3"), process(2, 3, &run, "3")];
    let line = the_line(there.map(|process| process.wait_with_output().unwrap()).into());
    assert!(line.contains("2 of them have come") && line.contains("process 1 has not"), "{line}");
    assert!(!folder.exists());
    // One is killed while others have not come yet: nobody waits as long as for signs of life.
    let (first, mut second) = (process(0, 3, &run, "100"), process(1, 3, &run, "100"));
    while !["hello-0", "hello-1"].iter().all(|name| folder.join(name).exists()) {
        thread::sleep(Duration::from_millis(10));
    }
    second.kill().unwrap();
    second.wait().unwrap();
    let line = the_line(vec![first.wait_with_output().unwrap()]);
    assert!(line.contains("process 1 of 3 has ended"), "{line}");
    assert!(!folder.exists());
    // The first one is killed.
    let (mut first, second) = (process(0, 3, &run, "3"), process(1, 3, &run, "3"));
    while !["hello-0", "hello-1"].iter().all(|name| folder.join(name).exists()) {
        thread::sleep(Duration::from_millis(10));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let line = the_line(vec![second.wait_with_output().unwrap()]);
    assert!(line.contains("process 0 of 3 has not come, or has ended"), "{line}");
    // What it has left is in nobody's way.
    let all = [0, 1, 2].map(|rank| process(rank, 3, &run, "60"));
    for output in all.map(|process| process.wait_with_output().unwrap()) {
        assert!(output.status.success(), "{output:?}");
    }
    assert!(run.join("traces.otf2").exists() && !folder.exists());
}

#[test]
fn a_launcher_says_that_a_process_was_killed() {
    let script = r#"[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && kill -9 $$; exec "$@""#;
    for mpi in Mpi::all() {
        let directory = fresh_dir();
        let [run, shared] = ["run", "shared"].map(|name| directory.path().join(name));
        traced(&mpi, 3, &Program::named("sendrecv").compile(&mpi), &[], &run);
        let job = Job::new(&mpi, 3, "sh").args(["-c", script, "sh"]);
        let job = job.args([mel().as_os_str(), "convert".as_ref(), "--otf2".as_ref(), "--wait".as_ref()]);
        let finished = job.args(["5".as_ref(), "-o".as_ref(), shared.as_os_str(), run.as_os_str()]).run();
        finished.expect(finished.code != Some(0), mpi.name);
        // The launcher ends the others, or they end by themselves.
        finished.expect(finished.mel_lines().count() <= 1, "at most one line of ours");
        assert!(!shared.join("traces.otf2").exists(), "{}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn srun_starts_processes_that_share_a_trace() {
    let Some((mpi, plugin)) = mpis().pop() else { return };
    let directory = fresh_dir();
    let program = Program::named("random").compile(&mpi);
    let script = format!(
        "srun --mpi={plugin} -n 6 --ntasks-per-node=2 mel run --trace -o run {} 3 5
         srun -n 4 --ntasks-per-node=2 mel convert --otf2 -o shared run
         mel convert --otf2 -o one run",
        program.display()
    );
    let finished = in_slurm(directory.path(), &script);
    finished.expect(finished.code == Some(0), mpi.name);
    are_equal(&directory.path().join("shared"), &directory.path().join("one"), "by srun");
}
