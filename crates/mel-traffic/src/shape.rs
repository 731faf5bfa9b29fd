//! Between whom the data of a collective operation flows: by its meaning, not by the algorithm of the library (MPI-5.0 chapter 6).

use mpi_functions::{Direction, Operation};
use serde::Serialize;

/// Between whom the data of a collective operation flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// From the root to each other member.
    FromRoot,
    /// From each other member to the root.
    ToRoot,
    /// From each member to those of higher rank.
    Upwards,
    /// From each member to each other.
    All,
}

impl Shape {
    /// The shape of what this function starts, completes or prepares, for example `MPI_Ibcast`; what is not known goes from each to each.
    pub fn of(function: &str) -> Shape {
        let operation = mpi_functions::named(function).and_then(mpi_functions::Function::operation);
        match operation.map(Operation::direction) {
            Some(Direction::FromRoot) => Shape::FromRoot,
            Some(Direction::ToRoot) => Shape::ToRoot,
            Some(Direction::Upwards) => Shape::Upwards,
            Some(Direction::All | Direction::Neighbours) | None => Shape::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_flows_as_the_operation_means_it() {
        for (name, shape) in [
            ("MPI_Bcast", Shape::FromRoot),
            ("MPI_Iscatterv_c", Shape::FromRoot),
            ("MPI_Gatherv_init", Shape::ToRoot),
            ("MPI_Reduce", Shape::ToRoot),
            ("MPI_Exscan_init_c", Shape::Upwards),
            ("MPI_Barrier", Shape::All),
            ("MPI_Reduce_scatter", Shape::All),
            ("MPI_Neighbor_alltoall", Shape::All),
            ("another one", Shape::All),
        ] {
            assert_eq!(Shape::of(name), shape, "{name}");
        }
    }
}
