//! Which message of its channel a receive takes, as its log goes on.
//!
//! Messages of one channel are received in the order in which the receives that take them were posted (MPI-5.0, section 3.5).
//! What a receive takes is known when it is complete; its number when all that were posted before it are complete, too. So
//! receives wait here for those before them, a bounded number.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::model::Side;

/// Receives that wait, at most: one that stays posted all the time would hold up all others.
const MOST: usize = 1 << 18;

/// The receives of a rank that are posted, or wait for those before them.
#[derive(Debug, Default)]
pub struct Numbering {
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: u64,
    /// By channel: how many messages were received.
    received: FxHashMap<u64, u64>,
}

#[derive(Debug)]
enum Slot {
    Pending,
    Done(Box<Side>),
    Cancelled,
}

impl Numbering {
    /// A receive is posted: its place.
    pub fn post(&mut self) -> u64 {
        self.slots.push_back(Slot::Pending);
        self.first + self.slots.len() as u64 - 1
    }

    /// Whether a receive is posted that is not complete.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The receive at this place is cancelled. Gives receives whose numbers are known now.
    pub fn cancel(&mut self, place: u64, ready: &mut impl FnMut(Side)) {
        self.set(place, Slot::Cancelled);
        self.drain(ready);
    }

    /// The receive at this place has got this message, whose number is not known yet. Gives receives whose numbers are.
    pub fn complete(&mut self, place: u64, side: Side, ready: &mut impl FnMut(Side)) {
        if place < self.first {
            self.number(side, ready);
        } else {
            self.set(place, Slot::Done(Box::new(side)));
            self.drain(ready);
        }
    }

    /// A blocking receive has got this message.
    pub fn receive(&mut self, side: Side, ready: &mut impl FnMut(Side)) {
        if self.slots.is_empty() {
            return self.number(side, ready);
        }
        self.slots.push_back(Slot::Done(Box::new(side)));
        self.drain(ready);
    }

    /// The log is at its end: nothing else is received.
    pub fn finish(&mut self, ready: &mut impl FnMut(Side)) {
        while !self.slots.is_empty() {
            self.pop(ready);
        }
    }

    fn set(&mut self, place: u64, slot: Slot) {
        if let Some(known) =
            place.checked_sub(self.first).and_then(|place| self.slots.get_mut(place as usize))
        {
            *known = slot;
        }
    }

    fn drain(&mut self, ready: &mut impl FnMut(Side)) {
        while self.slots.len() > MOST || self.slots.front().is_some_and(|slot| !matches!(slot, Slot::Pending))
        {
            self.pop(ready);
        }
    }

    fn pop(&mut self, ready: &mut impl FnMut(Side)) {
        let slot = self.slots.pop_front();
        self.first += 1;
        if let Some(Slot::Done(side)) = slot {
            self.number(*side, ready);
        }
    }

    fn number(&mut self, mut side: Side, ready: &mut impl FnMut(Side)) {
        let number = self.received.entry(side.key.channel).or_default();
        side.key.number = *number;
        *number += 1;
        ready(side);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::side;

    #[test]
    fn receives_are_numbered_in_the_order_in_which_they_were_posted() {
        let (mut numbering, mut found) = (Numbering::default(), Vec::new());
        let of = |bytes| {
            let mut side = side(0, (0, 1), 1);
            (side.key.channel, side.bytes) = (7, bytes);
            side
        };
        let mut ready = |side: Side| found.push((side.bytes, side.key.number));
        numbering.receive(of(1), &mut ready);
        let (second, third, fourth) = (numbering.post(), numbering.post(), numbering.post());
        numbering.receive(of(5), &mut ready);
        numbering.complete(fourth, of(4), &mut ready);
        numbering.cancel(third, &mut ready);
        assert!(!numbering.is_empty());
        numbering.complete(second, of(2), &mut ready);
        assert!(numbering.is_empty());
        assert_eq!(found, [(1, 0), (2, 1), (4, 2), (5, 3)]);
    }

    #[test]
    fn one_that_stays_posted_does_not_hold_up_others_forever() {
        let (mut numbering, mut found) = (Numbering::default(), 0u64);
        let stays = numbering.post();
        for _ in 0..=MOST {
            numbering.receive(side(0, (0, 1), 1), &mut |_| found += 1);
        }
        assert!(found > 0);
        let before = found;
        numbering.complete(stays, side(0, (0, 1), 1), &mut |_| found += 1);
        assert_eq!(found, before + 1);
        numbering.finish(&mut |_| found += 1);
        assert_eq!(found, MOST as u64 + 2);
    }
}
