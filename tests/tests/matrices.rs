//! Communication matrices: what each rank sends to whom is what the program does, on every MPI.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

/// The rows of a rank: kind, communicator, peer, operation, root, messages, bytes.
type Row = (String, String, Option<u64>, String, Option<u64>, u64, u64);

fn rows(profile: &Profile, rank: usize) -> Vec<Row> {
    let json = profile.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut rows: Vec<Row> = json["ranks"][rank]["traffic"]
        .as_array()
        .expect("there is traffic")
        .iter()
        .map(|row| {
            let communicator = row["communicator"]
                .as_u64()
                .map_or(String::new(), |place| text(&json["communicators"][place as usize]["name"]));
            let count = |key: &str| row[key].as_u64().expect("a count");
            (
                text(&row["kind"]),
                communicator,
                row["peer"].as_u64(),
                text(&row["operation"]),
                row["root"].as_u64(),
                count("messages"),
                count("bytes"),
            )
        })
        .collect();
    rows.sort();
    rows
}

/// What the head comment of the program says.
fn expected(rank: u64, files: bool) -> Vec<Row> {
    let next = (rank + 1) % 4;
    let row = |kind: &str, comm: &str, peer: Option<u64>, messages, bytes| {
        (kind.to_owned(), comm.to_owned(), peer, String::new(), None, messages, bytes)
    };
    let together = |operation: &str, peer, root, messages, bytes| {
        (
            "collective".to_owned(),
            "MPI_COMM_WORLD".to_owned(),
            peer,
            operation.to_owned(),
            root,
            messages,
            bytes,
        )
    };
    let mut rows = vec![
        row("p2p", "MPI_COMM_WORLD", Some(next), 21, 4042),
        row("p2p", "halves", Some((rank + 2) % 4), 4, 64),
        row("p2p", "between", Some(rank ^ 1), 1, 32),
        row("put", "window 0 of MPI_COMM_WORLD", Some(next), 2, 16),
        row("get", "window 0 of MPI_COMM_WORLD", Some(next), 1, 4),
        together("MPI_Allreduce", None, None, 2, 16),
    ];
    if files {
        rows.extend([row("file-write", "", None, 1, 20), row("file-read", "", None, 1, 12)]);
    }
    if rank == 1 {
        rows.push(together("MPI_Bcast", None, Some(1), 3, 192));
    }
    if rank != 2 {
        rows.push(together("MPI_Reduce", None, Some(2), 1, 4));
    }
    let parts = (0..4).filter(|to| *to != rank);
    rows.extend(parts.map(|to| together("MPI_Alltoallv", Some(to), None, 1, 10 * rank + to)));
    rows.sort();
    rows
}

#[test]
fn every_mpi_counts_what_the_program_does() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "traffic");
        for what in ["matrix", "calls,queues,matrix"] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = [format!("--profile={what}"), "-o".into(), output.display().to_string()];
            let run =
                Job::new(mpi, 4, &program).args([directory.path().join("file")]).under_mel(options).run();
            run.expect(run.code == Some(0), mpi.name);
            let profile = Profile::read(&output);
            assert_eq!(profile.json()["verdict"].is_array(), what != "matrix", "{}", mpi.name);
            let files = !run.stdout.contains("no files");
            for rank in 0..4 {
                assert_eq!(
                    rows(&profile, rank as usize),
                    expected(rank, files),
                    "{} {what} rank {rank}",
                    mpi.name
                );
            }
            // 21 messages to the next: one empty, five of a byte, three of 7 and two of 8 bytes, ten of 400.
            let ring = &profile.json()["ranks"][0]["traffic"][0];
            assert_eq!(
                ring["sizes"],
                serde_json::json!([[0, 1], [1, 5], [3, 3], [4, 2], [9, 10]]),
                "{}",
                mpi.name
            );
        }
    }
}

/// What `mel report --matrix` says.
fn report(directory: &Path, options: &[&str]) -> String {
    let mut command = Command::new(mel());
    let output = command.args(["report", "--matrix"]).args(options).arg(directory).output();
    let output = output.expect("mel can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn each_phase_has_a_matrix() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let job = Job::new(mpi, 2, compile_special(mpi, "named_phases")).args(["phases"]);
        let run = job.under_mel(["--profile=matrix".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0), mpi.name);
        // While counting is stopped seven more are sent.
        for (phase, messages) in [("(no phase)", 4), ("first", 15), ("second", 21)] {
            let name = if phase.starts_with('(') { "" } else { phase };
            let line = format!("{name},MPI_COMM_WORLD,p2p,0,1,{messages},{}", 4 * messages);
            let lines = report(&output, &["--csv", "--kind", "p2p", "--phase", phase]);
            assert_eq!(lines.lines().skip(1).collect::<Vec<_>>(), [line], "{}", mpi.name);
        }
        let table = report(&output, &["--kind", "p2p", "--phase", "second", "--of", "messages"]);
        assert!(table.contains("21 messages with 84 B"), "{table}");
        let all = report(&output, &["--kind", "p2p"]);
        assert!(all.contains("40 messages with 160 B"), "{all}");
    }
}

/// What is in a region is in it, without what lies in others within it, and in none twice.
#[test]
fn each_region_has_what_is_sent_in_it() {
    for mpi in &Mpi::all() {
        for profiled in ["--profile=matrix", "--profile=calls,queues,matrix"] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let job = Job::new(mpi, 3, compile_special(mpi, "regions_of_messages"));
            let run = job.under_mel([profiled.as_ref(), "-o".as_ref(), output.as_os_str()]).run();
            run.expect(run.code == Some(0), mpi.name);
            let lines = report(&output, &["--csv", "--by", "region", "--kind", "p2p"]);
            let expected = [
                "phase,region,kind,sender,receiver,messages,bytes",
                ",(no region),p2p,0,1,10,100",
                ",(no region),p2p,1,2,10,100",
                ",(no region),p2p,2,0,10,100",
                ",halo,p2p,0,1,10,1000",
                ",halo,p2p,1,2,10,1000",
                ",halo,p2p,2,0,10,1000",
                ",halo/inner,p2p,0,1,5,5000",
                ",halo/inner,p2p,1,2,5,5000",
                ",halo/inner,p2p,2,0,5,5000",
            ];
            assert_eq!(lines.lines().collect::<Vec<_>>(), expected, "{} {profiled}", mpi.name);
            let sums = report(&output, &["--csv", "--by", "region", "--kind", "collective"]);
            let of_sum = sums.lines().filter(|line| line.starts_with(",sum,collective,"));
            assert!(of_sum.clone().all(|line| line.ends_with(",10,80")) && of_sum.count() == 6, "{sums}");
            let table = report(&output, &["--by", "region"]);
            let line = table.lines().find(|line| line.starts_with(" halo/inner ")).unwrap_or_default();
            assert!(line.contains(" 15 ") && line.contains("0 to 1: "), "{table}");
            // All regions together are what goes between ranks.
            let all = report(&output, &["--csv", "--kind", "p2p"]);
            assert!(all.lines().any(|line| line == ",MPI_COMM_WORLD,p2p,0,1,25,6100"), "{all}");
        }
    }
}

#[test]
fn the_matrix_of_very_many_ranks_is_read_from_their_tables() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "traffic");
        let matrix = |variable: &str, value: &str| {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let job = Job::new(mpi, 4, &program).args([directory.path().join("file")]).env(variable, value);
            let run = job.under_mel(["--profile=matrix".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
            run.expect(run.code == Some(0), mpi.name);
            (directory, report(&output, &["--csv"]))
        };
        let (_kept, expected) = matrix("MEL_EXACT_RANKS", "1024");
        assert!(expected.lines().count() > 30, "{expected}");
        for (variable, value) in [("MEL_EXACT_RANKS", "2"), ("MEL_COLLECT", "0")] {
            let (directory, lines) = matrix(variable, value);
            assert_eq!(sorted(&lines), sorted(&expected), "{} {variable}={value}", mpi.name);
            let profile = directory.path().join("run/profile.json");
            let text = std::fs::read_to_string(profile).unwrap_or_default();
            assert!(!text.contains("\"traffic\""), "{} {variable}={value}: not in the profile", mpi.name);
            assert!(!text.contains("\"verdict\""), "{} {variable}={value}: calls were not counted", mpi.name);
        }
    }
}

/// Names of communicators without a name differ from run to run.
fn sorted(lines: &str) -> Vec<String> {
    let named = |line: &str| match line.split_once(",communicator ") {
        Some((before, after)) => format!("{before},{}", after.split_once(',').map_or("", |(_, rest)| rest)),
        None => line.to_owned(),
    };
    let mut lines: Vec<String> = lines.lines().map(named).collect();
    lines.sort();
    lines
}

/// A traced run says which line sends what: what all lines have together is what the matrix has of messages.
#[test]
fn a_trace_says_which_line_sends_to_whom() {
    let source = std::fs::read_to_string(root().join("tests/programs/special/by_hand.c")).unwrap();
    let line = |name: &str| {
        let is_it = |line: &str| line.contains(&format!("/* line {name} */"));
        1 + source.lines().position(is_it).unwrap()
    };
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let job = Job::new(mpi, 4, compile_special(mpi, "by_hand")).current_dir(directory.path());
        let options = ["--trace", "--profile", "calls,matrix", "-o"];
        let run = job.under_mel(options.into_iter().chain([output.to_str().unwrap()])).run();
        run.expect(run.code == Some(0), mpi.name);
        let said = |options: &[&str]| {
            let said =
                Command::new(mel()).args(["report", "--matrix"]).args(options).arg(&output).output().unwrap();
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            String::from_utf8(said.stdout).unwrap()
        };
        let csv = said(&["--by", "site", "--csv"]);
        assert!(csv.starts_with("phase,site,kind,sender,receiver,messages,bytes\n"), "{csv}");
        for name in ["BCAST", "SCATTER"] {
            for peer in 1..4 {
                let row = format!(",MPI_Send at by_hand.c:{} (main),p2p,0,{peer},10,40960\n", line(name));
                assert!(csv.contains(&row), "{}: {row}: {csv}", mpi.name);
            }
        }
        let sum = |csv: &str| {
            let mut pairs = std::collections::BTreeMap::<(String, String), (u64, u64)>::new();
            for row in csv.lines().skip(1) {
                let fields: Vec<&str> = row.rsplitn(5, ',').collect();
                let pair = pairs.entry((fields[3].into(), fields[2].into())).or_default();
                *pair =
                    (pair.0 + fields[1].parse::<u64>().unwrap(), pair.1 + fields[0].parse::<u64>().unwrap());
            }
            pairs
        };
        assert_eq!(sum(&csv), sum(&said(&["--kind", "p2p", "--csv"])), "{}", mpi.name);
        let text = said(&["--by", "site"]);
        let shown = format!("MPI_Send at by_hand.c:{} (main)", line("BCAST"));
        assert!(text.contains("call site") && text.contains(&shown), "{text}");
        // Without a trace it is said what there should be.
        let untraced = directory.path().join("untraced");
        let job = Job::new(mpi, 4, compile_special(mpi, "by_hand")).current_dir(directory.path());
        job.under_mel(["-o", untraced.to_str().unwrap()]).run();
        let refused =
            Command::new(mel()).args(["report", "--matrix", "--by", "site"]).arg(&untraced).output();
        let refused = refused.unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("mel run --trace`"), "{refused:?}");
    }
}
