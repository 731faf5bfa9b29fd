//! One time for all nodes: how far each node's clock is from that of the reference, which is rank 0.
//!
//! Compared are the nodes' `CLOCK_MONOTONIC`s, because the systems keep their rates right. The time stamp counter is
//! read beside it each time that times are converted, so that its rate, which is known to some 50 parts in a
//! million, matters only for the age of an envelope and not for the length of the run.
//!
//! The first process of each node asks one of another node what time it is, a few times, and passes that on to the rest of its
//! own node. Who asks whom is a binomial tree: O(log nodes) steps, in each of which the error grows by that of one
//! comparison, half a round trip at most.

use mpi_abi::{Comm, pmpi};
use mpit_events::{Clock, Reading, Ticks};
use rustc_hash::FxHashSet;

const TAG: i32 = 8;

/// A comparison is over when so many questions in a row have brought little that was new. The first ones open the
/// connection.
const IN_VAIN: u32 = 20;

/// It is over after so long, too, in nanoseconds: where processes share processors, a round trip may take long.
const LONGEST: i64 = 100_000_000;

/// The difference between two clocks: what is to be added to ours to get the reference's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// The most probable difference, in nanoseconds.
    pub nanos: i64,
    /// How far the true difference may be from it, in nanoseconds.
    pub error: i64,
}

/// This node's clock beside the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeClock {
    clock: Clock,
    ticks_per_second: u64,
    /// The difference between the `CLOCK_MONOTONIC`s.
    pub offset: Offset,
    /// A reading at the time of the comparison, the same in all processes of the node.
    pub compared: Reading,
}

/// Which processes have one clock, as one of them sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The first rank of each node, ascending.
    firsts: Vec<i32>,
    /// The ranks of this process's node, ascending.
    mine: Vec<i32>,
    /// This process's rank.
    rank: i32,
}

impl Nodes {
    /// From the identity of each rank's node.
    pub fn new<I: Copy + Eq + std::hash::Hash>(identities: impl IntoIterator<Item = I>, rank: i32) -> Nodes {
        let identities: Vec<I> = identities.into_iter().collect();
        let own = usize::try_from(rank).ok().and_then(|rank| identities.get(rank)).copied();
        let mut seen = FxHashSet::default();
        let (mut firsts, mut mine) = (Vec::new(), Vec::new());
        for (rank, identity) in (0..).zip(&identities) {
            if seen.insert(*identity) {
                firsts.push(rank);
            }
            if Some(*identity) == own {
                mine.push(rank);
            }
        }
        Nodes { firsts, mine, rank }
    }

    /// What the first process of this node does in the tree, in order: questions to one process, which come first,
    /// and answers to others.
    fn steps(&self) -> (Option<i32>, Vec<i32>) {
        let Ok(place) = self.firsts.binary_search(&self.rank) else { return (None, Vec::new()) };
        // The highest set bit leads to whom to ask; all higher ones to those who ask.
        let bits = usize::BITS - place.leading_zeros();
        let asked = (place != 0).then(|| self.firsts[place - (1 << (bits - 1))]);
        let asking = (bits..usize::BITS).map_while(|bit| self.firsts.get(place + (1 << bit)).copied());
        (asked, asking.collect())
    }
}

impl NodeClock {
    /// The clock of the reference, and of all its node.
    pub fn of_reference(clock: Clock) -> NodeClock {
        let (offset, compared) = (Offset::default(), clock.reading());
        NodeClock { clock, ticks_per_second: clock.ticks_per_second(), offset, compared }
    }

    /// Compares the clocks of all nodes, all processes of `comm` together, of which rank 0 is the reference.
    ///
    /// # Errors
    /// Those of MPI.
    pub fn compare(clock: Clock, nodes: &Nodes, comm: Comm) -> mpi_abi::Result<NodeClock> {
        let mut own = NodeClock::of_reference(clock);
        let first = nodes.mine.first().copied().unwrap_or(nodes.rank);
        let mut shared = [0i64; 4];
        if first != nodes.rank {
            pmpi::recv(bytemuck::cast_slice_mut(&mut shared), first, TAG, comm)?;
            let [ticks, nanos, offset, error] = shared;
            own.offset = Offset { nanos: offset, error };
            own.compared = Reading { ticks: Ticks(ticks as u64), nanos: nanos as u64 };
            return Ok(own);
        }
        let (asked, asking) = nodes.steps();
        if let Some(rank) = asked {
            own.offset = ask(clock, rank, comm)?;
        }
        for rank in asking {
            answer(clock, own.offset, rank, comm)?;
        }
        own.compared = clock.reading();
        let Reading { ticks, nanos } = own.compared;
        shared = [ticks.0 as i64, nanos as i64, own.offset.nanos, own.offset.error];
        for rank in nodes.mine.iter().filter(|rank| **rank != nodes.rank) {
            pmpi::send(bytemuck::cast_slice(&shared), *rank, TAG, comm)?;
        }
        Ok(own)
    }

    /// A reading of the clock, to convert times with that are not far from it.
    pub fn now(&self) -> Reading {
        self.clock.reading()
    }

    /// A time of this node as nanoseconds of the reference's clock.
    pub fn to_reference(&self, now: Reading, time: Ticks) -> i64 {
        let age = i128::from(now.ticks.0) - i128::from(time.0);
        let age = age * 1_000_000_000 / i128::from(self.ticks_per_second);
        (now.nanos as i64).wrapping_add(self.offset.nanos).wrapping_sub(age as i64)
    }

    /// A time of the reference's clock as one of this node; not after `now`, which it cannot have been.
    pub fn to_local(&self, now: Reading, nanos: i64) -> Ticks {
        let age = (now.nanos as i64).wrapping_add(self.offset.nanos).wrapping_sub(nanos).max(0);
        let age = i128::from(age) * i128::from(self.ticks_per_second) / 1_000_000_000;
        Ticks(now.ticks.0.saturating_sub(age as u64))
    }
}

/// What the answers to our questions say of the difference between two clocks.
///
/// An answer is given between question and receipt, so that each confines the difference to an interval as wide as
/// the round trip. All of these hold, whatever the delays on the way there and back, and so does what they have in
/// common: the shortest way there and the shortest way back need not belong to one question.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    const NONE: Bounds = Bounds { least: i64::MIN, most: i64::MAX };

    /// Asked and received at these times of our clock, the reference said `answer`. Whether that has brought more than a
    /// little that was new.
    fn narrow(&mut self, asked: i64, answer: i64, received: i64) -> bool {
        let before = self.width();
        self.least = self.least.max(answer - received);
        self.most = self.most.min(answer - asked);
        self.width() < before - before / 8
    }

    fn width(self) -> i64 {
        self.most.saturating_sub(self.least)
    }

    /// The middle; `already` is how wrong the answers may have been.
    fn offset(self, already: i64) -> Offset {
        // They cross where a clock was set in between: the middle is as good as any.
        let (least, most) = (self.least.min(self.most), self.least.max(self.most));
        let width = most.saturating_sub(least);
        Offset { nanos: least.saturating_add(width / 2), error: (width - width / 2).saturating_add(already) }
    }
}

/// A question, and that there are no more.
const QUESTION: [u8; 1] = [1];
const NO_MORE: [u8; 1] = [0];

fn ask(clock: Clock, rank: i32, comm: Comm) -> mpi_abi::Result<Offset> {
    let begun = clock.reading().nanos as i64;
    let (mut bounds, mut answer, mut in_vain) = (Bounds::NONE, [0i64; 2], 0);
    while in_vain < IN_VAIN {
        let asked = clock.reading().nanos as i64;
        pmpi::send(&QUESTION, rank, TAG, comm)?;
        pmpi::recv(bytemuck::cast_slice_mut(&mut answer), rank, TAG, comm)?;
        let received = clock.reading().nanos as i64;
        in_vain = if bounds.narrow(asked, answer[0], received) { 0 } else { in_vain + 1 };
        if received - begun > LONGEST {
            break;
        }
    }
    pmpi::send(&NO_MORE, rank, TAG, comm)?;
    Ok(bounds.offset(answer[1]))
}

fn answer(clock: Clock, own: Offset, rank: i32, comm: Comm) -> mpi_abi::Result<()> {
    let mut question = QUESTION;
    loop {
        pmpi::recv(&mut question, rank, TAG, comm)?;
        if question == NO_MORE {
            return Ok(());
        }
        let now = (clock.reading().nanos as i64).wrapping_add(own.nanos);
        pmpi::send(bytemuck::cast_slice(&[now, own.error]), rank, TAG, comm)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks a clock that is `offset` ahead, with these delays on the way there and back.
    fn estimate(offset: i64, delays: &[(i64, i64)]) -> Offset {
        let mut bounds = Bounds::NONE;
        let mut now = 1_000_000;
        for (there, back) in delays {
            let (asked, answered, received) = (now, now + there, now + there + back);
            bounds.narrow(asked, answered + offset, received);
            now = received + 10;
        }
        bounds.offset(0)
    }

    #[test]
    fn the_true_offset_is_within_the_error() {
        let delays = [(40_000, 900_000), (25_000, 31_000), (700_000, 30_000), (26_000, 90_000)];
        for offset in [0, 17, -3_000_000_000, 86_400_000_000_000] {
            let estimate = estimate(offset, &delays);
            assert!((estimate.nanos - offset).abs() <= estimate.error, "{offset}: {estimate:?}");
            // 25 us there and 30 us back are the shortest ways, although of different questions.
            assert_eq!(estimate.error, (25_000 + 30_000) / 2);
            assert_eq!(estimate.nanos - offset, (25_000 - 30_000) / 2);
        }
    }

    #[test]
    fn only_what_is_new_is_worth_more_questions() {
        let mut bounds = Bounds::NONE;
        assert!(bounds.narrow(0, 60, 100));
        assert!(!bounds.narrow(1_000, 1_060, 1_100));
        assert!(!bounds.narrow(2_000, 2_055, 2_095), "95 instead of 100");
        assert!(bounds.narrow(3_000, 3_020, 3_040));
    }

    #[test]
    fn one_sided_delays_cost_no_more_than_half_of_themselves() {
        let estimate = estimate(5_000, &[(1_000, 100_000); 8]);
        assert_eq!((estimate.nanos - 5_000).abs(), 49_500);
        assert_eq!(estimate.error, 50_500);
    }

    #[test]
    fn a_clock_that_is_set_in_between_hurts_nothing() {
        let mut bounds = Bounds::NONE;
        bounds.narrow(0, 1_000_000, 100);
        bounds.narrow(200, 50, 300);
        assert_eq!(bounds.offset(0), Offset { nanos: 499_875, error: 500_025 });
        assert!(Bounds::NONE.offset(5).error > 0);
    }

    #[test]
    fn every_node_is_reached_in_a_logarithmic_number_of_steps() {
        for count in 1..40 {
            let nodes = |rank| Nodes::new(0..count, rank);
            let mut depth = vec![0; count as usize];
            for rank in 0..count {
                let (asked, asking) = nodes(rank).steps();
                assert_eq!(asked.is_none(), rank == 0);
                if let Some(asked) = asked {
                    assert!(asked < rank);
                    assert!(nodes(asked).steps().1.contains(&rank));
                    depth[rank as usize] = depth[asked as usize] + 1;
                }
                assert!(asking.iter().all(|asking| nodes(*asking).steps().0 == Some(rank)));
                assert!(asking.len() <= 6 && depth[rank as usize] <= 6);
            }
        }
    }

    #[test]
    fn the_first_of_each_node_stands_for_it() {
        let nodes = Nodes::new("aabbaac".chars(), 3);
        assert_eq!(nodes, Nodes { firsts: vec![0, 2, 6], mine: vec![2, 3], rank: 3 });
        assert_eq!(nodes.steps(), (None, vec![]));
        assert_eq!(Nodes::new("aabbaac".chars(), 6).steps(), (Some(0), vec![]));
        assert_eq!(Nodes::new("aabbaac".chars(), 0).steps(), (None, vec![2, 6]));
    }

    #[test]
    fn times_go_to_the_reference_and_come_back() {
        let clock = |nanos, ticks_per_second| NodeClock {
            clock: Clock::Monotonic,
            ticks_per_second,
            offset: Offset { nanos, error: 0 },
            compared: Reading { ticks: Ticks(0), nanos: 0 },
        };
        let sender = clock(-500, 2_000_000_000);
        let sender_now = Reading { ticks: Ticks(90_000), nanos: 1_000_000 };
        // Two microseconds ago.
        let sent = sender.to_reference(sender_now, Ticks(86_000));
        assert_eq!(sent, 1_000_000 - 500 - 2_000);
        let receiver = clock(1_000_000_000, 3_000_000_000);
        let receiver_now = Reading { ticks: Ticks(600_000), nanos: 10_000 };
        assert_eq!(receiver.to_local(receiver_now, 1_000_000_000 + 9_000), Ticks(597_000));
        // A message from the future was sent now.
        assert_eq!(receiver.to_local(receiver_now, 1_000_000_000 + 90_000), Ticks(600_000));
        assert_eq!(sender.to_local(sender_now, sent), Ticks(86_000));
    }
}
