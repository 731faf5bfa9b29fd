//! Ranks by numbers of 64 bits: a table of fixed size, without a lock. What does not fit is not kept.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The table. Any thread may read and write.
#[derive(Debug)]
pub(super) struct Ranks(Vec<(AtomicU64, AtomicI32)>);

/// Places that are searched for a number.
const PLACES: usize = 8;
/// A rank that has not been stored yet.
const PENDING: i32 = i32::MIN;

impl Ranks {
    /// A table for about an eighth of so many numbers and more: at least 256 places.
    pub(super) fn new(size: usize) -> Ranks {
        let size = size.next_power_of_two().clamp(256, 1 << 16);
        Ranks((0..size).map(|_| (AtomicU64::new(0), AtomicI32::new(PENDING))).collect())
    }

    /// The places of a number, in order.
    fn places(&self, key: u64) -> impl Iterator<Item = &(AtomicU64, AtomicI32)> {
        let first = (key >> 40) as usize;
        (0..PLACES).map(move |step| &self.0[(first + step) & (self.0.len() - 1)])
    }

    /// The rank of a number, which is not 0 and whose upper bits differ; `None` where it was not put, or did not fit. Signal-safe.
    pub(super) fn get(&self, key: u64) -> Option<i32> {
        let (_, rank) = self.places(key).find(|(known, _)| known.load(Ordering::Acquire) == key)?;
        Some(rank.load(Ordering::Acquire)).filter(|&rank| rank != PENDING)
    }

    /// A number has this rank from now on.
    pub(super) fn put(&self, key: u64, rank: i32) {
        for (known, place) in self.places(key) {
            match known.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return place.store(rank, Ordering::Release),
                Err(other) if other == key => return place.store(rank, Ordering::Release),
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_kept() {
        let ranks = Ranks::new(8);
        let key = |number: i32| (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..10_000).for_each(|number| ranks.put(key(number), number));
        let kept = (0..10_000).filter_map(|number| Some((ranks.get(key(number))?, number)));
        let mut count = 0;
        kept.for_each(|(kept, put)| {
            count += 1;
            assert_eq!(kept, put);
        });
        assert!((100..=256).contains(&count), "{count}");
        ranks.put(key(0), 7);
        assert!(ranks.get(key(0)).is_none_or(|rank| rank == 7));
    }
}
