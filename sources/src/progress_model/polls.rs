//! Polls: what `ob1` takes in each time that it looks for what has come.
//!
//! Over shared memory that is so many messages of each sender and no more; the rest waits for the next poll, while messages of
//! others, sent after them, are taken in. A call that waits polls until it has what it waits for, and no further.
//!
//! It takes of each sender in turn: so a message may come after others that were sent later. Where it is known to have done so, it
//! is held back until those are there.

use super::leftover::Leftover;
use super::parameters::PER_POLL;
use crate::matching::{Envelope, Sender};

/// Marks a sender of whom nothing is taken in for now: one of its messages is held back.
const HELD: u8 = 0x80;

/// What the poll that is being followed has taken in, and what polls have left.
#[derive(Debug)]
pub(super) struct Polls {
    /// Messages taken in, by sender, of whom several may share a place.
    taken: [u8; 64],
    /// The place of the first of them, and whether others have come.
    first: Option<usize>,
    mixed: bool,
    /// What was left: of each sender in order, and before all that has yet to be taken from what comes.
    leftover: Leftover,
    /// How many places of these the poll has yet to consider.
    ahead: usize,
    /// Whether messages are held back, and whether others have been taken in since.
    held: bool,
    moved: bool,
}

impl Default for Polls {
    fn default() -> Self {
        Polls {
            taken: [0; 64],
            first: None,
            mixed: false,
            leftover: Leftover::default(),
            ahead: 0,
            held: false,
            moved: false,
        }
    }
}

impl Polls {
    /// The next poll begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        if self.ahead != 0 && self.ahead != self.leftover.places() {
            // What has yet to be considered goes behind what has been: as it was before.
            self.leftover.put_behind(self.ahead);
        }
        self.taken = [0; 64];
        self.first = None;
        self.mixed = false;
        self.ahead = self.leftover.places();
        self.held = false;
        self.moved = false;
    }

    /// Whether no poll has left anything.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.leftover.is_empty()
    }

    /// Whether the poll has taken anything in.
    #[inline(always)]
    pub(super) fn has_taken(&self) -> bool {
        self.first.is_some()
    }

    /// Whether the poll has neither taken anything in nor held anything back.
    #[inline(always)]
    pub(super) fn is_new(&self) -> bool {
        self.first.is_none() && !self.held
    }

    /// Goes through what is left once more, where messages are held back and others have been taken in since: whether it does.
    pub(super) fn reconsiders(&mut self) -> bool {
        if !self.held || !self.moved {
            return false;
        }
        self.held = false;
        self.moved = false;
        self.taken.iter_mut().for_each(|taken| *taken &= !HELD);
        self.ahead = self.leftover.places();
        true
    }

    /// Counts a message that the poll takes in.
    #[inline(always)]
    pub(super) fn count(&mut self, envelope: &Envelope) {
        let place = place(envelope);
        self.taken[place] = self.taken[place].saturating_add(1);
        self.mixed |= *self.first.get_or_insert(place) != place;
        self.moved = true;
    }

    /// Whether the poll takes this message in, which is the next that has come; otherwise it is kept for a later one. A call that
    /// `polls_on` will poll again: where there is but one sender, it may as well do so at once. A message that `comes_later` is held
    /// back.
    #[inline(always)]
    pub(super) fn takes(
        &mut self,
        envelope: &Envelope,
        polls_on: bool,
        comes_later: impl FnOnce(&Envelope) -> bool,
    ) -> bool {
        if self.taken[place(envelope)] >= PER_POLL && !self.polls_again(envelope, polls_on) {
            return false;
        }
        if comes_later(envelope) {
            self.hold(envelope);
            return false;
        }
        self.count(envelope);
        true
    }

    /// Holds a message back, and with it all later ones of its sender.
    #[cold]
    #[inline(never)]
    fn hold(&mut self, envelope: &Envelope) {
        self.taken[place(envelope)] |= HELD;
        self.leftover.push(*envelope);
        self.held = true;
    }

    #[cold]
    #[inline(never)]
    fn polls_again(&mut self, envelope: &Envelope, polls_on: bool) -> bool {
        let again = polls_on && !self.mixed && self.leftover.is_empty();
        if again {
            self.begin();
        } else {
            self.leftover.push(*envelope);
        }
        again
    }

    /// The next message that the poll takes in of those that an earlier one has left.
    #[inline(always)]
    pub(super) fn next_left(&mut self, comes_later: impl FnMut(&Envelope) -> bool) -> Option<Envelope> {
        if self.ahead == 0 { None } else { self.search_left(comes_later) }
    }

    #[cold]
    #[inline(never)]
    fn search_left(&mut self, mut comes_later: impl FnMut(&Envelope) -> bool) -> Option<Envelope> {
        while self.ahead > 0 {
            self.ahead -= 1;
            let Some(envelope) = self.leftover.pop_place() else { continue };
            if self.takes(&envelope, false, &mut comes_later) {
                return Some(envelope);
            }
        }
        None
    }

    /// The first message of this sender of all that were left in whichever poll; between polls.
    pub(super) fn take_left(&mut self, sender: Sender) -> Option<Envelope> {
        let envelope = self.leftover.take_of(sender);
        // Where none is left, there are no places either.
        self.ahead = self.ahead.min(self.leftover.places());
        envelope
    }

    /// Leaves a message that has just come for the next poll; between polls.
    pub(super) fn leave(&mut self, envelope: Envelope) {
        self.begin();
        self.leftover.push(envelope);
        self.ahead = self.leftover.places();
    }
}

#[inline(always)]
fn place(envelope: &Envelope) -> usize {
    (envelope.context as usize ^ envelope.source as usize) % 64
}
