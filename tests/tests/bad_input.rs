//! Bad input gets one clear line; the program runs as without MEL.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, libmel, mel};
use mel_tests::{Finished, Job, Mpi, Program};

/// Runs `expected` with the options in an empty directory; its results must be those of a plain run.
fn run_unharmed(mpi: &Mpi, options: &[&str]) -> Finished {
    let executable = Program::named("expected").compile(mpi);
    let plain = Job::new(mpi, 2, &executable).run();
    let directory = fresh_dir();
    let run = Job::new(mpi, 2, &executable).current_dir(directory.path()).under_mel(options).run();
    run.expect(run.code == Some(0) && run.stdout == plain.stdout, &format!("{options:?} on {}", mpi.name));
    run
}

/// Runs `expected` with options for which no rank is started; one line says why.
fn refused(mpi: &Mpi, options: &[&str]) -> Finished {
    let executable = Program::named("expected").compile(mpi);
    let directory = fresh_dir();
    let run = Job::new(mpi, 2, &executable).current_dir(directory.path()).under_mel(options).run();
    let what = format!("{options:?} on {}", mpi.name);
    run.expect(run.code.is_some_and(|code| code != 0) && run.stdout.is_empty(), &what);
    run.expect(run.mel_lines().count() == 1, &what);
    run.expect(run.stderr.contains("nothing was started"), &what);
    let left = fs::read_dir(directory.path()).expect("still there").count();
    assert_eq!(left, 0, "{what}: a run has left files");
    run
}

#[test]
fn an_unknown_event_ends_the_run_before_it_starts() {
    for mpi in &Mpi::all() {
        let run = refused(mpi, &["-e", "pml_ob1_message_arived", "-o", "run"]);
        run.expect(run.stderr.contains("nearest: pml_ob1_message_arrived"), "the nearest name is not shown");
        run.expect(run.stderr.contains("--no-strict"), "the remedy is not named");
    }
}

#[test]
fn an_unknown_function_ends_the_run_before_it_starts() {
    for mpi in &Mpi::all() {
        let run = refused(mpi, &["--trace", "--only-calls", "MPI_Send,MPI_Sned"]);
        run.expect(run.stderr.contains("there is no MPI function MPI_Sned; nearest: MPI_Send"), mpi.name);
        let run = refused(mpi, &["--trace", "--no-comms", "the [halo"]);
        run.expect(run.stderr.contains("the [halo is no pattern"), mpi.name);
    }
}

#[test]
fn a_misspelt_option_is_told_by_one_rank() {
    for mpi in &Mpi::all() {
        let program = Program::named("expected").compile(mpi);
        let run = Job::new(mpi, 4, program).under_mel(["--trase"]).run();
        run.expect(run.code.is_some_and(|code| code != 0), mpi.name);
        let said = run.stderr.matches("unexpected argument '--trase'").count();
        run.expect(said == 1 && run.stderr.contains("--trace"), mpi.name);
    }
}

#[test]
fn a_file_of_a_run_stands_for_its_directory_and_a_second_run_has_a_command() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let program = Program::named("expected").compile(mpi);
    let run = Job::new(mpi, 2, program).current_dir(directory.path()).under_mel(["-o", "run"]).run();
    run.expect(run.code == Some(0), mpi.name);
    let report = |words: &[&str]| {
        let mut command = Command::new(mel());
        let said =
            command.current_dir(directory.path()).arg("report").args(words).output().expect("mel starts");
        (
            said.status.code(),
            String::from_utf8_lossy(&said.stdout).into_owned(),
            String::from_utf8_lossy(&said.stderr).into_owned(),
        )
    };
    assert_eq!(report(&["run/profile.json"]), report(&["run"]));
    let (code, _, said) = report(&["run", "run"]);
    assert!(code == Some(1) && said.contains("mel diff run run"), "{said}");
    fs::write(directory.path().join("notes.txt"), "").expect("a file");
    let (code, _, said) = report(&["notes.txt"]);
    assert!(code == Some(2) && said.contains("the directory of a run"), "{said}");
}

#[test]
fn an_unknown_event_is_named_once_where_the_run_goes_on() {
    let named_once = |run: &Finished| {
        let lines: Vec<&str> =
            run.mel_lines().filter(|line| line.contains("pml_ob1_message_arived")).collect();
        run.expect(lines.len() == 1, "not exactly one line");
        run.expect(lines[0].contains("pml_ob1_message_arrived"), "the nearest name is not shown");
    };
    for mpi in &Mpi::all() {
        named_once(&run_unharmed(mpi, &["--no-strict", "-e", "pml_ob1_message_arived", "-o", "run"]));
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let variables = [("MEL_EVENTS", "pml_ob1_message_arived"), ("MEL_OUTPUT", output.as_str())];
        let executable = Program::named("expected").compile(mpi);
        let preloaded = Job::new(mpi, 2, &executable).preloaded(&variables).run();
        preloaded.expect(preloaded.code == Some(0) && preloaded.stdout.ends_with("OK\n"), mpi.name);
        named_once(&preloaded);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named_once() {
    let holder = fresh_dir();
    let file = holder.path().join("a-file");
    fs::write(&file, "not a directory").expect("can be written");
    let below = file.join("run");
    let below = below.to_str().expect("a plain path");
    for mpi in &Mpi::all() {
        for options in [vec!["-o", below], vec!["--trace", "-o", below]] {
            let run = run_unharmed(mpi, &options);
            let named = run.stderr.lines().filter(|line| line.contains(below)).count();
            run.expect(named == 1, "not exactly one line names the directory");
        }
    }
}

#[test]
fn an_earlier_run_is_kept_unless_forced() {
    for mpi in &Mpi::all() {
        let executable = Program::named("expected").compile(mpi);
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let job = || Job::new(mpi, 4, &executable);
        let runs = |job: Job<'_>| {
            let run = job.run();
            run.expect(run.code == Some(0) && run.stdout.ends_with("OK\n"), mpi.name);
            run
        };
        let options = ["-o".as_ref(), output.as_os_str(), "--force".as_ref()];
        let profile = output.join("profile.json");
        runs(job().under_mel(&options[..2]));
        fs::write(&profile, "kept").expect("the profile is there");
        // Whatever the launcher does with ranks that are left: no rank starts.
        let refused = job().under_mel(&options[..2]).run();
        refused.expect(refused.code.is_some_and(|code| code != 0) && refused.stdout.is_empty(), mpi.name);
        refused.expect(refused.mel_lines().count() == 1, "not exactly one line");
        refused.expect(refused.stderr.contains("overwrite it with --force"), "the remedy is not named");
        assert_eq!(fs::read_to_string(&profile).expect("still there"), "kept", "{}", mpi.name);
        // The library alone goes on, and writes nothing.
        let directory = output.display().to_string();
        let preloaded = runs(job().preloaded(&[("MEL_PROFILE", "queues"), ("MEL_OUTPUT", &directory)]));
        preloaded.expect(preloaded.stderr.contains("overwrite it with --force"), "the remedy is not named");
        assert_eq!(fs::read_to_string(&profile).expect("still there"), "kept", "{}", mpi.name);
        runs(job().under_mel(options));
        assert_ne!(fs::read_to_string(&profile).expect("written again"), "kept", "{}", mpi.name);
    }
}

#[test]
fn what_a_killed_run_has_left_is_an_earlier_run() {
    let directory = fresh_dir();
    fs::write(directory.path().join("rank-0.table"), "").expect("can be written");
    let options = ["run", "-o", directory.path().to_str().expect("a plain path"), "echo", "hello"];
    let run = Command::new(mel()).args(options).output().expect("mel can be started");
    assert_eq!((run.status.code(), &*run.stdout), (Some(1), &b""[..]));
    assert!(String::from_utf8_lossy(&run.stderr).contains("--force"));
}

#[test]
fn a_shell_between_changes_nothing() {
    for mpi in &Mpi::all() {
        let executable = Program::named("expected").compile(mpi);
        let plain = Job::new(mpi, 2, &executable).run();
        let directory = fresh_dir();
        let script = format!("true; {} && true; exit 4", executable.display());
        let run = Job::new(mpi, 2, "sh")
            .args(["-c", &script])
            .current_dir(directory.path())
            .under_mel(["-o", "run"])
            .run();
        run.expect(run.code == Some(4) && run.stdout == plain.stdout, mpi.name);
        run.expect(
            directory.path().join("run/profile.json").exists(),
            "the program in the shell has no profile",
        );
    }
}

#[test]
fn a_program_that_does_not_exist_is_127() {
    let run = Command::new(mel()).args(["run", "./no-such-program"]).output().expect("mel can be started");
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(127), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("no-such-program"), "{stderr}");
    for mpi in &Mpi::all() {
        let run = Job::new(mpi, 4, "./no-such-program").under_mel([""; 0]).run();
        run.expect(run.code.is_some_and(|code| code != 0) && run.mel_lines().count() == 1, "one line");
    }
}

#[test]
fn a_program_without_mpi_runs_as_it_is() {
    let run = Command::new(mel()).args(["run", "echo", "hello"]).output().expect("mel can be started");
    assert_eq!((run.status.code(), &*run.stdout, &*run.stderr), (Some(0), &b"hello\n"[..], &b""[..]));
}

#[test]
fn programs_without_mpi_are_as_they_are_with_everything_on() {
    let directory = fresh_dir();
    fs::write(directory.path().join("a-file"), "").expect("can be written");
    let ls = |variables: &[(&str, &OsStr)]| {
        let run = Command::new("/bin/ls")
            .current_dir(directory.path())
            .envs(variables.iter().copied())
            .output()
            .expect("there is an ls");
        (run.status.code(), run.stdout, run.stderr)
    };
    let watched = ls(&[
        ("LD_PRELOAD", libmel().as_os_str()),
        ("MEL_PROFILE", "queues".as_ref()),
        ("MEL_TRACE", "1".as_ref()),
        ("MEL_EVENTS", "no_such_event".as_ref()),
        ("MEL_OUTPUT", "run".as_ref()),
    ]);
    assert_eq!(watched, (Some(0), b"a-file\n".to_vec(), Vec::new()));
    assert_eq!(watched, ls(&[]));
}

/// A job script as people write them: other programs before, beside and after the MPI program, all of which inherit the
/// preloaded library.
#[test]
fn a_script_with_other_children_is_unharmed() {
    for mpi in &Mpi::all() {
        let executable = Program::named("expected").compile(mpi);
        let directory = fresh_dir();
        let script = directory.path().join("job.sh");
        let text = format!(
            "#!/bin/sh\nuname > /dev/null\nsleep 0.1 &\nfiles=$(ls | sed 's/^/file /')\necho \"$files\" | grep -c job.sh >&2\n\
             env {} || exit 3\nwait\ndate > /dev/null\nexit 5\n",
            executable.display()
        );
        fs::write(&script, text).expect("can be written");
        let job = || Job::new(mpi, 2, "sh").args([&script]).current_dir(directory.path());
        let plain = job().run();
        plain.expect(plain.code == Some(5) && plain.stdout.ends_with("OK\n"), mpi.name);

        let run = job().under_mel(["-o", "run"]).run();
        run.expect(run.code == plain.code && run.stdout == plain.stdout, mpi.name);
        run.expect(directory.path().join("run/profile.json").exists(), "no profile of the MPI program");
        // What is not MEL's own is what the script prints by itself; only one program warns.
        let warnings = run.mel_lines().filter(|line| line.contains("profile.json")).count();
        run.expect(warnings == 1, "not exactly one program has warned");
    }
}
