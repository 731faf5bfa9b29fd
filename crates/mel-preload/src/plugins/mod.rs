//! Plugins: shared objects of the user's that are told what is seen in this process, and that advise, or set control variables.
//!
//! - [`load`]: finds, opens and asks them.
//! - [`services`]: what plugins may ask for; control variables that they set.
//! - [`shared`]: what they have asked for, until it is done.
//! - [`teller`]: tells them, on a thread of its own.
//! - [`host`](mod@host): all of it in this process, from `MPI_Init*` to the end.
//!
//! Nothing of a plugin runs in the program's MPI calls but its initialisation. What is to be told goes into a bounded queue; what finds
//! no space there is counted. What a plugin asks for is done at the entry of the program's next call. Without plugins there is no host,
//! and nothing of this.
//!
//! Must not know: what is counted, and by whom.

mod host;
mod load;
mod services;
mod shared;
mod teller;

pub(crate) use host::{consumer, host};
