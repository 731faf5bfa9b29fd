//! The metric plugin for Score-P gives what the variables say: by a host that loads it as Score-P does.

use std::collections::BTreeMap;

use mel_tests::artifacts::{fresh_dir, root};
use mel_tests::{Job, Mpi, compile_for_scorep};

/// What the host prints of metrics that match: by rank and name how the value is meant, and the value.
fn metrics(mpi: &Mpi, pattern: &str) -> BTreeMap<(u32, String), (String, u64)> {
    let plugin =
        compile_for_scorep(mpi, &root().join("examples/scorep/mel_metrics.c"), &["-shared", "-fPIC"]);
    let host = compile_for_scorep(mpi, &root().join("tests/programs/scorep/host.c"), &["-ldl"]);
    let room = fresh_dir();
    let job = Job::new(mpi, 2, &host).args([plugin.as_os_str(), pattern.as_ref()]).current_dir(room.path());
    let run = job.under_mel(["-o", "run"]).run();
    run.expect(run.code == Some(0), pattern);
    let line = |line: &str| {
        let [rank, how, name, value] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        Some(((rank.parse().ok()?, name.to_owned()), (how.to_owned(), value.parse().ok()?)))
    };
    run.stdout.lines().filter_map(line).collect()
}

#[test]
fn the_plugin_gives_what_the_variables_say() {
    for mpi in Mpi::all() {
        let all = metrics(&mpi, "mel_*");
        let of = |rank: u32, name: &str| {
            let (how, value) =
                all.get(&(rank, name.to_owned())).unwrap_or_else(|| panic!("no {name}: {all:?}"));
            (how.as_str(), *value)
        };
        assert_eq!(of(0, "mel_messages_sent"), ("counts", 5), "{}", mpi.name);
        assert_eq!(of(0, "mel_bytes_sent"), ("counts", 500), "{}", mpi.name);
        assert_eq!(of(1, "mel_messages_sent"), ("counts", 0), "{}", mpi.name);
        assert_eq!(of(1, "mel_posted_queue_length"), ("is", 0), "{}", mpi.name);
        let searches = of(1, "mel_unexpected_searches");
        assert!(
            searches.0 == "counts" && searches.1 >= 5,
            "{}: one for each receive: {searches:?}",
            mpi.name
        );
    }
}

#[test]
fn a_pattern_chooses() {
    let mpi = &Mpi::all()[0];
    let names: Vec<String> = metrics(mpi, "mel_*_sent").into_keys().map(|(_, name)| name).collect();
    assert_eq!(names, ["mel_bytes_sent", "mel_messages_sent"].repeat(2));
}
