//! Which host of the network each rank runs on.

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::error::{NetError, Wrong};
use crate::fabric::Fabric;
use crate::names::expand;

/// Names of hosts that a user gives to ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    of_rank: FxHashMap<u32, String>,
    of_host: FxHashMap<String, String>,
}

impl Map {
    /// Reads lines such as `0-3: node1` (ranks) or `c001.cluster = node1` (a host's name in the run, and in the network). `#` begins a
    /// comment.
    ///
    /// # Errors
    /// The line that is neither.
    pub fn read(text: &str) -> Result<Map, Wrong> {
        let mut map = Map::default();
        for (place, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let wrong = || {
                let what =
                    "wanted is RANKS: HOST, such as 0-3: node1, or NAME = HOST, such as c001.cluster = node1";
                Wrong::new(place + 1, what)
            };
            if let Some((name, host)) = line.split_once('=') {
                map.of_host.insert(name.trim().to_owned(), host.trim().to_owned());
                continue;
            }
            let (ranks, host) = line.split_once(':').or_else(|| line.split_once(' ')).ok_or_else(wrong)?;
            let host = host.trim();
            if host.is_empty() {
                return Err(wrong());
            }
            for rank in expand(&format!("[{}]", ranks.trim())).map_err(|_| wrong())? {
                let rank = rank.parse().map_err(|_| wrong())?;
                map.of_rank.insert(rank, host.to_owned());
            }
        }
        Ok(map)
    }
}

impl Map {
    /// Whether it has ranks, and not only other names of hosts.
    pub fn has_ranks(&self) -> bool {
        !self.of_rank.is_empty()
    }
}

/// Where the ranks are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The host of each rank; none if it is not in the network.
    pub host: Vec<Option<NodeIndex>>,
    /// Names of hosts that are not in the network.
    pub unknown: Vec<String>,
}

/// Finds the host of each rank by the name that it has in the run: the same name, or the same up to the first dot, in whichever case.
///
/// # Errors
/// None of the ranks is in the network, or the map names a host that is not.
pub fn place(fabric: &Fabric, names: &[&str], map: &Map) -> Result<Placed, NetError> {
    let mut by_name = FxHashMap::<String, NodeIndex>::default();
    let mut by_short = FxHashMap::<String, Option<NodeIndex>>::default();
    for host in fabric.hosts() {
        let name = fabric.graph[host].name.to_ascii_lowercase();
        by_short
            .entry(short(&name).to_owned())
            .and_modify(|known| *known = known.filter(|known| *known == host))
            .or_insert(Some(host));
        by_name.insert(name, host);
    }
    let find = |name: &str| {
        let name = name.to_ascii_lowercase();
        by_name.get(&name).copied().or_else(|| by_short.get(short(&name)).copied().flatten())
    };
    let mut placed = Placed::default();
    for (rank, name) in names.iter().enumerate() {
        let given = map.of_rank.get(&(rank as u32)).or_else(|| map.of_host.get(*name));
        let host = find(given.map_or(name, String::as_str));
        if let (Some(given), None) = (given, host) {
            return Err(NetError::Other(format!(
                "the map puts rank {rank} on {given}, which is no host of the network: {}",
                some_hosts(fabric)
            )));
        }
        if host.is_none() && !placed.unknown.iter().any(|known| known == name) {
            placed.unknown.push((*name).to_owned());
        }
        placed.host.push(host);
    }
    if placed.host.iter().all(Option::is_none) {
        let unknown = placed.unknown.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
        return Err(NetError::Other(format!(
            "the run was on {unknown}, and the network has other hosts ({}): --map FILE says which are the same, a line each: \
             NAME = HOST, or RANKS: HOST",
            some_hosts(fabric)
        )));
    }
    Ok(placed)
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn some_hosts(fabric: &Fabric) -> String {
    let all = fabric.hosts().count();
    let first: Vec<&str> = fabric.hosts().take(4).map(|host| fabric.graph[host].name.as_str()).collect();
    if all > first.len() {
        format!("{} and {} more", first.join(", "), all - first.len())
    } else {
        first.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, two_levels};

    #[test]
    fn names_fit_with_and_without_a_domain() {
        let fabric = network(&two_levels(1, 4, 1));
        let placed =
            place(&fabric, &["node1", "Node2.cluster.local", "other", "node2"], &Map::default()).unwrap();
        let host = |name| fabric.node(name);
        assert_eq!(placed.host, [host("node1"), host("node2"), None, host("node2")]);
        assert_eq!(placed.unknown, ["other"]);
    }

    #[test]
    fn a_map_helps_where_no_name_fits() {
        let fabric = network(&two_levels(1, 4, 1));
        let error = place(&fabric, &["vm", "vm"], &Map::default()).unwrap_err().to_string();
        assert!(error.contains("the run was on vm") && error.contains("--map FILE"), "{error}");
        let map = Map::read("# where\n0-1: node1\n2 node2\nc3 = node4\n").unwrap();
        let placed = place(&fabric, &["vm", "vm", "vm", "c3"], &map).unwrap();
        let names: Vec<_> =
            placed.host.iter().map(|host| fabric.graph[host.unwrap()].name.as_str()).collect();
        assert_eq!(names, ["node1", "node1", "node2", "node4"]);
        assert!(
            place(&fabric, &["vm"], &Map::read("0:x").unwrap())
                .unwrap_err()
                .to_string()
                .contains("rank 0 on x")
        );
        assert_eq!(Map::read("0:a\nword\n").unwrap_err().line, 2);
    }
}
