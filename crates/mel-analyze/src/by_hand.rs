//! Collective operations that a program makes by hand, of messages between two: one rank sends to each other one of a communicator, one
//! after the other, or receives from each. The library's own operations go along a tree, and know the network.
//!
//! A loop counts where all its messages come from one call site, to or from each other rank once, with no message in the other direction
//! between them: who answers one worker at a time is none.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::model::{NO_COMMUNICATOR, NO_SITE, Side, Site, Way};
use crate::names::{Names, call_at};

/// Of fewer ranks a loop may be anything.
const FEWEST_RANKS: usize = 4;
/// What is done less often is not worth an operation.
const FEWEST_LOOPS: u64 = 3;

/// Which way the messages of a loop go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From one rank to each other.
    ToAll,
    /// To one rank from each other.
    FromAll,
}

/// A collective operation that is made by hand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByHand {
    /// Which way the messages go.
    pub direction: Direction,
    /// The call, as `MPI_Send at app.c:7 (main)`.
    pub call: String,
    /// The communicator.
    pub communicator: String,
    /// The ranks that do so, ascending.
    pub ranks: Vec<u32>,
    /// How many others each of them sends to, or receives from.
    pub others: usize,
    /// How often, all ranks together.
    pub loops: u64,
    /// The bytes of all messages.
    pub bytes: u64,
    /// The time in the calls that send, or that receive or begin to, in seconds.
    pub seconds: f64,
    /// What the library has for it.
    pub instead: &'static str,
}

impl ByHand {
    /// In a sentence.
    pub fn sentence(&self, time: &str) -> String {
        let ByHand { direction, call, communicator, others, loops, instead, .. } = self;
        let who = match &self.ranks[..] {
            [rank] => format!("Rank {rank}"),
            ranks => format!("{} ranks", ranks.len()),
        };
        let way = match (direction, self.ranks.len()) {
            (Direction::ToAll, 1) => "sends to each of",
            (Direction::ToAll, _) => "send to each of",
            (Direction::FromAll, 1) => "receives from each of",
            (Direction::FromAll, _) => "receive from each of",
        };
        format!(
            "{who} {way} the {others} others of {communicator} in {call}, {loops} times, {time} in all: {instead} does that \
             along the shortest ways"
        )
    }
}

/// Which buffers the messages of a loop have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Buffers {
    /// None was seen.
    #[default]
    None,
    /// Always this one.
    One(u32),
    Several,
    NotKnown,
}

impl Buffers {
    fn add(self, side: &Side) -> Buffers {
        match (self, side.buffer) {
            (Buffers::NotKnown, _) => Buffers::NotKnown,
            (_, 0) => Buffers::NotKnown,
            (_, _) if side.way == Way::Nonblocking => Buffers::NotKnown,
            (Buffers::None, buffer) => Buffers::One(buffer),
            (Buffers::One(known), buffer) if known == buffer => self,
            _ => Buffers::Several,
        }
    }

    fn and(self, other: Buffers) -> Buffers {
        match (self, other) {
            (Buffers::None, known) | (known, Buffers::None) => known,
            // Another loop may well have another buffer.
            (Buffers::One(_), Buffers::One(_)) => self,
            (Buffers::Several, Buffers::Several) => self,
            _ => Buffers::NotKnown,
        }
    }
}

/// Messages of one call site of a rank, one after the other.
#[derive(Clone, Debug)]
struct Loop {
    site: Site,
    communicator: u32,
    bytes_of_each: u64,
    peers: FxHashSet<u32>,
    bytes: u64,
    nanos: u64,
    buffers: Buffers,
}

impl Loop {
    /// No message yet.
    fn new(site: Site, communicator: u32, bytes_of_each: u64, mut peers: FxHashSet<u32>) -> Loop {
        peers.clear();
        Loop { site, communicator, bytes_of_each, peers, bytes: 0, nanos: 0, buffers: Buffers::None }
    }

    /// None is under way.
    fn none(peers: FxHashSet<u32>) -> Loop {
        Loop::new(NO_SITE, NO_COMMUNICATOR, 0, peers)
    }
}

#[derive(Clone, Debug, Default)]
struct Sum {
    ranks: FxHashSet<u32>,
    others: usize,
    loops: u64,
    bytes: u64,
    nanos: u64,
    buffers: Buffers,
}

/// Looks for them.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    under_way: FxHashMap<u32, (Direction, Loop)>,
    sums: FxHashMap<(Direction, Site, u32), Sum>,
}

impl Loops {
    /// A rank has sent a message, or received one.
    pub fn side(&mut self, side: &Side, direction: Direction, names: &Names) {
        let Some(of) = names.communicator(side.communicator) else { return };
        if of.remote.is_some() || of.members.len() < FEWEST_RANKS {
            return;
        }
        let rank = side.call.rank;
        let (which, under_way) =
            self.under_way.entry(rank).or_insert_with(|| (direction, Loop::none(FxHashSet::default())));
        let goes_on = *which == direction
            && (under_way.site, under_way.communicator) == (side.call.site, side.communicator)
            && (direction == Direction::FromAll || under_way.bytes_of_each == side.bytes)
            && !under_way.peers.contains(&side.peer);
        if !goes_on {
            *which = direction;
            let peers = std::mem::take(&mut under_way.peers);
            *under_way = Loop::new(side.call.site, side.communicator, side.bytes, peers);
        }
        if side.peer != rank {
            under_way.peers.insert(side.peer);
        }
        under_way.bytes += side.bytes;
        under_way.nanos += side.call.end.saturating_sub(side.call.begin);
        under_way.buffers = under_way.buffers.add(side);
        let others = of.members.len() - 1;
        if under_way.peers.len() == others {
            let sum = self.sums.entry((direction, under_way.site, under_way.communicator)).or_default();
            sum.ranks.insert(rank);
            sum.others = others;
            sum.loops += 1;
            sum.bytes += under_way.bytes;
            sum.nanos += under_way.nanos;
            sum.buffers = sum.buffers.and(under_way.buffers);
            *under_way = Loop::none(std::mem::take(&mut under_way.peers));
        }
    }

    /// A rank takes part in a collective operation: a loop goes over no step of a program.
    pub fn meets(&mut self, rank: u32) {
        if let Some((_, under_way)) = self.under_way.get_mut(&rank) {
            *under_way = Loop::none(std::mem::take(&mut under_way.peers));
        }
    }

    /// By the lines of call sites and their functions; the longest first.
    pub(crate) fn by_line(&self, names: &Names, lines: &[(String, Option<String>)]) -> Vec<ByHand> {
        // Several addresses are one line.
        let mut merged: FxHashMap<(Direction, String, u32), Sum> = FxHashMap::default();
        for ((direction, site, communicator), of) in &self.sums {
            let call = call_at(lines, *site, None);
            let sum = merged.entry((*direction, call, *communicator)).or_default();
            sum.ranks.extend(&of.ranks);
            sum.others = of.others;
            sum.loops += of.loops;
            sum.bytes += of.bytes;
            sum.nanos += of.nanos;
            sum.buffers = sum.buffers.and(of.buffers);
        }
        let often = merged.into_iter().filter(|(_, sum)| sum.loops >= FEWEST_LOOPS);
        let found = often.map(|((direction, call, communicator), sum)| {
            let mut ranks: Vec<u32> = sum.ranks.iter().copied().collect();
            ranks.sort_unstable();
            let everybody = ranks.len() == sum.others + 1;
            ByHand {
                direction,
                call,
                communicator: names.communicator(communicator).map_or_else(String::new, |of| of.name.clone()),
                others: sum.others,
                loops: sum.loops,
                bytes: sum.bytes,
                seconds: sum.nanos as f64 * 1e-9,
                instead: instead(direction, everybody, sum.buffers),
                ranks,
            }
        });
        let mut found: Vec<ByHand> = found.collect();
        found.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.call.cmp(&b.call)));
        found
    }
}

/// What the library has.
fn instead(direction: Direction, everybody: bool, buffers: Buffers) -> &'static str {
    match (direction, everybody, buffers) {
        (Direction::ToAll, true, Buffers::One(_)) => "MPI_Allgather",
        (Direction::ToAll, true, Buffers::Several) => "MPI_Alltoall",
        (_, true, _) => "MPI_Alltoall or MPI_Allgather",
        (Direction::ToAll, false, Buffers::One(_)) => "MPI_Bcast",
        (Direction::ToAll, false, Buffers::Several) => "MPI_Scatter",
        (Direction::ToAll, false, _) => "MPI_Bcast or MPI_Scatter",
        (Direction::FromAll, false, Buffers::Several) => "MPI_Gather",
        (Direction::FromAll, false, _) => "MPI_Gather or MPI_Reduce",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Call;
    use crate::names::Processes;
    use crate::testing::{call, side};

    fn names(ranks: u32) -> Names {
        let mut names = Names::default();
        let world = Processes { name: "MPI_COMM_WORLD".into(), members: (0..ranks).collect(), remote: None };
        names.communicators.push(world);
        names
    }

    /// Messages of rank 0 with these peers, each in a call of site 5 at its own time.
    fn messages(
        loops: &mut Loops,
        names: &Names,
        direction: Direction,
        peers: &[u32],
        buffer: impl Fn(u32) -> u32,
    ) {
        for (time, peer) in (0..).zip(peers) {
            let call = Call { site: 0, ..call(0, (10 * time, 10 * time + 6)) };
            let side = Side { call, peer: *peer, buffer: buffer(*peer), ..side(0, (0, 0), 0) };
            loops.side(&side, direction, names);
        }
    }

    fn lines() -> Vec<(String, Option<String>)> {
        let mut lines = vec![(String::new(), None); 6];
        lines[0] = ("a.c:5 (main)".into(), Some("MPI_Send".into()));
        lines
    }

    #[test]
    fn who_sends_to_each_in_turn_broadcasts_or_scatters() {
        for (buffer, instead) in [(0, "MPI_Bcast or MPI_Scatter"), (1, "MPI_Bcast"), (2, "MPI_Scatter")] {
            let (mut loops, names) = (Loops::default(), names(4));
            for _ in 0..3 {
                let address = |peer| [0, 64, 64 + peer][buffer];
                messages(&mut loops, &names, Direction::ToAll, &[1, 2, 3], address);
            }
            let found = loops.by_line(&names, &lines());
            assert_eq!((found.len(), found[0].loops, found[0].bytes), (1, 3, 9 * 2048));
            assert_eq!((found[0].instead, found[0].others, &found[0].ranks[..]), (instead, 3, &[0][..]));
            assert_eq!((found[0].seconds * 1e9).round(), 54.0);
            let sentence = found[0].sentence("78 ns");
            assert!(
                sentence.starts_with(
                    "Rank 0 sends to each of the 3 others of MPI_COMM_WORLD in MPI_Send at a.c:5"
                ),
                "{sentence}"
            );
        }
    }

    #[test]
    fn what_goes_both_ways_or_to_some_is_none() {
        let all = |names: &Names, turns: &[(Direction, &[u32])]| {
            let mut loops = Loops::default();
            for (direction, peers) in turns.iter().cycle().take(12) {
                messages(&mut loops, names, *direction, peers, |_| 64);
            }
            loops.by_line(names, &lines()).len()
        };
        let (four, three) = (names(4), names(3));
        assert_eq!(all(&four, &[(Direction::ToAll, &[1, 3])]), 0, "neighbours");
        let worker: [(Direction, &[u32]); 6] = [
            (Direction::ToAll, &[1]),
            (Direction::FromAll, &[1]),
            (Direction::ToAll, &[2]),
            (Direction::FromAll, &[2]),
            (Direction::ToAll, &[3]),
            (Direction::FromAll, &[3]),
        ];
        assert_eq!(all(&four, &worker), 0, "a master and its workers");
        assert_eq!(all(&three, &[(Direction::ToAll, &[1, 2])]), 0, "few ranks");
        assert_eq!(all(&four, &[(Direction::FromAll, &[3, 1, 2])]), 1, "a gather");
    }
}
