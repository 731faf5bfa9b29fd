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

/// The operation of a blocking collective function; none for others.
pub(super) fn operation_of(name: &str) -> Option<CollectiveOp> {
    let name = name.strip_prefix("MPI_")?;
    Some(match name.strip_suffix("_c").unwrap_or(name) {
        "Barrier" => CollectiveOp::Barrier,
        "Bcast" => CollectiveOp::Bcast,
        "Gather" => CollectiveOp::Gather,
        "Gatherv" => CollectiveOp::Gatherv,
        "Scatter" => CollectiveOp::Scatter,
        "Scatterv" => CollectiveOp::Scatterv,
        "Allgather" => CollectiveOp::Allgather,
        "Allgatherv" => CollectiveOp::Allgatherv,
        "Alltoall" => CollectiveOp::Alltoall,
        "Alltoallv" => CollectiveOp::Alltoallv,
        "Alltoallw" => CollectiveOp::Alltoallw,
        "Allreduce" => CollectiveOp::Allreduce,
        "Reduce" => CollectiveOp::Reduce,
        "Reduce_scatter" => CollectiveOp::ReduceScatter,
        "Reduce_scatter_block" => CollectiveOp::ReduceScatterBlock,
        "Scan" => CollectiveOp::Scan,
        "Exscan" => CollectiveOp::Exscan,
        _ => return None,
    })
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
}
