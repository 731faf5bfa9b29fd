//! Boxes: over shared memory a message of ob1 goes through a box that its sender has at its receiver. Where that is full, the
//! sender waits in its call until the receiver has taken something out *and* it has the processor to put the message in.
//!
//! Its envelope is there before, where receivers are told of messages before they are sent: the message comes when its
//! sender was there after there was room ([`Away`](crate::shadow::Away)).

use std::collections::VecDeque;

use hashbrown::HashMap;
use mpit_events::Ticks;
use rustc_hash::FxBuildHasher;

use super::looks::Queue;
use crate::shadow::{EAGER_LIMIT, Envelope, Sender};
use crate::transport::ring::Presence;

/// Units of 32 bytes that a box holds (`btl_vader_fbox_size`, Open MPI 4.1; the first unit stays empty).
const ROOM: u64 = 127;
const UNIT: u64 = 32;
/// Bytes of a message before its data: the box's own, and those of ob1.
const HEADERS: u64 = 8 + 14;
/// A message of more bytes than this is elsewhere, and only where it is comes in the box (`mca_btl_vader_fbox_sendi`).
const LONGEST: u64 = 1024 - 14;
/// Units of a message that comes by rendezvous.
const LONG: u64 = 3;
/// A sender of so many units may come to wait for room.
const MUCH: u64 = 64;

/// The end of time.
const NEVER: Ticks = Ticks(u64::MAX);

/// What the receiver's twin knows of all boxes. A process has one, here one for each communicator: what it sends on several is
/// rarely so much that only together it is too much.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    senders: HashMap<Sender, Box, FxBuildHasher>,
    /// What comes through it is in no box.
    pub(super) queue: Queue,
    /// A sender that may come to wait for room, of whom it is not known where it tells when it is off the processor.
    unknown: Option<Sender>,
}

#[derive(Debug, Default)]
struct Box {
    /// Units that were ever taken out.
    taken: u64,
    /// What looks have made of room, for as long as there may be messages that had to wait for it.
    room: VecDeque<Room>,
    presence: Known,
}

/// What a look has made of room. Its sender is told when the look is done with the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    look: u64,
    /// Units that were ever taken out by then.
    taken: u64,
    since: Ticks,
}

/// Where a sender tells when it is off the processor.
#[derive(Debug, Default)]
enum Known {
    #[default]
    NotAsked,
    Nowhere,
    There(Presence),
}

impl Boxes {
    /// Whether this message, the next of its sender, was not in the box at this time, because its sender had to wait for room.
    #[inline]
    pub(super) fn lacks(&self, envelope: &Envelope, time: Ticks) -> bool {
        let entered = self.entered(envelope);
        entered > time || entered == NEVER
    }

    /// When it came into the box: when it was sent, or later; [`NEVER`] where its sender has not been able to put it there yet.
    #[inline]
    fn entered(&self, envelope: &Envelope) -> Ticks {
        let Some(one) = self.senders.get(&envelope.sender()) else { return envelope.sent };
        match (one.room_for(one.taken + self.units(envelope)), &one.presence) {
            (Some(room), Known::There(presence)) if room > envelope.sent => presence.away().back_after(room),
            _ => envelope.sent,
        }
    }

    /// The message was sent when it came into the box, if that was at this time or before.
    #[inline]
    pub(super) fn put_in(&self, envelope: &mut Envelope, until: Ticks) {
        let entered = self.entered(envelope);
        if entered <= until {
            envelope.sent = entered;
        }
    }

    /// The message is taken out in this look, which its sender sees at this time.
    #[inline]
    pub(super) fn take(&mut self, envelope: &Envelope, look: u64, time: Ticks) {
        let sender = envelope.sender();
        let units = self.units(envelope);
        let one = self.senders.entry(sender).or_default();
        one.taken += units;
        let taken = one.taken;
        match one.room.back_mut() {
            Some(room) if room.look == look => (room.taken, room.since) = (taken, time),
            _ => one.room.push_back(Room { look, taken, since: time }),
        }
        while one.room.front().is_some_and(|room| taken + 1 > room.taken + ROOM) {
            one.room.pop_front();
        }
        if taken >= MUCH && matches!(one.presence, Known::NotAsked) {
            self.unknown = Some(sender);
        }
    }

    /// A communicator is no more.
    pub(super) fn forget(&mut self, context: u64) {
        self.senders.retain(|sender, _| sender.0 != context);
    }

    /// Units that a message takes in its sender's box.
    #[inline]
    fn units(&self, envelope: &Envelope) -> u64 {
        if self.queue.has(envelope) { 0 } else { units(envelope.bytes) }
    }

    /// A sender of whom it should be [told](Boxes::set_presence) where it tells when it is off the processor.
    #[inline]
    pub(super) fn take_unknown(&mut self) -> Option<Sender> {
        self.unknown.take()
    }

    /// Where that is; `None`: nowhere.
    pub(super) fn set_presence(&mut self, sender: Sender, presence: Option<Presence>) {
        if let Some(one) = self.senders.get_mut(&sender) {
            one.presence = presence.map_or(Known::Nowhere, Known::There);
        }
    }
}

impl Box {
    /// When there was room for a message that ends there; `None` where there always was.
    #[inline]
    fn room_for(&self, end: u64) -> Option<Ticks> {
        if end <= ROOM {
            return None;
        }
        self.room.iter().find(|room| end <= room.taken + ROOM).map(|room| room.since)
    }
}

/// Units of a message of so many bytes.
#[inline]
fn units(bytes: u64) -> u64 {
    if bytes <= LONGEST {
        (HEADERS + bytes).div_ceil(UNIT)
    } else if bytes <= EAGER_LIMIT {
        1
    } else {
        LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ring::Ring;

    fn envelope(sequence: u32, sent: u64) -> Envelope {
        Envelope { context: 7, source: 3, sequence, sent: Ticks(sent), bytes: 4, ..Envelope::default() }
    }

    #[test]
    fn messages_take_whole_units() {
        assert_eq!([0, 10, 11, 42, 43, 1010, 1011, 4096, 4097].map(units), [1, 1, 2, 2, 3, 33, 1, 1, 3]);
    }

    #[test]
    fn a_message_that_finds_the_box_full_waits_for_room_and_for_its_sender() {
        let mut boxes = Boxes::default();
        for i in 0..ROOM as u32 {
            assert_eq!(boxes.entered(&envelope(i, 5)), Ticks(5), "there is room for all of these");
            // 32 in each look.
            boxes.take(&envelope(i, 5), u64::from(i / 32), Ticks(100 + u64::from(i)));
        }
        let last = envelope(ROOM as u32, 6);
        assert_eq!(boxes.entered(&last), Ticks(6));
        assert_eq!(boxes.take_unknown(), Some((7, 3)));
        let ring = Ring::create().unwrap();
        boxes.set_presence((7, 3), Some(ring.presence()));
        assert_eq!(boxes.entered(&last), Ticks(131), "its sender was there when the first look was done");
        assert_eq!(
            boxes.entered(&Envelope { sent: Ticks(132), ..last }),
            Ticks(132),
            "there was room by then"
        );
        let presence = ring.presence();
        presence.away().note_left(Ticks(50));
        assert!(boxes.lacks(&last, Ticks(160)) && boxes.lacks(&last, NEVER));
        presence.away().note_back(Ticks(170), 1);
        assert!(boxes.lacks(&last, Ticks(169)) && !boxes.lacks(&last, Ticks(170)));
        let mut seen = last;
        boxes.put_in(&mut seen, Ticks(160));
        assert_eq!(seen.sent, Ticks(6));
        boxes.put_in(&mut seen, Ticks(180));
        assert_eq!(seen.sent, Ticks(170));
        boxes.take(&seen, 9, Ticks(171));
        boxes.set_presence((7, 3), None);
        assert!(!boxes.lacks(&envelope(ROOM as u32 + 1, 6), Ticks(6)), "nothing is known of its sender");
        assert_eq!(boxes.take_unknown(), None);
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let mut boxes = Boxes::default();
        for i in 0..10_000 {
            boxes.take(&envelope(i, 5), u64::from(i), Ticks(u64::from(i)));
        }
        let one = &boxes.senders[&(7, 3)];
        assert_eq!((one.taken, one.room.len() as u64), (10_000, ROOM));
        assert_eq!(one.room_for(10_001), Some(Ticks(10_000 - ROOM)));
        boxes.forget(8);
        assert_eq!(boxes.senders.len(), 1);
        boxes.forget(7);
        assert_eq!(boxes.senders.len(), 0);
    }
}
