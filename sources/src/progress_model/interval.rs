//! The interval in which one MPI call has polled, and what is known of it afterwards.
//!
//! When the model follows a call, the call has returned: which receives it has completed is known. That says more than the
//! envelopes do. A receive gets no other message than the one that it has completed with. A call that waited for receives returned
//! as soon as the last of them had its message: it came then, however long before it was sent (the process may have been
//! descheduled), and nothing that came later was taken in.

use mpit_events::Ticks;

use super::Copying;
use crate::matching::{Completed, EAGER_LIMIT, Envelope};

/// From when to when a call has polled.
#[derive(Clone, Copy, Debug)]
pub struct CallInterval {
    /// When it began.
    pub from: Ticks,
    /// When it returned; once the last of its messages has come, that moment, but no later than `last`.
    pub until: Ticks,
    /// The latest time of sending of what it can have seen.
    last: Ticks,
    /// Where the process was descheduled in it, and it is not known when: so many ticks after its sending a message was taken in, but
    /// not after `lag_ends`.
    lag: u64,
    lag_ends: Ticks,
    /// Where that is known: when the process resumed for the last time.
    resumed: Option<Ticks>,
    /// Receives that it has completed and whose messages have not come.
    unmet: u32,
    /// Whether it waited for receives and for nothing else.
    waited: bool,
}

impl CallInterval {
    /// A call of which nothing is known but its time.
    #[inline(always)]
    pub fn open(from: Ticks, until: Ticks) -> Self {
        let (lag, lag_ends, resumed) = (0, Ticks(0), None);
        CallInterval { from, until, last: until, lag, lag_ends, resumed, unmet: 0, waited: false }
    }

    /// A call that has waited for receives only.
    #[inline(always)]
    pub fn waited(from: Ticks, until: Ticks) -> Self {
        CallInterval { waited: true, ..CallInterval::open(from, until) }
    }

    /// The process was descheduled in it, again and again, and ran at `end` at the latest, where it saw what had been sent at `last`.
    /// How long that one had waited is the best guess for the others.
    pub fn set_lag(&mut self, end: Ticks, last: Ticks) {
        self.lag_ends = end;
        self.lag = end.since(last);
    }

    /// The process was descheduled in it, for the last time until `resumed`. What came meanwhile is given as if it had been sent when
    /// the process resumed ([`Schedule::resumed_after`](super::Schedule::resumed_after)).
    pub fn set_resumed(&mut self, resumed: Ticks) {
        self.resumed = Some(resumed);
    }

    /// Whether it is known when the process was descheduled in it.
    #[inline(always)]
    pub fn has_schedule(&self) -> bool {
        self.resumed.is_some()
    }

    /// A message is on its way for so many ticks before a call can see it: set before anything has come.
    #[inline(always)]
    pub fn set_transit(&mut self, ticks: u64) {
        self.last = Ticks(self.last.0.saturating_sub(ticks));
    }

    /// Adds a receive that the call has completed, which matching knew like this before.
    #[inline(always)]
    pub fn completes(&mut self, receive: Completed, copying: Copying) {
        match receive {
            Completed::Waits => self.unmet += 1,
            Completed::Unknown => self.waited = false,
            Completed::Matched { bytes } if bytes > EAGER_LIMIT && !copying.at_once => self.waited = false,
            Completed::Matched { .. } | Completed::Over => {}
        }
    }

    /// Whether the call has polled no more: all that it waited for is there.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.waited && self.unmet == 0
    }

    /// Whether the messages of some receives that it has waited for have not come.
    #[inline(always)]
    pub fn is_lacking(&self) -> bool {
        self.waited && self.unmet != 0
    }

    /// When this message came. `expected`: it goes to a receive that the call is known to have completed with it.
    #[inline(always)]
    pub fn came(&mut self, envelope: &Envelope, expected: bool, copying: Copying) -> Ticks {
        let seen = self.seen(envelope.sent);
        if expected { self.came_expected(envelope, seen, copying) } else { seen }
    }

    /// When a message could be seen that was sent then.
    #[inline(always)]
    fn seen(&self, sent: Ticks) -> Ticks {
        if sent <= self.from { self.from } else { sent.max(sent.plus(self.lag).min(self.lag_ends)) }
    }

    #[inline(always)]
    fn came_expected(&mut self, envelope: &Envelope, seen: Ticks, copying: Copying) -> Ticks {
        self.unmet = self.unmet.saturating_sub(1);
        if self.unmet != 0 || !self.waited {
            return seen;
        }
        if envelope.bytes > EAGER_LIMIT && !copying.at_once {
            // The call has waited for the data too.
            self.waited = false;
            return seen;
        }
        // With this message, once copied, the call returned. What was there when it began, or resumed, it has seen at once.
        let takes = copying.takes(envelope.bytes);
        let came = if envelope.sent > self.resumed.unwrap_or(self.from) && self.until != Ticks(u64::MAX) {
            seen.max(Ticks(self.until.0.saturating_sub(takes)))
        } else {
            seen
        };
        self.until = self.until.min(came.plus(takes)).max(came).min(self.last);
        came
    }

    /// Until when the library polls for nothing else, because it copies this message, which was matched at `matched`; `None` where
    /// it does not copy, or nothing is known of the call's end.
    #[inline(always)]
    pub fn copied(&self, envelope: &Envelope, matched: Ticks, copying: Copying) -> Option<Ticks> {
        let copies = envelope.bytes > EAGER_LIMIT && self.until != Ticks(u64::MAX);
        copies.then(|| matched.plus(copying.takes(envelope.bytes)).min(self.until))
    }
}
