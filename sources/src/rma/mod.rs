//! One-sided communication as the application calls it: windows, operations, and what completes them.
//!
//! This room turns intercepted MPI calls into the thirteen `osc_rdma_*` events, which are bound to windows. It
//! knows what MPI guarantees, and not what a library does inside: an operation is complete when the call returns
//! that completes it by the MPI standard ([`Completes`]). It must not know who listens.
//!
//! - [`events`](RmaEvents): names, payloads and descriptions of the events.
//! - `operation`, `pending`: operations that have been started and not been completed, by thread.
//! - `times`: whether the starts of operations are timed.
//! - `synchronisation`: which call completes which operations.
//! - `window`, `windows`, `requests`: the state of each window, and the requests of operations.
//! - `calls`: the hook, which feeds all this; `frame`: the state of a thread, and how it raises events.
//! - [`Observer`]: notifications for those who want operations and epochs and not events.

mod calls;
mod events;
mod exchange;
mod frame;
mod observer;
mod operation;
mod pending;
mod requests;
mod session;
mod synchronisation;
mod times;
mod tracker;
mod window;
mod windows;

pub use events::{Event, Moved, RmaEvents, Targeted};
pub use observer::{Created, Observer, Synchronised};
pub use operation::{Kind, Operation};
pub use session::Rma;
pub use synchronisation::{Call, Completes, Whose};
pub use window::{Epoch, EpochKind};
