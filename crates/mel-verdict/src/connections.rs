//! Connections: the rows of a rank's table, with numbers and names that hold for the run.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv6Addr;

use mel_log::profile::{Connection, Protocol};
use mel_log::table::layout::STOPPED;
use mel_log::table::{ConnectionKey, ConnectionRow};

/// The connections of a rank, in the order of phases, purposes, interfaces and peers.
pub(crate) fn of(
    rows: &[ConnectionRow],
    phases: &HashMap<u16, u32>,
    hosts: &HashMap<u32, String>,
) -> Vec<Connection> {
    let counts = |row: &&ConnectionRow| row.key.phase != STOPPED && row.counts.connections > 0;
    let mut all: BTreeMap<_, Connection> = BTreeMap::new();
    for row in rows.iter().filter(counts) {
        let phase = phases.get(&row.key.phase).copied().unwrap_or(0);
        let found = named(row, phase, hosts);
        let key = (phase, row.key.purpose, row.key.protocol, found.interface.clone(), row.key);
        all.insert(key, found);
    }
    all.into_values().collect()
}

fn named(row: &ConnectionRow, phase: u32, hosts: &HashMap<u32, String>) -> Connection {
    let ConnectionRow { key, counts } = row;
    let known = |number: u64| (number != 0).then_some(number);
    let on_host = u32::try_from(key.on_peer_host).ok();
    Connection {
        purpose: key.purpose,
        protocol: key.protocol,
        phase,
        interface: interface(key),
        address: address(key.protocol, key.address),
        peer_address: address(key.protocol, key.peer_address),
        peer_host: on_host.and_then(|rank| hosts.get(&rank)).cloned().unwrap_or_default(),
        peer: u32::try_from(key.peer).ok(),
        connections: counts.connections,
        bytes_sent: counts.sent,
        bytes_received: counts.received,
        segments_sent: counts.segments_sent,
        segments_received: counts.segments_received,
        retransmissions: counts.retransmissions,
        round_trip_min_us: known(counts.round_trip_min_us),
        round_trip_us: known(counts.round_trip_us),
    }
}

fn interface(key: &ConnectionKey) -> String {
    let end = key.interface.iter().position(|byte| *byte == 0).unwrap_or(key.interface.len());
    String::from_utf8_lossy(&key.interface[..end]).into_owned()
}

/// An address as text: `10.0.0.1`, `fd00::2`, `LID 12`.
fn address(protocol: Protocol, bytes: [u8; 16]) -> String {
    if protocol == Protocol::Verbs && bytes[..12] == [0; 12] {
        return format!("LID {}", u32::from_be_bytes(bytes[12..].try_into().unwrap_or_default()));
    }
    Ipv6Addr::from(bytes).to_canonical().to_string()
}

#[cfg(test)]
mod tests {
    use mel_log::profile::Purpose;
    use mel_log::table::ConnectionCounts;

    use super::*;

    #[test]
    fn rows_get_names_and_those_that_do_not_count_are_left_out() {
        let ip = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().to_ipv6_mapped().octets();
        let key = ConnectionKey {
            interface: *b"eth0\0\0\0\0\0\0\0\0\0\0\0\0",
            address: ip("10.0.0.1"),
            peer_address: ip("10.0.0.2"),
            peer: -1,
            on_peer_host: 2,
            phase: 4,
            ..ConnectionKey::default()
        };
        let counts =
            ConnectionCounts { connections: 1, sent: 5, round_trip_us: 7, ..ConnectionCounts::default() };
        let lid = std::array::from_fn(|place| if place == 15 { 12 } else { 0 });
        let verbs = ConnectionKey { protocol: Protocol::Verbs, address: lid, ..key };
        let control = ConnectionKey { purpose: Purpose::Control, phase: 0, ..key };
        let stopped = ConnectionKey { phase: STOPPED, ..key };
        let row = |key| ConnectionRow { key, counts };
        let unused = ConnectionRow { key, ..ConnectionRow::default() };
        let rows = [row(verbs), row(key), row(stopped), unused, row(control)];
        let hosts = HashMap::from([(2, "node-b".to_owned())]);
        let all = of(&rows, &HashMap::from([(0, 0), (4, 1)]), &hosts);
        let summary: Vec<_> = all.iter().map(|row| (row.phase, row.purpose, row.address.as_str())).collect();
        let expected =
            [(0, Purpose::Control, "10.0.0.1"), (1, Purpose::Mpi, "10.0.0.1"), (1, Purpose::Mpi, "LID 12")];
        assert_eq!(summary, expected);
        assert_eq!(
            (all[1].peer, all[1].peer_host.as_str(), all[1].interface.as_str()),
            (None, "node-b", "eth0")
        );
        assert_eq!((all[1].round_trip_us, all[1].round_trip_min_us), (Some(7), None));
    }
}
