//! Which call completes which operations: what MPI guarantees, and no more.
//!
//! | call | completes | where | MPI-5.0 |
//! |---|---|---|---|
//! | `MPI_Win_fence` | all | at the origin; at each target by its own fence | 12.5.1 |
//! | `MPI_Win_complete` | all | at the origin; at each target by its `MPI_Win_wait` | 12.5.2 |
//! | `MPI_Win_unlock`, `MPI_Win_unlock_all` | those on the target, or all | at origin and target | 12.5.3 |
//! | `MPI_Win_flush`, `MPI_Win_flush_all` | those on the target, or all | at origin and target | 12.5.4 |
//! | `MPI_Win_flush_local`, `MPI_Win_flush_local_all` | of these, those that bring data | the data is there | 12.5.4 |
//! | `MPI_Wait` and the like | an operation that brings data | the data is there | 12.3.5 |
//! | `MPI_Wait` and the like | not a put or accumulate: its buffer is free, and it may be under way | – | 12.3.5 |
//!
//! So an operation is reported as complete at the last call by which the origin learns of it. A call completes
//! operations of all threads of the process, whichever thread makes it.

/// A call that synchronises a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MPI's own; ranks are those in the window")]
pub enum Call {
    Fence,
    Start,
    Complete,
    Post,
    /// `MPI_Win_wait`, and `MPI_Win_test` where it was successful.
    Wait,
    /// Of this target; whether the lock is exclusive.
    Lock(i32, bool),
    LockAll,
    Unlock(i32),
    UnlockAll,
    Flush(i32),
    FlushAll,
    FlushLocal(i32),
    FlushLocalAll,
    Free,
}

/// Operations on which targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose {
    /// On every target.
    All,
    /// On this one.
    Target(i32),
}

/// The operations that a call completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completes {
    /// On which targets.
    pub whose: Whose,
    /// Whether only those that bring data: the others are complete locally, and may yet be under way.
    pub only_data: bool,
}

impl Call {
    /// What it completes.
    pub fn completes(self) -> Option<Completes> {
        let (whose, only_data) = match self {
            Call::Fence | Call::Complete | Call::UnlockAll | Call::FlushAll | Call::Free => {
                (Whose::All, false)
            }
            Call::Unlock(target) | Call::Flush(target) => (Whose::Target(target), false),
            Call::FlushLocal(target) => (Whose::Target(target), true),
            Call::FlushLocalAll => (Whose::All, true),
            Call::Start | Call::Post | Call::Wait | Call::Lock(..) | Call::LockAll => return None,
        };
        Some(Completes { whose, only_data })
    }

    /// The target of a flush, −1 for all; none for another call.
    pub(super) fn flushes(self) -> Option<i32> {
        match self {
            Call::Flush(target) | Call::FlushLocal(target) => Some(target),
            Call::FlushAll | Call::FlushLocalAll => Some(-1),
            _ => None,
        }
    }
}
