//! The numbers that communicators have in the log, by the handles that the application has for them.

use std::sync::{PoisonError, RwLock};

use mel_log::format::NO_OBJECT;
use rustc_hash::FxHashMap;

/// Numbers by handle, of those that are there. Read once for each collective operation.
#[derive(Debug, Default)]
pub(super) struct Handles(RwLock<FxHashMap<u64, u16>>);

impl Handles {
    /// This handle has this number from now on; [`NO_OBJECT`] for none.
    pub(super) fn set(&self, handle: u64, number: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(handle, number);
    }

    /// The handle is nobody's any more.
    pub(super) fn forget(&self, handle: u64) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
    }

    /// The number of this handle.
    #[inline]
    pub(super) fn number(&self, handle: u64) -> u16 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&handle).copied().unwrap_or(NO_OBJECT)
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
        handles.forget(8);
        assert_eq!(handles.number(8), NO_OBJECT);
    }
}
