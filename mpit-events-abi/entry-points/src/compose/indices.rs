//! Numbers for things that two owners have: given once, in the order in which the things are seen.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// What has a number: with its owner's own index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Mpi(u32),
    Ours(u32),
}

/// Not yet taken.
const EMPTY: u32 = 0;

impl Owner {
    fn encode(self) -> u32 {
        match self {
            Owner::Mpi(index) => 2 * index + 1,
            Owner::Ours(index) => 2 * index + 2,
        }
    }

    fn decode(word: u32) -> Owner {
        if word % 2 == 1 { Owner::Mpi(word / 2) } else { Owner::Ours(word / 2 - 1) }
    }
}

/// At most `N` numbers, from zero without gaps, that never change. All methods are thread-safe and
/// signal-safe: nobody waits for anybody. Finding a number takes time in proportion to how many there
/// are, which are some twenty.
pub(crate) struct Indices<const N: usize> {
    slots: [AtomicU32; N],
    len: AtomicUsize,
}

impl<const N: usize> Indices<N> {
    pub(crate) const fn new() -> Self {
        Indices { slots: [const { AtomicU32::new(EMPTY) }; N], len: AtomicUsize::new(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Who has this number.
    pub(crate) fn owner(&self, number: usize) -> Option<Owner> {
        (number < self.len()).then(|| Owner::decode(self.slots[number].load(Ordering::Acquire)))
    }

    /// The number of this thing; the next one where it has none. `None` when all are given.
    pub(crate) fn number_of(&self, owner: Owner) -> Option<usize> {
        let word = owner.encode();
        let mut looked_at = 0;
        loop {
            let len = self.len();
            let known =
                self.slots[looked_at..len].iter().position(|slot| slot.load(Ordering::Acquire) == word);
            if let Some(place) = known {
                return Some(looked_at + place);
            }
            // It is not among the first `len`: if nobody takes the next slot, the thing has it.
            let slot = self.slots.get(len)?;
            let taken = slot.compare_exchange(EMPTY, word, Ordering::AcqRel, Ordering::Acquire);
            // Whoever has the slot now: it counts.
            let _ = self.len.compare_exchange(len, len + 1, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                return Some(len);
            }
            looked_at = len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_stay() {
        let indices = Indices::<4>::new();
        assert_eq!(indices.number_of(Owner::Mpi(0)), Some(0));
        assert_eq!(indices.number_of(Owner::Ours(0)), Some(1));
        assert_eq!(indices.number_of(Owner::Mpi(7)), Some(2));
        assert_eq!(indices.number_of(Owner::Ours(0)), Some(1));
        assert_eq!(indices.owner(2), Some(Owner::Mpi(7)));
        assert_eq!((indices.owner(3), indices.owner(usize::MAX)), (None, None));
        assert_eq!(indices.number_of(Owner::Ours(9)), Some(3));
        assert_eq!(indices.number_of(Owner::Ours(10)), None, "there is no room for more");
        assert_eq!(indices.number_of(Owner::Ours(9)), Some(3));
    }

    #[test]
    fn threads_that_number_the_same_things_agree() {
        const THINGS: u32 = 500;
        let indices = Indices::<1000>::new();
        let number_all = |first: u32| -> Vec<usize> {
            let mut numbers = vec![0; THINGS as usize];
            for step in 0..THINGS {
                let thing = (first + step) % THINGS;
                let owner = if thing.is_multiple_of(3) { Owner::Mpi(thing) } else { Owner::Ours(thing) };
                numbers[thing as usize] = indices.number_of(owner).unwrap();
            }
            numbers
        };
        let told: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || number_all(thread * 60))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(told.iter().all(|numbers| *numbers == told[0]));
        let mut sorted = told[0].clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..THINGS as usize));
    }
}
