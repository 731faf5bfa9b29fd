//! Interfaces as planes of the network: how the data between hosts is spread over them, and in words whether one of them lies idle.

use std::collections::{BTreeMap, BTreeSet};

use super::connections::Purpose;
use super::schema::Profile;
use crate::number::size;

/// Below so many bytes between hosts nothing is said.
const LEAST_BYTES: u64 = 1 << 20;
/// A plane with less than this share of what each would have, were all alike, has too little.
const LEAST_PART: f64 = 0.5;
/// A plane with less than this share carries nothing: connecting, and a few messages.
const IDLE: f64 = 0.01;

/// Bytes that ranks have sent to other hosts over the interfaces of one name. Observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plane {
    /// The name of the interfaces.
    pub interface: String,
    /// Bytes sent by all hosts.
    pub bytes: u64,
}

/// The planes over which something went between hosts, and those that each host has beside them and that are called alike but for
/// their numbers; by name. Interfaces of other names (bridges of containers, virtual networks) are not taken for planes.
pub fn planes(profile: &Profile) -> Vec<Plane> {
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for rank in &profile.ranks {
        let between = rank.connections.iter().filter(|row| {
            row.purpose == Purpose::Mpi && !row.interface.is_empty() && !is_loopback(&row.interface)
        });
        for row in between {
            let sum = bytes.entry(&row.interface).or_default();
            *sum = sum.saturating_add(row.bytes_sent);
        }
    }
    let kinds: BTreeSet<String> = bytes.keys().map(|name| kind(name)).collect();
    let hosts = profile.ranks.iter().filter(|rank| !rank.ports.is_empty());
    let of_host = |ports: &[super::Port]| -> BTreeSet<String> {
        let real =
            ports.iter().filter(|port| port.link != "loopback" && kinds.contains(&kind(&port.interface)));
        real.map(|port| port.interface.clone()).collect()
    };
    let on_all = hosts.map(|rank| of_host(&rank.ports)).reduce(|all, of| &all & &of).unwrap_or_default();
    let mut planes: BTreeMap<String, u64> = on_all.into_iter().map(|name| (name, 0)).collect();
    planes.extend(bytes.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)));
    planes.into_iter().map(|(interface, bytes)| Plane { interface, bytes }).collect()
}

fn is_loopback(interface: &str) -> bool {
    interface == "lo"
}

/// A name without its numbers.
fn kind(interface: &str) -> String {
    interface.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// How the data is spread over the planes, in a sentence; nothing where there is one plane, or hardly any data.
pub fn sentence(profile: &Profile) -> Option<String> {
    let planes = planes(profile);
    let all = planes.iter().fold(0u64, |all, plane| all.saturating_add(plane.bytes));
    if planes.len() < 2 || all < LEAST_BYTES {
        return None;
    }
    let share = |plane: &Plane| plane.bytes as f64 / all as f64;
    let names = |planes: &[&Plane]| {
        planes.iter().map(|plane| plane.interface.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (idle, used): (Vec<&Plane>, Vec<&Plane>) = planes.iter().partition(|plane| share(plane) < IDLE);
    let number = planes.len();
    if !idle.is_empty() {
        let every: Vec<&Plane> = planes.iter().collect();
        let carry = if used.len() == 1 { "carries" } else { "carry" };
        return Some(format!(
            "{} of {number} planes {carry} all data between hosts (observed): {} {}, {} none; if they lead to the same hosts, each \
             could carry {:.0} % (estimated): name all of them to the library, for example btl_tcp_if_include {} \
             (Open MPI), UCX_NET_DEVICES (UCX)",
            match used.len() {
                1 => "one".to_owned(),
                used => used.to_string(),
            },
            names(&used),
            size(all as f64),
            names(&idle),
            100.0 / number as f64,
            names(&every).replace(", ", ",")
        ));
    }
    let shares: Vec<String> =
        planes.iter().map(|plane| format!("{} {:.1} %", plane.interface, 100.0 * share(plane))).collect();
    let least = planes.iter().map(share).fold(1.0, f64::min);
    let how = if least * (number as f64) < LEAST_PART { "out of balance" } else { "balanced" };
    Some(format!("{number} planes carry the data between hosts, {how} (observed): {}", shares.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Connection, Port, RankProfile};

    fn run(sent: &[(&str, u64)], ports: &[&str]) -> Profile {
        let of = |rank: u32| RankProfile {
            rank,
            connections: sent
                .iter()
                .map(|(interface, bytes)| Connection {
                    interface: (*interface).into(),
                    bytes_sent: *bytes,
                    ..Connection::default()
                })
                .collect(),
            ports: ports
                .iter()
                .map(|name| Port { interface: (*name).into(), link: "ethernet".into(), ..Port::default() })
                .collect(),
            ..RankProfile::default()
        };
        Profile { ranks: vec![of(0), of(1)], ..Profile::default() }
    }

    #[test]
    fn a_plane_that_lies_idle_is_named_with_what_to_do() {
        let text = sentence(&run(&[("eth0", 100 << 20)], &["eth0", "eth1", "docker0"])).unwrap();
        assert!(
            text.starts_with("one of 2 planes carries all data between hosts (observed): eth0"),
            "{text}"
        );
        assert!(text.contains("eth1 none") && text.contains("50 % (estimated)"), "{text}");
        assert!(text.contains("btl_tcp_if_include eth0,eth1") && !text.contains("docker"), "{text}");
        let text = sentence(&run(&[("eth0", 100 << 20), ("eth1", 99 << 20)], &["eth0", "eth1"])).unwrap();
        assert!(text.contains("balanced (observed): eth0 50.3 %, eth1 49.7 %"), "{text}");
        let text = sentence(&run(&[("eth0", 90 << 20), ("eth1", 10 << 20)], &[])).unwrap();
        assert!(text.contains("out of balance (observed): eth0 90.0 %"), "{text}");
    }

    #[test]
    fn one_plane_and_little_data_need_no_words() {
        assert_eq!(sentence(&run(&[("eth0", 100 << 20)], &["eth0", "docker0", "lo"])), None);
        assert_eq!(sentence(&run(&[("eth0", 1000)], &["eth0", "eth1"])), None);
        assert_eq!(sentence(&run(&[("lo", 100 << 20)], &["eth0", "eth1"])), None);
        assert_eq!(sentence(&Profile::default()), None);
        // A host that lacks it.
        let mut uneven = run(&[("eth0", 100 << 20)], &["eth0", "eth1"]);
        uneven.ranks[1].ports.pop();
        assert_eq!(sentence(&uneven), None);
    }
}
