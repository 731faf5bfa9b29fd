//! The quantities that a policy may name: what is known in a process while it runs.

use crate::expr::{Kind, Quantity};

/// All of them.
pub const QUANTITIES: &[Quantity] = &[
    Quantity {
        name: "variable",
        of: Some("a performance variable"),
        kind: Kind::List,
        meaning: "the elements of a performance variable of MPI or of MEL, in this process; of one that is bound to a communicator \
                  that of MPI_COMM_WORLD",
    },
    Quantity { name: "rank", of: None, kind: Kind::Number, meaning: "the rank in MPI_COMM_WORLD" },
    Quantity { name: "ranks", of: None, kind: Kind::Number, meaning: "the number of ranks" },
    Quantity { name: "time", of: None, kind: Kind::Seconds, meaning: "the time since MPI_Init" },
];
