//! What polls have left: messages that have come and that the library takes in later.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::matching::{Envelope, Sender};

/// Messages in the order in which they were left.
#[derive(Debug, Default)]
pub(super) struct Leftover {
    /// Gone ones leave their place.
    places: VecDeque<Option<Envelope>>,
    /// How many are there.
    live: usize,
    /// By sender: the places before this one have none of its messages. Of many that are left, each is then searched but once
    /// where they are taken out by sender.
    searched: HashMap<Sender, usize, FxBuildHasher>,
}

impl Leftover {
    /// Whether there are none.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Places, those included that gone ones have left.
    #[inline(always)]
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    /// Adds one behind all others.
    pub(super) fn push(&mut self, envelope: Envelope) {
        self.places.push_back(Some(envelope));
        self.live += 1;
    }

    /// Takes away the first place, and what is there.
    pub(super) fn pop_place(&mut self) -> Option<Envelope> {
        self.searched.clear();
        let envelope = self.places.pop_front()?;
        self.live -= usize::from(envelope.is_some());
        envelope
    }

    /// So many of the first places go behind all others.
    #[cold]
    #[inline(never)]
    pub(super) fn put_behind(&mut self, places: usize) {
        self.searched.clear();
        self.places.rotate_left(places.min(self.places.len()));
    }

    /// Takes out the first message of a sender.
    pub(super) fn take_of(&mut self, sender: Sender) -> Option<Envelope> {
        let searched = self.searched.entry(sender).or_default();
        let is_one =
            |envelope: &Option<Envelope>| envelope.as_ref().is_some_and(|one| one.sender() == sender);
        let found = self.places.iter().skip(*searched).position(is_one);
        *searched = found.map_or(self.places.len(), |further| *searched + further);
        let envelope = self.places.get_mut(*searched)?.take();
        self.live -= usize::from(envelope.is_some());
        if self.live == 0 {
            self.places.clear();
            self.searched.clear();
        }
        envelope
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn envelope(source: i32, sequence: u32) -> Envelope {
        Envelope { context: 7, source, sequence, ..Envelope::default() }
    }

    #[test]
    fn what_was_looked_at_for_a_sender_is_not_looked_at_again() {
        let mut left = Leftover::default();
        (0..100).for_each(|sequence| left.push(envelope(1, sequence)));
        (0..3).for_each(|sequence| left.push(envelope(2, sequence)));
        for sequence in 0..3 {
            assert_eq!(left.take_of((7, 2)), Some(envelope(2, sequence)));
            assert_eq!(left.searched[&(7, 2)], 100 + sequence as usize);
        }
        assert_eq!(left.take_of((7, 2)), None);
        left.push(envelope(2, 3));
        assert_eq!(left.take_of((7, 2)), Some(envelope(2, 3)));
        assert_eq!(left.take_of((7, 1)), Some(envelope(1, 0)));
    }

    proptest! {
        #[test]
        fn it_is_a_queue_of_which_the_first_of_a_sender_can_be_taken(
            steps in prop::collection::vec((0..5, 0..3i32), 0..200)
        ) {
            let (mut left, mut model, mut sent) = (Leftover::default(), VecDeque::new(), 0);
            for (step, source) in steps {
                match step {
                    0 | 1 => {
                        sent += 1;
                        left.push(envelope(source, sent));
                        model.push_back(envelope(source, sent));
                    }
                    2 | 3 => {
                        let place = model.iter().position(|envelope| envelope.source == source);
                        let expected = place.and_then(|place| model.remove(place));
                        prop_assert_eq!(left.take_of((7, source)), expected);
                    }
                    _ => {
                        let mut places = left.places();
                        let first = std::iter::from_fn(|| {
                            places = places.checked_sub(1)?;
                            Some(left.pop_place())
                        });
                        let popped = first.flatten().next();
                        prop_assert_eq!(popped, model.pop_front());
                    }
                }
                prop_assert_eq!(left.is_empty(), model.is_empty());
                prop_assert!(left.places() >= model.len());
            }
        }
    }
}
