//! `mel watch --node` shows a run whose directory is on a disk of each node: all ranks, and what becomes of them and of what tells of
//! them.
//!
//! A disk of its own is a directory that is mounted over that of the others, in a mount namespace. It takes the rights of root; without
//! them there is nothing to test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, mel, root};
use mel_tests::watching::{LIMIT, Lines, end, pid, ranks, signal, wait_for};
use mel_tests::{Job, Mpi, Running, compile_special};
use serde_json::Value;
use tempfile::TempDir;

const RANKS: usize = 4;
/// Run by a shell for each rank: `mel`, the program, the directory that all write into, what the odd ranks have in its place, and the
/// directory of what the program leaves.
const ON_TWO_DISKS: &str = r#"
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
if [ $((rank % 2)) = 0 ]; then exec "$0" run $MEL_OPTIONS -o "$2/run" "$1" "$4" "$4/end"; fi
exec unshare --mount sh -c 'mount --bind "$3" "$2" && exec "$0" run $MEL_OPTIONS -o "$2/run" "$1" "$4" "$4/end"' "$0" "$@"
"#;

fn can_mount() -> bool {
    let can = Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !can {
        absent("mount namespaces", "allow user namespaces, or run as root");
    }
    can
}

/// A job whose odd ranks have a disk of their own.
struct Apart {
    room: TempDir,
    job: Running,
}

impl Apart {
    fn start(mpi: &Mpi) -> Apart {
        Apart::start_with(mpi, "")
    }

    fn start_with(mpi: &Mpi, options: &str) -> Apart {
        let room = fresh_dir();
        let [shared, other] = ["shared", "other"].map(|name| room.path().join(name));
        fs::create_dir(&shared).expect("a directory can be made");
        fs::create_dir(&other).expect("a directory can be made");
        let words = [mel(), compile_special(mpi, "until_file"), shared, other, room.path().to_owned()];
        let words = words.map(|path| path.display().to_string());
        let arguments = ["-c".to_owned(), ON_TWO_DISKS.to_owned()].into_iter().chain(words);
        let job = Job::new(mpi, RANKS as u32, "/bin/sh").args(arguments).patient();
        let job = job.env("MEL_OPTIONS", options);
        let job = job.time_limit(2 * LIMIT).start();
        Apart { room, job }
    }

    fn here(&self) -> PathBuf {
        self.room.path().join("shared/run")
    }

    fn there(&self) -> PathBuf {
        self.room.path().join("other/run")
    }

    /// A watcher that asks the other disk.
    fn watch(&self) -> Lines {
        let node = format!("node-b:{}", self.there().display());
        let gather = "{mel} gather {dir} --every {every}";
        let mut command = Command::new(mel());
        command.arg("watch").arg(self.here()).args(["--every", "200ms", "--json"]);
        Lines::of(command.args(["--node", &node, "--gather", gather]))
    }
}

/// What a watcher has started to ask the node.
fn asks(watcher: &Lines) -> Vec<String> {
    let tasks = format!("/proc/{}/task", watcher.child.id());
    let tasks = fs::read_dir(tasks).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    children.flat_map(|pids| pids.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn all_have(frame: &Value, ended: &str) -> bool {
    ranks(frame).len() == RANKS && ranks(frame).iter().all(|rank| rank["ended"] == ended)
}

fn says(frame: &Value, what: &str) -> bool {
    let remarks = frame["remarks"].as_array().into_iter().flatten();
    remarks.filter_map(Value::as_str).any(|remark| remark.contains(what))
}

/// Whether each rank runs, has numbers of the last interval, and nothing is wrong.
fn is_whole(frame: &Value) -> bool {
    let known = |rank: &Value| rank["values"]["mpi_now"].as_f64().is_some_and(|share| share > 0.0);
    all_have(frame, "running") && ranks(frame).iter().all(known) && frame["remarks"] == serde_json::json!([])
}

#[test]
fn ranks_on_another_disk_are_shown_and_what_is_killed_is_told() {
    if !can_mount() {
        return;
    }
    for mpi in &Mpi::all()[..] {
        let job = Apart::start(mpi);
        let mut lines = job.watch();
        let frame = lines.until("each rank with changing numbers", is_whole);
        assert_eq!(frame["world_size"], RANKS, "{}", mpi.name);
        assert!(job.there().join("rank-1.table").exists() && !job.here().join("rank-1.table").exists());

        // What asks the node ends with its watcher, however that ends.
        let mut other = job.watch();
        other.until("each rank", |frame| all_have(frame, "running"));
        let asked = asks(&other);
        assert_eq!(asked.len(), 1, "{asked:?}");
        signal(other.child.id().to_string(), "-KILL");
        other.child.wait().expect("a child");
        wait_for("the end of what asks", || (!Path::new("/proc").join(&asked[0]).exists()).then_some(()));

        // Killed itself, it is told, and started again.
        let asked = asks(&lines);
        assert_eq!(asked.len(), 1, "{asked:?}");
        signal(&asked[0], "-KILL");
        let frame = lines.until("what has ended", |frame| says(frame, "node-b: what tells of it has ended"));
        assert!(says(&frame, "signal: 9") && says(&frame, "starting it again (1 of 5)"), "{frame}");
        assert!(says(&frame, "its ranks are shown as they were"), "{frame}");
        assert!(all_have(&frame, "running"), "{frame}");
        lines.until("each rank again", is_whole);

        signal(pid(job.room.path(), 3), "-KILL");
        let frame = lines.until("the end of rank 3", |frame| {
            ranks(frame).iter().any(|rank| rank["rank"] == 3 && rank["ended"] == "killed")
        });
        assert_eq!(ranks(&frame).len(), RANKS, "{frame}");
        let finished = job.job.wait();
        finished.expect(finished.code != Some(0), "the launcher ends the run");
    }
}

#[test]
fn the_end_of_a_run_on_two_disks_is_shown() {
    if !can_mount() {
        return;
    }
    let job = Apart::start(&Mpi::all()[0]);
    let mut lines = job.watch();
    lines.until("each rank", is_whole);
    // What this machine sees alone, it says so.
    let mut alone =
        Lines::of(Command::new(mel()).arg("watch").arg(job.here()).args(["--every", "200ms", "--json"]));
    alone.until("what is missing", |frame| says(frame, "on another node's own disk (--node HOST)"));
    let mut once = Command::new(mel());
    once.arg("watch").arg(job.here()).args(["--once", "--node", "no-such", "--gather", "false"]);
    let once = once.output().expect("mel can be started");
    let once = String::from_utf8_lossy(&once.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(once.contains("no-such: what tells of it has ended (false: "), "{once}");
    end(job.room.path());
    let last = lines.until("the end", |frame| frame["stage"] == "ended");
    assert!(all_have(&last, "finalised"), "{last}");
    assert!(lines.child.wait().expect("a child").success());
    let finished = job.job.wait();
    finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), "the run ends as ever");
}

#[test]
fn ranks_on_another_disk_set_what_they_are_asked_to() {
    if !can_mount() {
        return;
    }
    for mpi in &Mpi::all()[..] {
        let job = Apart::start_with(mpi, "--settable");
        for (directory, rank) in [(job.here(), 0), (job.there(), 1), (job.here(), 2), (job.there(), 3)] {
            let answers = directory.join(format!("rank-{rank}.answer"));
            wait_for("each rank", || answers.exists().then_some(()));
        }
        let set = |setting: &str, node: bool| {
            let mut command = Command::new(mel());
            command.arg("watch").arg(job.here()).args(["--set", setting]);
            if node {
                let node = format!("node-b:{}", job.there().display());
                command.args(["--node", &node, "--gather", "{mel} gather {dir} --every {every}"]);
            }
            let output = command.output().expect("mel can be started");
            let text = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8_lossy(&text).trim().to_owned())
        };
        let expected = "rank 3: mel_recording=off: set (read back)";
        assert_eq!(set("mel_recording=off@3", true), (true, expected.to_owned()), "{}", mpi.name);
        let expected = "ranks 0, 1, 2, 3: mel_phase=it's $HOME: set (read back)";
        assert_eq!(set("mel_phase=it's $HOME", true), (true, expected.to_owned()), "{}", mpi.name);
        let (well, said) = set("mel_recording=on@3", false);
        assert!(!well && said.contains("--node HOST"), "{}: {said}", mpi.name);
        end(job.room.path());
        let finished = job.job.wait();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
    }
}

/// In place of the launcher, on the node between the others: watches the run while it goes on.
const WATCHED: &str = r#"#!/bin/sh
case "$1" in --version) exec MPIRUN "$@" ;; esac
MEL watch HERE/run --every 200ms --json --node node-a --node node-b \
    --gather 'TWO_NODES --on {host} {mel} gather {dir} --every {every}' >OUT 2>&1 </dev/null &
MPIRUN "$@"
code=$?
wait
exit $code
"#;

/// Run by a shell for each rank: each node has a disk of its own there. One process at a time looks whether it has.
const ON_ITS_DISK: &str = r#"
flock "$4/lock-$(hostname)" sh -c '[ -e "$0/of-this-node" ] || { mount -t tmpfs disk "$0" && : >"$0/of-this-node"; }' "$2"
exec "$0" run -o "$2/run" "$1" "$4" "$4/end"
"#;

#[test]
#[ignore = "slow"]
fn nodes_of_a_job_are_shown_with_their_names() {
    for (here, nodes) in Mpi::on_two_nodes() {
        let room = fresh_dir();
        let disk = room.path().join("disk");
        fs::create_dir(&disk).expect("a directory can be made");
        let (wrapper, out) = (room.path().join("mpirun"), room.path().join("out"));
        let two_nodes = root().join("scripts/two-nodes");
        let mpirun = here.launcher(1).get_program().to_owned();
        let script = WATCHED
            .replace("MPIRUN", mpirun.to_str().expect("a name"))
            .replace("MEL", mel().to_str().expect("a name"))
            .replace("HERE", disk.to_str().expect("a name"))
            .replace("OUT", out.to_str().expect("a name"))
            .replace("TWO_NODES", two_nodes.to_str().expect("a name"));
        fs::write(&wrapper, script).expect("a file can be written");
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        let words = [mel(), compile_special(&nodes, "until_file"), disk, "-".into(), room.path().to_owned()];
        let words = words.map(|path| path.display().to_string());
        let arguments = ["-c".to_owned(), ON_ITS_DISK.to_owned()].into_iter().chain(words);
        let job = Job::new(&nodes, RANKS as u32, "/bin/sh").args(arguments).env("MPIRUN", &wrapper);
        let job = job.time_limit(2 * LIMIT).start();
        let whole = wait_for("each rank of both nodes", || {
            let text = fs::read_to_string(&out).unwrap_or_default();
            text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(is_whole)
        });
        let hosts: Vec<&str> = ranks(&whole).iter().filter_map(|rank| rank["host"].as_str()).collect();
        assert_eq!(hosts, ["node-a", "node-b", "node-a", "node-b"], "{}", nodes.name);
        end(room.path());
        let finished = job.wait();
        finished.expect(finished.code == Some(0), nodes.name);
        let text = fs::read_to_string(&out).unwrap_or_default();
        let last: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).expect("JSON");
        assert!(last["stage"] == "ended" && all_have(&last, "finalised"), "{}: {last}", nodes.name);
    }
}

/// `ssh` as far as shells go: what stands behind the host is given to one.
const AS_SSH: &str =
    "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift 2; done\nshift\nexec sh -c \"$*\"\n";

#[test]
fn no_name_of_a_directory_is_a_command_on_a_node() {
    let room = fresh_dir();
    let folder = room.path().join("bin");
    fs::create_dir(&folder).expect("a directory");
    fs::write(folder.join("ssh"), AS_SSH).expect("a file");
    fs::set_permissions(folder.join("ssh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    std::os::unix::fs::symlink(mel(), folder.join("mel")).expect("a link");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let watch = |arguments: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "60"]).arg(mel()).arg("watch").args(arguments);
        let output =
            command.current_dir(room.path()).env("PATH", &path).output().expect("timeout can be started");
        let text =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(!room.path().join("PWNED").exists(), "{arguments:?}: {text}");
        (output.status.code(), text)
    };
    for name in [
        "run;touch PWNED;echo",
        "run`touch PWNED`",
        "$(touch PWNED)",
        "a\ntouch PWNED\n",
        "it's & touch PWNED",
        "-rf",
        "a b%41",
    ] {
        // The directory is there on the node, under this very name.
        let directory = room.path().join(name);
        fs::create_dir(&directory).expect("a directory");
        let whole = directory.display().to_string();
        for node in ["n", &*format!("n:{whole}")] {
            let (code, text) = watch(&[&whole, "--node", node, "--once"]);
            // It is empty, which the node has seen.
            assert!(code == Some(1) && !text.contains("n: "), "{name}: {code:?} {text}");
        }
        let (_, text) = watch(&[&whole, "--node", "n", "--set", "mel_phase=$(touch PWNED)"]);
        assert!(!text.contains("makes sense"), "{text}");
    }
    for host in ["n;touch PWNED", "$(touch PWNED)", "-oProxyCommand=touch PWNED"] {
        let (code, text) = watch(&["run", &format!("--node={host}"), "--once"]);
        assert!(code == Some(1) && text.contains("give HOST, or HOST:DIR"), "{host}: {code:?} {text}");
    }
}
