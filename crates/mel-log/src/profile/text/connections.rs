//! What went over the network, by interface and peer, and what the interfaces have counted themselves.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::layout::{percent, table};
use crate::number::{duration, size};
use crate::profile::connections::{Connection, Purpose};
use crate::profile::schema::Profile;

/// The most lines of each table.
const MOST: usize = 8;

/// Connections of one host to another one over one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    connections: u64,
    sent: u64,
    received: u64,
    segments: u64,
    again: u64,
    shortest_us: Option<u64>,
    latest_us: Option<u64>,
}

impl Sum {
    fn add(&mut self, row: &Connection) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.connections, row.connections);
        add(&mut self.sent, row.bytes_sent);
        add(&mut self.received, row.bytes_received);
        add(&mut self.segments, row.segments_sent);
        add(&mut self.again, row.retransmissions);
        self.shortest_us = [self.shortest_us, row.round_trip_min_us].into_iter().flatten().min();
        self.latest_us = self.latest_us.max(row.round_trip_us);
    }
}

/// Both tables; nothing where connections were not counted.
pub fn connections(profile: &Profile) -> String {
    format!("{}{}", by_interface(profile), ports(profile))
}

fn by_interface(profile: &Profile) -> String {
    let mut sums: BTreeMap<_, Sum> = BTreeMap::new();
    for rank in &profile.ranks {
        for row in &rank.connections {
            let peer = if row.peer_host.is_empty() { &row.peer_address } else { &row.peer_host };
            sums.entry((row.purpose, &rank.host, &row.interface, peer)).or_default().add(row);
        }
    }
    if sums.is_empty() {
        return String::new();
    }
    let header =
        ["host", "interface", "peer host", "for", "sent", "received", "again", "round trip", "at last"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let all = sums.len();
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|((purpose, ..), sum)| (*purpose, Reverse(sum.sent.saturating_add(sum.received))));
    let time = |us: Option<u64>| us.map_or_else(|| "-".into(), |us| duration(us as f64 * 1e-6));
    for ((purpose, host, interface, peer), sum) in sums.iter().take(MOST) {
        rows.push(vec![
            (*host).clone(),
            if interface.is_empty() { "-".into() } else { (*interface).clone() },
            (*peer).clone(),
            if *purpose == Purpose::Mpi { "MPI".into() } else { "control".into() },
            size(sum.sent as f64),
            size(sum.received as f64),
            format!("{} of {}", sum.again, sum.segments),
            time(sum.shortest_us),
            time(sum.latest_us),
        ]);
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

/// What passed each interface of a host, and what of it these ranks have sent and received.
fn ports(profile: &Profile) -> String {
    let header = ["host", "interface", "out", "of it ours", "in", "of it ours", "errors", "dropped"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut hosts: Vec<&str> = Vec::new();
    let with_ports = profile.ranks.iter().filter(|rank| !rank.ports.is_empty());
    let mut found = Vec::new();
    for rank in with_ports {
        if hosts.contains(&rank.host.as_str()) {
            continue;
        }
        hosts.push(&rank.host);
        for port in rank.ports.iter().filter(|port| port.link != "loopback") {
            let of_host = profile.ranks.iter().filter(|other| other.host == rank.host);
            let rows =
                of_host.flat_map(|other| &other.connections).filter(|row| row.interface == port.interface);
            let ours = rows
                .fold((0, 0), |sum: (u64, u64), row| (sum.0 + row.bytes_sent, sum.1 + row.bytes_received));
            found.push((&rank.host, port, ours));
        }
    }
    found.retain(|(_, port, ours)| port.bytes_sent + port.bytes_received > 0 || *ours != (0, 0));
    found.sort_by_key(|(_, port, _)| Reverse(port.bytes_sent + port.bytes_received));
    let share = |ours: u64, all: u64| if all == 0 { "-".into() } else { percent(ours as f64 / all as f64) };
    for (host, port, (sent, received)) in found.iter().take(MOST) {
        rows.push(vec![
            (*host).clone(),
            port.interface.clone(),
            size(port.bytes_sent as f64),
            share(*sent, port.bytes_sent),
            size(port.bytes_received as f64),
            share(*received, port.bytes_received),
            port.errors.to_string(),
            port.dropped.to_string(),
        ]);
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
    use crate::profile::{Port, RankProfile};

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
