//! Looks: what ob1 takes in each time that it looks for what has come.
//!
//! Over shared memory that is so many messages of each sender and no more; the rest waits for the next look, while messages
//! of others, sent after them, are taken in. A call that waits looks until it has what it waits for, and no further.
//!
//! Of each sender in turn: so a message may come after others that were sent later. Where it is known to have done so, it is
//! held back until those are there.

use mpit_events::Ticks;

use super::comms::WORLD;
use super::left::Left;
use crate::shadow::{Envelope, Sender};

/// The most messages of one sender that ob1 takes in at one look (`mca_btl_vader_check_fboxes`, Open MPI 4.1).
const AT_ONE_LOOK: u8 = 32;

/// A sender's first messages go through a queue that all senders share; only with the last of them ob1 learns of the
/// sender's own box, which it looks at before that queue, and so in its next look. They are sixteen with those of collective
/// operations (`mca_btl_vader_try_fbox_setup`), which the twin does not see: our own, while MPI is initialised, are at least
/// one, and these for processes that are partners in a recursive doubling, whose ranks differ in one bit.
const QUEUED: u32 = 15;
const QUEUED_OF_PARTNER: u32 = 11;

/// The most messages that ob1 takes out of that queue at one look (`mca_btl_vader_component_progress`): it takes 31 things, but what
/// comes back of its own messages, and messages of collective operations, are among them. With 4 ranks three were, in each of
/// 56 runs; with 5 to 8 ranks none to seven.
const QUEUED_AT_ONE_LOOK: u8 = 28;

/// The queue that all senders share, of the process with this rank in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue(pub(super) i32);

impl Queue {
    /// Whether a message comes through it.
    #[inline(always)]
    pub(super) fn has(self, envelope: &Envelope) -> bool {
        envelope.sequence < QUEUED
            && envelope.context == WORLD
            && envelope.sequence < self.length_of(envelope)
    }

    /// Whether a message is the last of its sender that does.
    #[inline]
    fn ends_with(self, envelope: &Envelope) -> bool {
        envelope.sequence + 1 == self.length_of(envelope)
    }

    /// How many messages of its sender do.
    #[inline]
    fn length_of(self, envelope: &Envelope) -> u32 {
        if (envelope.source ^ self.0).count_ones() == 1 { QUEUED_OF_PARTNER } else { QUEUED }
    }
}

/// Marks a sender of whom nothing is taken in for now: one of its messages is held back.
const HELD: u8 = 0x80;

/// What the look that is being followed has taken in, and what it has left.
pub(super) struct Looks {
    /// Which one that is.
    number: u64,
    /// What its messages may come through.
    pub(super) queue: Queue,
    /// Messages taken in, by sender, of whom several may share a place.
    taken: [u8; 64],
    /// How many these are.
    count: u32,
    /// When the first of them was seen.
    time: Option<Ticks>,
    /// How many of them were in the queue that all senders share.
    queued: u8,
    /// The place of the first of them, and whether others have come.
    first: Option<usize>,
    mixed: bool,
    /// What was left: of each sender in order, and before all that has yet to be taken out of the ring.
    left: Left,
    /// How many of these the look has yet to consider.
    ahead: usize,
    /// The time up to which it is known now what had come.
    horizon: Ticks,
    /// Whether messages are held back: up to when it was known what had come when that was found out. And whether others have
    /// been taken in since.
    held: Option<Ticks>,
    moved: bool,
}

impl Default for Looks {
    fn default() -> Self {
        Looks {
            number: 0,
            queue: Queue::default(),
            taken: [0; 64],
            count: 0,
            time: None,
            queued: 0,
            first: None,
            mixed: false,
            left: Left::default(),
            ahead: 0,
            horizon: Ticks(0),
            held: None,
            moved: false,
        }
    }
}

impl Looks {
    /// The next look begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        if self.ahead != 0 && self.ahead != self.left.places() {
            // What has yet to be considered goes behind what has been: as it was before.
            self.left.put_behind(self.ahead);
        }
        self.number += 1;
        self.taken = [0; 64];
        self.count = 0;
        self.time = None;
        self.queued = 0;
        self.first = None;
        self.mixed = false;
        self.ahead = self.left.places();
        self.held = None;
        self.moved = false;
    }

    /// The look's number.
    #[inline(always)]
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A message of the look was seen at this time.
    #[inline(always)]
    pub(super) fn note_time(&mut self, time: Ticks) {
        self.time.get_or_insert(time);
    }

    /// When it was over at the latest, which takes no longer than so many ticks; `None` where it has taken in nothing.
    #[inline(always)]
    pub(super) fn end(&self, longest: u64) -> Option<Ticks> {
        Some(self.time?.plus(longest))
    }

    /// How many messages it has taken in.
    #[inline(always)]
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Whether it has taken anything in.
    #[inline(always)]
    pub(super) fn has_taken(&self) -> bool {
        self.first.is_some()
    }

    /// What had come by this time is known now, and no more.
    #[inline(always)]
    pub(super) fn set_horizon(&mut self, horizon: Ticks) {
        self.horizon = horizon;
    }

    /// Goes on with the look where it has held messages back, and has taken in others since, or knows of what came later: whether
    /// it does.
    pub(super) fn goes_on(&mut self) -> bool {
        if !self.held.is_some_and(|known| self.moved || known < self.horizon) {
            return false;
        }
        self.held = None;
        self.moved = false;
        self.taken.iter_mut().for_each(|taken| *taken &= !HELD);
        self.ahead = self.left.places();
        true
    }

    /// Whether no look has left anything.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Counts a message that the look takes in.
    #[inline(always)]
    pub(super) fn note(&mut self, envelope: &Envelope) {
        let place = place(envelope);
        self.taken[place] = self.taken[place].saturating_add(1);
        self.count += 1;
        if self.queue.has(envelope) {
            self.queued = self.queued.saturating_add(1);
            if self.queue.ends_with(envelope) {
                self.taken[place] = AT_ONE_LOOK;
            }
        }
        self.mixed |= *self.first.get_or_insert(place) != place;
        self.moved = true;
    }

    /// Whether the look takes this message in, which has just come out of the ring; otherwise it is kept for a later one.
    /// A call that `goes_on` will look again: where there is but one sender, it may as well do so at once, but for first messages,
    /// behind which others' are in the queue. A message that `comes_later` is held back.
    #[inline(always)]
    pub(super) fn takes(
        &mut self,
        envelope: &Envelope,
        goes_on: bool,
        comes_later: impl FnOnce(&Envelope) -> bool,
    ) -> bool {
        let has_all = self.taken[place(envelope)] >= AT_ONE_LOOK
            || self.queue.has(envelope) && self.queued >= QUEUED_AT_ONE_LOOK;
        if has_all && !self.looks_again(envelope, goes_on) {
            return false;
        }
        if comes_later(envelope) {
            self.hold(envelope);
            return false;
        }
        self.note(envelope);
        true
    }

    /// Holds a message back, and with it all later ones of its sender.
    #[cold]
    #[inline(never)]
    fn hold(&mut self, envelope: &Envelope) {
        self.taken[place(envelope)] |= HELD;
        self.left.push(*envelope);
        self.held.get_or_insert(self.horizon);
    }

    #[cold]
    #[inline(never)]
    fn looks_again(&mut self, envelope: &Envelope, goes_on: bool) -> bool {
        let again = goes_on && !self.mixed && self.queued == 0 && self.left.is_empty();
        if again {
            self.begin();
        } else {
            // Whatever else its sender has sent comes after it.
            let taken = &mut self.taken[place(envelope)];
            *taken = (*taken).max(AT_ONE_LOOK);
            self.left.push(*envelope);
        }
        again
    }

    /// The next message that the look takes in of those that an earlier one has left.
    #[inline(always)]
    pub(super) fn next_left(&mut self, comes_later: impl FnMut(&Envelope) -> bool) -> Option<Envelope> {
        if self.ahead == 0 { None } else { self.search_left(comes_later) }
    }

    #[cold]
    #[inline(never)]
    fn search_left(&mut self, mut comes_later: impl FnMut(&Envelope) -> bool) -> Option<Envelope> {
        while self.ahead > 0 {
            self.ahead -= 1;
            let Some(envelope) = self.left.pop_place() else { continue };
            if self.takes(&envelope, false, &mut comes_later) {
                return Some(envelope);
            }
        }
        None
    }

    /// The first message of this sender of all that were left in whichever look; between looks.
    pub(super) fn take_left(&mut self, sender: Sender) -> Option<Envelope> {
        let envelope = self.left.take_of(sender);
        // Where none is left, there are no places either.
        self.ahead = self.ahead.min(self.left.places());
        envelope
    }

    /// Leaves a message that has just come out of the ring for the next look; between looks.
    pub(super) fn leave(&mut self, envelope: Envelope) {
        self.begin();
        self.left.push(envelope);
        self.ahead = self.left.places();
    }
}

#[inline(always)]
fn place(envelope: &Envelope) -> usize {
    (envelope.context as usize ^ envelope.source as usize) % 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn envelope(source: i32, sequence: u32) -> Envelope {
        Envelope { context: 7, source, sequence, ..Envelope::default() }
    }

    /// One look, with what is in the ring; the messages that it takes in, as sender and number.
    fn look(looks: &mut Looks, ring: &[Envelope], goes_on: bool) -> Vec<(i32, u32)> {
        looks.begin();
        let mut taken = Vec::new();
        while let Some(left) = looks.next_left(|_| false) {
            taken.push(left);
        }
        taken.extend(ring.iter().filter(|envelope| looks.takes(envelope, goes_on, |_| false)));
        taken.iter().map(|envelope| (envelope.source, envelope.sequence)).collect()
    }

    #[test]
    fn a_look_takes_so_many_of_each_sender() {
        let mut looks = Looks::default();
        let ring: Vec<_> = (0..70).map(|i| envelope(1, i)).chain((0..40).map(|i| envelope(2, i))).collect();
        let first = look(&mut looks, &ring, false);
        let of = |source, numbers: std::ops::Range<u32>| numbers.map(move |number| (source, number));
        assert_eq!(first, of(1, 0..32).chain(of(2, 0..32)).collect::<Vec<_>>());
        let second = look(&mut looks, &[envelope(1, 70), envelope(3, 0)], false);
        assert_eq!(second, of(1, 32..64).chain(of(2, 32..40)).chain(of(3, 0..1)).collect::<Vec<_>>());
        assert_eq!(look(&mut looks, &[], false), of(1, 64..71).collect::<Vec<_>>());
        assert!(looks.is_empty());
    }

    #[test]
    fn the_box_of_a_sender_is_looked_at_after_its_first_messages() {
        let of_world = |number| Envelope { context: WORLD, ..envelope(1, number) };
        let ring: Vec<_> = (0..60).map(of_world).collect();
        let mut looks = Looks::default();
        let counts = [&ring[..], &[], &[]].map(|ring| look(&mut looks, ring, false).len() as u32);
        assert_eq!(
            counts,
            [QUEUED_OF_PARTNER, u32::from(AT_ONE_LOOK), 60 - QUEUED_OF_PARTNER - u32::from(AT_ONE_LOOK)]
        );
        let waiting = look(&mut Looks::default(), &ring, true).len() as u32;
        assert_eq!(waiting, QUEUED_OF_PARTNER, "others may be in the queue");
    }

    #[test]
    fn a_look_takes_so_many_of_the_first_messages_of_all() {
        let mut looks = Looks { queue: Queue(4), ..Looks::default() };
        let length = |source| looks.queue.length_of(&envelope(source, 0));
        assert_eq!([0, 1, 2, 3, 5, 6].map(length), [11, 15, 15, 15, 11, 11], "partners, and others");
        let first = |source| {
            (0..length(source)).map(move |number| Envelope { context: WORLD, ..envelope(source, number) })
        };
        let ring: Vec<_> = [5, 6, 0, 1].into_iter().flat_map(first).collect();
        let counts = [&ring[..], &[]].map(|ring| look(&mut looks, ring, false).len());
        assert_eq!(counts, [28, 20]);
    }

    #[test]
    fn a_call_that_goes_on_looks_again_at_the_only_sender() {
        let mut looks = Looks::default();
        let ring: Vec<_> = (0..100).map(|i| envelope(1, i)).collect();
        assert_eq!(look(&mut looks, &ring, true).len(), 100);
        assert!(looks.is_empty());
    }

    #[test]
    fn what_comes_later_is_held_back_until_others_have_come() {
        let mut looks = Looks::default();
        looks.begin();
        let ring: Vec<_> = (0..40).map(|i| envelope(1, i)).chain((0..3).map(|i| envelope(2, i))).collect();
        let waits = std::cell::Cell::new(true);
        let comes_later = |envelope: &Envelope| waits.get() && envelope.source == 1;
        let taken: Vec<_> = ring.iter().filter(|envelope| looks.takes(envelope, true, comes_later)).collect();
        assert!(taken.iter().all(|envelope| envelope.source == 2) && taken.len() == 3);
        assert!(looks.goes_on(), "others have come");
        assert_eq!(looks.next_left(comes_later), None);
        assert!(!looks.goes_on(), "nothing has");
        waits.set(false);
        looks.begin();
        let mut left = std::iter::from_fn(|| looks.next_left(comes_later));
        assert!((0..32).all(|number| left.next() == Some(envelope(1, number))));
        assert_eq!(left.next(), None, "a look takes no more of a sender that was held back");
    }

    #[test]
    fn what_is_held_back_is_looked_at_again_where_more_is_known() {
        let mut looks = Looks::default();
        looks.begin();
        looks.set_horizon(Ticks(5));
        assert!(!looks.takes(&envelope(1, 0), true, |_| true), "it had not come by then");
        assert!(!looks.goes_on(), "nothing has come, and no more is known");
        looks.set_horizon(Ticks(6));
        assert!(looks.goes_on());
        assert_eq!(looks.next_left(|_| false), Some(envelope(1, 0)));
        assert_eq!((looks.count(), looks.goes_on()), (1, false));
    }

    #[test]
    fn what_is_left_is_taken_of_one_sender_alone() {
        let mut looks = Looks::default();
        let ring: Vec<_> = (0..40).flat_map(|i| [envelope(1, i), envelope(2, i)]).collect();
        assert_eq!(look(&mut looks, &ring, false).len(), 64);
        looks.leave(envelope(3, 0));
        assert_eq!(looks.take_left((7, 2)), Some(envelope(2, 32)));
        assert_eq!(looks.take_left((7, 4)), None);
        let next = look(&mut looks, &[envelope(2, 40)], false);
        assert_eq!(next.iter().filter(|(source, _)| *source == 1).count(), 8);
        assert_eq!(next.iter().filter(|(source, _)| *source == 3).count(), 1);
        let of_2: Vec<_> =
            next.iter().filter(|(source, _)| *source == 2).map(|(_, number)| *number).collect();
        assert_eq!(of_2, (33..41).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn messages_of_a_sender_stay_in_order(
            context in prop::sample::select(vec![7, WORLD]),
            rounds in prop::collection::vec(
                (prop::collection::vec(0..4i32, 0..120), any::<bool>(), 0..40usize, 0..40usize),
                1..8,
            )
        ) {
            let (mut looks, mut sent, mut seen) = (Looks::default(), [0; 4], [0; 4]);
            let rest = (0..40).map(|_| (Vec::new(), false, 0, 0));
            for (senders, goes_on, lacking, considered) in rounds.into_iter().chain(rest) {
                let ring: Vec<_> = senders
                    .into_iter()
                    .map(|source| {
                        sent[source as usize] += 1;
                        Envelope { context, ..envelope(source, sent[source as usize] - 1) }
                    })
                    .collect();
                // Of the last of them one sender's messages are needed at once.
                let (first, last) = ring.split_at(ring.len() - ring.len() / 4);
                // The look before that is over when it has considered some of what others have left.
                looks.begin();
                let early = std::iter::from_fn(|| looks.next_left(|_| false)).take(considered);
                let mut taken: Vec<_> = early.map(|envelope| (envelope.source, envelope.sequence)).collect();
                taken.extend(look(&mut looks, first, goes_on));
                last.iter().for_each(|envelope| looks.leave(*envelope));
                let needed = std::iter::from_fn(|| looks.take_left((context, 1))).take(lacking);
                taken.extend(needed.map(|envelope| (envelope.source, envelope.sequence)));
                for (source, number) in taken {
                    prop_assert_eq!(number, seen[source as usize]);
                    seen[source as usize] += 1;
                }
            }
            prop_assert!(looks.is_empty());
            prop_assert_eq!(seen, sent);
        }
    }
}
