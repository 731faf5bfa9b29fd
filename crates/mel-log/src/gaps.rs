//! What the log says of times in which recording was switched off.
//!
//! A record of kind [`RECORDING`](super::kind::RECORDING) stands at either end. Right after the one that switches on again
//! there is how many messages went unseen, by communicator, peer and tag, and how many events that change queues: so readers
//! know which receive gets which message, and how long the queues are, as if they had seen everything.

use super::format::{PAYLOAD_BYTES, u32_at, u64_at};

/// The payload of a record that switches recording off or on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Switch {
    /// Whether it is on from now on.
    pub on: bool,
    /// When it is switched on: there were more pairs of peers and tags than are recorded.
    pub incomplete: bool,
    /// Requests that are made from now on have greater numbers than this.
    pub request: u32,
}

impl Switch {
    /// The payload in the log's byte order.
    pub fn to_payload(self) -> [u8; 12] {
        let mut payload = [0; 12];
        payload[0..4].copy_from_slice(&u32::from(self.on).to_le_bytes());
        payload[4..8].copy_from_slice(&u32::from(self.incomplete).to_le_bytes());
        payload[8..12].copy_from_slice(&self.request.to_le_bytes());
        payload
    }

    /// Reads a payload; bytes that are not there count as zero.
    pub fn from_payload(payload: &[u8]) -> Switch {
        let [on, incomplete] = [0, 4].map(|place| u32_at(payload, place) != 0);
        Switch { on, incomplete, request: u32_at(payload, 8) }
    }
}

/// The payload about messages that went unseen; the communicator is the record's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UnseenMessages {
    /// Rank of the peer in the communicator.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// How many were sent to it.
    pub sent: u32,
    /// How many receives were posted and completed that took one from it.
    pub received: u32,
}

impl UnseenMessages {
    /// The payload in the log's byte order.
    pub fn to_payload(self) -> [u8; 16] {
        let mut payload = [0; 16];
        payload[0..4].copy_from_slice(&self.peer.to_le_bytes());
        payload[4..8].copy_from_slice(&self.tag.to_le_bytes());
        payload[8..12].copy_from_slice(&self.sent.to_le_bytes());
        payload[12..16].copy_from_slice(&self.received.to_le_bytes());
        payload
    }

    /// Reads a payload; bytes that are not there count as zero.
    pub fn from_payload(payload: &[u8]) -> UnseenMessages {
        let at = |place| u32_at(payload, place);
        UnseenMessages { peer: at(0) as i32, tag: at(4) as i32, sent: at(8), received: at(12) }
    }
}

/// The payload about events that went unseen; the communicator is the record's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UnseenEvents {
    /// The number of their type.
    pub event_type: u16,
    /// How many there were.
    pub count: u64,
}

impl UnseenEvents {
    /// The payload in the log's byte order.
    pub fn to_payload(self) -> [u8; PAYLOAD_BYTES] {
        let mut payload = [0; PAYLOAD_BYTES];
        payload[0..4].copy_from_slice(&u32::from(self.event_type).to_le_bytes());
        payload[4..12].copy_from_slice(&self.count.to_le_bytes());
        payload
    }

    /// Reads a payload; bytes that are not there count as zero.
    pub fn from_payload(payload: &[u8]) -> UnseenEvents {
        UnseenEvents { event_type: u32_at(payload, 0) as u16, count: u64_at(payload, 4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_survive_the_round_trip() {
        let switch = Switch { on: true, incomplete: true, request: 7 };
        assert_eq!(Switch::from_payload(&switch.to_payload()), switch);
        let messages = UnseenMessages { peer: -3, tag: 9, sent: 5, received: u32::MAX };
        assert_eq!(UnseenMessages::from_payload(&messages.to_payload()), messages);
        let events = UnseenEvents { event_type: 65_000, count: 1 << 40 };
        assert_eq!(UnseenEvents::from_payload(&events.to_payload()), events);
    }
}
