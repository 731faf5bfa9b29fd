//! What went over the network: the numbers of connections, and those of interfaces. All of it is observed.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::connections::{Connection, Port};

const CONNECTION: Quantity<Connection> =
    Quantity { group: "connections", basis: Basis::Observed, ..Quantity::NONE };

/// What connections have carried.
pub const CONNECTIONS: &[Quantity<Connection>] = &[
    Quantity {
        name: "connections",
        key: "connections",
        sentence: "how many",
        of: |row| Some(row.connections as f64),
        ..CONNECTION
    },
    Quantity {
        name: "sent",
        key: "bytes_sent",
        unit: Unit::Bytes,
        sentence: "bytes: of TCP what was acknowledged; of verbs what was posted for sending",
        of: |row| Some(row.bytes_sent as f64),
        head: Some("sent"),
        ..CONNECTION
    },
    Quantity {
        name: "received",
        key: "bytes_received",
        unit: Unit::Bytes,
        sentence: "bytes: of TCP what has come; of verbs what was posted for reading",
        of: |row| Some(row.bytes_received as f64),
        head: Some("received"),
        ..CONNECTION
    },
    Quantity {
        name: "segments sent",
        key: "segments_sent",
        sentence: "segments of TCP with data that were sent; of verbs the work requests",
        of: |row| Some(row.segments_sent as f64),
        ..CONNECTION
    },
    Quantity {
        name: "segments received",
        key: "segments_received",
        sentence: "segments of TCP with data that have come; of verbs the work requests",
        of: |row| Some(row.segments_received as f64),
        ..CONNECTION
    },
    Quantity {
        name: "retransmissions",
        key: "retransmissions",
        sentence: "segments that were sent again; absent for 0",
        of: |row| Some(row.retransmissions as f64),
        head: Some("again"),
        whole: Some("segments sent"),
        ..CONNECTION
    },
    Quantity {
        name: "round trip min",
        key: "round_trip_min_us",
        unit: Unit::Seconds,
        fold: Fold::Min,
        sentence: "the shortest round trip, in microseconds; absent where it is not known",
        of: |row| seconds(row.round_trip_min_us),
        head: Some("round trip"),
        ..CONNECTION
    },
    Quantity {
        name: "round trip",
        key: "round_trip_us",
        unit: Unit::Seconds,
        fold: Fold::Max,
        sentence: "the smoothed round trip of the connection that was read last, in microseconds; absent where it is not known",
        of: |row| seconds(row.round_trip_us),
        head: Some("at last"),
        ..CONNECTION
    },
];

fn seconds(us: Option<u64>) -> Option<f64> {
    Some(us? as f64 / 1e6)
}

const PORT: Quantity<Port> = Quantity { group: "interface", basis: Basis::Observed, ..Quantity::NONE };

/// What the interfaces of a host have counted themselves.
pub const PORTS: &[Quantity<Port>] = &[
    Quantity {
        name: "sent",
        key: "bytes_sent",
        unit: Unit::Bytes,
        sentence: "bytes out, with the headers of all layers that the interface counts",
        of: |row| Some(row.bytes_sent as f64),
        head: Some("out"),
        ..PORT
    },
    Quantity {
        name: "received",
        key: "bytes_received",
        unit: Unit::Bytes,
        sentence: "bytes in, likewise",
        of: |row| Some(row.bytes_received as f64),
        head: Some("in"),
        ..PORT
    },
    Quantity {
        name: "packets sent",
        key: "packets_sent",
        sentence: "packets out",
        of: |row| Some(row.packets_sent as f64),
        ..PORT
    },
    Quantity {
        name: "packets received",
        key: "packets_received",
        sentence: "packets in",
        of: |row| Some(row.packets_received as f64),
        ..PORT
    },
    Quantity {
        name: "errors",
        key: "errors",
        sentence: "packets that were wrong; absent for 0",
        of: |row| Some(row.errors as f64),
        head: Some("errors"),
        ..PORT
    },
    Quantity {
        name: "dropped",
        key: "dropped",
        sentence: "packets that were dropped; absent for 0",
        of: |row| Some(row.dropped as f64),
        head: Some("dropped"),
        ..PORT
    },
];
