//! What went over the network, by interface and peer, and what the interfaces have counted themselves.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::layout::{percent, table};
use crate::profile::connections::{Connection, Port, Purpose};
use crate::profile::quantities::connections::{CONNECTIONS, PORTS};
use crate::profile::quantities::{Quantity, cells, heads};
use crate::profile::schema::Profile;

/// The most lines of each table.
const MOST: usize = 8;

/// Both tables; nothing where connections were not counted.
pub fn connections(profile: &Profile) -> String {
    format!("{}{}", by_interface(profile), ports(profile))
}

fn by_interface(profile: &Profile) -> String {
    let mut rows_of: BTreeMap<_, Vec<&Connection>> = BTreeMap::new();
    for rank in &profile.ranks {
        for row in &rank.connections {
            let peer = if row.peer_host.is_empty() { &row.peer_address } else { &row.peer_host };
            rows_of.entry((row.purpose, &rank.host, &row.interface, peer)).or_default().push(row);
        }
    }
    if rows_of.is_empty() {
        return String::new();
    }
    let header = ["host", "interface", "peer host", "for"].into_iter().chain(heads(CONNECTIONS));
    let mut rows = vec![header.map(str::to_owned).collect::<Vec<_>>()];
    let all = rows_of.len();
    let mut rows_of: Vec<_> = rows_of.into_iter().collect();
    rows_of.sort_by_cached_key(|((purpose, ..), of)| {
        let bytes = of.iter().flat_map(|row| [row.bytes_sent, row.bytes_received]);
        (*purpose, Reverse(bytes.fold(0, u64::saturating_add)))
    });
    for ((purpose, host, interface, peer), of) in rows_of.iter().take(MOST) {
        let what = [
            (*host).clone(),
            if interface.is_empty() { "-".into() } else { (*interface).clone() },
            (*peer).clone(),
            if *purpose == Purpose::Mpi { "MPI".into() } else { "control".into() },
        ];
        rows.push(what.into_iter().chain(cells(CONNECTIONS, of)).collect());
    }
    let mut text = format!(
        "\n over the network, observed (TCP_INFO): segments sent again, shortest and last round trip\n{}",
        table(&rows, &[0, 1, 2, 3])
    );
    if all > MOST {
        text += &format!("   and {} more: mel report --json has all of them\n", all - MOST);
    }
    text
}

/// What passed each interface of a host, and what of it these ranks have sent and received: each number of interfaces, and beside it
/// the share that the connections have of it, where they have the same quantity.
fn ports(profile: &Profile) -> String {
    let columns = || PORTS.iter().filter_map(|quantity| Some((quantity, quantity.head?)));
    let same = |quantity: &Quantity<Port>| CONNECTIONS.iter().find(|other| other.name == quantity.name);
    let mut header = vec!["host".to_owned(), "interface".into()];
    for (quantity, head) in columns() {
        header.push(head.into());
        header.extend(same(quantity).map(|_| "of it ours".into()));
    }
    let mut hosts: Vec<&str> = Vec::new();
    let mut found: Vec<(&str, &Port, Vec<&Connection>)> = Vec::new();
    for rank in profile.ranks.iter().filter(|rank| !rank.ports.is_empty()) {
        if hosts.contains(&rank.host.as_str()) {
            continue;
        }
        hosts.push(&rank.host);
        for port in rank.ports.iter().filter(|port| port.link != "loopback") {
            let of_host = profile.ranks.iter().filter(|other| other.host == rank.host);
            let ours =
                of_host.flat_map(|other| &other.connections).filter(|row| row.interface == port.interface);
            found.push((&rank.host, port, ours.collect()));
        }
    }
    let bytes = |port: &Port| port.bytes_sent.saturating_add(port.bytes_received);
    found.retain(|(_, port, ours)| {
        bytes(port) > 0 || ours.iter().any(|row| (row.bytes_sent, row.bytes_received) != (0, 0))
    });
    found.sort_by_key(|(_, port, _)| Reverse(bytes(port)));
    let mut rows = vec![header];
    for (host, port, ours) in found.iter().take(MOST) {
        let mut row = vec![(*host).to_owned(), port.interface.clone()];
        for ((quantity, _), cell) in columns().zip(cells(PORTS, &[port])) {
            row.push(cell);
            row.extend(same(quantity).map(|same| {
                let ours = same.folded(ours.iter().copied()).unwrap_or(0.0);
                let all = (quantity.of)(port).filter(|all| *all > 0.0);
                all.map_or_else(|| "-".into(), |all| percent(ours / all))
            }));
        }
        rows.push(row);
    }
    if rows.len() == 1 {
        return String::new();
    }
    let mut text = format!(
        "\n interfaces, observed (their own counters): what is not ours are headers, other jobs and the system\n{}",
        table(&rows, &[0, 1])
    );
    if found.len() > MOST {
        text += &format!("   and {} more: mel report --json has all of them\n", found.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RankProfile;

    #[test]
    fn interfaces_and_peers_have_a_line_and_the_rest_of_a_port_is_not_ours() {
        let row = |purpose, interface: &str, peer_host: &str, sent| Connection {
            purpose,
            interface: interface.into(),
            peer_host: peer_host.into(),
            peer_address: "10.0.0.9".into(),
            connections: 1,
            bytes_sent: sent,
            segments_sent: 30,
            retransmissions: 2,
            round_trip_min_us: Some(25),
            ..Connection::default()
        };
        let connections = vec![
            row(Purpose::Control, "lo", "node-a", 5 << 20),
            row(Purpose::Mpi, "eth0", "node-b", 1 << 20),
            row(Purpose::Mpi, "eth0", "node-b", 2 << 20),
            row(Purpose::Mpi, "eth1", "", 1 << 20),
        ];
        let port = Port {
            interface: "eth0".into(),
            link: "ethernet".into(),
            bytes_sent: 6 << 20,
            ..Port::default()
        };
        let rank =
            RankProfile { host: "node-a".into(), connections, ports: vec![port], ..RankProfile::default() };
        let text = super::connections(&Profile { ranks: vec![rank], ..Profile::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("observed (TCP_INFO)"), "{text}");
        assert!(
            lines[3].contains("eth0") && lines[3].contains("node-b") && lines[3].contains("3.00 MiB"),
            "{text}"
        );
        assert!(lines[3].contains("4 of 60") && lines[3].contains("25.0 us"), "{text}");
        assert!(lines[4].contains("10.0.0.9") && lines[5].contains("control"), "{text}");
        assert!(lines[9].contains("eth0") && lines[9].contains("50.0 %"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= super::super::COLUMNS), "{text}");
        assert_eq!(super::connections(&Profile::default()), "");
    }
}
