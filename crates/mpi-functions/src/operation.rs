//! The collective operations: where data goes, and who can wait for whom.

/// A collective operation that moves data, or the barrier: what its blocking, nonblocking and persistent functions have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the operation of that name")]
pub enum Operation {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
}

/// Where the data of a collective operation goes: by its meaning, not by the algorithm of a library (MPI-5.0 chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the root to each other member.
    FromRoot,
    /// From each other member to the root.
    ToRoot,
    /// From each member to those of higher rank.
    Upwards,
    /// From each member to each other.
    All,
    /// From each member to its neighbours.
    Neighbours,
}

/// Who can wait for whom in what processes do together, because data or a signal has to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waits {
    /// All for all.
    All,
    /// All for the root; where data is large, the root for them, too.
    ForRoot,
    /// The root for all; where data is large, they for the root, too.
    RootForAll,
    /// Each for those of lower rank.
    ForLower,
    /// Each for its neighbours, of which readers do not know who they are.
    Neighbours,
}

impl Operation {
    /// Where its data goes.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Operation::Bcast | Operation::Scatter | Operation::Scatterv => Direction::FromRoot,
            Operation::Reduce | Operation::Gather | Operation::Gatherv => Direction::ToRoot,
            Operation::Scan | Operation::Exscan => Direction::Upwards,
            Operation::Barrier
            | Operation::Allgather
            | Operation::Allgatherv
            | Operation::Alltoall
            | Operation::Alltoallv
            | Operation::Alltoallw
            | Operation::Allreduce
            | Operation::ReduceScatter
            | Operation::ReduceScatterBlock => Direction::All,
            Operation::NeighborAllgather
            | Operation::NeighborAllgatherv
            | Operation::NeighborAlltoall
            | Operation::NeighborAlltoallv
            | Operation::NeighborAlltoallw => Direction::Neighbours,
        }
    }

    /// Who can wait for whom: who gets data for who sends it.
    #[must_use]
    pub const fn waits(self) -> Waits {
        match self.direction() {
            Direction::FromRoot => Waits::ForRoot,
            Direction::ToRoot => Waits::RootForAll,
            Direction::Upwards => Waits::ForLower,
            Direction::All => Waits::All,
            Direction::Neighbours => Waits::Neighbours,
        }
    }
}
