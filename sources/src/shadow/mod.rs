//! The twin of Open MPI's `ob1`: its matching, run beside the real library on envelopes only.
//!
//! The twin knows no MPI. It is told what the application posts ([`Engine::post`]), which envelopes
//! come in ([`Engine::arrive`]) and which receives the real library has completed
//! ([`Engine::complete`]), and emits the sixteen `pml_ob1_*` events into a [`Sink`]. Where the real
//! library matched otherwise (it may, for wildcards), the twin follows it and counts ([`Truth`]).
//!
//! Rules, with the function of ob1 (Open MPI 4.1, `ompi/mca/pml/ob1`) that each follows:
//!
//! * Receives with a source wait in a list of that peer, those with `MPI_ANY_SOURCE` in one list of
//!   the communicator. An incoming message takes, of the first receives of both lists whose tag
//!   matches, the one posted first (`match_incomming`).
//! * An unexpected message waits in a list of its sender. A receive with a source searches that
//!   list; one with `MPI_ANY_SOURCE` searches the lists of all senders in turn, starting after the
//!   sender that the last such search ended with (`recv_req_match_wild`).
//! * A receive first searches the unexpected messages, and is queued only where none matches
//!   (`recv_req_start`).

mod away;
mod copying;
mod engine;
mod envelope;
mod events;
mod peers;
pub(crate) mod queues;
mod receive;
mod sink;
mod truth;

pub use away::Away;
pub use copying::Copying;
pub use engine::{
    CommIndex, Completion, Engine, Foretold, Lacking, MAX_EMITTED, Posted, Probed, Row, Window,
};
pub use envelope::{Envelope, Sender};
pub use events::{
    Arrived, Event, Ob1Events, Queued, Request, Searched, SearchedFor, Transferred,
    Unexpected as UnexpectedQueued,
};
pub use receive::ReceiveIndex;
pub use sink::Sink;
pub use truth::Truth;

/// Matches any source (the twin's own value; each MPI has another).
pub const ANY_SOURCE: i32 = -1;
/// Matches any tag (the twin's own value; each MPI has another).
pub const ANY_TAG: i32 = -1;

/// Up to this size in bytes ob1 sends a message eagerly over shared memory, so that it is complete
/// at the receiver as soon as it is matched (`btl_vader_eager_limit`, Open MPI 4.1).
pub const EAGER_LIMIT: u64 = 4096;
