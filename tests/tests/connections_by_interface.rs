//! What connections carry is counted by interface and peer, by phase, and to the last second of a run that is killed; and two planes
//! of a network are told apart.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

/// 100 broadcasts of 1 MiB.
const SENT: u64 = 100 << 20;

fn report(directory: &Path, options: &[&str]) -> String {
    let run = Command::new(mel()).arg("report").args(options).arg(directory).output().expect("mel runs");
    String::from_utf8(run.stdout).expect("text")
}

/// The connections of a rank that are not control.
fn connections(profile: &Value, rank: usize) -> Vec<&Value> {
    let all = profile["ranks"][rank]["connections"].as_array().expect("there are connections");
    all.iter().filter(|row| row["purpose"] == "mpi").collect()
}

fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or(0)
}

/// Whether a figure is another one and at most half a percent more, for what the library adds.
fn is_about(bytes: u64, expected: u64) -> bool {
    (expected..=expected + expected / 200).contains(&bytes)
}

fn over_localhost<'a>(mpi: &'a Mpi, arguments: &[&str], output: &Path) -> Job<'a> {
    let options = ["--profile".as_ref(), "net".as_ref(), "-o".as_ref(), output.as_os_str()];
    let job = Job::new(mpi, 2, compile_special(mpi, "planes")).patient().args(arguments).under_mel(options);
    if mpi.name == "openmpi" {
        job.env("OMPI_MCA_btl", "tcp,self")
            .env("OMPI_MCA_btl_tcp_if_include", "lo")
            .env("OMPI_MCA_pml", "ob1")
    } else {
        job.env("UCX_TLS", "tcp").env("UCX_NET_DEVICES", "lo")
    }
}

/// The MPIs of the distribution.
fn distributed() -> impl Iterator<Item = Mpi> {
    Mpi::all().into_iter().filter(|mpi| ["openmpi", "mpich"].contains(&mpi.name))
}

#[test]
fn bytes_of_connections_are_those_of_the_broadcasts_in_each_phase() {
    for mpi in distributed() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let finished = over_localhost(&mpi, &[], &output).run();
        finished.expect(finished.code == Some(0), "the program ends well");
        let profile = Profile::read(&output);
        let profile = profile.json();
        for rank in [0, 1] {
            for row in connections(profile, rank) {
                assert_eq!((&row["interface"], &row["peer"]), (&"lo".into(), &(1 - rank).into()), "{row}");
                assert_eq!(row["peer_host"], profile["ranks"][rank]["host"], "{row}");
            }
        }
        for phase in [1, 2] {
            let rows = connections(profile, 1).into_iter().filter(|row| number(row, "phase") == phase);
            let bytes = rows.map(|row| number(row, "bytes_received")).sum();
            assert!(is_about(bytes, SENT / 2), "{}: phase {phase}: {bytes}", mpi.name);
        }
        // What is acknowledged after the end of a phase is the next one's.
        let sent = connections(profile, 0).into_iter().map(|row| number(row, "bytes_sent")).sum();
        assert!(is_about(sent, SENT), "{}: {sent}", mpi.name);
        let ports = profile["ranks"][0]["ports"].as_array().expect("the first rank of a host has ports");
        assert!(ports.iter().any(|port| port["interface"] == "lo"), "{ports:?}");
        assert!(profile["ranks"][1]["ports"].is_null(), "one rank of each host");
        let text = report(&output, &[]);
        assert!(text.contains("over the network, observed (TCP_INFO)"), "{text}");
        let csv = report(&output, &["--csv"]);
        assert!(csv.contains(",connections_mpi,sent,bytes,"), "{csv}");
        if mpi.name == "openmpi" {
            let all = profile["ranks"][0]["connections"].as_array().expect("there are connections");
            assert!(
                all.iter().any(|row| row["purpose"] == "control"),
                "PMIx says where its daemon is: {all:?}"
            );
        }
    }
}

#[test]
fn a_killed_run_has_the_connections_of_the_phases_that_ended() {
    let Some(mpi) = distributed().find(|mpi| mpi.name == "openmpi") else { return };
    let directory = fresh_dir();
    let output = directory.path().join("run");
    over_localhost(&mpi, &["100", "kill"], &output).run();
    let profile: Value = serde_json::from_str(&report(&output, &["--json"])).expect("JSON");
    let rows = connections(&profile, 1).into_iter().filter(|row| number(row, "phase") == 1);
    let received = rows.map(|row| number(row, "bytes_received")).sum();
    assert!(is_about(received, SENT / 2), "{received}: {profile}");
}

/// A run of Open MPI over two nodes with two planes, with these interfaces; nothing where namespaces are not permitted.
fn on_two_planes(interfaces: &str, output: &Path) -> Option<Finished> {
    let nodes = Mpi::on_two_nodes().into_iter().map(|(_, nodes)| nodes);
    let mpi = nodes.into_iter().find(|mpi| mpi.name == "openmpi-two-nodes")?;
    let options = ["--profile".as_ref(), "net".as_ref(), "-o".as_ref(), output.as_os_str()];
    let job = Job::new(&mpi, 2, compile_special(&mpi, "planes")).patient().under_mel(options);
    let job = job.env("PLANES", "2").env("OMPI_MCA_pml", "ob1").env("OMPI_MCA_btl", "tcp,self");
    let finished = job.env("OMPI_MCA_btl_tcp_if_include", interfaces).run();
    finished.expect(finished.code == Some(0), "the program ends well");
    Some(finished)
}

/// What `ip -s -j link` has counted on an interface of a rank's node while the program ran: bytes out and in.
fn counted(finished: &Finished, rank: u32, interface: &str) -> [u64; 2] {
    let of = |when: &str| {
        let mark = format!("links {rank} {when} ");
        let json =
            finished.stdout.lines().find_map(|line| line.strip_prefix(&mark)).expect("the line is there");
        let links: Value = serde_json::from_str(json).expect("JSON");
        let links = links.as_array().expect("a list");
        let link = links.iter().find(|link| link["ifname"] == interface).expect("there is such a link");
        ["tx", "rx"].map(|way| number(&link["stats64"][way], "bytes"))
    };
    let (before, after) = (of("before"), of("after"));
    [after[0] - before[0], after[1] - before[1]]
}

/// Bytes of a rank by interface.
fn carried(profile: &Value, rank: usize, interface: &str, key: &str) -> u64 {
    let rows = connections(profile, rank).into_iter().filter(|row| row["interface"] == interface);
    rows.map(|row| number(row, key)).sum()
}

#[test]
#[ignore = "slow"]
fn two_planes_carry_half_each_and_agree_with_the_links_own_counters() {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let Some(finished) = on_two_planes("eth0,eth1", &output) else { return };
    let profile = Profile::read(&output);
    let profile = profile.json();
    for (rank, key, way) in [(0, "bytes_sent", 0), (1, "bytes_received", 1)] {
        let bytes = ["eth0", "eth1"].map(|interface| carried(profile, rank, interface, key));
        assert!(is_about(bytes.iter().sum(), SENT), "{bytes:?}");
        for (interface, bytes) in ["eth0", "eth1"].into_iter().zip(bytes) {
            assert!((SENT * 2 / 5..SENT * 3 / 5).contains(&bytes), "{interface}: {bytes} of {SENT}");
            let link = counted(&finished, rank as u32, interface)[way];
            let more = link as f64 / bytes as f64 - 1.0;
            eprintln!("rank {rank} {interface}: {bytes} bytes, link {link}, {:+.3} %", more * 100.0);
            assert!((-0.001..0.01).contains(&more), "{interface}: {link} on the link, {bytes} by TCP_INFO");
        }
    }
    for rank in [0, 1] {
        let ports = profile["ranks"][rank]["ports"].as_array().expect("each is the first of its host");
        let port = ports.iter().find(|port| port["interface"] == "eth1").expect("it is there");
        let [sent, received] = counted(&finished, rank as u32, "eth1");
        for (key, link) in [("bytes_sent", sent), ("bytes_received", received)] {
            let by = number(port, key);
            assert!(by.abs_diff(link) <= link / 100 + 20_000, "{key}: {by} in the profile, {link} by ip");
        }
    }
    let text = report(&output, &[]);
    assert!(text.contains("2 planes carry the data between hosts, balanced (observed)"), "{text}");
}

#[test]
#[ignore = "slow"]
fn a_plane_that_lies_idle_is_told_in_words() {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    if on_two_planes("eth0", &output).is_none() {
        return;
    }
    let profile = Profile::read(&output);
    assert!(is_about(carried(profile.json(), 0, "eth0", "bytes_sent"), SENT));
    assert_eq!(carried(profile.json(), 0, "eth1", "bytes_sent"), 0);
    let text = report(&output, &[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("one of 2 planes carries all data between hosts (observed): eth0"), "{text}");
    assert!(text.contains("eth1 none") && text.contains("(estimated)"), "{text}");
}
