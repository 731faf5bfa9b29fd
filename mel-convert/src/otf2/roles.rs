//! What kind of work an MPI function does, and which collective operation, by its name.

use otf2_writer::{CollectiveOp, RegionRole};

/// The role of an MPI function's region. A name that is not known is a function without a role.
pub(super) fn of(name: &str) -> RegionRole {
    let Some(name) = name.strip_prefix("MPI_") else { return RegionRole::Function };
    let name = name.strip_suffix("_c").unwrap_or(name);
    let name = name.strip_suffix("_init").unwrap_or(name);
    // A nonblocking function does what its blocking one does.
    let plain = match name.strip_prefix('I') {
        Some(rest) => rest.to_lowercase(),
        None => name.to_lowercase(),
    };
    match plain.as_str() {
        "barrier" => RegionRole::Barrier,
        "bcast" | "scatter" | "scatterv" => RegionRole::CollectiveOneToAll,
        "gather" | "gatherv" | "reduce" => RegionRole::CollectiveAllToOne,
        "allgather"
        | "allgatherv"
        | "allreduce"
        | "alltoall"
        | "alltoallv"
        | "alltoallw"
        | "reduce_scatter"
        | "reduce_scatter_block" => RegionRole::CollectiveAllToAll,
        "scan" | "exscan" => RegionRole::CollectiveOther,
        neighbor if neighbor.starts_with("neighbor_") => RegionRole::CollectiveOther,
        "send" | "bsend" | "ssend" | "rsend" | "recv" | "sendrecv" | "sendrecv_replace" | "probe"
        | "mprobe" | "mrecv" | "wait" | "waitall" | "waitany" | "waitsome" | "test" | "testall"
        | "testany" | "testsome" | "start" | "startall" | "psend" | "precv" | "pready" | "pready_list"
        | "pready_range" | "parrived" | "cancel" | "request_free" | "request_get_status" => {
            RegionRole::PointToPoint
        }
        "put" | "get" | "accumulate" | "get_accumulate" | "fetch_and_op" | "compare_and_swap" | "rput"
        | "rget" | "raccumulate" | "rget_accumulate" => RegionRole::Rma,
        window if window.starts_with("win_") => RegionRole::Rma,
        file if file.starts_with("file_") => RegionRole::FileIo,
        "alloc_mem" => RegionRole::Allocate,
        "free_mem" => RegionRole::Deallocate,
        _ => RegionRole::Function,
    }
}

/// How a collective function goes about its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It returns when the operation is complete.
    Blocking,
    /// It starts the operation.
    Nonblocking,
    /// It makes a request by which the operation is started.
    Persistent,
}

/// The operation of a collective function, and how it goes about it; none for others. Among neighbours it is the operation
/// of the same name: the format has none of its own for that.
pub(super) fn operation_of(name: &str) -> Option<(CollectiveOp, Way)> {
    let name = name.strip_prefix("MPI_")?;
    let name = name.strip_suffix("_c").unwrap_or(name);
    let (name, way) = match (name.strip_suffix("_init"), name.strip_prefix('I')) {
        (Some(name), _) => (name, Way::Persistent),
        (None, Some(name)) => (name, Way::Nonblocking),
        (None, None) => (name, Way::Blocking),
    };
    let name = name.to_lowercase();
    let operation = match name.strip_prefix("neighbor_").unwrap_or(&name) {
        "barrier" => CollectiveOp::Barrier,
        "bcast" => CollectiveOp::Bcast,
        "gather" => CollectiveOp::Gather,
        "gatherv" => CollectiveOp::Gatherv,
        "scatter" => CollectiveOp::Scatter,
        "scatterv" => CollectiveOp::Scatterv,
        "allgather" => CollectiveOp::Allgather,
        "allgatherv" => CollectiveOp::Allgatherv,
        "alltoall" => CollectiveOp::Alltoall,
        "alltoallv" => CollectiveOp::Alltoallv,
        "alltoallw" => CollectiveOp::Alltoallw,
        "allreduce" => CollectiveOp::Allreduce,
        "reduce" => CollectiveOp::Reduce,
        "reduce_scatter" => CollectiveOp::ReduceScatter,
        "reduce_scatter_block" => CollectiveOp::ReduceScatterBlock,
        "scan" => CollectiveOp::Scan,
        "exscan" => CollectiveOp::Exscan,
        _ => return None,
    };
    Some((operation, way))
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
            ("main", RegionRole::Function),
        ] {
            assert_eq!(of(name), role, "{name}");
        }
    }

    #[test]
    fn collective_functions_are_known_in_all_their_forms() {
        for (name, known) in [
            ("MPI_Reduce_scatter_block_c", Some((CollectiveOp::ReduceScatterBlock, Way::Blocking))),
            ("MPI_Ibarrier", Some((CollectiveOp::Barrier, Way::Nonblocking))),
            ("MPI_Ineighbor_alltoallw_c", Some((CollectiveOp::Alltoallw, Way::Nonblocking))),
            ("MPI_Neighbor_allgather", Some((CollectiveOp::Allgather, Way::Blocking))),
            ("MPI_Allreduce_init", Some((CollectiveOp::Allreduce, Way::Persistent))),
            ("MPI_Isend", None),
            ("MPI_Send_init", None),
            ("MPI_Init", None),
        ] {
            assert_eq!(operation_of(name), known, "{name}");
        }
    }
}
