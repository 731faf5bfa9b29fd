//! What a collective operation looks like: between whom it moves data.

use mpi_intercept::FunctionId;
use mpit_vars::store::Shape;

/// The name of an operation without what its forms add: `bcast` of `MPI_Ibcast_c`.
fn plain(function: FunctionId) -> String {
    let name = function.name().strip_prefix("MPI_").unwrap_or_default();
    let name = name.strip_suffix("_c").unwrap_or(name);
    let name = name.strip_suffix("_init").unwrap_or(name);
    name.strip_prefix('I').unwrap_or(name).to_lowercase()
}

/// Its shape, as Open MPI's monitoring component sorts them.
pub(super) fn shape(function: FunctionId) -> Shape {
    match plain(function).as_str() {
        "bcast" | "scatter" | "scatterv" => Shape::OneToAll,
        "gather" | "gatherv" | "reduce" => Shape::AllToOne,
        _ => Shape::AllToAll,
    }
}

/// Whether data goes to processes of higher rank only.
pub(super) fn goes_up(function: FunctionId) -> bool {
    ["scan", "exscan"].contains(&plain(function).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_operation_have_its_shape() {
        use FunctionId as F;
        for function in [F::Bcast, F::Ibcast_c, F::Bcast_init, F::Iscatterv, F::Scatter_c] {
            assert_eq!(shape(function), Shape::OneToAll, "{}", function.name());
        }
        for function in [F::Gather, F::Igatherv_c, F::Reduce_init, F::Ireduce] {
            assert_eq!(shape(function), Shape::AllToOne, "{}", function.name());
        }
        for function in
            [F::Barrier, F::Ibarrier, F::Reduce_scatter, F::Allgather, F::Neighbor_alltoallw, F::Scan]
        {
            assert_eq!(shape(function), Shape::AllToAll, "{}", function.name());
        }
        assert!(goes_up(F::Iexscan_c) && goes_up(F::Scan_init) && !goes_up(F::Allreduce));
    }
}
