//! Sizes of datatypes, remembered.

use super::types::bytes_of;
use crate::{Datatype, Handle};

/// Slots: a power of two.
const SLOTS: usize = 64;

/// A direct-mapped cache of the sizes of datatypes. Not to be shared by threads.
#[derive(Debug)]
pub struct TypeSizes([(usize, u64); SLOTS]);

impl Default for TypeSizes {
    fn default() -> Self {
        TypeSizes([(usize::MAX, 0); SLOTS])
    }
}

impl TypeSizes {
    /// The bytes of so many elements of a datatype, which MPI is asked about where it is not known, and there are elements; 0 where it
    /// does not say.
    #[inline(always)]
    pub fn of(&mut self, count: i64, datatype: Datatype) -> u64 {
        self.of_asked(count, datatype, bytes_of)
    }

    #[inline(always)]
    fn of_asked(&mut self, count: i64, datatype: Datatype, ask: impl FnOnce(Datatype) -> u64) -> u64 {
        let word = datatype.word();
        let slot = &mut self.0[hash(word)];
        if slot.0 != word {
            if count <= 0 {
                // It may be anything.
                return 0;
            }
            *slot = (word, ask(datatype));
        }
        u64::try_from(count).unwrap_or(0).saturating_mul(slot.1)
    }

    /// The datatype is freed: its handle may come back as another.
    pub fn forget(&mut self, datatype: Datatype) {
        self.0[hash(datatype.word())] = (usize::MAX, 0);
    }
}

#[inline]
fn hash(datatype: usize) -> usize {
    // Handles are addresses (aligned) or small numbers in the low bits.
    (datatype ^ (datatype >> 6) ^ (datatype >> 12)) & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_asked_for_once_until_it_is_forgotten() {
        let (mut sizes, datatype) = (TypeSizes::default(), Datatype(7));
        assert_eq!(sizes.of_asked(3, datatype, |_| 4), 12);
        assert_eq!(sizes.of_asked(2, datatype, |_| unreachable!("it is known")), 8);
        sizes.forget(datatype);
        assert_eq!(sizes.of_asked(1, datatype, |_| 8), 8);
    }

    #[test]
    fn a_datatype_of_which_there_are_no_elements_is_not_asked_about() {
        let (mut sizes, datatype) = (TypeSizes::default(), Datatype(7));
        for count in [0, -1] {
            assert_eq!(sizes.of_asked(count, datatype, |_| unreachable!("it may be anything")), 0);
        }
        assert_eq!(sizes.of_asked(1, datatype, |_| 8), 8);
        assert_eq!(sizes.of_asked(-1, datatype, |_| unreachable!("it is known")), 0);
    }
}
