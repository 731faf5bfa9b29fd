//! Who sends what to whom: the rows of a profile as sparse, directed matrices over the ranks of `MPI_COMM_WORLD`.
//!
//! - [`rows`]: the rows of all ranks, and between which ranks the data of each flows; of a collective operation its [`Shape`].
//! - [`groups`]: which ranks are in a communicator.
//! - [`choice`]: some of the rows, by kind, communicator and phase.
//! - [`matrix`]: what they add up to, for each pair of ranks; sums of rows and columns, the greatest pairs, and how many messages
//!   of a pair have which size.
//! - [`parts`]: the same by kind, communicator and phase, unchosen, for who chooses later.
//! - [`hosts`]: the same by host; [`functions`]: by MPI function; [`sizes`]: how many messages have which size.
//! - [`write`](mod@write): comma-separated values, plain and sparse matrices, and the files of Open MPI's monitoring.
//!
//! Knows no MPI, and nothing of how it is shown. Functions are pure, but for what they write; types may be shared between threads.

pub mod choice;
pub mod functions;
pub mod groups;
pub mod hosts;
pub mod matrix;
pub mod parts;
pub mod rows;
pub mod sizes;

pub mod write {
    //! Matrices as files that others read.
    //!
    //! - [`mod@csv`]: a line for each pair, with phase, communicator and kind.
    //! - [`plain`]: a square of numbers; a sparse matrix in the format Matrix Market.
    //! - [`prof`]: the files of Open MPI's monitoring component.

    pub mod csv;
    pub mod plain;
    pub mod prof;
}

pub use choice::{Choice, ChoiceError};
pub use hosts::{Hosts, hosts_of_ranks};
pub use matrix::{Cell, Matrix, Of};
pub use parts::{Amount, Parts};
pub use rows::{Flow, Rows, Shape, Unplaced};

#[cfg(test)]
mod model;
