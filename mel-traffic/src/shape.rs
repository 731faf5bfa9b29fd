//! Between whom the data of a collective operation flows: by its meaning, not by the algorithm of the library (MPI-5.0 chapter 6).

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
    /// That of an operation, for example of `MPI_Ibcast`. Blocking, nonblocking and persistent operations and those with large counts
    /// are alike; one that is not known goes from each to each.
    pub fn of(operation: &str) -> Shape {
        let name = operation.strip_prefix("MPI_").unwrap_or(operation).to_ascii_lowercase();
        let name = name.strip_suffix("_c").unwrap_or(&name);
        let name = name.strip_suffix("_init").unwrap_or(name);
        match name.strip_prefix('i').unwrap_or(name) {
            "bcast" | "scatter" | "scatterv" => Shape::FromRoot,
            "gather" | "gatherv" | "reduce" => Shape::ToRoot,
            "scan" | "exscan" => Shape::Upwards,
            _ => Shape::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_an_operation_are_alike() {
        for (base, shape) in [
            ("bcast", Shape::FromRoot),
            ("scatterv", Shape::FromRoot),
            ("gatherv", Shape::ToRoot),
            ("reduce", Shape::ToRoot),
            ("exscan", Shape::Upwards),
            ("barrier", Shape::All),
            ("reduce_scatter", Shape::All),
            ("reduce_scatter_block", Shape::All),
            ("allreduce", Shape::All),
            ("alltoallw", Shape::All),
        ] {
            let upper = base[..1].to_uppercase() + &base[1..];
            for name in [
                format!("MPI_{upper}"),
                format!("MPI_I{base}"),
                format!("MPI_{upper}_init"),
                format!("MPI_{upper}_c"),
                format!("MPI_I{base}_c"),
                format!("MPI_{upper}_init_c"),
            ] {
                assert_eq!(Shape::of(&name), shape, "{name}");
            }
        }
    }
}
