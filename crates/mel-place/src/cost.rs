//! What a placement costs: Σ bytes × distance, and what crosses nodes and sockets. Estimated: the bytes are observed, the distances are
//! those of [`Level`].

use crate::slots::Level;
use crate::{Graph, Slots};

/// The cost of a placement. The bytes are messages where the graph counts these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Σ bytes × distance over all pairs of ranks.
    pub bytes_times_distance: u128,
    /// Bytes between ranks on different nodes.
    pub between_nodes: u128,
    /// Bytes between ranks on the same node, on different sockets.
    pub between_sockets: u128,
    /// Bytes between ranks on the same socket.
    pub within_sockets: u128,
}

/// The cost of a placement, which has an entry for each rank of the graph.
pub fn cost(graph: &Graph, slots: &Slots, placement: &[u32]) -> Cost {
    let mut cost = Cost::default();
    for (a, b, bytes) in graph.pairs() {
        let (level, bytes) = (slots.common(placement[a as usize], placement[b as usize]), u128::from(bytes));
        cost.bytes_times_distance += bytes * u128::from(level.distance());
        match level {
            Level::Network => cost.between_nodes += bytes,
            Level::Node => cost.between_sockets += bytes,
            _ => cost.within_sockets += bytes,
        }
    }
    cost
}
