//! What OTF2 calls the work of an MPI function, and the operation of a collective one.

use mpi_functions::{Direction, Kind, Operation, Step};
use otf2_writer::{CollectiveOp, RegionRole};

/// The role of an MPI function's region. A name that is not known is a function without a role.
pub(super) fn of(name: &str) -> RegionRole {
    let Some(function) = mpi_functions::named(name) else { return RegionRole::Function };
    match function.kind {
        Kind::Collective(operation) => of_operation(operation),
        Kind::Send(_)
        | Kind::Receive
        | Kind::SendReceive
        | Kind::Probe
        | Kind::PartitionedSend
        | Kind::PartitionedReceive
        | Kind::Partition
        | Kind::Start
        | Kind::Completion
        | Kind::Request => RegionRole::PointToPoint,
        Kind::OneSided(_) | Kind::Window(_) => RegionRole::Rma,
        Kind::File { .. } => RegionRole::FileIo,
        Kind::Allocate => RegionRole::Allocate,
        Kind::Deallocate => RegionRole::Deallocate,
        Kind::Communicator(_)
        | Kind::Buffer
        | Kind::Init
        | Kind::Finalize
        | Kind::Object
        | Kind::Local
        | Kind::Environment => RegionRole::Function,
    }
}

fn of_operation(operation: Operation) -> RegionRole {
    match (operation, operation.direction()) {
        (Operation::Barrier, _) => RegionRole::Barrier,
        (_, Direction::FromRoot) => RegionRole::CollectiveOneToAll,
        (_, Direction::ToRoot) => RegionRole::CollectiveAllToOne,
        (_, Direction::All) => RegionRole::CollectiveAllToAll,
        (_, Direction::Upwards | Direction::Neighbours) => RegionRole::CollectiveOther,
    }
}

/// The operation of a collective function, and how it goes about it; none for others. Among neighbours it is the operation
/// of the same name: the format has none of its own for that.
pub(super) fn operation_of(name: &str) -> Option<(CollectiveOp, Step)> {
    let function = mpi_functions::named(name)?;
    let operation = match function.operation()? {
        Operation::Barrier => CollectiveOp::Barrier,
        Operation::Bcast => CollectiveOp::Bcast,
        Operation::Gather => CollectiveOp::Gather,
        Operation::Gatherv => CollectiveOp::Gatherv,
        Operation::Scatter => CollectiveOp::Scatter,
        Operation::Scatterv => CollectiveOp::Scatterv,
        Operation::Allgather | Operation::NeighborAllgather => CollectiveOp::Allgather,
        Operation::Allgatherv | Operation::NeighborAllgatherv => CollectiveOp::Allgatherv,
        Operation::Alltoall | Operation::NeighborAlltoall => CollectiveOp::Alltoall,
        Operation::Alltoallv | Operation::NeighborAlltoallv => CollectiveOp::Alltoallv,
        Operation::Alltoallw | Operation::NeighborAlltoallw => CollectiveOp::Alltoallw,
        Operation::Allreduce => CollectiveOp::Allreduce,
        Operation::Reduce => CollectiveOp::Reduce,
        Operation::ReduceScatter => CollectiveOp::ReduceScatter,
        Operation::ReduceScatterBlock => CollectiveOp::ReduceScatterBlock,
        Operation::Scan => CollectiveOp::Scan,
        Operation::Exscan => CollectiveOp::Exscan,
    };
    Some((operation, function.step))
}

/// Whether the format has no operation for what processes do together in this function, such as making a communicator.
pub(super) fn has_no_operation(name: &str) -> bool {
    mpi_functions::named(name)
        .is_some_and(|function| function.is_met_by_all() && function.operation().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_have_the_role_of_what_they_vary() {
        for (name, role) in [
            ("MPI_Send", RegionRole::PointToPoint),
            ("MPI_Isend_c", RegionRole::PointToPoint),
            ("MPI_Imrecv", RegionRole::PointToPoint),
            ("MPI_Ssend_init", RegionRole::PointToPoint),
            ("MPI_Waitall", RegionRole::PointToPoint),
            ("MPI_Ibarrier", RegionRole::Barrier),
            ("MPI_Bcast_init_c", RegionRole::CollectiveOneToAll),
            ("MPI_Iallreduce", RegionRole::CollectiveAllToAll),
            ("MPI_Ineighbor_alltoall", RegionRole::CollectiveOther),
            ("MPI_Reduce", RegionRole::CollectiveAllToOne),
            ("MPI_Win_fence", RegionRole::Rma),
            ("MPI_File_iwrite", RegionRole::FileIo),
            ("MPI_Init", RegionRole::Function),
            ("MPI_Initialized", RegionRole::Function),
            ("MPI_Reduce_local", RegionRole::Function),
            ("main", RegionRole::Function),
        ] {
            assert_eq!(of(name), role, "{name}");
        }
    }

    #[test]
    fn collective_functions_are_known_in_all_their_forms() {
        for (name, known) in [
            ("MPI_Reduce_scatter_block_c", Some((CollectiveOp::ReduceScatterBlock, Step::Blocks))),
            ("MPI_Ibarrier", Some((CollectiveOp::Barrier, Step::Starts))),
            ("MPI_Ineighbor_alltoallw_c", Some((CollectiveOp::Alltoallw, Step::Starts))),
            ("MPI_Neighbor_allgather", Some((CollectiveOp::Allgather, Step::Blocks))),
            ("MPI_Allreduce_init", Some((CollectiveOp::Allreduce, Step::Prepares))),
            ("MPI_Isend", None),
            ("MPI_Send_init", None),
            ("MPI_Init", None),
            ("MPI_Reduce_local", None),
        ] {
            assert_eq!(operation_of(name), known, "{name}");
        }
    }
}
