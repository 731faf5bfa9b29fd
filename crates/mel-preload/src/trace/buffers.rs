//! Where the data of a blocking call is in memory, as the log has it: the last 32 bits of the address, where the data is one
//! piece. Two pieces without a common byte in these have none.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use mpi_abi::{Datatype, Handle, questions};

/// Datatypes that are remembered: a power of two.
const ENTRIES: usize = 16;

/// How often datatypes were freed: their handles may come back as others.
static FREED: AtomicU32 = AtomicU32::new(0);

/// Which datatypes are one piece of memory, as far as a thread has asked lately.
#[derive(Debug)]
pub(super) struct Buffers {
    known: [(usize, bool); ENTRIES],
    freed: u32,
}

impl Default for Buffers {
    fn default() -> Self {
        Buffers { known: [(usize::MAX, false); ENTRIES], freed: 0 }
    }
}

/// A datatype is freed.
pub(super) fn freed() {
    FREED.fetch_add(1, Ordering::Relaxed);
}

impl Buffers {
    /// What the log has of elements of this datatype at this address; 0 where they are not one piece.
    #[inline]
    pub(super) fn in_log(&mut self, address: *const c_void, datatype: Datatype) -> u32 {
        self.find(address as usize, datatype.word(), || is_one_piece(datatype))
    }

    #[inline]
    fn find(&mut self, address: usize, word: usize, ask: impl FnOnce() -> bool) -> u32 {
        let freed = FREED.load(Ordering::Relaxed);
        if self.freed != freed {
            *self = Buffers { freed, ..Buffers::default() };
        }
        let entry = &mut self.known[(word ^ (word >> 5) ^ (word >> 12)) % ENTRIES];
        if entry.0 != word {
            *entry = (word, ask());
        }
        if entry.1 { address as u32 } else { 0 }
    }
}

/// Whether elements of a datatype follow each other without a gap, and have none: an element with gaps may be resized to the bytes of its
/// data.
#[cold]
#[inline(never)]
pub(super) fn is_one_piece(datatype: Datatype) -> bool {
    let size = isize::try_from(questions::bytes_of(datatype)).unwrap_or(0);
    size > 0
        && questions::type_extent(datatype).ok() == Some((size, 0))
        && questions::type_true_extent(datatype).ok() == Some((size, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datatype_is_asked_for_once_until_one_is_freed() {
        let mut buffers = Buffers::default();
        assert_eq!(buffers.find(0x1_2345_6789, 5, || true), 0x2345_6789);
        assert_eq!(buffers.find(0x10, 5, || unreachable!("it is known")), 0x10);
        assert_eq!(buffers.find(0x10, 6, || false), 0);
        freed();
        assert_eq!(buffers.find(0x10, 5, || false), 0);
    }
}
