//! What a callback may do: the four safety levels of MPI-5.0, section 15.3.8.

/// The requirement on a callback in the context in which an event is raised.
///
/// The levels are ordered: a callback that is registered for a higher level may run wherever a
/// lower level is required, never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Safety {
    /// No restriction: any MPI function may be called (`MPI_T_CB_REQUIRE_NONE`).
    None = 0,
    /// Inside an MPI call: only functions that MPI allows there (`MPI_T_CB_REQUIRE_MPI_RESTRICTED`).
    MpiRestricted = 1,
    /// Additionally several threads at once (`MPI_T_CB_REQUIRE_THREAD_SAFE`).
    ThreadSafe = 2,
    /// Additionally from a signal handler (`MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE`).
    AsyncSignalSafe = 3,
}

impl Safety {
    /// All levels, from the least to the most demanding.
    pub const ALL: [Safety; 4] =
        [Safety::None, Safety::MpiRestricted, Safety::ThreadSafe, Safety::AsyncSignalSafe];

    /// The level with this number (`MPI_T_cb_safety` as an integer counted from zero).
    pub fn from_index(index: usize) -> Option<Safety> {
        Self::ALL.get(index).copied()
    }
}
