//! Collective operations, with those who take part as far as they are known.

use rustc_hash::FxHashMap;

use crate::model::Entry;

/// One operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Who takes part. Who has entered before another one left is known when that one is judged.
    pub entries: Vec<Entry>,
    /// When the first of them left that were judged.
    pub first_left: Option<u64>,
    /// Whether it is none, for not all have called the same, or somebody left before all whom it waits for had come: calls are missing in
    /// the logs.
    pub is_broken: bool,
    /// The place of the entry that came last.
    latest: usize,
    judged: usize,
}

impl Operation {
    /// A process takes part.
    pub fn enter(&mut self, entry: Entry) {
        if let Some(latest) = self.latest().map(|latest| latest.call) {
            self.is_broken |= latest.function != entry.call.function;
            if (latest.begin, latest.rank) < (entry.call.begin, entry.call.rank) {
                self.latest = self.entries.len();
            }
        }
        self.entries.push(entry);
    }

    /// Whether all of its `size` processes are known, and all but one are judged.
    pub fn is_judged_but_for_one(&self, size: usize) -> bool {
        self.entries.len() == size && self.judged + 1 == size
    }

    /// Who came last of those that are known.
    pub fn latest(&self) -> Option<&Entry> {
        self.entries.get(self.latest)
    }
}

/// Which operation: its communicator and its number there.
pub type Key = (u32, u64);

/// Puts operations together, in bounded memory: those that are under way.
#[derive(Debug, Default)]
pub struct Operations {
    open: FxHashMap<Key, Operation>,
}

impl Operations {
    /// A process takes part in an operation.
    pub fn enter(&mut self, entry: Entry) {
        // Not as much space as the number of processes asks for, which a file says: as much as there are entries.
        self.open.entry(key_of(&entry)).or_default().enter(entry);
    }

    /// A process takes part in an operation. When all of its processes are known, the operation is returned and forgotten.
    pub fn enter_last(&mut self, entry: Entry, size: usize) -> Option<Operation> {
        self.enter(entry);
        let key = key_of(&entry);
        let is_whole = self.open.get(&key).is_some_and(|operation| operation.entries.len() >= size);
        if is_whole { self.open.remove(&key) } else { None }
    }

    /// The operation that a process leaves, to be judged and given [`back`](Self::back).
    pub fn left(&mut self, entry: &Entry) -> Option<Operation> {
        self.open.remove(&key_of(entry))
    }

    /// One process of an operation is judged. When all are, the operation is forgotten.
    pub fn back(&mut self, mut operation: Operation, size: usize) {
        operation.judged += 1;
        if operation.judged < size
            && let Some(first) = operation.entries.first()
        {
            self.open.insert(key_of(first), operation);
        }
    }
}

fn key_of(entry: &Entry) -> Key {
    (entry.communicator, entry.number)
}
