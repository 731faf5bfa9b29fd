//! The part of `profile.json` about one-sided communication. Times are in seconds, as in the rest of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Histogram;

/// What one rank did with a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowProfile {
    /// The `n`-th window of the rank, from zero.
    pub window: u32,
    /// Windows that are counted here: more than one in the last entry of a rank that made very many.
    pub windows: u32,
    /// Number of its processes.
    pub processes: u32,
    /// By thread that used it.
    pub threads: Vec<WindowThread>,
    /// How long locks were held, from the return of the lock to the return of the unlock.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub locks_held: Times,
    /// Lengths of the epochs between fences.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub fence_epochs: Times,
    /// Lengths of the epochs from `MPI_Win_start` to `MPI_Win_complete`.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub access_epochs: Times,
    /// Lengths of the epochs from `MPI_Win_post` to `MPI_Win_wait`.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub exposure_epochs: Times,
}

/// What one thread did with a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowThread {
    /// The `n`-th thread of the rank that used windows.
    pub thread: u32,
    /// The operations that it started, by kind (`put`, `get`, `accumulate`, `get_accumulate`, `fetch_and_op`,
    /// `compare_and_swap`).
    pub operations: BTreeMap<String, KindProfile>,
    /// The operations that its calls completed.
    pub completed: u64,
    /// Those of them that another thread had started.
    pub completed_for_others: u64,
    /// Times from start to completion of the operations that its calls completed.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub completion: Times,
    /// Its calls that synchronised the window.
    pub synchronisations: u64,
    /// The time that it spent in these.
    pub synchronising_s: f64,
}

/// Operations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KindProfile {
    /// How many were started.
    pub started: u64,
    /// The bytes that they read or write at their targets.
    pub bytes: u64,
}

/// Durations of any kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total_s: f64,
    /// Their mean; 0 without any.
    pub mean_s: f64,
    /// The shortest; 0 without any.
    pub min_s: f64,
    /// The longest.
    pub max_s: f64,
    /// Their distribution.
    pub times: Histogram,
}

impl Times {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
