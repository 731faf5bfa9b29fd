//! `mel place`: launchers accept what it writes and put the ranks there, and programs can reorder themselves by it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{absent, fresh_dir, mel, root};
use mel_tests::{Job, Mpi, compile_source, compile_special};
use serde_json::{Value, json};

const RANKS: u32 = 4;

/// A directory with the profile of a run in which each rank has sent to the one two further, on these hosts.
fn torn(hosts: [&str; RANKS as usize]) -> tempfile::TempDir {
    let of_rank = |rank: u32| {
        json!({
            "rank": rank,
            "host": hosts[rank as usize],
            "traffic": [{ "kind": "p2p", "peer": (rank + 2) % RANKS, "messages": 10, "bytes": 1_000_000 }],
        })
    };
    let ranks: Vec<Value> = (0..RANKS).map(of_rank).collect();
    let profile =
        json!({ "world_size": RANKS, "command": ["./torn"], "profiled": ["matrix"], "ranks": ranks });
    let directory = fresh_dir();
    fs::write(directory.path().join("profile.json"), profile.to_string()).expect("a file can be written");
    directory
}

/// What `mel place` prints of a run, as JSON; files go into its directory.
fn place(directory: &Path, topology: &str) -> Value {
    let mut command = Command::new(mel());
    command.current_dir(directory).args(["place", ".", "--json", "--topology", topology]);
    for file in ["rankfile", "hostfile", "slurm", "keys"] {
        command.arg(format!("--{file}")).arg(file);
    }
    let output = command.output().expect("mel can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// A value of each rank's placement.
fn of_ranks<'a>(placed: &'a Value, key: &str) -> Vec<&'a Value> {
    placed["placement"].as_array().expect("a list").iter().map(|rank| &rank[key]).collect()
}

fn this_host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux says the name of the host");
    name.trim().to_owned()
}

/// The Open MPI of the distribution: the options of later ones differ.
fn open_mpi() -> Option<Mpi> {
    Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi")
}

/// Open MPI's launcher. Not a [`Job`]: its options say not to bind.
fn launcher() -> Command {
    let found = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let name = ["mpirun.openmpi", "mpirun"].into_iter().find(found).expect("the launcher of Open MPI");
    let mut command = Command::new(name);
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    command.arg("--oversubscribe");
    command
}

#[test]
fn open_mpi_binds_ranks_as_the_rankfile_says() {
    let Some(mpi) = open_mpi() else { return absent("Open MPI", "scripts/install-deps") };
    let host = this_host();
    let directory = torn([&host; 4]);
    let placed = place(directory.path(), "auto");
    let program = compile_special(&mpi, "where_bound");
    let run = |command: &mut Command| {
        let output = command.args(["-n", "4"]).arg(&program).output().expect("the launcher can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stdout}\n{stderr}");
        let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
        lines.sort();
        (lines.join("\n"), stderr)
    };
    let file = directory.path().join("rankfile");
    let (stdout, stderr) = run(launcher().arg("--rankfile").arg(&file));
    // As `--try` says it.
    let by_environment = run(launcher().env("OMPI_MCA_rmaps_rank_file_path", &file)).0;
    assert_eq!(stdout, by_environment);
    // Ranks with the same core may use the same processors, others not.
    let mut processors: BTreeMap<u64, String> = BTreeMap::new();
    for line in stdout.lines() {
        let (rank, may_use) = line.split_once(": ").expect("a rank and its processors");
        let rank: u64 = rank.parse().expect("a rank");
        processors.insert(rank, may_use.to_owned());
    }
    assert_eq!(processors.len(), RANKS as usize, "{stdout}\n{stderr}");
    let cores = of_ranks(&placed, "core");
    for (a, on_a) in &processors {
        for (b, on_b) in &processors {
            let same = cores[*a as usize] == cores[*b as usize];
            assert_eq!(same, on_a == on_b, "ranks {a} and {b}: {processors:?}\n{placed:#}");
        }
    }
}

/// Two bound ranks are where they were bound, so that a placement that was followed is not advised again; with more ranks than processors
/// nothing is advised within the node.
#[test]
fn a_placement_starts_where_the_ranks_were_bound() {
    let Some(mpi) = open_mpi() else { return absent("Open MPI", "scripts/install-deps") };
    let program = compile_source(&mpi, &root().join("examples/programs/halo2d.c"));
    for (ranks, binding, bound, crowded) in [(2, "core", 1, 0), (2, "none", 0, 0), (8, "none", 0, 1)] {
        let scratch = fresh_dir();
        let output = scratch.path().join("run");
        let mut command = launcher();
        command.args(["--mca", "mpi_yield_when_idle", "1", "--bind-to", binding, "-n", &ranks.to_string()]);
        command.arg(mel()).args(["run", "--profile=matrix", "-o"]).arg(&output).arg(&program);
        let run = command.output().expect("the launcher can be run");
        assert!(run.status.success(), "{binding}: {}", String::from_utf8_lossy(&run.stderr));
        let placed = place(&output, "core:2");
        assert_eq!(
            placed["hosts_where_ranks_were_bound"], bound,
            "{ranks} ranks bound to {binding}: {placed}"
        );
        assert_eq!(placed["crowded_hosts"].as_array().map(Vec::len), Some(crowded), "{placed}");
        assert_eq!(placed["move"], false, "two equal cores: {placed}");
    }
}

#[test]
fn mpich_starts_ranks_on_the_hosts_of_the_list() {
    let launcher = ["mpiexec.mpich", "mpiexec"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|said| said.stdout.starts_with(b"HYDRA"))
    });
    let Some(launcher) = launcher else { return absent("MPICH", "scripts/install-deps") };
    let directory = torn(["left", "left", "right", "right"]);
    let placed = place(directory.path(), "core:2");
    assert_eq!(placed["move"], true, "{placed:#}");
    assert_eq!(placed["after"]["bytes_between_nodes"], 0, "{placed:#}");
    // Everything is started here, under the names of the hosts.
    let output = Command::new(launcher)
        .args(["-launcher", "fork", "-n", "4", "-prepend-pattern", "%r %h ", "-f"])
        .arg(directory.path().join("hostfile"))
        // Hydra may lose what is printed by who ends at once.
        .args(["sh", "-c", "echo started; sleep 0.3"])
        .output()
        .expect("the launcher can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<&str> = text.lines().filter(|line| line.contains("started")).collect();
    lines.sort_unstable();
    let hosts = of_ranks(&placed, "host");
    let expected: Vec<String> = hosts
        .iter()
        .enumerate()
        .map(|(rank, host)| format!("{rank} {} started", host.as_str().unwrap()))
        .collect();
    assert_eq!(lines, expected, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let slurm = fs::read_to_string(directory.path().join("slurm")).expect("it was written");
    assert!(slurm.lines().eq(hosts.iter().map(|host| host.as_str().unwrap())), "{slurm}");
}

#[test]
fn topologies_of_lstopo_are_those_in_words() {
    let directory = torn(["left"; 4]);
    let words = "pack:2 l3:1 core:4 pu:1";
    let file = directory.path().join("node.xml");
    let made = Command::new("lstopo-no-graphics").args(["-i", words, "--of", "xml"]).arg(&file).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return absent("lstopo", "scripts/install-deps installs it");
    }
    let (of_file, of_words) = (place(directory.path(), "node.xml"), place(directory.path(), words));
    for key in ["before", "after", "placement", "move"] {
        assert_eq!(of_file[key], of_words[key]);
    }
    // Four ranks on two sockets: two pairs, each on one.
    assert_eq!(of_file["move"], true, "{of_file:#}");
    assert_eq!(of_file["after"]["bytes_between_sockets"], 0, "{of_file:#}");
}

#[test]
fn programs_reorder_their_processes() {
    const GOOD: &str = "bytes between nodes: 655360 before, 0 now";
    for mpi in &Mpi::all() {
        let program = compile_source(mpi, &root().join("examples/reorder/reorder.c"));
        let alone = Job::new(mpi, RANKS, &program).args(["--per-node", "2"]).run();
        alone.expect(alone.code == Some(0) && alone.stdout.contains(GOOD), "it finds a better order itself");
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--profile=matrix".as_ref(), "-o".as_ref(), output.as_os_str()];
        let measured = Job::new(mpi, RANKS, &program).under_mel(options).run();
        measured.expect(measured.code == Some(0), "it is measured");
        let placed = place(&output, "node:2 core:2");
        assert_eq!(placed["map_by"], "node", "{placed:#}");
        let keys = output.join("keys").display().to_string();
        let reordered = Job::new(mpi, RANKS, &program).args(["--per-node", "2", "--keys", &keys]).run();
        reordered.expect(reordered.code == Some(0) && reordered.stdout.contains(GOOD), "it takes the keys");
        let wrong = Job::new(mpi, RANKS + 1, &program).args(["--keys", &keys]).run();
        wrong.expect(
            wrong.code != Some(0) && wrong.stderr.contains("has not the new ranks"),
            "it says what is wrong",
        );
    }
}

/// Six ranks on two nodes, in turns: each of the three pairs is torn. As there are three on a node, one pair stays torn.
#[test]
#[ignore = "slow"]
fn links_between_nodes_carry_what_was_predicted() {
    for (_, mpi) in &Mpi::on_two_nodes() {
        let program = compile_special(mpi, "link_bytes");
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--profile=matrix".as_ref(), "-o".as_ref(), output.as_os_str()];
        let carried = |run: &mel_tests::Finished| {
            run.expect(run.code == Some(0), mpi.name);
            let words =
                run.stdout.split_once("links have sent ").and_then(|(_, rest)| rest.split_once(" bytes"));
            words
                .and_then(|(bytes, _)| bytes.parse::<f64>().ok())
                .expect("it prints what the links have sent")
        };
        let before = carried(&Job::new(mpi, 6, &program).under_mel(options).run());
        let placed = place(&output, "core:3");
        assert_eq!(placed["move"], true, "{placed:#}");
        let keys = output.join("keys").display().to_string();
        let after = carried(&Job::new(mpi, 6, &program).args([&keys]).run());
        let predicted = |when: &str| placed[when]["bytes_between_nodes"].as_f64().expect("a number");
        eprintln!(
            "{}: {before} and {after}; predicted {} and {}",
            mpi.name,
            predicted("before"),
            predicted("after")
        );
        // Headers, acknowledgements and MPI's own messages come on top.
        for (observed, when) in [(before, "before"), (after, "after")] {
            let share = observed / predicted(when);
            assert!(
                (0.98..1.25).contains(&share),
                "{} {when}: {observed} instead of {}",
                mpi.name,
                predicted(when)
            );
        }
    }
}

/// A launcher that spreads ranks over two nodes in turns, unless a rankfile says where they are to be.
fn launcher_on_two_nodes(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("launch");
    let text = format!(
        "#!/bin/sh\n[ -z \"$OMPI_MCA_rmaps_rank_file_path\" ] || {{\n    HOSTS_OF_RANKS={}/hosts\n    \
         sed 's/.*=\\([^ ]*\\) .*/\\1/' \"$OMPI_MCA_rmaps_rank_file_path\" >$HOSTS_OF_RANKS\n    \
         unset OMPI_MCA_rmaps_rank_file_path\n    export HOSTS_OF_RANKS\n}}\nexec {} \"$@\"\n",
        directory.display(),
        root().join("scripts/two-nodes").display()
    );
    fs::write(&path, text).expect("a file can be written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&path, executable).expect("a script");
    path
}

/// Pairs that a placement brings together are faster, as paired runs show; where nothing is to be gained nothing is started.
#[test]
#[ignore = "slow"]
fn what_a_placement_gains_is_measured() {
    let Some((_, mpi)) = Mpi::on_two_nodes().into_iter().find(|(here, _)| here.name == "openmpi") else {
        return;
    };
    let program = compile_special(&mpi, "far_pairs");
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let options = ["--profile=matrix".as_ref(), "-o".as_ref(), output.as_os_str()];
    let run = Job::new(&mpi, 4, &program).under_mel(options).run();
    run.expect(run.code == Some(0), mpi.name);
    let try_with = |topology: &str| {
        let mut command = Command::new(mel());
        command.arg("place").arg(&output).args([
            "--topology",
            topology,
            "--json",
            "--try",
            "--budget",
            "3m",
            "--",
        ]);
        command.arg(launcher_on_two_nodes(directory.path())).args(["-n", "4"]).arg(&program);
        for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
            command.env(name, "1");
        }
        let said = command.output().expect("mel can be run");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        serde_json::from_slice::<Value>(&said.stdout).expect("it is JSON")
    };
    let said = try_with("core:2");
    assert_eq!(said["move"], true, "{said:#}");
    let trial = &said["tried"]["trials"][0];
    assert_eq!(trial["verdict"], "faster", "{said:#}");
    let file = output.canonicalize().expect("a folder").join("placement").display().to_string();
    assert_eq!(trial["environment"]["OMPI_MCA_rmaps_rank_file_path"], file, "{said:#}");
    assert!(said["tried"]["use"].as_str().is_some_and(|command| command.contains(&file)), "{said:#}");
}
