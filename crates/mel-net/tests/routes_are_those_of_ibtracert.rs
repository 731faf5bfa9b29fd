//! Routes through simulated InfiniBand fabrics are those that `ibtracert` tells.
//!
//! The small fabric was recorded: ibsim, opensm -R ftree, ibnetdiscover, dump_fts. The large one is simulated here, where these programs are.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use mel_net::routes::{How, Routes};
use mel_net::{Fabric, read::of_texts};
use mel_tests::artifacts::absent;

/// The ports by which a way leaves its nodes, for each pair of LIDs as `ibtracert -n` tells it; pairs come in the order of the text.
fn told(text: &str) -> Vec<Vec<u16>> {
    let mut ways: Vec<Vec<u16>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("From ") {
            ways.push(Vec::new());
        } else if let (Some((port, _)), Some(way)) =
            (line.strip_prefix('[').and_then(|line| line.split_once("] -> ")), ways.last_mut())
        {
            way.push(port.parse().expect("a port"));
        }
    }
    ways
}

/// The way from a host to another as our routes have it.
fn ours(fabric: &Fabric, routes: &mut Routes<'_>, from: &str, to: &str) -> Vec<u16> {
    let [from, to] = [from, to].map(|name| fabric.node(name).expect("a host"));
    let route = routes.route(from, to, 0).expect("a route");
    assert_eq!(route.how, How::Tables);
    let last = route.ends.last().expect("a way");
    assert_eq!(fabric.nodes_of(*last)[1], to);
    route.ends.iter().map(|end| fabric.graph[end.edge()].ports[end.side()]).collect()
}

/// Hosts by their LID, ascending, from the lines of adapters' ports.
fn hosts_by_lid(net: &str) -> Vec<(u16, String)> {
    let (mut hosts, mut host) = (Vec::new(), String::new());
    for line in net.lines() {
        if line.starts_with("Ca\t") {
            let quoted = line.rsplit('"').nth(1).expect("a description");
            host = quoted.split(' ').next().expect("a name").to_owned();
        } else if let Some((_, rest)) = line.split_once("# lid ") {
            hosts.push((
                rest.split(' ').next().and_then(|lid| lid.parse().ok()).expect("a LID"),
                host.clone(),
            ));
        }
    }
    hosts.sort();
    hosts
}

fn fabric(net: &str, fts: &str) -> Fabric {
    // Tables first: the order of the files does not matter.
    let texts = [("fts", fts), ("net", net)].map(|(name, text)| (PathBuf::from(name), text.to_owned()));
    of_texts(&texts).expect("a network").fabric
}

#[test]
fn on_a_recorded_fabric_of_three_levels() {
    let net = include_str!("../src/fixtures/three_levels.ibnetdiscover");
    let fabric = fabric(net, include_str!("../src/fixtures/three_levels.dump_fts"));
    assert_eq!((fabric.hosts().count(), fabric.switches(), fabric.levels()), (8, 12, 3));
    let told = told(include_str!("../src/fixtures/three_levels.ibtracert"));
    let hosts = hosts_by_lid(net);
    let mut routes = Routes::new(&fabric);
    let mut told = told.into_iter();
    for (_, from) in &hosts {
        for (_, to) in hosts.iter().filter(|(_, to)| to != from) {
            assert_eq!(Some(ours(&fabric, &mut routes, from, to)), told.next(), "{from} to {to}");
        }
    }
    assert!(told.next().is_none());
}

/// The same file for any number of levels: hosts at leaves, leaves at spines or at the switches of their pod, those at cores.
fn simulated(pods: u32, leaves: u32, hosts: u32, upper: u32, cores: u32) -> String {
    let mut nodes: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut add = |kind: &str, name: String| {
        nodes.push((kind.to_owned(), name, Vec::new()));
        nodes.len() - 1
    };
    let all_hosts: Vec<usize> =
        (1..=pods * leaves * hosts).map(|host| add("Hca 1", format!("node{host} HCA-1"))).collect();
    let all_leaves: Vec<usize> =
        (1..=pods * leaves).map(|leaf| add("Switch 64", format!("leaf{leaf}"))).collect();
    let all_upper: Vec<usize> =
        (1..=pods * upper).map(|one| add("Switch 64", format!("upper{one}"))).collect();
    let all_cores: Vec<usize> = (1..=cores).map(|core| add("Switch 64", format!("core{core}"))).collect();
    let mut connect = |(a, port): (usize, u32), (b, other): (usize, u32)| {
        let names = [nodes[a].1.clone(), nodes[b].1.clone()];
        nodes[a].2.push(format!("[{port}] \"{}\"[{other}]", names[1]));
        nodes[b].2.push(format!("[{other}] \"{}\"[{port}]", names[0]));
    };
    for (place, host) in (0..).zip(&all_hosts) {
        connect((*host, 1), (all_leaves[(place / hosts) as usize], place % hosts + 1));
    }
    for (place, leaf) in (0..).zip(&all_leaves) {
        let (pod, number) = (place / leaves, place % leaves);
        for one in 0..upper {
            connect((*leaf, 33 + one), (all_upper[(pod * upper + one) as usize], number + 1));
        }
    }
    let each = cores.checked_div(upper).unwrap_or(0);
    for (place, one) in (0..).zip(&all_upper) {
        let (pod, number) = (place / upper, place % upper);
        for core in 0..each {
            connect((*one, 33 + core), (all_cores[(number * each + core) as usize], pod + 1));
        }
    }
    let mut text = String::new();
    for (kind, name, ports) in nodes {
        let (kind, number) = kind.split_once(' ').expect("two words");
        writeln!(text, "{kind} {number} \"{name}\"\n{}\n", ports.join("\n")).expect("memory");
    }
    text
}

const SIMULATOR: &str = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";

struct Simulation {
    process: Child,
    name: String,
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // Its end is all that is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Simulation {
    fn start(directory: &Path, net: &str) -> Simulation {
        let name = format!("mel-net-{}", std::process::id());
        let path = directory.join("net");
        fs::write(&path, net).expect("a file");
        let process = Command::new("ibsim")
            .arg("-s")
            .arg(&path)
            .env("IBSIM_SOCKNAME", &name)
            // It reads commands as long as somebody may write them.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("ibsim can be started");
        Simulation { process, name }
    }

    /// The output of a program in the simulated network.
    fn run(&self, directory: &Path, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program)
            .args(arguments)
            .env("IBSIM_SOCKNAME", &self.name)
            .env("SIM_HOST", "node1 HCA-1")
            .env("LD_PRELOAD", SIMULATOR)
            .env("OSM_TMP_DIR", directory)
            .env("OSM_CACHE_DIR", directory)
            .output()
            .expect("the program can be started");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
#[ignore = "slow"]
fn on_simulated_fabrics_of_two_and_three_levels_and_128_hosts() {
    let programs = ["ibsim", "opensm", "ibnetdiscover", "dump_fts", "ibtracert"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    let found = |name: &&str| folders.iter().any(|folder| folder.join(name).exists());
    if !programs.iter().all(found) || !Path::new(SIMULATOR).exists() || !is_root() {
        return absent("ibsim-utils, opensm, infiniband-diags or root", "scripts/install-deps installs them");
    }
    for (levels, net) in [(2, simulated(1, 8, 16, 8, 0)), (3, simulated(8, 4, 4, 4, 16))] {
        let directory = tempfile::tempdir().expect("a directory");
        let simulation = Simulation::start(directory.path(), &net);
        // The simulator is there when a program finds all hosts.
        let mut tries = 0;
        let (topology, tables) = loop {
            let log = directory.path().join("log").display().to_string();
            simulation.run(directory.path(), "/usr/sbin/opensm", &["-R", "ftree", "-o", "-e", "-f", &log]);
            let topology = simulation.run(directory.path(), "/usr/sbin/ibnetdiscover", &[]);
            let tables = simulation.run(directory.path(), "/usr/sbin/dump_fts", &[]);
            if hosts_by_lid(&topology).iter().filter(|(lid, _)| *lid > 0).count() == 128 && !tables.is_empty()
            {
                break (topology, tables);
            }
            tries += 1;
            assert!(tries < 20, "the simulated network does not come up: {topology}");
            std::thread::sleep(std::time::Duration::from_millis(300));
        };
        let fabric = fabric(&topology, &tables);
        assert_eq!((fabric.hosts().count(), fabric.levels()), (128, levels));
        let hosts = hosts_by_lid(&topology);
        let mut routes = Routes::new(&fabric);
        for (lid, from) in hosts.iter().step_by(17) {
            for (other, to) in hosts.iter().step_by(9).filter(|(_, to)| to != from) {
                let arguments = ["-n".to_owned(), lid.to_string(), other.to_string()];
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let text = simulation.run(directory.path(), "/usr/sbin/ibtracert", &arguments);
                assert_eq!(told(&text), [ours(&fabric, &mut routes, from, to)], "{from} to {to}");
            }
        }
    }
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0"))
}
