//! A named pipe, a device, a link or a directory in the place of a file of a run holds no command up and leads none elsewhere: there is a
//! line that names it, or it is left out, and the command ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::{Job, Mpi, compile_special};

/// What lies in the place of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Instead {
    Pipe,
    Device,
    Secret,
    Directory,
}

/// What is in a file elsewhere that only its owner is to see.
const SECRET: &str = "a secret of somebody";

fn put(instead: Instead, path: &Path, secret: &Path) {
    let _ = fs::remove_file(path);
    match instead {
        Instead::Pipe => {
            assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo can be started").success());
        }
        Instead::Device => symlink("/dev/zero", path).expect("a link"),
        Instead::Secret => symlink(secret, path).expect("a link"),
        Instead::Directory => fs::create_dir(path).expect("a directory"),
    }
}

/// Runs `mel` for no longer than a while: its exit code, and all that it prints.
fn mel_ends(arguments: &[&str], directory: &Path) -> (Option<i32>, String) {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "60"]).arg(mel()).args(arguments).current_dir(directory);
    let output = command.output().expect("timeout can be started");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code(), text)
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
fn no_command_waits_for_what_is_no_file() {
    let mpi = &Mpi::all()[0];
    let room = fresh_dir();
    let (whole, run, secret) =
        (room.path().join("whole"), room.path().join("run"), room.path().join("secret"));
    fs::write(&secret, SECRET).expect("a file");
    let tree = "[[switch]]\nname = \"s\"\n[[host]]\nname = \"a\"\n[[link]]\nfrom = \"a\"\nto = \"s\"\n";
    fs::write(room.path().join("tree.toml"), tree).expect("a file");
    let counts = fresh_dir();
    let options = ["--trace", "--profile", "calls,queues,matrix", "-o"];
    let options = options.iter().map(AsRef::as_ref).chain([whole.as_os_str()]);
    let program = compile_special(mpi, "steps");
    let finished =
        Job::new(mpi, 2, program).args([counts.path().as_os_str(), "50".as_ref()]).under_mel(options).run();
    finished.expect(finished.code == Some(0), mpi.name);

    let commands: [&[&str]; 13] = [
        &["report", "run"],
        &["report", "--json", "run"],
        &["report", "--html", "page.html", "run"],
        &["watch", "--once", "run"],
        &["convert", "--text", "run"],
        &["convert", "--perfetto", "trace.perfetto", "run"],
        &["convert", "--parquet", "tables", "run"],
        &["analyze", "run"],
        &["diff", "whole", "run"],
        &["place", "run"],
        &["net", "run", "--fabric", "tree.toml"],
        &["advise", "run"],
        &["watch", "none", "--once", "--node", "here:run", "--gather", "{mel} gather {dir}"],
    ];
    // Of a run that was killed there are tables in place of the profile.
    for (file, without) in [
        ("profile.json", None),
        ("rank-0.mlog", None),
        ("rank-1.table", Some("profile.json")),
        ("ranks.table", None),
        ("rank-0.answer", None),
    ] {
        for instead in [Instead::Pipe, Instead::Device, Instead::Secret, Instead::Directory] {
            copy(&whole, &run);
            if let Some(without) = without {
                fs::remove_file(run.join(without)).expect("it is there");
            }
            put(instead, &run.join(file), &secret);
            for arguments in commands {
                let (code, text) = mel_ends(arguments, room.path());
                let what = format!("{file}: {instead:?}: mel {}: {code:?}", arguments.join(" "));
                assert!(code.is_some_and(|code| code < 100), "{what}: {text}");
                assert!(!text.contains(SECRET) && !text.contains("panicked"), "{what}: {text}");
                // What needs the file says so.
                let needs = match file {
                    "profile.json" => {
                        !["convert", "analyze"].contains(&arguments[0]) && arguments[1] != "none"
                    }
                    "rank-0.mlog" => ["convert", "analyze"].contains(&arguments[0]),
                    "rank-1.table" => ["report", "watch"].contains(&arguments[0]) && arguments[1] != "none",
                    _ => false,
                };
                let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(
                    !needs || (said.contains(file) && said.contains("not a regular file")),
                    "{what}: {text}"
                );
            }
            fs::remove_dir_all(&run).expect("it can be removed");
        }
    }
    // What is copied is what is there, and not where a link leads.
    copy(&whole, &run);
    put(Instead::Secret, &run.join("rank-0.mlog"), &secret);
    let (code, text) = mel_ends(&["collect", "run", "-o", "copy"], room.path());
    assert!(code == Some(1) && text.contains("rank-0.mlog") && text.contains("a link"), "{code:?}: {text}");
}

#[test]
fn a_request_that_is_no_file_is_not_waited_for() {
    use mel_tests::watching::{Endless, wait_for};
    let mpi = &Mpi::all()[0];
    let job = Endless::start(mpi, 2, "until_file", &[], &["--settable"]);
    wait_for("the ranks", || job.run().join("rank-1.answer").exists().then_some(()));
    for instead in [Instead::Pipe, Instead::Device] {
        let path = job.run().join("rank-1.control");
        put(instead, &path, Path::new("/"));
        wait_for("it to be taken away", || fs::symlink_metadata(&path).is_err().then_some(()));
    }
    let finished = job.end();
    finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
}
