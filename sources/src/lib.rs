//! Producers of MPI_T events.
//!
//! A source knows MPI calls (through `mpi-intercept`) and the events core; it never knows who
//! consumes its events.

mod backends;
mod by_handle;
pub mod native;
pub mod p2p;
pub mod peruse;
pub mod rma;
mod serial;
pub mod shadow;
pub mod transport;

pub use backends::{Backend, Following, Offer, QueueEvents, Wish, choose};
pub use serial::Serial;
