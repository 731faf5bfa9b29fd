//! Values by handle, or by another address: a direct-mapped part for what is there now, and a hash map for what
//! collides in it.
//!
//! Cost: a multiplication and the cache line of one slot, in most cases; no allocation once the map has grown to the
//! largest number of collisions.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// No handle of any MPI, and no address.
const VACANT: usize = usize::MAX;

/// Values by handle.
#[derive(Debug)]
pub(crate) struct ByHandle<T> {
    direct: Box<[(usize, T)]>,
    others: HashMap<usize, T, FxBuildHasher>,
    /// Slots of the direct part that are taken.
    taken: usize,
    /// Leaves the bits that number a slot.
    shift: u32,
}

impl<T: Copy> ByHandle<T> {
    /// An empty table with a direct part of so many slots, a power of two, which `anything` fills.
    pub(crate) fn new(slots: usize, anything: T) -> Self {
        debug_assert!(slots.is_power_of_two());
        ByHandle {
            direct: vec![(VACANT, anything); slots].into(),
            others: HashMap::default(),
            taken: 0,
            shift: usize::BITS - slots.trailing_zeros(),
        }
    }

    /// Handles are addresses of objects of some hundred bytes, or small numbers.
    #[inline(always)]
    fn slot(&self, handle: usize) -> usize {
        handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift
    }

    /// Whether there is nothing.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == 0 && self.others.is_empty()
    }

    /// Puts a value in, in place of what the handle had.
    #[inline(always)]
    pub(crate) fn insert(&mut self, handle: usize, value: T) {
        let slot = self.slot(handle);
        let place = &mut self.direct[slot];
        if place.0 == VACANT {
            self.taken += 1;
        } else if place.0 != handle {
            return self.insert_other(handle, value);
        }
        *place = (handle, value);
        // It may have been there when the slot was another's.
        if !self.others.is_empty() {
            self.others.remove(&handle);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_other(&mut self, handle: usize, value: T) {
        self.others.insert(handle, value);
    }

    /// The value of a handle.
    #[inline(always)]
    pub(crate) fn get(&self, handle: usize) -> Option<&T> {
        let place = &self.direct[self.slot(handle)];
        if place.0 == handle {
            return Some(&place.1);
        }
        if self.others.is_empty() { None } else { self.others.get(&handle) }
    }

    /// Takes the value of a handle out.
    #[inline(always)]
    pub(crate) fn remove(&mut self, handle: usize) -> Option<T> {
        let slot = self.slot(handle);
        let place = &mut self.direct[slot];
        if place.0 == handle {
            place.0 = VACANT;
            self.taken -= 1;
            return Some(place.1);
        }
        if self.others.is_empty() { None } else { self.others.remove(&handle) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two handles that have the same slot.
    fn colliding(table: &ByHandle<u64>) -> (usize, usize) {
        let first = 0x1000;
        let second = (1..).map(|i| first + i * 64).find(|&handle| table.slot(handle) == table.slot(first));
        (first, second.unwrap())
    }

    #[test]
    fn a_handle_that_moves_to_the_direct_part_leaves_nothing_behind() {
        let mut table = ByHandle::new(512, 0);
        let (first, second) = colliding(&table);
        table.insert(first, 1);
        table.insert(second, 2);
        assert_eq!(table.remove(first), Some(1));
        table.insert(second, 3);
        assert_eq!(table.remove(second), Some(3));
        assert_eq!(table.get(second), None);
    }

    #[test]
    fn what_collides_is_kept_too() {
        let mut table = ByHandle::new(256, 0);
        let handles: Vec<usize> = (0..2000).map(|i| 0x7f00_0000_1000 + i * 416).collect();
        handles.iter().for_each(|&handle| table.insert(handle, handle as u64));
        // A handle that left the direct part may come back there while its slot is another's.
        for &handle in &handles {
            assert_eq!(table.get(handle), Some(&(handle as u64)));
            assert!(!table.is_empty());
            assert_eq!(table.remove(handle), Some(handle as u64));
            assert_eq!(table.get(handle), None);
        }
        assert!(table.is_empty());
    }
}
