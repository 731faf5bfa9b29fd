//! Who sends to whom in a trace, and whose messages are unexpected.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::table::columns;

/// More ranks than that are joined to blocks.
const MOST: u32 = 256;

/// How many ranks are joined so that there are at most so many rows.
pub fn block_of(ranks: u32, most: u32) -> u32 {
    ranks.div_ceil(most).max(1)
}

/// What one rank has received from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that were received.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that were unexpected.
    pub unexpected: u64,
}

impl Traffic {
    fn add(&mut self, other: Traffic) {
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.unexpected = self.unexpected.saturating_add(other.unexpected);
    }
}

/// Senders and receivers.
#[derive(Debug, Serialize)]
pub struct Matrix {
    /// Ranks in a row or column.
    pub block: u32,
    /// Rows and columns.
    pub size: u32,
    /// Whether unexpected messages were logged.
    pub unexpected_known: bool,
    /// Those that have any messages, by sender and receiver.
    #[serde(serialize_with = "columns")]
    pub cells: Vec<Cell>,
}

/// What some ranks receive from some others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cell {
    /// The row of the senders.
    pub sender: u32,
    /// The column of the receivers.
    pub receiver: u32,
    /// Messages that were received.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that were unexpected.
    pub unexpected: u64,
}

/// By sender and receiver.
pub type Pairs = FxHashMap<(u32, u32), Traffic>;

/// The matrix of a run with so many ranks; none if no message was logged.
pub fn matrix(pairs: &Pairs, world: u32, unexpected_known: bool) -> Option<Matrix> {
    let block = block_of(world, MOST);
    let mut cells = FxHashMap::<(u32, u32), Traffic>::default();
    for (&(sender, receiver), &traffic) in pairs {
        cells.entry((sender / block, receiver / block)).or_default().add(traffic);
    }
    let mut cells: Vec<_> = (cells.into_iter())
        .map(|((sender, receiver), Traffic { messages, bytes, unexpected })| Cell {
            sender,
            receiver,
            messages,
            bytes,
            unexpected,
        })
        .collect();
    cells.sort_unstable();
    (!cells.is_empty()).then(|| Matrix { block, size: world.div_ceil(block), unexpected_known, cells })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranks_are_joined_to_blocks() {
        let mut pairs = Pairs::default();
        let one = Traffic { messages: 1, bytes: 8, unexpected: 1 };
        for rank in 0..1000 {
            pairs.insert((rank, (rank + 1) % 1000), one);
        }
        let matrix = matrix(&pairs, 1000, true).unwrap();
        assert_eq!((matrix.block, matrix.size), (4, 250));
        let first = Cell { sender: 0, receiver: 0, messages: 3, bytes: 24, unexpected: 3 };
        assert_eq!(matrix.cells[0], first);
        assert_eq!(matrix.cells.iter().map(|cell| cell.messages).sum::<u64>(), 1000);
        assert!(super::matrix(&Pairs::default(), 4, true).is_none());
    }
}
