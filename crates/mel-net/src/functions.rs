//! Which MPI functions load each end of each link.

use std::collections::BTreeMap;

use mel_traffic::choice::Asked;
use mel_traffic::functions::function_of;
use mel_traffic::{Choice, ChoiceError, Rows};
use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, LinkEnd};
use crate::flows::Flows;
use crate::planes::Shares;
use crate::routes::Routes;

/// Bytes from a rank to another by MPI function, as places among names.
pub type OfPair = FxHashMap<(u32, u32), Vec<(u16, u64)>>;

/// The bytes between ranks by MPI function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// Their names; in brackets what has no function of its own.
    pub names: Vec<String>,
    /// The bytes of each pair of ranks.
    pub of_pair: OfPair,
}

/// More pairs of ranks than that have no functions told: memory grows with them.
const MOST_PAIRS: usize = 1 << 20;

impl Functions {
    /// Those of what goes between ranks, as [`flows`](crate::flows()) has found it for the same wishes. None where there are more pairs of
    /// ranks than 1 million.
    ///
    /// # Errors
    /// [`ChoiceError`], as there.
    pub fn of_flows(rows: &Rows<'_>, asked: Asked<'_>, flows: &Flows) -> Result<Functions, ChoiceError> {
        if flows.list.len() > MOST_PAIRS {
            return Ok(Functions::default());
        }
        let choice = Choice::apart(rows, asked)?;
        if !flows.is_carried {
            return Ok(Functions::of(rows, &choice.with_kinds(&flows.kinds)));
        }
        // Of what both ends have seen, the side that has seen more counts.
        let sides: Vec<Functions> =
            flows.kinds.iter().map(|kind| Functions::of(rows, &choice.with_kinds(&[*kind]))).collect();
        let sum = |side: &Functions, pair: &(u32, u32)| -> u64 {
            side.of_pair.get(pair).into_iter().flatten().map(|(_, bytes)| bytes).sum()
        };
        let mut all = Functions::default();
        for (place, side) in sides.iter().enumerate() {
            all.take(side, |pair| {
                let here = sum(side, &pair);
                sides[..place].iter().all(|other| sum(other, &pair) < here)
                    && sides[place..].iter().all(|other| sum(other, &pair) <= here)
            });
        }
        Ok(all)
    }

    /// Those of the chosen rows.
    fn of(rows: &Rows<'_>, choice: &Choice) -> Functions {
        let mut sums = BTreeMap::<(&str, u32, u32), u64>::new();
        for (rank, row) in rows.chosen(choice).filter(|(_, row)| row.bytes > 0) {
            rows.pairs(rank, row, |from, to| {
                if from != to {
                    let sum = sums.entry((function_of(row), from, to)).or_default();
                    *sum = sum.saturating_add(row.bytes);
                }
            });
        }
        let mut functions = Functions::default();
        for ((name, from, to), bytes) in sums {
            functions.add(name, (from, to), bytes);
        }
        functions
    }

    /// Adds those of another list for some pairs of ranks.
    fn take(&mut self, other: &Functions, wanted: impl Fn((u32, u32)) -> bool) {
        let mut pairs: Vec<_> = other.of_pair.iter().filter(|(pair, _)| wanted(**pair)).collect();
        pairs.sort_unstable();
        for (pair, functions) in pairs {
            for (place, bytes) in functions {
                self.add(&other.names[usize::from(*place)], *pair, *bytes);
            }
        }
    }

    fn add(&mut self, name: &str, pair: (u32, u32), bytes: u64) {
        let known = self.names.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.of_pair.entry(pair).or_default().push((place as u16, bytes));
    }

    /// The bytes of each function at each end of each link, the most first. Modelled, as the load is: the functions' bytes follow the
    /// same routes.
    pub fn at_ends(&self, fabric: &Fabric, host_of_rank: &[Option<NodeIndex>], shares: &Shares) -> AtEnds {
        let mut between = BTreeMap::<(NodeIndex, NodeIndex), BTreeMap<u16, u64>>::new();
        let host = |rank: u32| host_of_rank.get(rank as usize).copied().flatten();
        for (&(from, to), functions) in &self.of_pair {
            let (Some(from), Some(to)) = (host(from), host(to)) else { continue };
            if from != to {
                let sums = between.entry((from, to)).or_default();
                for (function, bytes) in functions {
                    let sum = sums.entry(*function).or_default();
                    *sum = sum.saturating_add(*bytes);
                }
            }
        }
        let mut ends = vec![BTreeMap::<u16, u64>::new(); fabric.graph.edge_count() * 2];
        let mut routes = Routes::new(fabric);
        for ((from, to), functions) in between {
            let mut known = BTreeMap::new();
            for (function, bytes) in functions {
                for (plane, part) in shares.divide(fabric, from, to, bytes) {
                    let route = known.entry(plane).or_insert_with(|| routes.route(from, to, plane));
                    for end in route.iter().flat_map(|route| &route.ends) {
                        let sum = ends[end.place()].entry(function).or_default();
                        *sum = sum.saturating_add(part);
                    }
                }
            }
        }
        let sorted = |sums: BTreeMap<u16, u64>| {
            let mut sums: Vec<(u16, u64)> = sums.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
            sums.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            sums
        };
        AtEnds { names: self.names.clone(), ends: ends.into_iter().map(sorted).collect() }
    }
}

/// The functions at each end of each link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtEnds {
    names: Vec<String>,
    ends: Vec<Vec<(u16, u64)>>,
}

impl AtEnds {
    /// Names and bytes at an end, the most first.
    pub fn at(&self, end: LinkEnd) -> impl Iterator<Item = (&str, u64)> {
        let all = self.ends.get(end.place()).into_iter().flatten();
        all.map(|(place, bytes)| (self.names[usize::from(*place)].as_str(), *bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{network, two_levels};

    #[test]
    fn an_end_has_the_functions_of_what_passes_it() {
        let fabric = network(&two_levels(2, 2, 1));
        let hosts: Vec<_> = (1..=4).map(|number| fabric.node(&format!("node{number}"))).collect();
        let mut functions = Functions::default();
        functions.add("MPI_Bcast", (0, 2), 100);
        functions.add("MPI_Wait", (0, 1), 7);
        functions.add("MPI_Wait", (1, 3), 200);
        functions.add("MPI_Wait", (1, 1), 9);
        let found = functions.at_ends(&fabric, &hosts, &Shares::default());
        let at = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|name| fabric.node(name).unwrap());
            let end = fabric.end_at(fabric.graph.find_edge(a, b).unwrap(), a);
            found.at(end).map(|(name, bytes)| (name.to_owned(), bytes)).collect::<Vec<_>>()
        };
        let bcast = |bytes| ("MPI_Bcast".to_owned(), bytes);
        let wait = |bytes| ("MPI_Wait".to_owned(), bytes);
        assert_eq!(at("node1", "leaf1"), [bcast(100), wait(7)]);
        assert_eq!(at("leaf1", "spine1"), [wait(200), bcast(100)]);
        assert_eq!(at("leaf1", "node2"), [wait(7)]);
        assert_eq!(at("leaf2", "spine1"), []);
    }
}
