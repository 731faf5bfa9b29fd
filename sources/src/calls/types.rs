//! Sizes of datatypes, remembered.

/// Slots: a power of two.
const SLOTS: usize = 64;

/// A direct-mapped cache of `MPI_Type_size`.
#[derive(Debug)]
pub(crate) struct TypeSizes([(usize, u64); SLOTS]);

impl Default for TypeSizes {
    fn default() -> Self {
        TypeSizes([(usize::MAX, 0); SLOTS])
    }
}

impl TypeSizes {
    /// The size of a datatype in bytes, asked for with `ask` when it is not known.
    #[inline]
    pub(crate) fn get(&mut self, datatype: usize, ask: impl FnOnce() -> u64) -> u64 {
        let slot = &mut self.0[hash(datatype)];
        if slot.0 != datatype {
            *slot = (datatype, ask());
        }
        slot.1
    }

    /// The datatype is freed: its handle may come back as another.
    pub(crate) fn forget(&mut self, datatype: usize) {
        self.0[hash(datatype)] = (usize::MAX, 0);
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
        let mut sizes = TypeSizes::default();
        assert_eq!(sizes.get(7, || 4), 4);
        assert_eq!(sizes.get(7, || unreachable!("it is known")), 4);
        sizes.forget(7);
        assert_eq!(sizes.get(7, || 8), 8);
    }
}
