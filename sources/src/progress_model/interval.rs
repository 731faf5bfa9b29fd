//! The interval in which one MPI call has polled, and what is known of it afterwards.
//!
//! When the model follows a call, the call has returned: which receives it has completed is known. That says more than the
//! envelopes do. A receive gets no other message than the one that it has completed with. A call that waited for receives returned
//! as soon as the last of them had its message: it came then, however long before it was sent (the process may have been
//! descheduled), and nothing that came later was taken in.

use mpit_events::Ticks;

use super::{Copying, Parameters};
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

// The last poll: when a call has polled for the last time before it returned. What comes after it waits for the next call.
//
// A call that waits for receives only has polled until it had their messages (`CallInterval`). Where it also waits for what it has sent,
// that is not known, and guessed from how long it took.

/// What a call may wait for, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaits {
    /// Receives, and nothing else.
    #[default]
    Receives,
    /// Buffers of eager sends, which their receivers give back in their next poll.
    Buffers,
    /// The receivers of rendezvous sends, or what is not known.
    Others,
}

/// How a call polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polling {
    /// Once, and returns.
    Once,
    /// Until what it does is done.
    ToTheEnd,
    /// Until requests are complete that it was given.
    ForRequests,
    /// Until some of the requests that it was given are complete, or once, and some were.
    ForSome,
    /// Until a collective operation is done.
    Together,
}

impl Parameters {
    /// When a call polled for the last time that was entered and returned at these times.
    #[inline]
    pub fn last_poll(&self, entered: Ticks, returned: Ticks, awaits: Awaits, polling: Polling) -> Ticks {
        let before = |ticks| Ticks(returned.0.saturating_sub(ticks)).max(entered);
        match polling {
            Polling::Once => returned,
            Polling::Together => before(self.transit),
            Polling::ToTheEnd => before(self.after_sending),
            Polling::ForRequests | Polling::ForSome
                if awaits == Awaits::Buffers && returned.since(entered) < self.one_poll =>
            {
                entered
            }
            Polling::ForRequests | Polling::ForSome => before(self.after_waiting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_waits_for_buffers_and_is_short_has_polled_at_its_beginning() {
        let parameters = Parameters::ob1(1_000_000_000);
        let of =
            |returned, awaits, polling| parameters.last_poll(Ticks(1000), Ticks(returned), awaits, polling).0;
        assert_eq!(of(20_000, Awaits::Buffers, Polling::ForRequests), 1000);
        assert_eq!(of(40_000, Awaits::Buffers, Polling::ForRequests), 37_000);
        assert_eq!(of(20_000, Awaits::Others, Polling::ForRequests), 17_000);
        assert_eq!(of(2000, Awaits::Others, Polling::ForRequests), 1000, "not before it was entered");
        assert_eq!(of(20_000, Awaits::Others, Polling::ToTheEnd), 19_250);
        assert_eq!(of(20_000, Awaits::Others, Polling::Together), 19_750);
        assert_eq!(of(20_000, Awaits::Others, Polling::Once), 20_000);
    }
}
