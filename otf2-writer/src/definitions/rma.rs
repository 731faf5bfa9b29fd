//! Windows for one-sided communication.

use serde::{Deserialize, Serialize};

use super::{Definitions, next_number};
use crate::refs::{CommRef, RmaWinRef, StringRef};

/// A window.
#[derive(Clone, Copy, Debug)]
pub struct RmaWindow<'a> {
    /// Its name; empty: readers make one up.
    pub name: &'a str,
    /// The communicator of its processes: ranks in the window are ranks in it.
    pub comm: CommRef,
    /// Whether each process records `RmaWinCreate` and `RmaWinDestroy`.
    pub create_destroy_events: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct RmaWinRecord {
    pub(crate) name: StringRef,
    pub(crate) comm: CommRef,
    pub(crate) create_destroy_events: bool,
}

impl Definitions {
    /// Defines a window.
    pub fn rma_window(&mut self, window: RmaWindow<'_>) -> RmaWinRef {
        let RmaWindow { name, comm, create_destroy_events } = window;
        let name = self.string(name);
        let reference = RmaWinRef(next_number(&self.shared.windows));
        self.shared.windows.push(RmaWinRecord { name, comm, create_destroy_events });
        reference
    }
}
