//! What the connections of the MPI library and of its launcher carry, by interface and peer: rows of the profile table. Observed.

use std::sync::{Mutex, OnceLock, PoisonError};

use mel_log::profile::{Protocol, Purpose};
use mel_log::table::{ConnectionCounts, ConnectionKey, ProfileTable, Row};
use mpit_sources::netops::{Link, Numbers, Observer, Port};
use rustc_hash::FxHashMap;

use super::interfaces::Interfaces;
use crate::phases;
use crate::trace::SampleLog;

/// Counts what each connection carries in the row of its interface and peer, in the phase that the process is in. Memory: a row for each
/// interface, peer and phase, and a number for each connection.
#[derive(Default)]
pub(super) struct Connections {
    table: OnceLock<ProfileTable>,
    known: Mutex<Known>,
    interfaces: Interfaces,
}

#[derive(Default)]
struct Known {
    rows: FxHashMap<ConnectionKey, Option<u32>>,
    /// The row that each connection is in.
    of_connection: FxHashMap<u64, u32>,
}

impl Connections {
    /// Counts in this table from now on.
    pub(super) fn begin(&self, table: ProfileTable) {
        let _ = self.table.set(table);
    }

    /// What they have carried by interface goes into this log, too, from now on.
    pub(super) fn log(&self, log: &'static SampleLog) {
        self.interfaces.begin(log);
    }

    /// What the interfaces of this host have counted themselves from one time to another, in ticks, goes into the log.
    pub(super) fn log_ports(&self, ports: &[Port], times: (u64, u64)) {
        self.interfaces.ports(ports, times);
    }

    /// The table was set to zero: connections that carry something from now on count again.
    pub(super) fn clear(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).of_connection.clear();
    }

    fn count(&self, connection: u64, key: ConnectionKey, more: &Numbers) {
        let Some(table) = self.table.get() else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { rows, of_connection } = &mut *known;
        // Nothing else adds rows: one thread at a time does.
        let Some(row) = *rows.entry(key).or_insert_with(|| table.add_connection(&key)) else { return };
        let is_new = of_connection.insert(connection, row) != Some(row);
        table.connection(row).add(&ConnectionCounts {
            connections: u64::from(is_new),
            sent: more.sent,
            received: more.received,
            segments_sent: more.segments_sent,
            segments_received: more.segments_received,
            retransmissions: more.retransmissions,
            round_trip_min_us: more.round_trip_min_us,
            round_trip_us: more.round_trip_us,
        });
    }
}

impl Observer for Connections {
    fn has_read(&self) {
        self.interfaces.has_read();
    }

    fn carried(&self, connection: u64, link: &Link, more: &Numbers) {
        self.interfaces.carried(link, more);
        let mut interface = [0; 16];
        interface.iter_mut().zip(link.interface.bytes().take(15)).for_each(|(place, byte)| *place = byte);
        let key = ConnectionKey {
            purpose: if link.is_control { Purpose::Control } else { Purpose::Mpi },
            protocol: if link.is_verbs { Protocol::Verbs } else { Protocol::Tcp },
            phase: phases::current(),
            interface,
            address: link.address,
            peer_address: link.peer_address,
            peer: link.peer,
            on_peer_host: link.on_peer_host,
        };
        self.count(connection, key, more);
    }
}

#[cfg(test)]
mod tests {
    use mel_log::table::Identity;

    use super::*;

    #[test]
    fn connections_to_one_peer_over_one_interface_share_a_row() {
        let connections = Connections::default();
        let link = Link {
            is_control: false,
            is_verbs: false,
            interface: "an-interface-with-a-long-name".into(),
            address: [1; 16],
            peer_address: [2; 16],
            peer: 3,
            on_peer_host: 3,
        };
        let more = |sent| Numbers { sent, round_trip_min_us: 9, ..Numbers::default() };
        connections.carried(1, &link, &more(1));
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        connections.begin(table.clone());
        for (connection, sent) in [(1, 10), (2, 20), (1, 40)] {
            connections.carried(connection, &link, &more(sent));
        }
        let control = Link { is_control: true, peer: -1, ..link.clone() };
        connections.carried(3, &control, &more(5));
        let rows = table.rows().connections;
        let counted: Vec<(u64, u64)> =
            rows.iter().map(|row| (row.counts.connections, row.counts.sent)).collect();
        assert_eq!(counted, [(2, 70), (1, 5)]);
        assert_eq!((rows[0].key.peer, rows[0].counts.round_trip_min_us), (3, 9));
        assert_eq!(&rows[0].key.interface, b"an-interface-wi\0");
        table.clear(0);
        connections.clear();
        connections.carried(1, &link, &more(7));
        assert_eq!(table.rows().connections[0].counts.connections, 1);
    }
}
