//! Rows of connections: what a process has sent to one peer over one interface, and what has come.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::layout::Column;
use super::reader::halves;
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

/// What connections have carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// How many connections.
    pub connections: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Segments with data, or work requests, that were sent.
    pub segments_sent: u64,
    /// Those that have come.
    pub segments_received: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// The shortest round trip in microseconds; 0 where none is known.
    pub round_trip_min_us: u64,
    /// The smoothed round trip at the last reading in microseconds, of the connection that was read last; 0 where it is not known.
    pub round_trip_us: u64,
}

/// Connections to one peer over one interface, in one phase: 128 bytes.
#[derive(Debug, Default)]
#[repr(C, align(64))]
#[allow(missing_docs, reason = "each is named in docs/profile-table.md")]
pub struct Connection {
    pub connections: Column,
    pub sent: Column,
    pub received: Column,
    pub segments_sent: Column,
    pub segments_received: Column,
    pub retransmissions: Column,
    pub round_trip_min_us: Column,
    pub round_trip_us: Column,
    interface: [Column; 2],
    address: [Column; 2],
    peer_address: [Column; 2],
    peer: AtomicU32,
    on_peer_host: AtomicU32,
    /// The phase, then the purpose, then the protocol in the uppermost byte.
    phase_purpose_protocol: AtomicU32,
    unused: AtomicU32,
}

impl Connection {
    /// Adds what was carried. One thread at a time.
    pub fn add(&self, more: &ConnectionCounts) {
        self.connections.add(more.connections);
        self.sent.add(more.sent);
        self.received.add(more.received);
        self.segments_sent.add(more.segments_sent);
        self.segments_received.add(more.segments_received);
        self.retransmissions.add(more.retransmissions);
        let shortest = self.round_trip_min_us.get();
        if more.round_trip_min_us != 0 && (shortest == 0 || more.round_trip_min_us < shortest) {
            self.round_trip_min_us.set(more.round_trip_min_us);
        }
        if more.round_trip_us != 0 {
            self.round_trip_us.set(more.round_trip_us);
        }
    }

    /// Forgets what was counted.
    pub(super) fn clear(&self) {
        let counts = [
            &self.connections,
            &self.sent,
            &self.received,
            &self.segments_sent,
            &self.segments_received,
            &self.retransmissions,
            &self.round_trip_min_us,
            &self.round_trip_us,
        ];
        counts.into_iter().for_each(|count| count.set(0));
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
    /// From the words of a row; `None` where it is of a kind of a later version.
    pub(super) fn of_words(row: &[u64]) -> Option<ConnectionRow> {
        let word = |offset: usize| row.get(offset / 8).copied().unwrap_or(0);
        let text = |offset: usize| -> [u8; 16] {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&word(offset).to_ne_bytes());
            bytes[8..].copy_from_slice(&word(offset + 8).to_ne_bytes());
            bytes
        };
        let (peer, on_peer_host) = halves(word(offset_of!(Connection, peer)));
        let (kinds, _) = halves(word(offset_of!(Connection, phase_purpose_protocol)));
        Some(ConnectionRow {
            key: ConnectionKey {
                purpose: Purpose::of((kinds >> 16) as u8)?,
                protocol: Protocol::of((kinds >> 24) as u8)?,
                phase: kinds as u16,
                interface: text(offset_of!(Connection, interface)),
                address: text(offset_of!(Connection, address)),
                peer_address: text(offset_of!(Connection, peer_address)),
                peer: peer as i32,
                on_peer_host: on_peer_host as i32,
            },
            counts: ConnectionCounts {
                connections: row[0],
                sent: row[1],
                received: row[2],
                segments_sent: row[3],
                segments_received: row[4],
                retransmissions: row[5],
                round_trip_min_us: row[6],
                round_trip_us: row[7],
            },
        })
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
        let mut row = [0; size_of::<Connection>() / 8];
        assert!(ConnectionRow::of_words(&row).is_some());
        row[15] = u64::from_ne_bytes([0, 0, 9, 0, 0, 0, 0, 0]);
        assert!(ConnectionRow::of_words(&row).is_none());
    }
}
