//! How many bytes each pair of ranks exchanges.

/// Pairs of ranks with the bytes that go between them in both directions: distances have no direction. Sparse: memory grows with the
/// pairs that exchange anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each rank begin, and the end.
    starts: Vec<usize>,
    /// Neighbour and bytes, for each rank ascending.
    edges: Vec<(u32, u64)>,
}

impl Graph {
    /// The graph of so many ranks from directed entries `(sender, receiver, bytes)`, in any order; entries of a pair are added up. What a
    /// rank sends to itself, and what names no rank, counts nothing.
    pub fn new(ranks: u32, entries: impl IntoIterator<Item = (u32, u32, u64)>) -> Graph {
        let mut pairs: Vec<(u32, u32, u64)> = Vec::new();
        for (sender, receiver, bytes) in entries {
            if sender != receiver && sender.max(receiver) < ranks && bytes != 0 {
                pairs.push((sender, receiver, bytes));
                pairs.push((receiver, sender, bytes));
            }
        }
        pairs.sort_unstable();
        let mut graph =
            Graph { starts: Vec::with_capacity(ranks as usize + 1), edges: Vec::with_capacity(pairs.len()) };
        let mut pairs = pairs.into_iter().peekable();
        for rank in 0..ranks {
            let start = graph.edges.len();
            graph.starts.push(start);
            while let Some((_, other, bytes)) = pairs.next_if(|pair| pair.0 == rank) {
                match graph.edges[start..].last_mut() {
                    Some(last) if last.0 == other => last.1 = last.1.saturating_add(bytes),
                    _ => graph.edges.push((other, bytes)),
                }
            }
        }
        graph.starts.push(graph.edges.len());
        graph
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whom a rank exchanges bytes with, and how many, in both directions together.
    pub fn neighbours(&self, rank: u32) -> &[(u32, u64)] {
        &self.edges[self.starts[rank as usize]..self.starts[rank as usize + 1]]
    }

    /// Number of pairs, each counted from both sides.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Each pair once: the lower rank, the higher, their bytes.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        (0..self.ranks() as u32).flat_map(move |rank| {
            let higher = self.neighbours(rank).iter().filter(move |(other, _)| *other > rank);
            higher.map(move |(other, bytes)| (rank, *other, *bytes))
        })
    }

    /// The sum over all pairs, in bytes.
    pub fn total(&self) -> u128 {
        self.pairs().map(|(_, _, bytes)| u128::from(bytes)).sum()
    }

    /// The same graph with weights that are so small that sums of them times distances stay exact in 64 bits. Weights that become 0 count
    /// as 1.
    #[must_use]
    pub fn scaled(&self) -> Graph {
        let mut shift = 0;
        while (self.total() >> shift) > 1 << 50 {
            shift += 1;
        }
        let edges = self.edges.iter().map(|(other, bytes)| (*other, (bytes >> shift).max(1))).collect();
        Graph { starts: self.starts.clone(), edges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_one_pair() {
        let graph =
            Graph::new(4, [(0, 1, 5), (1, 0, 7), (2, 1, 1), (0, 1, 1), (3, 3, 9), (0, 8, 4), (3, 0, 0)]);
        assert_eq!(graph.pairs().collect::<Vec<_>>(), [(0, 1, 13), (1, 2, 1)]);
        assert_eq!(graph.neighbours(1), [(0, 13), (2, 1)]);
        assert_eq!((graph.ranks(), graph.edges(), graph.total()), (4, 4, 14));
        assert_eq!(Graph::new(0, []).ranks(), 0);
    }

    #[test]
    fn the_greatest_numbers_do_not_overflow() {
        let graph = Graph::new(3, [(0, 1, u64::MAX), (1, 0, 5), (1, 2, 1)]);
        assert_eq!(graph.neighbours(0), [(1, u64::MAX)]);
        assert!(graph.scaled().total() <= 1 << 51);
        assert_eq!(graph.scaled().neighbours(2), [(1, 1)]);
    }
}
