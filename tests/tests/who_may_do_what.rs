//! What a run leaves is its owner's, whatever the umask is, unless the user shares it; and nothing is written where, or loaded from what,
//! another user could have put there.
//!
//! Another user is one whose number nobody has here. It takes the rights of root to be one; without them there is nothing to test.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, mel, root};
use mel_tests::watching::{wait_for, watch};
use mel_tests::{Finished, Job, Mpi, compile_special};

/// Another user, and group.
const OTHER: u32 = 65534;

fn can_be_another() -> bool {
    let can =
        Command::new("setpriv").args(as_another()).arg("true").status().is_ok_and(|status| status.success());
    if !can {
        absent("another user", "run the tests as root, with setpriv");
    }
    can
}

fn as_another() -> [String; 3] {
    [format!("--reuid={OTHER}"), format!("--regid={OTHER}"), "--clear-groups".into()]
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// All below a directory, itself too.
fn all_below(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    for entry in fs::read_dir(path).expect("a directory").flatten() {
        match entry.path().is_dir() {
            true => all.extend(all_below(&entry.path())),
            false => all.push(entry.path()),
        }
    }
    all
}

fn run(mpi: &Mpi, umask: &str, options: &[&str], output: &Path) -> Finished {
    let counts = fresh_dir();
    let words = [
        "-c".into(),
        format!("umask {umask}; exec \"$0\" \"$@\""),
        mel().display().to_string(),
        "run".into(),
    ];
    let words = words.into_iter().chain(options.iter().map(|option| (*option).to_owned()));
    let words = words.chain(["-o".into(), output.display().to_string()]);
    let program = compile_special(mpi, "steps").display().to_string();
    let words = words.chain([program, counts.path().display().to_string(), "20".into()]);
    Job::new(mpi, 2, "/bin/sh").args(words).run()
}

#[test]
fn what_a_run_leaves_is_for_whom_the_user_says() {
    for mpi in &Mpi::all()[..] {
        let room = fresh_dir();
        for (umask, who, of_directories, of_files) in [
            ("000", None, 0o700, 0o600),
            ("022", Some("private"), 0o700, 0o600),
            ("077", Some("group"), 0o750, 0o640),
            ("000", Some("group"), 0o750, 0o640),
            ("077", Some("all"), 0o755, 0o644),
        ] {
            let output = room.path().join(format!("run-{umask}-{}", who.unwrap_or("default")));
            let mut options = vec!["--trace", "-e", "pml_ob1_message_arrived", "--profile", "calls,queues"];
            options.extend(who.iter().flat_map(|who| ["--mode", who]));
            let finished = run(mpi, umask, &options, &output);
            finished.expect(finished.code == Some(0), mpi.name);
            let all = all_below(&output);
            for name in ["profile.json", "rank-1.mlog", "events-1.txt", "traces.otf2", "traces/0.evt"] {
                assert!(all.contains(&output.join(name)), "{}: {name}: {all:?}", mpi.name);
            }
            for path in &all {
                let wanted = if path.is_dir() { of_directories } else { of_files };
                // Files in a directory where nobody else can look are left to who makes them.
                let is_inside = of_directories == 0o700 && path.parent() == Some(&output.join("traces"));
                assert!(
                    is_inside || mode(path) == wanted,
                    "{}: {:o}, {umask} {who:?}",
                    path.display(),
                    mode(path)
                );
            }
        }
        let finished = run(mpi, "022", &["--mode", "everybody"], &room.path().join("none"));
        finished
            .expect(finished.code != Some(0) && finished.stderr.contains("private, group or all"), mpi.name);
    }
}

/// A killed run leaves tables.
#[test]
fn what_a_killed_run_leaves_is_its_owners() {
    use mel_tests::watching::{Endless, signal, wait_for};
    let mpi = &Mpi::all()[0];
    let job = Endless::start(mpi, 2, "until_file", &[], &["--settable"]);
    wait_for("the tables", || job.run().join("rank-1.answer").exists().then_some(()));
    let all = all_below(&job.run());
    assert!(all.contains(&job.run().join("rank-0.table")), "{all:?}");
    for path in &all {
        assert_eq!(mode(path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    signal(job.pid(1), "-KILL");
    job.end();
}

#[test]
fn another_user_sees_nothing_of_a_run_and_all_of_one_that_is_shared() {
    if !can_be_another() {
        return;
    }
    let mpi = &Mpi::all()[0];
    let room = fresh_dir();
    set_mode(room.path(), 0o755);
    let command = room.path().join("mel");
    fs::copy(mel(), &command).expect("a copy");
    set_mode(&command, 0o755);
    for (who, sees) in [("private", false), ("group", false), ("all", true)] {
        let output = room.path().join(who);
        let finished = run(mpi, "077", &["--mode", who], &output);
        finished.expect(finished.code == Some(0), mpi.name);
        let report =
            Command::new("setpriv").args(as_another()).arg(&command).arg("report").arg(&output).output();
        let report = report.expect("setpriv can be started");
        let text =
            [report.stdout, report.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert_eq!(report.status.success(), sees, "{who}: {text}");
        assert!(sees || text.contains("Permission denied"), "{text}");
    }
}

#[test]
fn nothing_is_written_into_a_directory_of_another_user() {
    if !can_be_another() {
        return;
    }
    for mpi in &Mpi::all()[..] {
        let room = fresh_dir();
        let theirs = room.path().join("theirs");
        fs::create_dir(&theirs).expect("a directory");
        chown(&theirs, Some(OTHER), Some(OTHER)).expect("root can");
        let link = room.path().join("link");
        symlink(&theirs, &link).expect("a link");
        for output in [&theirs, &link] {
            let finished = run(mpi, "022", &[], output);
            let is_said = finished.stderr.contains("belongs to another user (uid 65534)");
            let says_remedy = finished.stderr.contains("give with -o a directory of your own");
            finished.expect(finished.code != Some(0) && is_said && says_remedy, mpi.name);
            finished.expect(finished.stderr.contains("nothing was started"), mpi.name);
            assert_eq!(fs::read_dir(&theirs).expect("a directory").count(), 0);
        }
        // Without the command the program runs, and nothing is written.
        let counts = fresh_dir();
        let job =
            Job::new(mpi, 2, compile_special(mpi, "steps")).args([counts.path().as_os_str(), "20".as_ref()]);
        let job =
            job.preloaded(&[("MEL_PROFILE", "calls"), ("MEL_OUTPUT", theirs.to_str().expect("a name"))]);
        let finished = job.run();
        finished.expect(finished.code == Some(0), mpi.name);
        finished.expect(
            finished.stderr.contains("belongs to another user")
                && finished.stderr.contains("no files are written"),
            mpi.name,
        );
        assert_eq!(fs::read_dir(&theirs).expect("a directory").count(), 0);
        // One that is not there yet is made, wherever that is.
        let finished = run(mpi, "022", &[], &theirs.join("new"));
        finished.expect(finished.code == Some(0), mpi.name);
        assert!(theirs.join("new/profile.json").exists());
    }
}

#[test]
fn links_in_a_directory_of_a_run_are_not_written_through() {
    let mpi = &Mpi::all()[0];
    let room = fresh_dir();
    let victim = room.path().join("victim");
    fs::write(&victim, "mine").expect("a file");
    let output = room.path().join("run");
    for name in [
        "rank-0.part",
        "profile.json.part",
        "rank-0.table",
        "rank-1.mlog",
        "profile.json",
        "events-0.txt",
        "traces.otf2",
    ] {
        let _ = fs::remove_dir_all(&output);
        fs::create_dir(&output).expect("a directory");
        symlink(&victim, output.join(name)).expect("a link");
        let options = ["--force", "--trace", "-e", "pml_ob1_message_arrived", "--profile", "calls,queues"];
        let finished = run(mpi, "022", &options, &output);
        finished.expect(finished.code == Some(0), name);
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "mine", "{name}");
        assert!(fs::symlink_metadata(output.join("profile.json")).expect("a profile").is_file(), "{name}");
    }
}

fn plugin(directory: &Path) -> PathBuf {
    let file = directory.join("libadvise.so");
    let mut command = Command::new("cc");
    command
        .args(["-std=c99", "-O1", "-shared", "-fPIC", "-I"])
        .arg(root().join("include"))
        .arg("-o")
        .arg(&file);
    let source = root().join("examples/plugins/advise.c");
    assert!(command.arg(source).status().expect("there is a compiler").success());
    set_mode(&file, 0o755);
    file
}

#[test]
fn plugins_and_policies_come_from_where_others_cannot_write() {
    let mpi = &Mpi::all()[0];
    let room = fresh_dir();
    let folder = room.path().join("folder");
    fs::create_dir(&folder).expect("a directory");
    set_mode(&folder, 0o755);
    let file = plugin(&folder);
    let policy = folder.join("policy.toml");
    fs::copy(root().join("examples/policies/free-buffers.toml"), &policy).expect("a copy");
    set_mode(&policy, 0o644);
    let path = file.display().to_string();
    let is_refused = |options: &[&str], why: &str| {
        let finished = run(mpi, "022", options, &room.path().join("none"));
        let is_said = finished.stderr.contains(why) && finished.stderr.contains("nothing was started");
        finished.expect(finished.code != Some(0) && is_said, &options.join(" "));
        assert!(!room.path().join("none").exists());
    };
    let finished = run(mpi, "022", &["--plugin", &path], &room.path().join("well"));
    finished.expect(finished.code == Some(0) && !finished.stderr.contains("runs without it"), "it is ours");
    let text = policy.display().to_string();
    for (changed, bad, good) in [(&file, 0o775, 0o755), (&file, 0o757, 0o755), (&folder, 0o777, 0o755)] {
        set_mode(changed, bad);
        is_refused(
            &["--plugin", &path],
            &format!("others can write to {0}: chmod go-w {0}", changed.display()),
        );
        set_mode(changed, good);
    }
    set_mode(&policy, 0o666);
    is_refused(&["--policy", &text], &format!("chmod go-w {text}"));
    set_mode(&policy, 0o644);
    if can_be_another() {
        for changed in [&file, &folder] {
            chown(changed, Some(OTHER), None).expect("root can");
            is_refused(&["--plugin", &path], "belongs to another user (uid 65534)");
            is_refused(&["--plugin", &path], "copy what you trust");
            chown(changed, Some(0), None).expect("root can");
        }
        chown(&policy, Some(OTHER), None).expect("root can");
        is_refused(&["--policy", &text], "belongs to another user (uid 65534)");
        // In the program, too.
        chown(&file, Some(OTHER), None).expect("root can");
        let counts = fresh_dir();
        let job =
            Job::new(mpi, 2, compile_special(mpi, "steps")).args([counts.path().as_os_str(), "20".as_ref()]);
        let output = room.path().join("preloaded");
        let output = output.to_str().expect("a name");
        let job = job.preloaded(&[("MEL_PROFILE", "calls"), ("MEL_PLUGINS", &path), ("MEL_OUTPUT", output)]);
        let finished = job.run();
        let is_said = finished.stderr.contains("belongs to another user")
            && finished.stderr.contains("runs without it");
        finished.expect(finished.code == Some(0) && is_said, mpi.name);
        chown(&file, Some(0), None).expect("root can");
    }
    // By its name it comes from the directories of the variable alone, and not from where the job is started.
    let counts = fresh_dir();
    let by_name = |path: Option<&Path>| {
        let output = room.path().join("by-name");
        let options = ["--force", "--plugin", "advise", "-o"];
        let options = options.iter().map(AsRef::as_ref).chain([output.as_os_str()]);
        let job =
            Job::new(mpi, 2, compile_special(mpi, "steps")).args([counts.path().as_os_str(), "20".as_ref()]);
        let job = job.under_mel(options).current_dir(&folder);
        let job = path.iter().fold(job, |job, path| job.env("MEL_PLUGINS_PATH", path));
        job.run()
    };
    let finished = by_name(None);
    finished.expect(
        finished.code != Some(0) && finished.stderr.contains("give its path, such as ./libadvise.so"),
        mpi.name,
    );
    let finished = by_name(Some(&folder));
    finished.expect(finished.code == Some(0), mpi.name);
}

/// What others have put among temporary files hangs nobody, and folders of ours are ours alone.
#[test]
fn temporary_folders_are_ones_own() {
    let room = fresh_dir();
    let temporary = room.path().join("tmp");
    fs::create_dir(&temporary).expect("a directory");
    set_mode(&temporary, 0o1777);
    let pipe = temporary.join("mel-watch-pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo can be started").success());
    let victim = room.path().join("victim");
    fs::create_dir(&victim).expect("a directory");
    fs::write(victim.join("file"), "mine").expect("a file");
    symlink(&victim, temporary.join("mel-watch-link")).expect("a link");
    let theirs = temporary.join("mel-watch-theirs");
    fs::create_dir(&theirs).expect("a directory");
    let left = temporary.join("mel-watch-left");
    fs::create_dir(&left).expect("a directory");
    let is_root = chown(&theirs, Some(OTHER), Some(OTHER)).is_ok();
    for path in [&pipe, &theirs, &left] {
        let old = Command::new("touch").args(["-d", "1 hour ago"]).arg(path).status();
        assert!(old.expect("touch can be started").success());
    }
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "60"]).arg(mel()).arg("watch").arg(room.path().join("none")).arg("--once");
    command.args(["--node", "here", "--gather", "{mel} gather {dir}"]).env("TMPDIR", &temporary);
    let output = command.output().expect("timeout can be started");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(pipe.exists() && victim.join("file").exists());
    assert!(!left.exists(), "what a killed watcher of ours has left is removed");
    assert!(!is_root || theirs.exists(), "what is another's is left alone");

    let mut command =
        watch(&room.path().join("none"), &["--json", "--node", "here", "--gather", "sleep 1000"]);
    let mut child = command.env("TMPDIR", &temporary).spawn().expect("mel can be started");
    let copies = wait_for("its folder", || {
        let entries = fs::read_dir(&temporary).expect("a directory").flatten().map(|entry| entry.path());
        entries.into_iter().find(|path| path.is_dir() && !path.is_symlink() && *path != theirs)
    });
    assert_eq!(mode(&copies), 0o700);
    child.kill().expect("a child");
    child.wait().expect("a child");
}
