//! Numbers by communicator: they add up to those of the rank, on every MPI.

use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[test]
fn numbers_by_communicator_add_up_to_the_totals() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "traffic");
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--profile=calls,queues,matrix".into(), "-o".into(), output.display().to_string()];
        let run = Job::new(mpi, 4, &program).args([directory.path().join("file")]).under_mel(options).run();
        run.expect(run.code == Some(0), mpi.name);
        let profile = Profile::read(&output);
        for rank in list(&profile.json()["ranks"]) {
            let what = format!("{} rank {}", mpi.name, rank["rank"]);
            let of = |key: &str| -> u64 {
                list(&rank["communicators"]).map(|of| of[key].as_u64().unwrap_or(0)).sum()
            };
            for (queue, count) in [
                ("posted", "messages"),
                ("unexpected", "messages"),
                ("posted", "left"),
                ("posted_search", "searches"),
                ("unexpected_search", "searches"),
            ] {
                let by_communicator = list(&rank["communicators"]);
                let sum: u64 =
                    by_communicator.map(|of| of["queues"][queue][count].as_u64().unwrap_or(0)).sum();
                assert_eq!(sum, rank[queue][count].as_u64().unwrap(), "{what}: {queue} {count}");
            }
            for queue in ["posted", "unexpected", "posted_search", "unexpected_search"] {
                let by_communicator = list(&rank["communicators"]);
                let sum: f64 =
                    by_communicator.map(|of| of["queues"][queue]["total_s"].as_f64().unwrap_or(0.0)).sum();
                let total = rank[queue]["total_s"].as_f64().unwrap();
                assert!((sum - total).abs() <= 1e-9 + total * 1e-9, "{what}: {queue}: {sum} {total}");
            }
            let p2p = list(&rank["traffic"]).filter(|row| row["kind"] == "p2p");
            let sent: u64 = p2p.map(|row| row["bytes"].as_u64().unwrap()).sum();
            assert_eq!((of("messages"), of("bytes"), sent), (26, 4138, 4138), "{what}");
            let on_one = list(&rank["calls"]).filter(|call| call["communicator"].is_u64());
            let calls: u64 = on_one.map(|call| call["calls"].as_u64().unwrap()).sum();
            assert_eq!(of("calls"), calls, "{what}");
            let halves = list(&rank["communicators"]).find(|of| of["name"] == "halves").expect("its name");
            assert_eq!((&halves["size"], &halves["messages"]), (&2.into(), &4.into()), "{what}");
            assert_eq!(halves["queues"]["posted_search"]["searches"], 4, "{what}");
        }
        for (options, part) in
            [(&["report"][..], " communicators: "), (&["report", "--csv"], ",communicators,calls,")]
        {
            let printed = Command::new(mel()).args(options).arg(&output).output().expect("mel runs");
            let text = String::from_utf8_lossy(&printed.stdout).into_owned();
            assert!(text.contains(part) && text.contains("halves"), "{}: {text}", mpi.name);
        }
    }
}
