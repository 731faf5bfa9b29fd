//! Where nodes do not see each other's files, each leaves its part of a run on its own disk, the user is told which, and
//! `mel collect` makes one run of it.
//!
//! A disk of its own is a directory that is mounted over that of the others, for every second rank. It takes the rights of root;
//! without them there is nothing to test.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, mel};
use mel_tests::trace::Trace;
use mel_tests::{Job, Mpi, Program};

const RANKS: u32 = 4;

/// Run by a shell for each rank: `mel`, the program, the directory that all write into, and what the odd ranks have in its place.
const SCRIPT: &str = r#"
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
run() { exec "$0" run --trace -o "$2/run" "$1" 3 5; }
if [ $((rank % 2)) = 0 ]; then run "$@"; fi
exec unshare --mount sh -c 'mount --bind "$3" "$2" && exec "$0" run --trace -o "$2/run" "$1" 3 5' "$0" "$@"
"#;

fn can_mount() -> bool {
    Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success())
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_lies_apart_is_told_and_collected() {
    if !can_mount() {
        absent("mount namespaces", "allow user namespaces, or run as root");
        return;
    }
    for mpi in Mpi::all() {
        let room = fresh_dir();
        let [shared, other, out] = ["shared", "other", "out"].map(|name| room.path().join(name));
        std::fs::create_dir(&shared).unwrap();
        std::fs::create_dir(&other).unwrap();
        let program = Program::named("random").compile(&mpi);
        let words = [mel(), program, shared.clone(), other.clone()].map(|path| path.display().to_string());
        let arguments = ["-c".to_owned(), SCRIPT.to_owned()].into_iter().chain(words);
        let run = Job::new(&mpi, RANKS, "/bin/sh").args(arguments).patient().run();
        run.expect(run.code == Some(0), mpi.name);
        run.expect(run.stderr.contains("is not shared by all nodes"), mpi.name);
        run.expect(run.stderr.contains("mel collect"), mpi.name);

        let (here, there) = (shared.join("run"), other.join("run"));
        run.expect(here.join("rank-0.mlog").exists() && !here.join("rank-1.mlog").exists(), mpi.name);
        run.expect(there.join("rank-1.mlog").exists() && there.join("traces/3.evt").exists(), mpi.name);
        assert!(!names(&here).iter().any(|name| name.starts_with(".mel")), "{:?}", names(&here));
        let collect = |to: &Path| {
            let output = Command::new(mel()).arg("collect").args([&here, &there]).arg("-o").arg(to).output();
            output.unwrap()
        };
        let collected = collect(&out);
        let text = String::from_utf8_lossy(&collected.stdout).into_owned();
        assert!(collected.status.success() && text.contains("event logs of 4 of 4 ranks"), "{collected:?}");
        assert!(!collect(&out).status.success(), "a run is not overwritten");

        // The trace that the ranks wrote together is whole, and the one that is made of the logs is the same.
        let together = Trace::read(&out);
        let again = Command::new(mel()).args(["convert", "--otf2", "--force"]).arg(&out).output().unwrap();
        assert!(again.status.success(), "{again:?}");
        let alone = Trace::read(&out);
        assert_eq!(together.definitions, alone.definitions, "{}", mpi.name);
        assert_eq!(together.records, alone.records, "{}", mpi.name);
        for command in ["report", "analyze"] {
            let told = Command::new(mel()).arg(command).arg(&out).output().unwrap();
            assert!(told.status.success(), "{command}: {told:?}");
        }
    }
}
