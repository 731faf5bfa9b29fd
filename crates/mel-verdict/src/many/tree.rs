//! A binomial tree over the ranks of a run: rank 0 is its root, and the ranks below any rank follow it without a gap. So a rank has at
//! most log2(size) children, and what comes up from one of them is about consecutive ranks.

use std::ops::Range;

/// The place of a rank in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The rank.
    pub rank: u32,
    /// The number of ranks.
    pub size: u32,
}

impl Tree {
    /// The rank above; none for rank 0.
    pub fn parent(self) -> Option<u32> {
        (self.rank > 0).then(|| self.rank & (self.rank - 1))
    }

    /// This rank and those below it.
    pub fn below(self) -> Range<u32> {
        let wide = if self.rank == 0 { self.size } else { 1 << self.rank.trailing_zeros() };
        self.rank..self.size.min(self.rank.saturating_add(wide))
    }

    /// The ranks directly below, ascending, with all that are below each.
    pub fn children(self) -> impl Iterator<Item = Range<u32>> {
        let end = self.below().end;
        let bits = (0..u32::BITS).map(move |bit| 1 << bit).take_while(move |wide| wide & self.rank == 0);
        let children = bits.filter_map(move |wide: u32| self.rank.checked_add(wide));
        children.take_while(move |child| *child < end).map(move |rank| Tree { rank, size: self.size }.below())
    }
}

/// From how many bytes on what is [streamed](Links::stream) is passed on.
pub const KEPT: usize = 1 << 20;

/// How a rank reaches others. All ranks take part in the same order; what one sends to another arrives in that order.
pub trait Links {
    /// What may go wrong on the way.
    type Error;

    /// The place of this rank.
    fn tree(&self) -> Tree;

    /// Sends bytes to a rank; may wait until it receives them.
    ///
    /// # Errors
    /// Those of the way.
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Self::Error>;

    /// The next bytes from a rank; waits for them.
    ///
    /// # Errors
    /// Those of the way.
    fn receive(&self, from: u32) -> Result<Vec<u8>, Self::Error>;

    /// Brings bytes of each rank to rank 0, which handles them one by one, by rank ascending. A rank keeps those of one rank at a time.
    ///
    /// # Errors
    /// Those of the way.
    fn relay(&self, own: Vec<u8>, mut handle: impl FnMut(u32, Vec<u8>)) -> Result<(), Self::Error> {
        let tree = self.tree();
        match tree.parent() {
            None => handle(tree.rank, own),
            Some(parent) => {
                self.send(parent, &own)?;
                drop(own);
            }
        }
        for below in tree.children() {
            let child = below.start;
            for rank in below {
                let bytes = self.receive(child)?;
                match tree.parent() {
                    None => handle(rank, bytes),
                    Some(parent) => self.send(parent, &bytes)?,
                }
            }
        }
        Ok(())
    }

    /// Joins bytes of all ranks: `join` is given those of the ranks below a child, which follow all that it was given before, and puts them
    /// into `own`; gives what rank 0 has then.
    ///
    /// # Errors
    /// Those of the way.
    fn reduce<T>(
        &self,
        own: T,
        mut join: impl FnMut(&mut T, &[u8]),
        encode: impl FnOnce(&T) -> Vec<u8>,
    ) -> Result<Option<T>, Self::Error> {
        let (tree, mut own) = (self.tree(), own);
        for below in tree.children() {
            join(&mut own, &self.receive(below.start)?);
        }
        let Some(parent) = tree.parent() else { return Ok(Some(own)) };
        self.send(parent, &encode(&own))?;
        Ok(None)
    }

    /// Brings as many bytes of each rank to rank 0, which handles those of consecutive ranks at a time: the first of them, and their bytes.
    /// A rank keeps at most about [`KEPT`] bytes.
    ///
    /// # Errors
    /// Those of the way.
    fn stream(&self, own: Vec<u8>, mut handle: impl FnMut(u32, &[u8])) -> Result<(), Self::Error> {
        let (tree, each) = (self.tree(), own.len().max(1));
        let (mut first, mut kept) = (tree.rank, own);
        for below in tree.children() {
            let mut missing = below.len() * each;
            while missing > 0 {
                let more = self.receive(below.start)?;
                missing = missing.saturating_sub(more.len().max(1));
                kept.extend(more);
                if kept.len() >= KEPT {
                    match tree.parent() {
                        None => handle(first, &kept),
                        Some(parent) => self.send(parent, &kept)?,
                    }
                    first += (kept.len() / each) as u32;
                    kept.clear();
                }
            }
        }
        match tree.parent() {
            _ if kept.is_empty() => Ok(()),
            None => {
                handle(first, &kept);
                Ok(())
            }
            Some(parent) => self.send(parent, &kept),
        }
    }

    /// Brings bytes of rank 0 to all; gives them.
    ///
    /// # Errors
    /// Those of the way.
    fn spread(&self, of_root: Vec<u8>) -> Result<Vec<u8>, Self::Error> {
        let tree = self.tree();
        let bytes = match tree.parent() {
            None => of_root,
            Some(parent) => self.receive(parent)?,
        };
        // Those with the most ranks below them first.
        let children: Vec<Range<u32>> = tree.children().collect();
        children.iter().rev().try_for_each(|below| self.send(below.start, &bytes))?;
        Ok(bytes)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use proptest::prelude::*;

    use super::*;

    /// Ranks that are threads of one process.
    pub(crate) struct Threads {
        tree: Tree,
        to: HashMap<u32, Sender<Vec<u8>>>,
        from: HashMap<u32, Receiver<Vec<u8>>>,
    }

    impl Links for Threads {
        type Error = Infallible;

        fn tree(&self) -> Tree {
            self.tree
        }

        fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Infallible> {
            self.to[&to].send(bytes.to_vec()).unwrap();
            Ok(())
        }

        fn receive(&self, from: u32) -> Result<Vec<u8>, Infallible> {
            Ok(self.from[&from].recv().unwrap())
        }
    }

    /// Runs the same on all ranks, each a thread; gives what each gives.
    pub(crate) fn on_all<T: Send>(size: u32, rank: impl Fn(Threads) -> T + Sync) -> Vec<T> {
        let place = |rank| Tree { rank, size };
        let mut all: Vec<Threads> = (0..size)
            .map(|rank| Threads { tree: place(rank), to: HashMap::new(), from: HashMap::new() })
            .collect();
        for child in 1..size {
            let parent = place(child).parent().unwrap();
            for (a, b) in [(child, parent), (parent, child)] {
                let (send, receive) = channel();
                all[a as usize].to.insert(b, send);
                all[b as usize].from.insert(a, receive);
            }
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = all.into_iter().map(|links| scope.spawn(|| rank(links))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
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
            let at_root = on_all(size, |links| {
                let mut seen = Vec::new();
                let own = vec![links.tree().rank as u8; 3];
                links.relay(own, |rank, bytes| seen.push((rank, bytes))).unwrap();
                seen
            });
            let expected: Vec<_> = (0..size).map(|rank| (rank, vec![rank as u8; 3])).collect();
            assert_eq!(at_root[0], expected);
            assert!(at_root[1..].iter().all(Vec::is_empty));
        }
    }

    #[test]
    fn rows_come_to_the_root_in_their_places() {
        for (size, each) in [(1, 8), (2, 8), (37, 100_000), (64, KEPT / 3)] {
            let at_root = on_all(size, |links| {
                let mut seen = Vec::new();
                let own = vec![links.tree().rank as u8; each];
                let rows = |first, bytes: &[u8]| {
                    seen.extend((first..).zip(bytes.chunks(each)).map(|(rank, row)| (rank, row.to_vec())));
                };
                links.stream(own, rows).unwrap();
                seen
            });
            let expected: Vec<_> = (0..size).map(|rank| (rank, vec![rank as u8; each])).collect();
            assert!(at_root[0] == expected, "{size} {each}");
        }
    }

    #[test]
    fn what_is_joined_is_of_all_and_comes_back_to_all() {
        for size in [1, 2, 5, 16, 31] {
            let all = on_all(size, |links| {
                let own = vec![links.tree().rank as u8];
                let joined = links.reduce(own, |all, more| all.extend_from_slice(more), Vec::clone).unwrap();
                links.spread(joined.unwrap_or_default()).unwrap()
            });
            let expected: Vec<u8> = (0..size as u8).collect();
            assert!(all.iter().all(|of_rank| *of_rank == expected));
        }
    }
}
