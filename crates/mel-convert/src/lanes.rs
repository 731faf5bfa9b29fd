//! Spans that may overlap, on rows where none overlaps another.

/// Rows that are filled with spans in the order of their ends.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// Where the last span of each row ends.
    ends: Vec<u64>,
    most: usize,
}

impl Lanes {
    /// At most so many rows.
    pub fn new(most: usize) -> Lanes {
        Lanes { ends: Vec::new(), most }
    }

    /// The row of a span that ends after those that came before; none if there is no room on any.
    pub fn place(&mut self, (begin, end): (u64, u64)) -> Option<usize> {
        let free = self.ends.iter().position(|last| *last <= begin);
        let row = free.or_else(|| (self.ends.len() < self.most).then_some(self.ends.len()))?;
        self.ends.resize(self.ends.len().max(row + 1), 0);
        self.ends[row] = end;
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_on_another_row() {
        let mut lanes = Lanes::new(2);
        let rows = [(0, 10), (5, 12), (10, 20), (3, 30), (20, 40)].map(|span| lanes.place(span));
        assert_eq!(rows, [Some(0), Some(1), Some(0), None, Some(0)]);
    }
}
