//! What the model knows of a message: its envelope, never its contents.

use mpit_events::Ticks;

/// A communicator of the model; reused after [`Engine::remove_comm`](super::Engine::remove_comm).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommIndex(pub u32);

/// Matches any source (the model's own value; each MPI has another).
pub const ANY_SOURCE: i32 = -1;
/// Matches any tag (the model's own value; each MPI has another).
pub const ANY_TAG: i32 = -1;

/// Up to this size in bytes ob1 sends a message eagerly over shared memory, so that it is complete at the receiver as soon as it is
/// matched. Read in the sources of Open MPI 4.1: `btl_vader_eager_limit`.
pub const EAGER_LIMIT: u64 = 4096;

/// Who sends: the communicator's identity, and the rank in it.
pub type Sender = (u64, i32);

/// A message on its way or arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The identity of the communicator, the same in all its processes.
    pub context: u64,
    /// The sender's rank in the communicator (in its own group, for an intercommunicator).
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// Counts the messages from this sender to this receiver in this communicator, from 1, as ob1 does.
    pub sequence: u32,
    /// The size of the message in bytes.
    pub bytes: u64,
    /// When the sender called MPI to send it.
    pub sent: Ticks,
    /// The sender's context of that call, where it has one below [`MAX_CONTEXT`]; else 0.
    pub context_of_send: u16,
}

/// Contexts from here on do not travel with an envelope.
pub const MAX_CONTEXT: u16 = 1 << 12;

impl Envelope {
    /// Who has sent it.
    #[inline(always)]
    pub fn sender(&self) -> Sender {
        (self.context, self.source)
    }

    /// Stores each field for itself. A copy of the whole would be loaded in other pieces than it was stored in a moment before, and
    /// so wait until all stores before it have left the processor.
    #[inline(always)]
    pub(super) fn fill(&mut self, from: &Envelope) {
        self.context = from.context;
        self.source = from.source;
        self.tag = from.tag;
        self.sequence = from.sequence;
        self.bytes = from.bytes;
        self.sent = from.sent;
        self.context_of_send = from.context_of_send;
    }
}
