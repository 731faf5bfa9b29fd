//! What the verdict on a run is made with, whether from sums or from each call of a trace.
//!
//! - [`blame`]: who is the cause of a wait, followed back through the waits of others.
//!
//! Nothing here reads a file, draws, or knows MPI.

pub mod blame;

pub use blame::{Blame, Cause, Wait};
