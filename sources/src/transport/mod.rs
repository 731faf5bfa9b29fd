//! The ways that envelopes take from the sender's process to the receiver's.
//!
//! Between processes of one node: a [`ring`] in shared memory. Otherwise: batches of envelopes in
//! messages of a private communicator ([`batch`]), with times that [`clocks`] makes comparable. This room knows no matching, and of MPI only
//! what the batches need.

pub mod batch;
pub mod clocks;
pub mod memory;
pub mod ring;
pub mod segment;
