//! Producers of MPI_T events.
//!
//! A source knows MPI calls (through `mpi-intercept`) and the events core; it never knows who
//! consumes its events.
//!
//! | room | what lives there | may use |
//! |---|---|---|
//! | [`calls`] | what each MPI call means for the model of `ob1` | all below |
//! | `between_calls` | progress while the application computes | all below, and [`calls`] |
//! | `fast_path` | what most programs do, without lists and tables | all below, and the state of [`calls`] |
//! | [`transport`] | envelopes between processes: shared memory, messages, clocks | [`matching`]'s envelope |
//! | [`progress_model`] | which envelopes the library has taken in, and when | [`matching`]'s envelope |
//! | [`matching`] | which receive a message takes, as `ob1` does it | |
//! | [`rma`] | one-sided communication | |
//! | [`netops`] | what the MPI's transports move below the calls | [`transport`]'s memory |
//! | [`traffic`] | who sends what to whom | [`transfers`] |
//! | [`transfers`] | what a collective call moves, as its arguments say | |
//! | `communicators` | which communicators may MPI be asked about? | |
//! | [`vars`] | performance variables | |
//! | [`peruse`], [`native`] | events of the MPI itself | |

mod backends;
pub mod between_calls;
pub mod budget;
mod by_handle;
pub mod calls;
mod communicators;
mod fast_path;
pub mod matching;
pub mod native;
pub mod netops;
pub mod peruse;
pub mod progress_model;
mod queue_changes;
pub mod rma;
mod serial;
pub mod traffic;
pub mod transfers;
pub mod transport;
pub mod vars;

pub use fast_path::Row;

pub use backends::{Backend, Following, Offer, QueueEvents, Selection, choose};
pub use communicators::ask_about;
pub use queue_changes::{QueueChange, QueueChanges};
pub use serial::Serial;
