//! What the twin knows of a message: its envelope, never its contents.

use mpit_events::Ticks;

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
    /// Counts the messages from this sender to this receiver in this communicator, from 0.
    pub sequence: u32,
    /// The size of the message in bytes.
    pub bytes: u64,
    /// When the sender called MPI to send it.
    pub sent: Ticks,
}

impl Envelope {
    /// Who has sent it.
    #[inline(always)]
    pub fn sender(&self) -> Sender {
        (self.context, self.source)
    }

    /// Stores each field for itself, of those that matter once the message has arrived. A copy of the whole would be loaded
    /// in other pieces than it was stored in a moment before, and so wait until all stores before it have left the
    /// processor.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        context: u64,
        source: i32,
        tag: i32,
        sequence: u32,
        bytes: u64,
        sent: Ticks,
    ) {
        self.context = context;
        self.source = source;
        self.tag = tag;
        self.sequence = sequence;
        self.bytes = bytes;
        self.sent = sent;
    }
}
