//! Collective operations, with all who take part; fences of windows among them.

use rustc_hash::FxHashMap;

use crate::model::Entry;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Who takes part.
    pub entries: Vec<Entry>,
}

impl Operation {
    /// When it was over for the last one.
    pub fn end(&self) -> u64 {
        self.entries.iter().map(|entry| entry.waiting.end).max().unwrap_or(0)
    }
}

/// Puts operations together, in bounded memory: those that are under way.
#[derive(Debug, Default)]
pub struct Operations {
    /// By communicator and number.
    open: FxHashMap<(u32, u64), Operation>,
}

impl Operations {
    /// A process takes part in an operation of so many. Gives the operation when they are all known.
    pub fn enter(&mut self, entry: Entry, size: usize) -> Option<Operation> {
        let key = (entry.communicator, entry.number);
        // Not as much space as `size` asks for, which a file says: as much as there are entries.
        let operation = self.open.entry(key).or_insert_with(|| Operation { entries: Vec::new() });
        operation.entries.push(entry);
        if operation.entries.len() < size {
            return None;
        }
        self.open.remove(&key)
    }
}
