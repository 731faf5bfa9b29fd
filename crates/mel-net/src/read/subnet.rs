//! An InfiniBand subnet: nodes by GUID and links by port, as several tools write them, put into the graph.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Guids, new_plane};
use crate::fabric::{Fabric, Kind, Link, Plane};

/// A channel adapter or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) guid: u64,
    pub(crate) kind: Kind,
    pub(crate) description: String,
}

/// A port of a device.
pub(crate) type Port = (u64, u16);

/// What a tool has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subnet {
    pub(crate) devices: Vec<Device>,
    /// Links by their two ports, as often as the tool names them; and what they carry in bytes per second.
    pub(crate) links: Vec<(Port, Port, Option<f64>)>,
    /// Local identifiers of the adapters' ports.
    pub(crate) lids: FxHashMap<Port, u16>,
}

/// What follows the name of a host in the description of its adapter.
const ADAPTERS: [&str; 9] = ["hca-", "mlx", "hfi", "qib", "mthca", "rocep", "ibp", "ib", "bxi"];

impl Subnet {
    /// Puts it into the graph, as a plane of its own.
    pub(crate) fn add_to(self, fabric: &mut Fabric, name: &str, guids: &mut Guids) {
        let plane = new_plane(fabric, name, Plane::default());
        // Switches reduce on the way with adapters of their own: these are no hosts.
        let devices =
            || self.devices.iter().filter(|device| !device.description.contains("Aggregation Node"));
        let mut uses = FxHashMap::<String, u32>::default();
        for device in devices() {
            let mut names = candidates(device).to_vec();
            names.dedup();
            for name in names {
                *uses.entry(name).or_default() += 1;
            }
        }
        let mut nodes = FxHashMap::default();
        for device in devices() {
            let [short, long, sure] = candidates(device);
            let is_host = device.kind == Kind::Host;
            let named_by_host = is_host && is_adapter_of_host(&device.description);
            let mut name = match () {
                // Several adapters of a host are one host.
                () if named_by_host || uses.get(&short) == Some(&1) => short,
                () if uses.get(&long) == Some(&1) => long,
                () => sure,
            };
            // Planes may have switches of the same name.
            let is_taken = fabric
                .node(&name)
                .is_some_and(|known| fabric.graph[known].kind == Kind::Switch || device.kind == Kind::Switch);
            if is_taken {
                name = format!("{name} ({})", fabric.planes[plane as usize].name);
            }
            nodes.insert(device.guid, fabric.add_node(&name, device.kind));
        }
        let mut seen = FxHashSet::default();
        for (a, b, capacity) in &self.links {
            let (a, b) = (*a.min(b), *a.max(b));
            let (Some(first), Some(second)) = (nodes.get(&a.0), nodes.get(&b.0)) else { continue };
            if first == second || !seen.insert((a, b)) {
                continue;
            }
            let lid = |port| self.lids.get(port).copied().unwrap_or(0);
            let link = Link { ports: [a.1, b.1], capacity: *capacity, plane };
            fabric.add_link([*first, *second], link, [lid(&a), lid(&b)]);
        }
        nodes.retain(|_, node| fabric.graph[*node].kind == Kind::Switch);
        guids.push((plane, nodes));
    }
}

/// Whether a description is that of an adapter of a host that it names.
fn is_adapter_of_host(description: &str) -> bool {
    let mut words = description.split_whitespace();
    let (Some(_), second) = (words.next(), words.next()) else { return false };
    second.is_none_or(|word| {
        let word = word.to_ascii_lowercase();
        ADAPTERS.iter().any(|adapter| word.starts_with(adapter))
    })
}

/// Names of a device, the nicest first; the last is unique.
fn candidates(device: &Device) -> [String; 3] {
    let long = device.description.trim();
    let sure = format!("{long} 0x{:x}", device.guid).trim().to_owned();
    let short = match device.kind {
        Kind::Host if is_adapter_of_host(long) => long.split_whitespace().next().unwrap_or(long),
        Kind::Host => long,
        Kind::Switch => {
            let name = long.split_once(';').map_or(long, |(_, name)| name);
            name.split(':').next().unwrap_or(name).trim()
        }
    };
    let or_sure = |name: &str| if name.is_empty() { sure.clone() } else { name.to_owned() };
    [or_sure(short), or_sure(long), sure.clone()]
}

/// Bytes per second of a link of so many lanes, for example `4xHDR`; none if it is not known.
pub(crate) fn capacity(text: &str) -> Option<f64> {
    let (lanes, speed) = text.split_once('x')?;
    let gigabits = match speed {
        "SDR" => 2.0,
        "DDR" => 4.0,
        "QDR" => 8.0,
        "FDR10" => 10.0,
        "FDR" => 13.64,
        "EDR" => 25.0,
        "HDR" => 50.0,
        "NDR" => 100.0,
        "XDR" => 200.0,
        _ => return None,
    };
    let lanes: u32 = lanes.parse().ok().filter(|lanes| (1..=16).contains(lanes))?;
    Some(f64::from(lanes) * gigabits * 1e9 / 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(guid: u64, kind: Kind, description: &str) -> Device {
        Device { guid, kind, description: description.into() }
    }

    #[test]
    fn adapters_of_a_host_are_one_and_equal_switches_are_told_apart() {
        let mut fabric = Fabric::default();
        let subnet = Subnet {
            devices: vec![
                device(1, Kind::Host, "node1 HCA-1"),
                device(2, Kind::Host, "node1 mlx5_1"),
                device(3, Kind::Switch, "MF0;ibsw1:MQM8700/U1"),
                device(4, Kind::Switch, "Quantum Mellanox Technologies"),
                device(5, Kind::Switch, "Quantum Mellanox Technologies"),
                device(6, Kind::Host, "Mellanox Technologies Aggregation Node"),
                device(7, Kind::Host, "MT4123 ConnectX6 Mellanox Technologies"),
            ],
            links: vec![
                ((1, 1), (3, 1), None),
                ((3, 1), (1, 1), None),
                ((2, 1), (4, 1), None),
                ((6, 1), (5, 9), None),
            ],
            lids: FxHashMap::from_iter([((1, 1), 7)]),
        };
        subnet.clone().add_to(&mut fabric, "a", &mut Vec::new());
        let names: Vec<&str> = fabric.graph.node_weights().map(|node| node.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "node1",
                "ibsw1",
                "Quantum Mellanox Technologies 0x4",
                "Quantum Mellanox Technologies 0x5",
                "MT4123 ConnectX6 Mellanox Technologies"
            ]
        );
        assert_eq!(fabric.graph.edge_count(), 2);
        subnet.add_to(&mut fabric, "b", &mut Vec::new());
        assert!(
            fabric.node("ibsw1 (b)").is_some() && fabric.hosts().count() == 2 && fabric.planes.len() == 2
        );
    }

    #[test]
    fn speeds_are_those_of_the_standard() {
        assert_eq!(capacity("4xSDR"), Some(1e9));
        assert_eq!(capacity("4xNDR"), Some(50e9));
        assert!(capacity("4xfast").is_none() && capacity("99xSDR").is_none() && capacity("").is_none());
    }
}
