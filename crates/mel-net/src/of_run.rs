//! A run on its network: all that is found of it.

use std::path::{Path, PathBuf};

use crate::advice::{Finding, advice};
use crate::bottleneck;
use crate::fabric::{Kind, Link, Plane};
use crate::lossy::Sent;
use crate::planes::Seen;
use crate::ranks::{Map, Placed, place};
use crate::{AtEnds, Fabric, Flows, Functions, Load, NetError, Network, Shares, flows, load};
use mel_log::profile::{Connection, Profile, Protocol, Purpose};
use mel_traffic::choice::Asked;
use mel_traffic::{Hosts, Rows, hosts_of_ranks};
use petgraph::graph::NodeIndex;

/// What was found for a run.
#[derive(Debug)]
pub struct Found<'a> {
    /// The run.
    pub profile: &'a Profile,
    /// The network.
    pub network: Network,
    /// Where the ranks are.
    pub placed: Placed,
    /// What goes between them.
    pub flows: Flows,
    /// Over which planes.
    pub shares: Shares,
    /// What the links carry.
    pub load: Load,
    /// Which MPI functions load them.
    pub functions: AtEnds,
    /// What stands out.
    pub findings: Vec<Finding>,
}

impl<'a> Found<'a> {
    /// Puts a run into a network.
    ///
    /// # Errors
    /// The profile does not say who sends what to whom, or its hosts are not in the network.
    pub fn new(
        profile: &'a Profile,
        network: Network,
        map: &Map,
        asked: Asked<'_>,
    ) -> Result<Found<'a>, NetError> {
        let rows = Rows::of(profile);
        let placed = place(&network.fabric, &hosts_of_ranks(profile), map)?;
        let flows = flows(&rows, asked, &Hosts::of(profile, rows.size()).of_rank)?;
        let shares = Shares::of(&network.fabric, &seen(profile, &placed));
        let load = load(&network.fabric, &placed.host, &flows.list, &shares);
        let functions =
            Functions::of_flows(&rows, asked, &flows)?.at_ends(&network.fabric, &placed.host, &shares);
        let run =
            bottleneck::Seen { sent: sent(profile, &placed, &network.fabric), run_s: profile.duration_s };
        let findings = advice(&network.fabric, &load, &shares, &run);
        Ok(Found { profile, network, placed, flows, shares, load, functions, findings })
    }
}

/// What each rank has seen of its connections, by interface and host (`mel run --profile net`).
fn seen(profile: &Profile, placed: &Placed) -> Vec<Seen> {
    let seen = |(from, to, row): Between<'_>| Seen {
        from,
        to,
        interface: row.interface.clone(),
        bytes: row.bytes_sent,
    };
    between_hosts(profile, placed).map(seen).collect()
}

/// What connections between hosts have sent, and again. In several planes only where the interface says which.
fn sent(profile: &Profile, placed: &Placed, fabric: &Fabric) -> Vec<Sent> {
    let sent = |(from, to, row): Between<'_>| {
        let plane = match fabric.planes.len() {
            1 => 0,
            _ => fabric.plane_of_interface(&row.interface)?,
        };
        Some(Sent { from, to, plane, segments: row.segments_sent, again: row.retransmissions })
    };
    let over_tcp = between_hosts(profile, placed).filter(|(.., row)| row.protocol == Protocol::Tcp);
    over_tcp.filter_map(sent).collect()
}

/// A rank's host, another host, and connections between them.
type Between<'a> = (NodeIndex, NodeIndex, &'a Connection);

/// The MPI library's connections from a host to another one.
fn between_hosts<'a>(profile: &'a Profile, placed: &'a Placed) -> impl Iterator<Item = Between<'a>> {
    let host_of = |rank: u32| placed.host.get(rank as usize).copied().flatten();
    let named = move |name: &str| {
        let rank = profile.ranks.iter().find(|rank| !name.is_empty() && rank.host == name)?;
        host_of(rank.rank)
    };
    profile.ranks.iter().flat_map(move |rank| {
        let rows = rank.connections.iter().filter(|row| row.purpose == Purpose::Mpi);
        rows.filter_map(move |row| {
            let from = host_of(rank.rank)?;
            let to = row.peer.and_then(host_of).or_else(|| named(&row.peer_host))?;
            (to != from).then_some((from, to, row))
        })
    })
}

/// The network of runs of which none is known: a cable from each of their hosts to one switch.
fn one_switch(runs: &[&Profile]) -> Network {
    let mut fabric = Fabric::default();
    let plane = fabric.add_plane(Plane { name: "network".into(), ..Plane::default() });
    let hosts: Vec<&str> = runs.iter().flat_map(|run| hosts_of_ranks(run)).collect();
    let mut name = "the switch".to_owned();
    while hosts.contains(&name.as_str()) {
        name.push('_');
    }
    let switch = fabric.add_node(&name, Kind::Switch);
    for name in hosts {
        if fabric.node(name).is_none() {
            let host = fabric.add_node(name, Kind::Host);
            fabric.add_link([host, switch], Link { ports: [0, 0], capacity: None, plane }, [0, 0]);
        }
    }
    fabric.find_levels();
    let note = "assumed: each host has one cable to one switch; --fabric FILE says how the network really is";
    Network { fabric, notes: vec![note.to_owned()] }
}

/// Reads the files of a network, and where ranks are in it. Without a file it is assumed that all hosts of these runs have a cable to one
/// switch.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub fn read(files: &[PathBuf], map: Option<&Path>, runs: &[&Profile]) -> Result<(Network, Map), NetError> {
    let network = if files.is_empty() { one_switch(runs) } else { crate::read(files)? };
    let map = match map {
        None => Map::default(),
        Some(path) => {
            let io = |error| NetError::Io { path: path.to_owned(), error };
            let text = std::fs::read_to_string(path).map_err(io)?;
            Map::read(&text).map_err(|wrong| NetError::Line {
                path: path.to_owned(),
                line: wrong.line,
                what: wrong.what,
            })?
        }
    };
    Ok((network, map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{Connection, RankProfile, Traffic};

    #[test]
    fn without_a_file_all_hosts_are_at_one_switch() {
        let rank = |rank: u32| RankProfile {
            rank,
            host: ["a[1]", "the switch", "a[1]"][rank as usize].into(),
            traffic: vec![Traffic {
                peer: Some((rank + 1) % 3),
                bytes: 10,
                messages: 1,
                ..Traffic::default()
            }],
            ..RankProfile::default()
        };
        let profile = Profile { world_size: 3, ranks: (0..3).map(rank).collect(), ..Profile::default() };
        let (network, map) = read(&[], None, &[&profile]).unwrap();
        assert_eq!((network.fabric.hosts().count(), network.fabric.switches()), (2, 1));
        let found = Found::new(&profile, network, &map, Asked::default()).unwrap();
        assert_eq!((found.load.between, found.load.within), (20, 10));
        assert!(found.network.notes[0].starts_with("assumed: "), "{:?}", found.network.notes);
    }

    #[test]
    fn connections_say_which_plane_is_out_of_use() {
        let text = "[[plane]]\nname = \"a\"\ninterfaces = [\"eth0\"]\n[[plane]]\nname = \"b\"\ninterfaces = [\"eth1\"]\n[[host]]\nname = \"x,y\"\n[[switch]]\nname = \"s,t\"\n[[link]]\nfrom = \"x,y\"\nto = \"s\"\nplane = \"a\"\n[[link]]\nfrom = \"x,y\"\nto = \"t\"\nplane = \"b\"\n";
        let found = |interfaces: &[&str]| {
            let connection = |interface: &&str, peer: u32| Connection {
                interface: (*interface).to_owned(),
                peer: (peer == 0).then_some(peer),
                peer_host: ["x", "y"][peer as usize].into(),
                bytes_sent: 1000,
                ..Connection::default()
            };
            let rank = |rank: u32| RankProfile {
                rank,
                host: ["x", "y"][rank as usize].into(),
                traffic: vec![Traffic {
                    peer: Some(1 - rank),
                    messages: 1,
                    bytes: 1000,
                    ..Traffic::default()
                }],
                connections: interfaces.iter().map(|interface| connection(interface, 1 - rank)).collect(),
                ..RankProfile::default()
            };
            let profile = Profile { world_size: 2, ranks: vec![rank(0), rank(1)], ..Profile::default() };
            let network = crate::read::of_texts(&[(PathBuf::from("n.toml"), text.to_owned())]).unwrap();
            let found = Found::new(&profile, network, &Map::default(), Asked::default()).unwrap();
            (found.load.by_plane.clone(), found.findings.iter().map(|one| one.rule).collect::<Vec<_>>())
        };
        assert_eq!(found(&["eth0"]), (vec![2000, 0], vec!["idle_plane"]));
        assert_eq!(found(&["eth0", "eth1"]), (vec![1000, 1000], vec![]));
        assert_eq!(found(&[]), (vec![1000, 1000], vec![]));
    }
}
