//! The numbers that communicators have in the log, by the handles that the application has for them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use mel_log::format::NO_OBJECT;

/// Slots: a power of two, more than there are numbers for in practice.
const SLOTS: usize = 1 << 12;
/// A slot that was never taken. No MPI has this as the handle of a communicator that can be used.
const VACANT: u64 = u64::MAX;

/// A table that threads read without a lock while another one changes it. A handle stays in its slot once it
/// is known: MPIs give the same ones again.
#[derive(Debug)]
pub(super) struct Handles {
    slots: Box<[(AtomicU64, AtomicU16)]>,
    changing: Mutex<usize>,
}

impl Default for Handles {
    fn default() -> Self {
        let slots = (0..SLOTS).map(|_| (AtomicU64::new(VACANT), AtomicU16::new(NO_OBJECT))).collect();
        Handles { slots, changing: Mutex::new(0) }
    }
}

impl Handles {
    /// This handle has this number from now on; [`NO_OBJECT`] for none. Where the table is full, further handles
    /// have none.
    pub(super) fn set(&self, handle: u64, number: u16) {
        let mut used = self.changing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some((key, value)) = self.slot(handle) else { return };
        value.store(number, Ordering::Relaxed);
        if key.load(Ordering::Relaxed) == VACANT {
            // One slot stays vacant, so that every search ends.
            if *used + 1 < SLOTS {
                *used += 1;
                // Release: who sees the handle sees its number.
                key.store(handle, Ordering::Release);
            }
        }
    }

    /// The number of this handle.
    #[inline]
    pub(super) fn number(&self, handle: u64) -> u16 {
        match self.slot(handle) {
            Some((key, value)) if key.load(Ordering::Acquire) == handle => value.load(Ordering::Relaxed),
            _ => NO_OBJECT,
        }
    }

    /// The slot that has this handle, or the one that it would get.
    #[inline]
    fn slot(&self, handle: u64) -> Option<&(AtomicU64, AtomicU16)> {
        let start = (handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.trailing_zeros())) as usize;
        (0..SLOTS).map(|step| &self.slots[(start + step) % SLOTS]).find(|(key, _)| {
            let key = key.load(Ordering::Acquire);
            key == handle || key == VACANT
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_its_last_number() {
        let handles = Handles::default();
        assert_eq!(handles.number(7), NO_OBJECT);
        handles.set(7, 1);
        handles.set(8, 2);
        handles.set(7, 3);
        assert_eq!((handles.number(7), handles.number(8), handles.number(9)), (3, 2, NO_OBJECT));
        handles.set(8, NO_OBJECT);
        assert_eq!(handles.number(8), NO_OBJECT);
    }

    #[test]
    fn a_full_table_has_no_room_and_answers() {
        let handles = Handles::default();
        (0..2 * SLOTS as u64).for_each(|handle| handles.set(handle * 4096, 5));
        assert_eq!(handles.number(0), 5);
        assert_eq!(handles.number(2 * SLOTS as u64 * 4096), NO_OBJECT);
    }
}
