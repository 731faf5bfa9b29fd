//! What the model does not follow. Such calls go on to MPI as they are, and are counted.

/// Counts of what a process has done that its model does not follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotFollowed {
    /// Communicators with processes of other jobs (`MPI_Comm_spawn`, `MPI_Comm_accept`, `MPI_Comm_connect`,
    /// `MPI_Comm_join`, MPI-5.0 chapter 11), those of sessions (`MPI_Comm_create_from_group`, section 11.3), and those
    /// that are made from these.
    pub communicators: u64,
    /// Sends, receives and probes on such communicators. A persistent one counts each time it is started.
    pub calls: u64,
    /// Partitioned sends and receives (`MPI_Psend_init`, `MPI_Precv_init`, chapter 4.2).
    pub partitioned: u64,
}
