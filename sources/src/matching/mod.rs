//! The matching of Open MPI's `ob1`, modelled on envelopes only: it runs beside the real library.
//!
//! This room knows no MPI and no clock rule. It learns what the application posts ([`Engine::post`]), which envelopes come in, and
//! when ([`Engine::arrive_when`]; [`progress_model`](crate::progress_model) says when), and which receives the real library has
//! completed ([`Engine::complete`]). It emits the sixteen `pml_ob1_*` events into a [`Sink`]. Where the real library matched
//! otherwise (it may, for wildcards), the model follows it and counts ([`Truth`]).
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

mod engine;
mod envelope;
mod events;
mod peers;
pub(crate) mod queues;
mod receive;

use std::ops::AddAssign;

pub use engine::{Completed, Completion, Engine, Lacking, MAX_EMITTED, Posted, Probed, Waiting};
pub(crate) use engine::{Message, emit};
pub use envelope::{ANY_SOURCE, ANY_TAG, CommIndex, EAGER_LIMIT, Envelope, MAX_CONTEXT, Sender};
pub use events::{
    Arrived, Event, Ob1Events, Queued, Request, Searched, SearchedFor, Sink, Transferred,
    Unexpected as UnexpectedQueued,
};
pub(crate) use queues::Node;
pub(crate) use receive::Receive;
pub use receive::ReceiveIndex;

/// How true the model was: what its matches were, compared with the real library's completions. Counts over completed receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Receives that the real library completed with the message that the model had matched.
    pub matched: u64,
    /// Receives that the real library completed with another message; the model followed it.
    pub rematched: u64,
    /// Receives that completed although no envelope of their message ever came.
    pub envelopes_lost: u64,
    /// Envelopes of messages that the application never received.
    pub never_received: u64,
    /// Envelopes that were lost because a ring was full.
    pub dropped: u64,
}

impl AddAssign for Truth {
    fn add_assign(&mut self, other: Truth) {
        self.matched += other.matched;
        self.rematched += other.rematched;
        self.envelopes_lost += other.envelopes_lost;
        self.never_received += other.never_received;
        self.dropped += other.dropped;
    }
}
