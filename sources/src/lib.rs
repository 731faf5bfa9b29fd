//! Producers of MPI_T events.
//!
//! A source knows MPI calls (through `mpi-intercept`) and the events core; it never knows who
//! consumes its events.

pub mod native;
pub mod p2p;
mod serial;
pub mod shadow;
pub mod transport;

pub use serial::Serial;
