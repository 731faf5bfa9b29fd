//! Processes that do a piece of work together, such as the ranks of a run that write one archive or one
//! profile.
//!
//! They send messages to each other: [`Processes`]. What all do together is made of these messages, along a
//! tree: [`tree`]. Threads of one program may stand in for processes, [`ThreadAsProcess`], and a single
//! process may do all of the work, [`Alone`].
//!
//! This crate knows no MPI: whoever implements [`Processes`] decides how messages travel.
//!
//! ```
//! use ranks::{Processes, on_threads, tree};
//!
//! let add = |sum: &mut u32, other| *sum += other;
//! let sums = on_threads(8, |rank| tree::all_reduce(&rank, rank.rank(), add).unwrap());
//! assert_eq!(sums, [28; 8]);
//! ```

mod processes;
mod threads;
pub mod tree;

pub use processes::{Alone, CommunicationError, Processes};
pub use threads::{ThreadAsProcess, on_threads};

#[cfg(test)]
mod tests;
