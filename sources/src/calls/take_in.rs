//! Taking in: what the library has taken in, as far as the model of progress knows, goes to the matching.

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::descheduled;
use super::state::State;
use super::tracker::Work;
use crate::matching::{Envelope, Lacking};
use crate::progress_model::CallInterval;

/// Envelopes taken in before their events are raised.
const AT_ONCE: usize = 64;

impl Work<'_> {
    /// Takes in some of what has come until now, seen from `entered` on; whether there may be more.
    pub(crate) fn take_in_now(&mut self, entered: Ticks) -> bool {
        let now = self.tracker.now();
        let mut interval = CallInterval::open(entered, Ticks(u64::MAX));
        self.state.model.begin_open();
        if self.was_descheduled(entered, now) {
            self.set_descheduled(&mut interval, now);
        }
        let more = self.take_in_some(&mut interval);
        if self.tracker.unseen.load(Ordering::Relaxed) {
            self.note_leftover();
        }
        more
    }

    /// Notes whether polls have left envelopes for the next call.
    #[cold]
    pub(crate) fn note_leftover(&self) {
        self.tracker.unseen.store(self.state.model.has_leftover(), Ordering::Relaxed);
    }

    /// Takes in some of what has come in this interval; whether there may be more.
    #[inline]
    pub(crate) fn take_in_some(&mut self, interval: &mut CallInterval) -> bool {
        let progress = self.tracker.progress();
        let has_wildcards = self.state.engine.has_wildcards();
        for taken in 0..AT_ONCE {
            let State { engine, model, routes, .. } = &mut *self.state;
            let Some(ring) = &mut routes.ring else { break };
            if taken > 1 {
                ring.prefetch();
            }
            let comes_later = |envelope: &Envelope| has_wildcards && engine.comes_later(envelope);
            let Some(envelope) = model.next(progress, ring, interval, comes_later) else { break };
            self.arrive(&envelope, interval);
            if taken + 1 == AT_ONCE {
                return true;
            }
        }
        self.note_new_leftover();
        self.take_in_mail(interval)
    }

    /// What polls have left is for the next call that polls, also where nothing else comes.
    #[inline(always)]
    fn note_new_leftover(&self) {
        if self.state.model.has_leftover() {
            self.tracker.unseen.store(true, Ordering::Relaxed);
        }
    }

    /// The same for what came from other nodes ([`exchange`](super::exchange)).
    #[inline]
    fn take_in_mail(&mut self, interval: &mut CallInterval) -> bool {
        for _ in 0..AT_ONCE {
            let next = self.state.inbox.front().filter(|envelope| envelope.sent <= interval.until);
            let Some(&envelope) = next else { return false };
            self.state.inbox.pop_front();
            if !self.state.unmet.is_empty() {
                self.meet_envelope(&envelope);
            }
            self.arrive(&envelope, interval);
        }
        true
    }

    /// An envelope comes in, in this interval.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, envelope: &Envelope, interval: &mut CallInterval) {
        if interval.has_schedule() {
            return self.arrive_descheduled(envelope, interval);
        }
        self.arrive_at_its_time(envelope, interval);
    }

    /// The same where it is known when the process was descheduled.
    #[inline(never)]
    fn arrive_descheduled(&mut self, envelope: &Envelope, interval: &mut CallInterval) {
        let sent = descheduled::resumed_after(envelope.sent);
        self.arrive_at_its_time(&Envelope { sent, ..*envelope }, interval);
    }

    #[inline(always)]
    fn arrive_at_its_time(&mut self, envelope: &Envelope, interval: &mut CallInterval) {
        let copying = self.tracker.parameters().copying;
        let engine = &mut self.state.engine;
        let when = |expected| interval.came(envelope, expected, copying);
        match engine.arrive_when(self.sink, envelope, when) {
            Some(matched) => {
                if let Some(copied) = interval.copied(envelope, matched, copying) {
                    engine.pass_until(copied);
                }
            }
            None if !self.state.unmet.is_empty() && !self.tracker.mail.is_open() => {
                self.meet_in_memory(envelope);
            }
            None => {}
        }
    }

    /// The next message of a sender that the model lacks one of, where there is any.
    pub(crate) fn next_of(&mut self, lacking: &Lacking) -> Option<Envelope> {
        let State { model, routes, inbox, .. } = &mut *self.state;
        if let (false, Some(ring)) = (self.tracker.mail.is_open(), &mut routes.ring) {
            return model.take_of(lacking.sender, ring);
        }
        // It is perhaps there already: clocks of other nodes may be a little ahead.
        let place = inbox.iter().position(|envelope| envelope.sender() == lacking.sender)?;
        inbox.remove(place)
    }
}
