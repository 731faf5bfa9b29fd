//! What the twin knows of a message: its envelope, never its contents.

use mpit_events::Ticks;

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
