//! The windows of this process, by the values of their handles.
//!
//! Looking one up takes a lock, so a thread keeps the window that it used last, until the version changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::window::Window;

#[derive(Default)]
#[repr(C)]
pub(super) struct Windows {
    /// Changes when a handle, of a window or of a datatype, may mean something else than before. First, where each
    /// operation finds it beside what else it looks at.
    version: AtomicU64,
    table: RwLock<FxHashMap<usize, Arc<Window>>>,
}

impl Windows {
    /// What is kept outside of this table is good as long as this stays the same.
    #[inline(always)]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Some handle means nothing any more.
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
