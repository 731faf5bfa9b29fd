//! What the log says of times in which recording was switched off.
//!
//! A record of kind [`RECORDING`](super::kind::RECORDING) stands at either end. Right after the one that switches on again
//! there is how many messages went unseen, by communicator, peer and tag, and how many events that change queues: so readers
//! know which receive gets which message, and how long the queues are, as if they had seen everything.

use super::payload::payload;

payload! {
    /// The payload of a record that switches recording off or on.
    #[derive(Eq)]
    pub struct Switch {
        /// Whether it is on from now on.
        pub on: bool,
        /// When it is switched on: there were more pairs of peers and tags than are recorded.
        pub incomplete: bool,
        /// Requests that are made from now on have greater numbers than this.
        pub request: u32,
    }
}

payload! {
    /// The payload about messages that went unseen; the communicator is the record's object.
    #[derive(Eq)]
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
}

payload! {
    /// The payload about events that went unseen; the communicator is the record's object.
    #[derive(Eq)]
    pub struct UnseenEvents {
        /// The number of their type.
        pub event_type: u16,
        /// Zero.
        pub unused: u16,
        /// How many there were.
        pub count: u64,
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
        let events = UnseenEvents { event_type: 65_000, unused: 0, count: 1 << 40 };
        assert_eq!(UnseenEvents::from_payload(&events.to_payload()), events);
    }
}
