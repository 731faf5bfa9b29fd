//! The windows of this process, by the values of their handles.
//!
//! Finding one takes a lock, so a thread caches the window that it used last, until the version changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::window::Window;

#[derive(Default)]
#[repr(C)]
pub(super) struct Windows {
    /// Changes when the handle of a window or of a datatype may have got another meaning. The first field, beside the
    /// other fields that each operation reads.
    version: AtomicU64,
    table: RwLock<FxHashMap<usize, Arc<Window>>>,
}

impl Windows {
    /// What is cached outside of this table is valid as long as this does not change.
    #[inline(always)]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Invalidates all caches: a handle is no longer valid.
    pub(super) fn forget(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(super) fn insert(&self, window: Arc<Window>) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).insert(window.handle, window);
        self.forget();
    }

    pub(super) fn remove(&self, handle: usize) -> Option<Arc<Window>> {
        let window = self.table.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
        self.forget();
        window
    }

    pub(super) fn each(&self, visit: impl FnMut(&Arc<Window>)) {
        self.table.read().unwrap_or_else(PoisonError::into_inner).values().for_each(visit);
    }

    pub(super) fn get(&self, handle: usize) -> Option<Arc<Window>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }
}
