//! What an MPI library posts to network cards is seen, as far as that can be shown without a card: with a mock of libibverbs, and a module
//! that posts and has the name of a transport. What the program itself posts is not counted. The library is built here with the feature
//! `verbs`, which is off by default.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{absent, built, fresh_dir, root};
use mel_tests::events::Log;
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, compile_source};

fn programs() -> PathBuf {
    root().join("tests/programs/verbs")
}

/// Runs the C compiler; whether it succeeds.
fn cc(directory: &Path, arguments: &[&str]) -> bool {
    let flags = ["-Wall", "-Wextra", "-Werror", "-O1"];
    let mut command = Command::new("cc");
    let status =
        command.current_dir(programs()).args(flags).args(arguments).arg("-L").arg(directory).status();
    status.expect("a C compiler (make install-deps)").success()
}

fn has_header() -> bool {
    let there = Path::new("/usr/include/infiniband/verbs.h").exists();
    if !there {
        absent("infiniband/verbs.h", "scripts/install-deps installs libibverbs-dev");
    }
    there
}

/// `libmel.so` with the feature, which `scripts/test` has built.
fn libmel_with_verbs() -> PathBuf {
    built("verbs/libmel.so")
}

/// A folder as that of the system: of each rank a device with a LID, and one of RoCE.
fn ports(directory: &Path) {
    for (rank, lid) in [(0, 4), (1, 5)] {
        let port = |device: &str| directory.join(rank.to_string()).join(device).join("ports/1");
        for (device, lid, link) in [("mock_0", lid, "InfiniBand"), ("mock_1", 0, "Ethernet")] {
            let port = port(device);
            fs::create_dir_all(port.join("counters")).unwrap();
            fs::create_dir_all(port.join("gids")).unwrap();
            fs::write(port.join("lid"), format!("{lid:#x}\n")).unwrap();
            fs::write(port.join("link_layer"), link).unwrap();
            fs::write(port.join("counters/port_xmit_data"), "0\n").unwrap();
            fs::write(port.join("counters/port_rcv_data"), "0\n").unwrap();
            fs::write(port.join("gids/0"), format!("fe80:0000:0000:0000:0000:0000:0000:000{}\n", rank + 1))
                .unwrap();
        }
        let gid = format!("0000:0000:0000:0000:0000:ffff:0a00:000{}\n", rank + 1);
        fs::write(port("mock_1").join("gids/1"), gid).unwrap();
    }
}

#[test]
fn the_structures_are_those_of_the_real_header() {
    if has_header() {
        let directory = fresh_dir();
        let object = directory.path().join("layout.o");
        assert!(cc(directory.path(), &["-c", "layout.c", "-o", object.to_str().unwrap()]));
    }
}

#[test]
#[ignore = "slow"]
fn what_the_library_posts_is_counted_by_target_and_what_the_program_posts_is_not() {
    if !has_header() {
        return;
    }
    let (library, mut tested) = (libmel_with_verbs(), 0);
    for mpi in Mpi::all() {
        let directory = fresh_dir();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let (mock, module) = (at("libmockverbs.so"), at("libuct_mock.so"));
        let shared = ["-shared", "-fPIC"];
        let rpath = format!("-Wl,-rpath,{}", directory.path().display());
        assert!(cc(
            directory.path(),
            &[&shared[..], &["mock.c", "-Wl,--version-script=mock.map", "-o", &mock]].concat()
        ));
        assert!(cc(
            directory.path(),
            &[&shared[..], &["transport.c", &mock, &rpath, "-o", &module]].concat()
        ));
        ports(directory.path());
        let output = directory.path().join("run");
        let program = compile_source(&mpi, &programs().join("verbs.c"));
        // Where the MPI is linked with the real library, that comes before the mock.
        let plain =
            Job::new(&mpi, 2, program.clone()).args([&module]).env("MEL_INFINIBAND", directory.path()).run();
        if plain.code != Some(0) {
            eprintln!("not tested with {}: it has libibverbs itself", mpi.name);
            continue;
        }
        tested += 1;
        let options = ["-e", "btl_netop", "--profile", "net", "-o"].map(std::ffi::OsStr::new);
        let finished = Job::new(&mpi, 2, program)
            .args([&module])
            .patient()
            .env("MEL_INFINIBAND", directory.path())
            .env("MEL_LIBRARY", &library)
            .under_mel(options.into_iter().chain([output.as_os_str()]))
            .run();
        finished
            .expect(finished.code == Some(0) && finished.stdout.contains("done 0"), "the program ends well");

        let data: u64 = finished
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix("data 0 "))
            .and_then(|address| address.parse().ok())
            .expect("an address");
        let log = Log::of_run(&output);
        let mut found: BTreeMap<(i64, i64, i64), (u64, i64)> = BTreeMap::new();
        for event in &log.ranks[&0] {
            let of = |place: usize| event.elements[place].1;
            if of(3) as u64 == data {
                let (count, bytes) = found.entry((of(0), of(1), of(4))).or_default();
                *count += 1;
                *bytes += of(2);
            }
        }
        // Operation, target and remote address; how many, and bytes.
        let expected = BTreeMap::from([
            ((0, 1, 0x123_4000), (4, 61_000)),
            ((1, 1, 0x123_4000), (1, 4000)),
            ((2, 1, 0), (11, 690)),
            ((6, 1, 0x123_4000), (1, 8)),
        ]);
        assert_eq!(found, expected, "{}", mpi.name);

        let profile = Profile::read(&output);
        let rank = &profile.json()["ranks"][0];
        let verbs: Vec<_> = rank["connections"]
            .as_array()
            .expect("connections")
            .iter()
            .filter(|row| row["protocol"] == "verbs" && row["bytes_sent"].as_u64() > Some(0))
            .map(|row| {
                let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
                let number = |key: &str| row[key].as_u64().unwrap_or(u64::MAX);
                (
                    (text("interface"), text("address"), text("peer_address"), number("peer")),
                    [number("bytes_sent"), number("segments_sent"), number("bytes_received")],
                )
            })
            .collect();
        let row =
            |interface: &str, address: &str, peer: &str| (interface.into(), address.into(), peer.into(), 1);
        assert_eq!(
            verbs,
            [
                (row("mock_0/1", "LID 4", "LID 5"), [1000 + 600 + 8 + 90, 1 + 2 + 1 + 9, 4000]),
                (row("mock_1/1", "10.0.0.1", "10.0.0.2"), [60_000, 3, 0]),
            ],
            "{}",
            mpi.name
        );
    }
    assert!(tested > 0, "no MPI was tested");
}
