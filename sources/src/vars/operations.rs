//! What a collective operation looks like: between whom it moves data.

use mpi_functions::Direction;
use mpi_intercept::FunctionId;
use mpit_vars::store::Shape;

fn direction(function: FunctionId) -> Option<Direction> {
    function.about().operation().map(mpi_functions::Operation::direction)
}

/// Its shape, as Open MPI's monitoring component sorts them.
pub(super) fn shape(function: FunctionId) -> Shape {
    match direction(function) {
        Some(Direction::FromRoot) => Shape::OneToAll,
        Some(Direction::ToRoot) => Shape::AllToOne,
        Some(Direction::Upwards | Direction::All | Direction::Neighbours) | None => Shape::AllToAll,
    }
}

/// Whether data goes to processes of higher rank only.
pub(super) fn goes_up(function: FunctionId) -> bool {
    direction(function) == Some(Direction::Upwards)
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
