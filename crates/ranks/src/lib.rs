//! Processes that do a piece of work together, such as the ranks of a run that write one archive or one profile.
//!
//! All they have to bring is messages from one to another: [`Processes`]. What all do together is made of these, along
//! a tree: [`tree`]. In place of processes there may be threads of one program, [`ThreadAsProcess`], or [`Alone`] one
//! that does everything.
//!
//! This crate knows no MPI: over what the messages go is the affair of who implements [`Processes`].
//!
//! ```
//! use ranks::{Processes, on_threads, tree};
//!
//! let sums = on_threads(8, |rank| tree::all_reduce(&rank, rank.rank(), |sum, other| *sum += other).unwrap());
//! assert_eq!(sums, [28; 8]);
//! ```

mod processes;
mod threads;
pub mod tree;

pub use processes::{Alone, CommunicationError, Processes};
pub use threads::{ThreadAsProcess, on_threads};

#[cfg(test)]
mod tests;
