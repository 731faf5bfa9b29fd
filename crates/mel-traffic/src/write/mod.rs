//! Matrices as files that others read.
//!
//! - [`mod@csv`]: a line for each pair, with phase, communicator and kind.
//! - [`plain`]: a square of numbers; a sparse matrix in the format Matrix Market.
//! - [`prof`]: the files of Open MPI's monitoring component.

pub mod csv;
pub mod plain;
pub mod prof;
