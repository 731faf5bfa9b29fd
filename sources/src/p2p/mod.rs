//! Point-to-point communication as the application calls it: which call posts, sends, completes.
//!
//! This room turns intercepted MPI calls into the twin's vocabulary. It keeps the tables of
//! communicators ([`comms`]) and requests ([`requests`]), sends the envelopes ([`routes`], between nodes [`exchange`]), and
//! raises the twin's events once no lock is held ([`frame`]). What it sees of messages it also tells
//! to [`Observer`]s, who want the calls themselves and not the queues.

mod boxes;
mod calls;
mod comms;
mod completion;
mod deferral;
mod endings;
mod exchange;
mod frame;
mod in_order;
mod last_look;
mod left;
mod looks;
mod memory;
mod messages;
mod not_followed;
mod observer;
mod posts;
mod progress;
mod progress_engine;
mod rendezvous;
mod requests;
mod routes;
mod rows;
mod sends;
mod session;
mod taking_in;
mod tracker;
mod types;
mod yields;

pub use not_followed::NotFollowed;
pub use observer::{Communicator, Message, Observer};
pub use progress::COLLECTIVES;
pub use progress_engine::Progress;
pub use session::{Part, Path, Shadow};
