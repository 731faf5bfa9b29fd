//! The command `mel` as a user sees it: exit codes, standard output, one line per error.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn mel(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mel"));
    command.args(arguments);
    let inherited = ["MEL_EVENTS", "MEL_PROFILE", "MEL_TRACE", "MEL_OUTPUT", "MEL_LIBRARY", "LD_PRELOAD"];
    inherited.iter().for_each(|name| {
        command.env_remove(name);
    });
    // `cargo test` builds the library, but does not put it beside the command.
    let beside = Path::new(env!("CARGO_BIN_EXE_mel")).with_file_name("deps").join("libmel.so");
    if beside.exists() {
        command.env("MEL_LIBRARY", beside);
    }
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_program_keeps_its_output_and_exit_code() {
    let (code, out, err) = output(&mut mel(&["run", "sh", "-c", "echo out; echo err >&2; exit 5"]));
    assert_eq!((code, out.as_str(), err.as_str()), (Some(5), "out\n", "err\n"));
    let (code, ..) = output(&mut mel(&["run", "--", "sh", "-c", "kill -9 $$"]));
    assert_eq!(code, None, "it died of a signal");
}

#[test]
fn the_program_finds_what_was_asked_for_in_its_environment() {
    let script =
        "echo $MEL_PROGRAM,$MEL_EVENTS,$MEL_PROFILE,$MEL_TRACE,$MEL_OUTPUT,$MEL_FORCE; echo $LD_PRELOAD";
    let (_, out, _) = output(&mut mel(&["run", "/bin/sh", "-c", script]));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "sh,,calls,queues,,,");
    assert!(Path::new(lines[1]).is_file() && lines[1].ends_with("/libmel.so"), "{out}");
    let (_, out, _) =
        output(&mut mel(&["run", "-e", "a,b", "--trace", "-o", "d", "--force", "sh", "-c", script]));
    assert_eq!(out.lines().next(), Some("sh,a,b,calls,queues,1,d,1"));
}

#[test]
fn a_directory_without_a_trace_gives_one_line_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let (code, out, err) = output(&mut mel(&["analyze", path]));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert_eq!(err, format!("[MEL] {path} holds no trace: run the program with `mel run --trace`\n"));
    let (code, _, err) = output(&mut mel(&["analyze", "--epsilon", "5", path]));
    assert_eq!(code, Some(2));
    assert!(err.contains("a time has a unit"), "{err}");
}

#[test]
fn a_program_that_is_not_there_gives_127_and_one_line() {
    let (code, out, err) = output(&mut mel(&["run", "./no-such-program"]));
    assert_eq!((code, out.as_str()), (Some(127), ""));
    assert_eq!(err, "[MEL] cannot find the program ./no-such-program; check its path\n");
    let (code, _, err) = output(&mut mel(&["run", "/etc/passwd"]));
    assert_eq!(code, Some(126));
    assert!(err.starts_with("[MEL] cannot execute /etc/passwd: ") && err.lines().count() == 1, "{err}");
}

#[test]
fn a_static_program_runs_and_the_first_rank_says_why_nothing_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("a.c"), directory.path().join("a"));
    std::fs::write(&source, "int main(void) { return 3; }\n").unwrap();
    let built = Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program).status().unwrap();
    assert!(built.success());
    let program = program.to_str().unwrap();
    let (code, _, err) = output(&mut mel(&["run", program]));
    assert_eq!(code, Some(3));
    assert!(err.contains("is linked statically") && err.lines().count() == 1, "{err}");
    let (code, _, err) = output(mel(&["run", program]).env("OMPI_COMM_WORLD_RANK", "1"));
    assert_eq!((code, err.as_str()), (Some(3), ""));
}

#[test]
fn each_error_is_one_line_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().to_str().unwrap();
    for (arguments, remedy) in [
        (vec!["report", empty], "without `--profile none`"),
        (vec!["convert", empty], "mel run --trace"),
        (vec!["convert", "--otf2", empty], "mel run --trace"),
        (vec!["report", "/no/such/run"], "/no/such/run"),
    ] {
        let (code, out, err) = output(&mut mel(&arguments));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(err.starts_with("[MEL] ") && err.contains(remedy) && err.lines().count() == 1, "{err}");
    }
    let (code, _, err) = output(mel(&["run", "true"]).env("MEL_LIBRARY", "/no/libmel.so"));
    assert_eq!(code, Some(1));
    assert!(err.contains("MEL_LIBRARY") && err.lines().count() == 1, "{err}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut process = mel(&["events"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(process.stdout.take());
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_full_disk_behind_standard_output_is_one() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        mel(&["events"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("[MEL] cannot write to standard output: "));
}

/// A folder with a command of this name, which does what a script says, in front of the path.
fn path_with(directory: &Path, name: &str, script: &str) -> std::ffi::OsString {
    use std::os::unix::fs::PermissionsExt;
    let file = directory.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    std::env::join_paths([directory.to_owned()].into_iter().chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn the_doctor_says_of_each_thing_how_it_is_and_what_to_do() {
    let (code, out, err) = output(&mut mel(&["doctor", "--json"]));
    let report: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    assert_eq!(code == Some(0), report["usable"].as_bool().unwrap(), "{out}");
    let findings = report["findings"].as_array().unwrap();
    for what in ["libmel.so", "MPI", "launcher", "shared memory", "/dev/shm", "clock", "OTF2", "directory"] {
        assert!(findings.iter().any(|finding| finding["what"] == what), "{what}: {out}");
    }
    for finding in findings {
        let means = finding["means"].as_str().unwrap();
        assert_eq!(means.is_empty(), finding["level"] == "ok", "what is not well has a meaning: {finding}");
    }
    let (again, text, _) = output(&mut mel(&["doctor"]));
    assert_eq!(again, code);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn without_its_library_mel_cannot_work() {
    let (code, out, err) = output(mel(&["doctor", "/bin/true"]).env("MEL_LIBRARY", "/no/libmel.so"));
    assert_eq!((code, err.as_str()), (Some(1), ""));
    assert!(out.contains("BROKEN") && out.contains("MEL_LIBRARY names /no/libmel.so"), "{out}");
    assert!(out.ends_with("MEL cannot work here: see what is BROKEN.\n"), "{out}");
}

#[test]
fn a_compiler_that_makes_no_program_is_named_with_what_it_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_with(directory.path(), "mpicc", "echo 'no such module: gcc' >&2; exit 7");
    let (_, out, _) = output(mel(&["doctor", "--json"]).env("PATH", path));
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let finding = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["found"].as_str().unwrap().contains("makes no program"))
        .unwrap_or_else(|| panic!("{out}"));
    assert!(finding["found"].as_str().unwrap().ends_with("no such module: gcc"), "{finding}");
}

#[test]
fn the_manual_is_written_below_a_prefix() {
    let directory = tempfile::tempdir().unwrap();
    let (code, out, err) = output(&mut mel(&["manual", directory.path().to_str().unwrap()]));
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    assert!(directory.path().join("share/man/man1/mel-doctor.1").is_file());
    let (code, out, _) = output(&mut mel(&["manual", "--completions", "fish"]));
    assert!(code == Some(0) && out.contains("complete -c mel"), "{out}");
    assert_eq!(output(&mut mel(&["manual"])).0, Some(2));
}

#[test]
fn the_version_is_told() {
    let (code, out, _) = output(&mut mel(&["--version"]));
    assert_eq!((code, out.as_str()), (Some(0), concat!("mel ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn of_several_processes_that_a_launcher_starts_the_first_one_converts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let started = |rank: &str, options: &[&str]| {
        let mut command = mel(&["convert", "--otf2", path]);
        command.args(options).env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "3");
        output(&mut command)
    };
    let (code, _, nothing) = started("0", &[]);
    assert_eq!(code, Some(1), "it looks at the directory, which is empty: {nothing}");
    let (code, _, told) = started("1", &[]);
    assert_eq!(code, Some(0));
    assert!(told.contains("the first one converts") && told.lines().count() == 1, "{told}");
    assert_eq!(started("2", &[]), (Some(0), String::new(), String::new()), "it is said once");
    assert_eq!(started("2", &["--alone"]), (Some(1), String::new(), nothing));
}

#[test]
fn nothing_that_runs_inside_programs_is_linked() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = ["tree", "--offline", "--package", "mel", "--edges", "normal", "--prefix", "none"];
    let (code, out, err) = output(Command::new(cargo).args(tree).current_dir(env!("CARGO_MANIFEST_DIR")));
    assert_eq!(code, Some(0), "{err}");
    let names: Vec<&str> = out.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"mel-log"), "{out}");
    for inside in ["mpi-abi", "mpi-intercept", "mpit-events", "mpit-sources", "mpit-vars", "mel-preload"] {
        assert!(!names.contains(&inside), "{inside}: the command asks libmel.so instead (mel_log::offers)");
    }
}
