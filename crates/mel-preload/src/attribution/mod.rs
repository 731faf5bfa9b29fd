//! Attribution: what chosen performance variables do in each call, and outside of calls, by context: region, phase, MPI function, call site,
//! communicator, thread.
//!
//! Variables are read at the entry and at the exit of calls. What has changed at an entry belongs to what is outside of MPI, what has
//! changed at an exit to the call: so all changes of a variable together are its last value less its first. Variables of ours are a load or
//! two; where the model follows calls later, they are looked at once for a call: what has changed as the next one begins was the call's
//! before. Others are read by a function, some by the MPI's: in as many calls as a budget of time allows.
//!
//! - [`attributor`]: the hook: all that runs per call.
//! - [`chosen`]: which variables there are, and how each is read.
//! - [`group`]: those that are read within the budget.
//! - [`budget`](mpit_sources::budget): in how many calls that is.
//! - [`threads`]: what a thread keeps.
//!
//! Must not know: what a variable counts.

mod attributor;
mod chosen;
mod group;
mod threads;

pub(crate) use attributor::consumer;
