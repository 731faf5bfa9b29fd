//! Rows of connections: what a process has sent to one peer over one interface, and what has come.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::row::{Column, Row, row};
use crate::profile::{Protocol, Purpose};

/// What a row of connections stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionKey {
    /// What the connections are for.
    pub purpose: Purpose,
    /// What they are made of.
    pub protocol: Protocol,
    /// The phase.
    pub phase: u16,
    /// The name of the interface, filled up with zeros.
    pub interface: [u8; 16],
    /// The own address: IPv6, or IPv4 as IPv6 has it. Of verbs a GID, or 12 zeros and a LID in the order of the network.
    pub address: [u8; 16],
    /// The peer's, likewise.
    pub peer_address: [u8; 16],
    /// The peer's rank in `MPI_COMM_WORLD`; negative where it is not known.
    pub peer: i32,
    /// Some rank on the peer's host; negative where none is known.
    pub on_peer_host: i32,
}

row! {
    /// Connections to one peer over one interface, in one phase: 128 bytes.
    #[repr(C, align(64))]
    pub struct Connection =>
    /// What connections have carried.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    ConnectionCounts;
    /// How many connections.
    sum connections;
    /// Bytes sent.
    sum sent;
    /// Bytes received.
    sum received;
    /// Segments with data, or work requests, that were sent.
    sum segments_sent;
    /// Those that have come.
    sum segments_received;
    /// Segments that were sent again.
    sum retransmissions;
    /// The shortest round trip in microseconds; 0 where none is known.
    shortest round_trip_min_us;
    /// The smoothed round trip at the last reading in microseconds, of the connection that was read last; 0 where it is not known.
    last round_trip_us;
    /// The interface's name, filled up with zeros.
    key interface: [Column; 2];
    /// The own address: IPv6, or IPv4 as IPv6 has it; of verbs a GID, or 12 zeros and a LID in the order of the network.
    key address: [Column; 2];
    /// The peer's, likewise.
    key peer_address: [Column; 2];
    /// The peer's rank in `MPI_COMM_WORLD`; negative where it is not known.
    key peer: AtomicU32;
    /// Some rank on the peer's host; negative where none is known.
    key on_peer_host: AtomicU32;
    /// The phase (16 bits), then the purpose (8 bits: 0 the MPI library's, 1 control), then the protocol (8 bits: 0 TCP, 1 verbs).
    key phase_purpose_protocol: AtomicU32;
    /// Not used.
    unused unused: AtomicU32;
}

impl Connection {
    /// What it stands for; `None` where it is of a kind of a later version.
    fn key(&self) -> Option<ConnectionKey> {
        let text = |columns: &[Column; 2]| -> [u8; 16] {
            let words = columns.each_ref().map(|column| column.get().to_ne_bytes());
            words.as_flattened().try_into().unwrap_or_default()
        };
        let kinds = self.phase_purpose_protocol.load(Relaxed);
        Some(ConnectionKey {
            purpose: Purpose::of((kinds >> 16) as u8)?,
            protocol: Protocol::of((kinds >> 24) as u8)?,
            phase: kinds as u16,
            interface: text(&self.interface),
            address: text(&self.address),
            peer_address: text(&self.peer_address),
            peer: self.peer.load(Relaxed) as i32,
            on_peer_host: self.on_peer_host.load(Relaxed) as i32,
        })
    }

    pub(super) fn set_key(&self, key: &ConnectionKey) {
        let texts = [(&self.interface, key.interface), (&self.address, key.address)];
        for (columns, bytes) in texts.into_iter().chain([(&self.peer_address, key.peer_address)]) {
            for (column, word) in columns.iter().zip(bytes.chunks_exact(8)) {
                column.set(u64::from_ne_bytes(word.try_into().unwrap_or_default()));
            }
        }
        self.peer.store(key.peer as u32, Relaxed);
        self.on_peer_host.store(key.on_peer_host as u32, Relaxed);
        let kinds = u32::from(key.purpose as u8) | u32::from(key.protocol as u8) << 8;
        self.phase_purpose_protocol.store(kinds << 16 | u32::from(key.phase), Relaxed);
    }
}

/// A row as plain values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is a part of the row")]
pub struct ConnectionRow {
    pub key: ConnectionKey,
    pub counts: ConnectionCounts,
}

impl ConnectionRow {
    /// From a row; `None` where it is of a kind of a later version.
    pub(super) fn of(row: &Connection) -> Option<ConnectionRow> {
        Some(ConnectionRow { key: row.key()?, counts: row.plain(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Identity, ProfileTable, TableRows};

    #[test]
    fn a_row_comes_back_and_keeps_the_shortest_round_trip() {
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        let key = ConnectionKey {
            purpose: Purpose::Control,
            protocol: Protocol::Verbs,
            phase: 255,
            interface: *b"eth0\0\0\0\0\0\0\0\0\0\0\0\0",
            address: [1; 16],
            peer_address: [2; 16],
            peer: -1,
            on_peer_host: 7,
        };
        let row = table.add_connection(&key).unwrap();
        for (sent, round_trip_min_us) in [(1, 50), (2, 0), (4, 20), (8, 30)] {
            table.connection(row).add(&ConnectionCounts {
                sent,
                round_trip_min_us,
                ..ConnectionCounts::default()
            });
        }
        let counts = ConnectionCounts { sent: 15, round_trip_min_us: 20, ..ConnectionCounts::default() };
        let rows = table.rows();
        assert_eq!(rows.connections, [ConnectionRow { key, counts }]);
        assert_eq!(TableRows::of_image(&table.image(0)).unwrap().connections, rows.connections);
        table.clear(0);
        let cleared = ConnectionRow { key, counts: ConnectionCounts::default() };
        assert_eq!(table.rows().connections, [cleared]);
    }

    #[test]
    fn rows_of_a_later_version_are_left_out() {
        let row = Connection::default();
        assert!(ConnectionRow::of(&row).is_some());
        row.phase_purpose_protocol.store(9 << 16, Relaxed);
        assert!(ConnectionRow::of(&row).is_none());
    }
}
