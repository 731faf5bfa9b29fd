//! The application's MPI calls, and what each of them means for the model.
//!
//! This room turns intercepted MPI calls into the words of the matching. It keeps the tables of communicators ([`comms`]) and
//! requests ([`requests`]), sends the envelopes ([`routes`], between nodes [`exchange`]), and raises the model's events once no lock
//! is held ([`frame`]). It notifies [`Observer`]s, who want the calls themselves and not the queues.
//!
//! | file | what it does |
//! |---|---|
//! | [`table`] | the one table of calls: what entry and exit of each mean |
//! | [`mode`] | how calls are followed, by who listens |
//! | [`sends`], [`messages`] | envelopes go out, receives are posted |
//! | [`completion`], [`endings`] | requests end |
//! | [`communicators`] | communicators come and go; ranks of `MPI_COMM_WORLD` in their groups |
//! | [`polled`], [`deferred`], [`catch_up`] | calls that have polled are noted, and followed later |
//! | [`waits`] | what calls have waited for |
//! | [`glimpse`] | what a call waits for that is under way, seen by another thread |
//! | [`take_in`], [`descheduled`] | what the library has taken in goes to the matching |
//! | [`tracker`], [`state`], [`session`] | who may use the state when; start and end |

mod again;
mod catch_up;
mod comms;
mod communicators;
mod completion;
mod deferred;
mod descheduled;
mod endings;
mod exchange;
pub(crate) mod frame;
mod glimpse;
mod messages;
mod mode;
mod observer;
mod polled;
pub(crate) mod requests;
mod routes;
mod sends;
mod session;
pub(crate) mod state;
mod table;
mod take_in;
pub(crate) mod tracker;
mod unheard;
pub(crate) mod waits;

pub(crate) use communicators::world_ranks;
pub(crate) use deferred::DeferredCall;
pub use glimpse::{Asked, Glimpse, OfComm, What};
pub use mode::{Mode, Part};
pub use observer::{Communicator, During, Message, Observer};
pub use session::{Ob1Model, Path};
pub use state::NotFollowed;
pub use table::Calls;
pub use waits::{KeptWaiting, Origin, Received, TestFound, Waited};
