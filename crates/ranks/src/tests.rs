//! What is done along the tree, each rank a thread, up to a thousand of them.

use std::cell::Cell;

use proptest::prelude::*;

use super::tree::*;
use super::*;

type Result<T> = std::result::Result<T, CommunicationError>;

/// Counts what a process does.
struct Counted {
    inner: ThreadAsProcess,
    received: Cell<u32>,
    most_bytes: Cell<usize>,
}

impl Processes for Counted {
    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn send(&self, to: u32, bytes: Vec<u8>) -> Result<()> {
        self.inner.send(to, bytes)
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>> {
        let bytes = self.inner.receive(from)?;
        self.received.set(self.received.get() + 1);
        self.most_bytes.set(self.most_bytes.get().max(bytes.len()));
        Ok(bytes)
    }
}

/// Runs the same on all ranks, counted; the results are by rank.
fn run<T: Send>(size: u32, process: impl Fn(&Counted) -> T + Sync) -> Vec<T> {
    on_threads(size, |inner| process(&Counted { inner, received: Cell::new(0), most_bytes: Cell::new(0) }))
}

#[test]
fn what_is_merged_is_in_the_order_of_ranks_after_few_steps() {
    for size in [1, 2, 3, 7, 8, 1000] {
        let expected: Vec<u32> = (0..size).collect();
        let digits = u32::BITS - (size - 1).leading_zeros();
        for (all, received) in run(size, |processes| {
            let merge = |all: &mut Vec<u32>, part: Vec<u32>| all.extend(part);
            (all_reduce(processes, vec![processes.rank()], merge).unwrap(), processes.received.get())
        }) {
            assert_eq!(all, expected);
            assert!(received <= digits + 1, "{received} messages of {size} ranks");
        }
        let gathered = run(size, |processes| gather(processes, vec![processes.rank() as u8; 2]).unwrap());
        let bytes: Vec<u8> = (0..size).flat_map(|rank| [rank as u8; 2]).collect();
        assert!(gathered[0] == bytes && gathered[1..].iter().all(Vec::is_empty));
    }
}

#[test]
fn what_all_have_alike_takes_no_more_room_for_more_ranks() {
    let bytes = run(1000, |processes| {
        let merge = |all: &mut Vec<u64>, part: Vec<u64>| all.extend(part.iter().filter(|new| **new > 99));
        all_reduce(processes, (0..100).collect(), merge).unwrap();
        processes.most_bytes.get()
    });
    assert!(bytes.iter().all(|bytes| *bytes <= 102), "{bytes:?}");
}

#[test]
fn each_message_finds_its_rank() {
    for size in [1, 2, 5, 1000] {
        let found = run(size, |processes| {
            let rank = processes.rank();
            let others = [rank, (rank * 7 + 3) % size, size - 1 - rank];
            let messages = others.map(|to| (to, [rank.to_le_bytes(), to.to_le_bytes()].concat()));
            let found = route(processes, messages.to_vec()).unwrap();
            assert!(processes.received.get() <= u32::BITS - size.leading_zeros());
            found
        });
        assert_eq!(found.iter().map(Vec::len).sum::<usize>(), 3 * size as usize);
        for (rank, messages) in (0u32..).zip(found) {
            assert!(messages.iter().all(|message| message[4..] == rank.to_le_bytes()));
        }
    }
}

#[test]
fn nobody_waits_for_a_thread_that_is_gone() {
    let results = run(2, |processes| {
        if processes.rank() == 1 {
            return Err(CommunicationError::default());
        }
        processes.receive(1).map(drop)
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
}

proptest! {
    #[test]
    fn every_rank_is_below_the_root_once(size in 1u32..5000) {
        let mut seen = vec![0; size as usize];
        let mut next = vec![0];
        while let Some(rank) = next.pop() {
            seen[rank as usize] += 1;
            let tree = Tree { rank, size };
            let mut end = rank + 1;
            for below in tree.children() {
                prop_assert_eq!(below.start, end, "without a gap");
                prop_assert_eq!(Tree { rank: below.start, size }.parent(), Some(rank));
                end = below.end;
                next.push(below.start);
            }
            prop_assert_eq!(end, tree.below().end);
            prop_assert!(tree.children().count() <= size.ilog2() as usize + 1);
        }
        prop_assert!(seen.iter().all(|times| *times == 1));
    }
}

#[test]
fn what_ranks_have_comes_to_the_root_in_their_order() {
    for size in [1, 2, 3, 7, 8, 33] {
        let at_root = run(size, |processes| {
            let mut seen = Vec::new();
            let own = vec![processes.rank() as u8; 3];
            relay(processes, own, |rank, bytes| seen.push((rank, bytes))).unwrap();
            seen
        });
        let expected: Vec<_> = (0..size).map(|rank| (rank, vec![rank as u8; 3])).collect();
        assert_eq!(at_root[0], expected);
        assert!(at_root[1..].iter().all(Vec::is_empty));
    }
}

#[test]
fn rows_come_to_the_root_in_their_places() {
    const MIB: usize = 1 << 20;
    for (size, each) in [(1, 8), (2, 8), (37, 100_000), (64, MIB / 3)] {
        let at_root = run(size, |processes| {
            let mut seen = Vec::new();
            let own = vec![processes.rank() as u8; each];
            let rows = |first, bytes: &[u8]| {
                seen.extend((first..).zip(bytes.chunks(each)).map(|(rank, row)| (rank, row.to_vec())));
            };
            stream(processes, own, rows).unwrap();
            (seen, processes.most_bytes.get())
        });
        let expected: Vec<_> = (0..size).map(|rank| (rank, vec![rank as u8; each])).collect();
        assert!(at_root[0].0 == expected, "{size} {each}");
        assert!(at_root.iter().all(|(_, most)| *most < 2 * MIB), "no rank keeps much");
    }
}

#[test]
fn what_is_reduced_is_at_the_root_alone_and_comes_back_to_all() {
    for size in [1, 2, 5, 16, 31] {
        let all = run(size, |processes| {
            let reduced =
                reduce(processes, vec![processes.rank() as u8], |all, more| all.extend(more)).unwrap();
            assert_eq!(reduced.is_some(), processes.rank() == 0);
            broadcast(processes, reduced.unwrap_or_default()).unwrap()
        });
        let expected: Vec<u8> = (0..size as u8).collect();
        assert!(all.iter().all(|of_rank| *of_rank == expected));
    }
}
