//! What the MPI library moves below the calls, as its transports do it: one event for each system call that has moved data.
//!
//! The event is that of the last table of the paper of the MPI_T events (`event_netop_rdma` of the `btl/ugni`), here of three
//! transports: memory of another process of the node (CMA: `process_vm_readv`, `process_vm_writev`), TCP sockets, and requests to
//! network cards (verbs: `ibv_post_send`). It is
//! observed, not modelled, and also where the program's call is a collective one: then it shows how the library does it.
//! Not seen: what goes through memory that the processes share, such as small messages within a node; what drivers of network
//! cards do without `ibv_post_send`; and what is sent by other system calls.
//!
//! - [`events`](NetOp): the payload, the operations, the event type.
//! - `card`: what each process says of itself at the start; `own`: how it finds that out.
//! - `peers`: whose process and whose socket it is.
//! - `source`: from the system calls to the event.
//! - `connections`: what each connection has carried, as the kernel counts it; `tcp_info`: how that is read; `launcher`: which lead to
//!   the launcher.
//! - [`ports`](Port): what the interfaces of the host count themselves.
//!
//! - `messages`: what the MPI library hands over to UCX, where somebody observes that; `ranks`: numbers that have ranks.
//! - `verbs`: what was posted to network cards of InfiniBand and RoCE; `fabric`: their addresses.
//!
//! What this room must not know: who listens, and what the program calls.

mod card;
mod connections;
mod events;
mod fabric;
mod launcher;
mod messages;
mod own;
mod peers;
mod ports;
mod ranks;
mod source;
mod tcp_info;
mod verbs;

pub use connections::{Link, Observer};
pub use events::{ALIAS, NAME, NetOp, Operation, UNKNOWN, register};
pub use messages::{Observer as MessageObserver, Told};
pub use ports::Port;
pub use source::NetOps;
pub use tcp_info::Numbers;
