//! An envelope as bytes in a message between nodes.

use bytemuck::{Pod, Zeroable};
use mpit_events::Ticks;

use crate::matching::Envelope;

/// The message's form of an [`Envelope`]: 40 bytes, in the byte order of the machine (a job's
/// processes share one).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Wire {
    context: u64,
    sent: u64,
    bytes: u64,
    source: i32,
    tag: i32,
    sequence: u32,
    context_of_send: u16,
    /// Nothing: the size is a multiple of eight.
    unused: u16,
}

impl Wire {
    /// Replaces the time of sending: on its way it is in nanoseconds of the reference's clock.
    pub fn convert_time(&mut self, convert: impl FnOnce(u64) -> u64) {
        self.sent = convert(self.sent);
    }
}

impl From<Envelope> for Wire {
    fn from(envelope: Envelope) -> Wire {
        let Envelope { context, source, tag, sequence, bytes, sent, context_of_send } = envelope;
        Wire { context, sent: sent.0, bytes, source, tag, sequence, context_of_send, unused: 0 }
    }
}

impl From<Wire> for Envelope {
    fn from(wire: Wire) -> Envelope {
        let Wire { context, sent, bytes, source, tag, sequence, context_of_send, .. } = wire;
        Envelope { context, source, tag, sequence, bytes, sent: Ticks(sent), context_of_send }
    }
}
