//! Messages and bytes for each pair of sender and receiver.

use mel_log::profile::Traffic;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::choice::Choice;
use crate::rows::{Rows, Shape, Unplaced};

/// What has flowed from a sender to a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Cell {
    /// Messages; of collective operations calls.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Cell {
    /// Adds another.
    pub fn add(&mut self, other: Cell) {
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Bytes of a message; 0 without one.
    pub fn mean(self) -> f64 {
        if self.messages == 0 { 0.0 } else { self.bytes as f64 / self.messages as f64 }
    }
}

/// Which number of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Of {
    /// Messages.
    Messages,
    /// Bytes.
    #[default]
    Bytes,
    /// Bytes of a message.
    Mean,
}

impl Of {
    /// That number.
    pub fn value(self, cell: Cell) -> f64 {
        match self {
            Of::Messages => cell.messages as f64,
            Of::Bytes => cell.bytes as f64,
            Of::Mean => cell.mean(),
        }
    }
}

/// A sparse, directed matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Rows and columns.
    pub size: u32,
    /// Sender, receiver, and what has flowed; ascending, only where something has. Between ranks there are none of a rank to itself.
    pub cells: Vec<(u32, u32, Cell)>,
    /// What ranks have sent to themselves, ascending: not in the sums.
    pub own: Vec<(u32, Cell)>,
    /// What has no place in it.
    pub unplaced: Unplaced,
}

/// Rows that go to the same receivers.
#[derive(PartialEq, Eq, Hash)]
struct Alike {
    rank: u32,
    peer: Option<u32>,
    is_inward: bool,
    communicator: Option<u32>,
    shape: Option<Shape>,
    root: Option<u32>,
}

impl Matrix {
    /// What the chosen rows add up to.
    pub fn of(rows: &Rows<'_>, choice: &Choice) -> Matrix {
        // Operations on all members are many pairs: those of a communicator are added up first.
        let mut alike = FxHashMap::<Alike, (Cell, u64, &Traffic)>::default();
        for (rank, row) in rows.chosen(choice) {
            let without_peer = row.peer.is_none();
            let key = Alike {
                rank,
                peer: row.peer,
                is_inward: row.kind.is_inward(),
                communicator: row.communicator.filter(|_| without_peer),
                shape: without_peer.then(|| Shape::of(&row.operation)),
                root: row.root.filter(|_| without_peer),
            };
            let (cell, rows, _) = alike.entry(key).or_insert((Cell::default(), 0, row));
            cell.add(Cell { messages: row.messages, bytes: row.bytes });
            *rows += 1;
        }
        let mut cells = FxHashMap::<(u32, u32), Cell>::default();
        let mut unplaced = Unplaced::default();
        for (key, (cell, count, row)) in alike {
            if !rows.pairs(key.rank, row, |from, to| cells.entry((from, to)).or_default().add(cell)) {
                unplaced.rows += count;
                unplaced.calls = unplaced.calls.saturating_add(cell.messages);
            }
        }
        Matrix { unplaced, ..Matrix::from_cells(rows.size(), cells, true) }
    }

    /// Sorts cells. Those of a rank to itself may be kept apart.
    fn from_cells(size: u32, cells: FxHashMap<(u32, u32), Cell>, apart: bool) -> Matrix {
        let cells = cells.into_iter().map(|((from, to), cell)| (from, to, cell));
        let (own, mut cells): (Vec<_>, Vec<_>) = cells.partition(|(from, to, _)| apart && from == to);
        let mut own: Vec<(u32, Cell)> = own.into_iter().map(|(rank, _, cell)| (rank, cell)).collect();
        cells.sort_unstable();
        own.sort_unstable();
        Matrix { size, cells, own, unplaced: Unplaced::default() }
    }

    /// The same between groups of its ranks, of which `group` has that of each rank: what flows within a group is in its own cell. Ranks
    /// without a group are left out.
    #[must_use]
    pub fn grouped(&self, group: &[u32], groups: u32) -> Matrix {
        let of = |rank: u32| group.get(rank as usize).copied();
        let mut cells = FxHashMap::<(u32, u32), Cell>::default();
        for (from, to, cell) in &self.cells {
            if let (Some(from), Some(to)) = (of(*from), of(*to)) {
                cells.entry((from, to)).or_default().add(*cell);
            }
        }
        Matrix { own: self.own.clone(), unplaced: self.unplaced, ..Matrix::from_cells(groups, cells, false) }
    }

    /// What has flowed from one to another.
    pub fn cell(&self, from: u32, to: u32) -> Cell {
        let found = self.cells.binary_search_by_key(&(from, to), |(from, to, _)| (*from, *to));
        found.map_or(Cell::default(), |place| self.cells[place].2)
    }

    /// All cells together.
    pub fn total(&self) -> Cell {
        let mut total = Cell::default();
        self.cells.iter().for_each(|(_, _, cell)| total.add(*cell));
        total
    }

    /// What ranks have sent to themselves.
    pub fn total_own(&self) -> Cell {
        let mut total = Cell::default();
        self.own.iter().for_each(|(_, cell)| total.add(*cell));
        total
    }

    /// What each has sent.
    pub fn sent(&self) -> Vec<Cell> {
        self.sums(|from, _| from)
    }

    /// What each has received.
    pub fn received(&self) -> Vec<Cell> {
        self.sums(|_, to| to)
    }

    fn sums(&self, of: impl Fn(u32, u32) -> u32) -> Vec<Cell> {
        let mut sums = vec![Cell::default(); self.size as usize];
        for (from, to, cell) in &self.cells {
            if let Some(sum) = sums.get_mut(of(*from, *to) as usize) {
                sum.add(*cell);
            }
        }
        sums
    }

    /// To how many others each has sent.
    pub fn receivers(&self) -> Vec<u32> {
        let mut receivers = vec![0; self.size as usize];
        for (from, _, _) in &self.cells {
            receivers[*from as usize] += 1;
        }
        receivers
    }

    /// The pairs of which the number is greatest, the greatest first; of equals those of the lowest ranks.
    pub fn greatest(&self, of: Of, most: usize) -> Vec<(u32, u32, Cell)> {
        let mut cells = self.cells.clone();
        let order = |a: &(u32, u32, Cell), b: &(u32, u32, Cell)| {
            of.value(b.2).total_cmp(&of.value(a.2)).then(a.cmp(b))
        };
        if most < cells.len() {
            cells.select_nth_unstable_by(most, order);
            cells.truncate(most);
        }
        cells.sort_unstable_by(order);
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use mel_log::profile::{TrafficKind, sample};

    #[test]
    fn sums_do_not_have_what_a_rank_sends_to_itself() {
        let profile = sample::traffic(4);
        let rows = Rows::of(&profile);
        let matrix = Matrix::of(&rows, &Choice::of_kinds(&[TrafficKind::P2p]));
        assert!(matrix.total_own().messages > 0);
        assert!(matrix.cells.iter().all(|(from, to, _)| from != to));
        let [sent, received] = [matrix.sent(), matrix.received()];
        let total = matrix.total();
        assert_eq!(sent.iter().map(|cell| cell.bytes).sum::<u64>(), total.bytes);
        assert_eq!(received.iter().map(|cell| cell.messages).sum::<u64>(), total.messages);
    }

    #[test]
    fn the_greatest_come_first() {
        let profile = sample::traffic(64);
        let rows = Rows::of(&profile);
        let matrix = Matrix::of(&rows, &Choice::of_kinds(&[TrafficKind::P2p]));
        let greatest = matrix.greatest(Of::Bytes, 5);
        assert_eq!(greatest.len(), 5);
        let all = matrix.cells.iter().map(|(_, _, cell)| cell.bytes).max().unwrap();
        assert_eq!(greatest[0].2.bytes, all);
        assert!(greatest.windows(2).all(|pair| pair[0].2.bytes >= pair[1].2.bytes));
    }
}
