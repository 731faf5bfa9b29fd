//! A thousand ranks, each a thread.

use super::*;
use std::cell::Cell;

use crate::processes::ThreadAsProcess;

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

/// Runs `process` once for each rank; the results are by rank.
fn run<T: Send>(size: u32, process: impl Fn(&Counted) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let group = ThreadAsProcess::group(size).into_iter();
        let ranks: Vec<_> = group
            .map(|inner| {
                let process = &process;
                let counted =
                    move || process(&Counted { inner, received: Cell::new(0), most_bytes: Cell::new(0) });
                std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, counted).unwrap()
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
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
            return Err(CommunicationError);
        }
        processes.receive(1).map(drop)
    });
    assert_eq!(results, [Err(CommunicationError), Err(CommunicationError)]);
}
