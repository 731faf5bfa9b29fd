//! A profile in words and tables, as rank 0 prints it at the end of a run and `mel report` later: at most [`COLUMNS`] columns, plain
//! text.
//!
//! - [`report`](mod@report): the whole, and [`overview`](report::overview), what comes before the queues.
//! - [`short`](mod@short): what of it is shown when a run has ended.
//! - [`header`]: which run it is.
//! - [`budget`]: where all of the time goes; [`efficiency`]: how well the ranks are used.
//! - [`verdict`]: what costs time, and who is the cause.
//! - [`mpi_time`]: time in MPI by rank and by function.
//! - [`phases`]: the phases of the program.
//! - [`many`]: the same of very many ranks, and what is special about them.
//! - [`call_sites`]: the lines that take the most time, and what their receives found in the queues.
//! - [`connections`]: what went over the network, and what interfaces have counted.
//! - [`communicators`]: what was done on each communicator.
//! - [`told`]: what plugins have told.
//! - [`traffic`]: who sends what to whom.
//! - [`variables`]: performance variables that were sampled; [`attribution`]: by MPI function, region and call site.
//! - [`waits`]: who waits for whom.
//! - [`layout`]: lines and columns.

pub mod attribution;
pub mod bindings;
pub mod budget;
pub mod call_sites;
pub mod code;
pub mod communicators;
pub mod connections;
pub mod efficiency;
pub mod header;
pub mod layout;
pub mod many;
pub mod mpi_time;
pub mod phases;
pub mod report;
pub mod short;
pub mod told;
pub mod traffic;
pub mod variables;
pub mod verdict;
pub mod waits;

pub use layout::COLUMNS;
pub use report::{Options, report};
pub use short::{Screen, short};
