//! Taking in: what has come goes to the twin as `ob1`'s looks take it, from the ring and from what earlier looks have left.

use mpit_events::Ticks;

use super::boxes::Boxes;
use super::comms::WORLD;
use super::deferral::Deferred;
use super::progress::world_rank_of;
use super::tracker::{State, Work};
use super::yields;
use crate::shadow::{Engine, Envelope, Lacking, Window};

/// Envelopes taken in before their events are raised.
const DRAIN: usize = 64;

impl Work<'_> {
    /// Takes in some of what came until the window's end; whether there may be more.
    #[inline]
    pub(super) fn drain_some(&mut self, window: &mut Window) -> bool {
        if self.tells_before() {
            self.find_sender();
            return self.drain_knowing(window);
        }
        if window.is_away() || self.state.engine.has_wildcards() {
            self.drain_knowing(window)
        } else {
            self.drain_ring(window, false)
        }
    }

    /// The same where more than the envelopes tells when messages came.
    #[inline(never)]
    fn drain_knowing(&mut self, window: &mut Window) -> bool {
        self.drain_ring(window, true)
    }

    #[inline(always)]
    fn drain_ring(&mut self, window: &mut Window, knowing: bool) -> bool {
        // Between calls, a thread takes messages out of the ring as they are.
        let looks_twice = self.tracker.defers();
        let knows_boxes = knowing && looks_twice && self.tells_before();
        let last_look = self.tracker.last_look;
        let told = last_look.telling();
        let State { engine, routes, deferred: Deferred { looks, boxes, .. }, .. } = &mut *self.state;
        let Some(ring) = &mut routes.ring else { return self.drain_mail(window) };
        for taken in 0..DRAIN {
            let until = window.until_after(last_look.lasts(looks.count()));
            let mut horizon = until;
            let mut is_over = false;
            if knows_boxes {
                // What comes out of the ring before a message has room goes before it, and what comes after a look is of the next.
                let next = ring.peek().map(|next| window.seen(came(next.sent, window)));
                horizon = next.map_or(horizon, |next| next.min(horizon));
                if !window.is_over()
                    && let Some(end) = looks.end(told)
                {
                    is_over = next.is_some_and(|next| next > end);
                    horizon = horizon.min(end);
                }
                looks.set_horizon(horizon);
            }
            let mut comes_later = |envelope: &Envelope| {
                knowing && engine.comes_later(envelope)
                    || knows_boxes
                        && (boxes.lacks(envelope, horizon)
                            || engine.ends_late(envelope, horizon, window).is_some())
            };
            let next = if let Some(left) = looks.next_left(&mut comes_later) {
                left
            } else if is_over {
                looks.begin();
                continue;
            } else {
                if taken > 1 {
                    ring.prefetch();
                }
                match ring.pop_until(until) {
                    Some(next) if !looks_twice || looks.takes(&next, !window.is_over(), &mut comes_later) => {
                        next
                    }
                    Some(_) => continue,
                    None if looks.is_empty() => return self.drain_mail(window),
                    None if looks.goes_on() => continue,
                    None if window.is_over() || !looks.has_taken() => return self.drain_mail(window),
                    None => {
                        looks.begin();
                        continue;
                    }
                }
            };
            let boxes = knows_boxes.then_some((&mut *boxes, &mut *engine, looks.number(), told));
            let envelope = seen(next, window, until, knowing, boxes);
            if knows_boxes {
                looks.note_time(window.seen(envelope.sent));
            }
            engine.arrive_within(self.sink, envelope, window);
        }
        true
    }

    /// The same for what came from other nodes ([`exchange`](super::exchange)).
    #[inline]
    fn drain_mail(&mut self, window: &mut Window) -> bool {
        let State { engine, inbox, .. } = &mut *self.state;
        for _ in 0..DRAIN {
            let Some(&envelope) = inbox.front().filter(|envelope| envelope.sent <= window.until) else {
                return false;
            };
            inbox.pop_front();
            engine.arrive_within(self.sink, seen(envelope, window, window.until, true, None), window);
        }
        true
    }

    /// Finds out where a sender tells when it is off the processor that has waited for room in its box.
    #[inline(always)]
    fn find_sender(&mut self) {
        if let Some((context, rank)) = self.state.deferred.boxes.take_unknown() {
            self.find_presence(context, rank);
        }
    }

    #[cold]
    #[inline(never)]
    fn find_presence(&mut self, context: u64, rank: i32) {
        let world_rank = self.state.comms.handle_of(context).and_then(|comm| {
            if context == WORLD { Some(rank) } else { world_rank_of(self.tracker.abi, comm, rank, true) }
        });
        let presence = world_rank.and_then(|rank| self.state.routes.presence(rank));
        self.state.deferred.boxes.set_presence((context, rank), presence);
    }

    /// The next message of a sender that the twin lacks one of, where there is any.
    pub(super) fn next_of(&mut self, lacking: &Lacking) -> Option<Envelope> {
        let State { routes, inbox, deferred: Deferred { looks, .. }, .. } = &mut *self.state;
        let left = looks.take_left(lacking.sender);
        if left.is_some() {
            return left;
        }
        if self.tracker.mail.is_open() {
            // It is perhaps there already: clocks of other nodes may be a little ahead.
            let place = inbox.iter().position(|envelope| envelope.sender() == lacking.sender)?;
            return inbox.remove(place);
        }
        let ring = routes.ring.as_mut()?;
        loop {
            let envelope = ring.pop()?;
            if envelope.sender() == lacking.sender {
                return Some(envelope);
            }
            looks.leave(envelope);
        }
    }
}

/// When this process could see what was sent at a time: when it was back, where it is known to have been away.
#[inline(always)]
fn came(sent: Ticks, window: &Window) -> Ticks {
    if window.is_away() { yields::away().back_after(sent) } else { sent }
}

/// A message that a look takes in, as if it had been sent when this process could see it: one that its sender had no room for when
/// there was, out of these boxes, in the look of this number, which its sender sees so many ticks later; one that was sent
/// while the thread is known to have been away when it was back; and one with which the call would have had all that it waited for
/// when it was back for the last time.
#[inline(always)]
pub(super) fn seen(
    mut envelope: Envelope,
    window: &Window,
    until: Ticks,
    knowing: bool,
    mut boxes: Option<(&mut Boxes, &mut Engine, u64, u64)>,
) -> Envelope {
    if let Some((boxes, ..)) = &boxes {
        boxes.put_in(&mut envelope, until);
    }
    if knowing {
        envelope.sent = came(envelope.sent, window);
    }
    if let Some((boxes, engine, look, later)) = &mut boxes {
        if let Some(late) = engine.ends_late(&envelope, window.seen(envelope.sent), window) {
            envelope.sent = late;
        }
        boxes.take(&envelope, *look, window.seen(envelope.sent).plus(*later));
    }
    envelope
}
