//! All rows by kind, communicator and phase, for who chooses among them later.
//!
//! What goes from ranks to all others of their communicator alike is kept as that: a barrier of a thousand ranks is a line, and not a
//! million pairs.

use std::collections::BTreeMap;

use mel_log::profile::{Traffic, TrafficKind};
use rustc_hash::FxHashMap;

use crate::choice;
use crate::matrix::Cell;
use crate::rows::{Flow, Rows, Unplaced, has_pairs};

/// What has flowed from a sender to a receiver, with sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount {
    /// Messages and bytes.
    pub cell: Cell,
    /// How many messages have which size, as [`Traffic::sizes`], ascending.
    pub sizes: Vec<(u8, u64)>,
}

impl Amount {
    /// Adds messages, bytes and sizes.
    pub fn add(&mut self, cell: Cell, sizes: &[(u8, u64)]) {
        self.cell.add(cell);
        for (bin, count) in sizes {
            match self.sizes.binary_search_by_key(bin, |(bin, _)| *bin) {
                Ok(place) => self.sizes[place].1 = self.sizes[place].1.saturating_add(*count),
                Err(place) => self.sizes.insert(place, (*bin, *count)),
            }
        }
    }

    fn add_row(&mut self, row: &Traffic) {
        self.add(Cell { messages: row.messages, bytes: row.bytes }, &row.sizes);
    }
}

/// What several ranks have sent to all others of a list, each the same to each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// Who sends, ascending.
    pub senders: Vec<u32>,
    /// Who receives: a place in [`Parts::lists`].
    pub list: usize,
    /// Whether only those receive that come after the sender in the list.
    pub upwards: bool,
    /// From each sender to each receiver.
    pub amount: Amount,
}

/// What was counted of one kind, on communicators of one name, in phases of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// From sender to receiver. Of files each rank has a pair with itself.
    pub pairs: BTreeMap<(u32, u32), Amount>,
    /// To all others alike.
    pub together: Vec<Together>,
    /// What has no place.
    pub unplaced: Unplaced,
}

/// All rows of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Number of ranks.
    pub size: u32,
    /// Names of communicators.
    pub communicators: Vec<String>,
    /// Names of phases, as they are shown.
    pub phases: Vec<String>,
    /// Lists of ranks, in the order of a communicator.
    pub lists: Vec<Vec<u32>>,
    /// By kind, and by communicator and phase as places in the lists above.
    pub parts: BTreeMap<(TrafficKind, usize, usize), Part>,
}

/// What a rank has sent to all of a list: by sender, list, and whether only upwards.
type ByList = BTreeMap<(u32, usize, bool), Amount>;

impl Parts {
    /// Those of a profile, with files. Communicators of one name are one.
    pub fn of(rows: &Rows<'_>) -> Parts {
        let mut parts = Parts { size: rows.size(), ..Parts::default() };
        let mut lists: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
        let mut known: FxHashMap<*const u32, usize> = FxHashMap::default();
        let mut together: BTreeMap<(TrafficKind, usize, usize), ByList> = BTreeMap::new();
        let (mut communicators, mut phases) = (FxHashMap::default(), FxHashMap::default());
        for rank in &rows.profile.ranks {
            for row in &rank.traffic {
                let communicator = *communicators.entry(row.communicator).or_insert_with(|| {
                    place_of(&mut parts.communicators, choice::communicator(rows, row.communicator))
                });
                let phase = *phases
                    .entry(row.phase)
                    .or_insert_with(|| place_of(&mut parts.phases, choice::phase(rows, row.phase)));
                let key = (row.kind, communicator, phase);
                let part = parts.parts.entry(key).or_default();
                let flow = match has_pairs(row.kind) {
                    true => rows.flow(rank.rank, row),
                    false => Flow::Pair(rank.rank, rank.rank),
                };
                match flow {
                    Flow::Nowhere => {}
                    Flow::Unknown => {
                        part.unplaced.rows += 1;
                        part.unplaced.calls = part.unplaced.calls.saturating_add(row.messages);
                    }
                    Flow::Pair(from, to) => part.pairs.entry((from, to)).or_default().add_row(row),
                    Flow::Others { list, first } => {
                        // The lists live as long as the rows: their addresses tell them apart, quicker than their members.
                        let place = *known.entry(list.as_ptr()).or_insert_with(|| {
                            let next = lists.len();
                            *lists.entry(list.to_vec()).or_insert(next)
                        });
                        let sent = together.entry(key).or_default();
                        sent.entry((rank.rank, place, first > 0)).or_default().add_row(row);
                    }
                }
            }
        }
        for (key, sent) in together {
            parts.parts.entry(key).or_default().together = alike(sent);
        }
        let mut lists: Vec<(Vec<u32>, usize)> = lists.into_iter().collect();
        lists.sort_by_key(|(_, place)| *place);
        parts.lists = lists.into_iter().map(|(list, _)| list).collect();
        parts
    }
}

/// Joins senders that send the same.
fn alike(sent: ByList) -> Vec<Together> {
    let mut joined: BTreeMap<(usize, bool, Amount), Vec<u32>> = BTreeMap::new();
    for ((rank, list, upwards), amount) in sent {
        joined.entry((list, upwards, amount)).or_default().push(rank);
    }
    let together = |((list, upwards, amount), senders)| Together { senders, list, upwards, amount };
    joined.into_iter().map(together).collect()
}

fn place_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;

    #[test]
    fn a_barrier_of_many_ranks_is_a_line() {
        let profile = sample::traffic(1024);
        let parts = Parts::of(&Rows::of(&profile));
        assert_eq!((parts.size, parts.lists.len()), (1024, 1));
        let solve = parts.phases.iter().position(|name| name == "solve").unwrap();
        let world = parts.communicators.iter().position(|name| name == "MPI_COMM_WORLD").unwrap();
        let part = &parts.parts[&(TrafficKind::Collective, world, solve)];
        assert_eq!(part.together.len(), 1, "barriers and sums go to all alike");
        let all = &part.together[0];
        assert_eq!((all.senders.len(), all.upwards), (1024, false));
        assert_eq!(all.amount.cell, Cell { messages: 102, bytes: 800 });
        assert_eq!(all.amount.sizes, [(0, 2), (4, 100)]);
        assert_eq!(part.pairs.len(), 1023, "to the root of the gather");
    }
}
