//! Collective operations that a program makes of messages between two are named, with their lines and with what the library has for them; what
//! only looks like some is not.

use std::fs;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

#[test]
fn loops_over_all_ranks_are_named() {
    let source = fs::read_to_string(root().join("tests/programs/special/by_hand.c")).unwrap();
    let line = |name: &str| {
        let is_it = |line: &str| line.contains(&format!("/* line {name} */"));
        1 + source.lines().position(is_it).unwrap()
    };
    let planted = [
        ("MPI_Send", "BCAST", "to_all", "MPI_Bcast"),
        ("MPI_Send", "SCATTER", "to_all", "MPI_Scatter"),
        ("MPI_Recv", "GATHER", "from_all", "MPI_Gather"),
    ];
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let job = Job::new(mpi, 4, compile_special(mpi, "by_hand")).current_dir(directory.path());
        let run = job.under_mel(["--trace", "--callsites", "-o", &output]).run();
        run.expect(run.code == Some(0), mpi.name);
        let said = Command::new(mel()).args(["analyze", "--json", &output]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let said: Value = serde_json::from_slice(&said.stdout).unwrap();
        let found = said["by_hand"].as_array().unwrap();
        assert_eq!(found.len(), planted.len(), "{}: {found:#?}", mpi.name);
        for (function, name, direction, instead) in planted {
            let call = format!("{function} at by_hand.c:{} (main)", line(name));
            let of = found.iter().find(|of| of["call"] == call.as_str());
            let of = of.unwrap_or_else(|| panic!("{}: no {call}: {found:#?}", mpi.name));
            let numbers = ["others", "loops", "bytes"].map(|key| of[key].as_u64().unwrap());
            assert_eq!(numbers, [3, 10, 10 * 3 * 512 * 8], "{}: {of}", mpi.name);
            assert_eq!(
                (&of["direction"], &of["instead"]),
                (&direction.into(), &instead.into()),
                "{}",
                mpi.name
            );
            assert_eq!(
                (of["ranks"].to_string(), &of["communicator"]),
                ("[0]".into(), &"MPI_COMM_WORLD".into())
            );
            assert!(of["seconds"].as_f64().unwrap() > 0.0);
        }
    }
}
