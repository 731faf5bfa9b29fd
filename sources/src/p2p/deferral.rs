//! Progress: what has come is taken in, now or, where calls leave it for later, at the next call that needs
//! to know.

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::tracker::{State, Work};
use crate::shadow::{Completion, Envelope, ReceiveIndex};

/// Envelopes taken in before their events are raised.
const DRAIN: usize = 64;

/// What an MPI call has left for the twin to follow: the call returns at once, and the twin catches
/// up when the application next posts, probes or waits. Every event keeps the time it would have had.
#[derive(Default)]
pub(super) struct Deferred {
    /// From when to when the call made progress; none is left where `until` is zero.
    from: Ticks,
    until: Ticks,
    completions: Vec<(ReceiveIndex, Completion)>,
}

/// How often the ring is looked into for an envelope that is being written: about a microsecond.
const PATIENCE: u32 = 64;

/// Completions that may wait.
const MAX_DEFERRED: usize = 256;

impl Deferred {
    /// Keeps a completion for later; `false` where nothing is deferred, or no more can be.
    #[inline(always)]
    pub(super) fn keep(&mut self, receive: ReceiveIndex, real: Completion) -> bool {
        let keeps = self.until != Ticks(0) && self.completions.len() < MAX_DEFERRED;
        if keeps {
            self.completions.push((receive, real));
        }
        keeps
    }
}

impl Work<'_> {
    /// Takes in some of what came until `until`, seen from `entered` on; whether there may be more.
    #[inline]
    pub(super) fn drain_some(&mut self, entered: Ticks, until: Ticks) -> bool {
        let State { engine, routes, .. } = &mut *self.state;
        if let Some(ring) = &mut routes.ring {
            for taken in 0..DRAIN {
                if taken > 1 {
                    ring.prefetch();
                }
                match ring.pop_until(until) {
                    Some(envelope) => engine.arrive_inline(self.sink, envelope, entered),
                    None => return self.drain_mail(entered, until),
                }
            }
            return true;
        }
        self.drain_mail(entered, until)
    }

    /// The same for what came from other nodes ([`exchange`](super::exchange)).
    #[inline]
    fn drain_mail(&mut self, entered: Ticks, until: Ticks) -> bool {
        let State { engine, inbox, .. } = &mut *self.state;
        for _ in 0..DRAIN {
            let Some(&envelope) = inbox.front().filter(|envelope| envelope.sent <= until) else {
                return false;
            };
            inbox.pop_front();
            engine.arrive(self.sink, envelope, entered);
        }
        true
    }

    /// A call has made progress since `entered`: the twin will follow later.
    #[inline]
    pub(super) fn defer(&mut self, entered: Ticks) {
        self.state.routes.prepare();
        let deferred = &mut self.state.deferred;
        if deferred.until == Ticks(0) {
            deferred.from = entered;
        }
        deferred.until = self.tracker.now();
        self.tracker.unsettled.store(true, Ordering::Relaxed);
    }

    /// The twin will soon catch up: the envelope that it looks for first comes nearer.
    #[inline(always)]
    pub(super) fn expect_envelope(&self) {
        if self.state.deferred.until != Ticks(0)
            && let Some(ring) = &self.state.routes.ring
        {
            ring.prefetch_next();
        }
    }

    /// Follows some of the progress that was deferred; whether there may be more.
    #[inline]
    pub(super) fn settle_some(&mut self) -> bool {
        let Deferred { from, until, .. } = self.state.deferred;
        if until == Ticks(0) {
            return false;
        }
        if self.drain_some(from, until) {
            return true;
        }
        self.state.deferred.until = Ticks(0);
        self.tracker.unsettled.store(false, Ordering::Relaxed);
        let mut completions = std::mem::take(&mut self.state.deferred.completions);
        for (receive, real) in completions.drain(..) {
            if self.state.engine.complete_matched(self.sink, receive, real).is_none() {
                self.catch_up(receive, real, from, until);
            }
        }
        self.state.deferred.completions = completions;
        false
    }

    /// Follows a completion whose envelope has perhaps yet to come: its sender is about to write it.
    #[cold]
    #[inline(never)]
    fn catch_up(&mut self, receive: ReceiveIndex, real: Completion, from: Ticks, until: Ticks) {
        let State { engine, routes, .. } = &mut *self.state;
        if let Some(ring) = &mut routes.ring
            && !self.tracker.mail.is_open()
        {
            let mut patience = PATIENCE;
            while patience > 0 && engine.lacks_envelope(receive, real) {
                match ring.pop() {
                    // It came before the call returned.
                    Some(envelope) => {
                        let sent = envelope.sent.min(until);
                        engine.arrive(self.sink, Envelope { sent, ..envelope }, from);
                    }
                    None => {
                        patience -= 1;
                        std::hint::spin_loop();
                    }
                }
            }
        }
        engine.complete(self.sink, receive, real);
    }
}
