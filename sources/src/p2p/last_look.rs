//! The last look: when a call has looked for messages for the last time before it returned. What comes after it waits for
//! the next call.
//!
//! A call that waits for receives only has looked until it had their messages ([`Window`](crate::shadow::Window)). Where it also waits
//! for what it has sent, that is not known, and guessed from how long it took.

use mpit_events::Ticks;

/// What a call may wait for, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Awaits {
    /// Receives, and nothing else.
    #[default]
    Receives,
    /// Buffers of short sends, which their receivers give back when they next look for messages.
    Buffers,
    /// The receivers of long sends, or what is not known.
    Others,
}

/// How a call looks for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looking {
    /// Once, and returns.
    Once,
    /// Until what it does is done.
    ToTheEnd,
    /// Until requests are complete that it was given.
    ForRequests,
    /// Until a collective operation is done.
    Together,
}

/// How long before its return a call that sends has looked for messages for the last time, in nanoseconds (Open MPI 4.1
/// with PERUSE, on an Intel Xeon).
const AFTER_SENDING_NS: u64 = 750;
/// The same for a call that waits for requests. That is more than it takes to return: who sends the next message has mostly
/// just given this process what it waited for, and so this process has hardly looked since. Beside `ob1`, 1500 to 2500
/// fitted best on an AMD EPYC (Zen 5), 6000 on an Intel Xeon.
const AFTER_WAITING_NS: u64 = 3000;

/// So long a message is on its way: a look sees what was sent so long before, and nothing that was sent later. Beside `ob1` on that
/// EPYC, nine in ten messages that were sent 500 to 1000 before the return from a collective operation had been seen, half of those
/// that were sent 300 before (200, where they are told of after they are sent), and none that was sent later than 200 before.
const TRANSIT_NS: u64 = 250;

/// So much later than the twin has taken the last message of a sender out of its box in a look, that sender sees the room:
/// `ob1` needs some time for each message, and more where PERUSE tells of it.
const TELLING_NS: u64 = 3500;

/// So long a look takes for each message that it takes in, in nanoseconds: what is sent meanwhile it sees, too.
const PACE_NS: u64 = 80;

/// Up to this time a call is taken to have looked once that waits for [`Awaits::Buffers`], in nanoseconds.
const ONE_LOOK_NS: u64 = 30_000;

/// When a call has looked for messages for the last time, where that is not known otherwise: in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastLook {
    sending: u64,
    waiting: u64,
    transit: u64,
    telling: u64,
    pace: u64,
    /// A call that waits for buffers and takes no longer has mostly found them there, in its first look.
    once: u64,
}

impl LastLook {
    pub(super) fn of_clock(per_second: u64) -> Self {
        let ticks = |nanos| per_second * nanos / 1_000_000_000;
        LastLook {
            sending: ticks(AFTER_SENDING_NS),
            waiting: ticks(AFTER_WAITING_NS),
            transit: ticks(TRANSIT_NS),
            telling: ticks(TELLING_NS),
            pace: ticks(PACE_NS),
            once: ticks(ONE_LOOK_NS),
        }
    }

    /// When a call did that was entered and returned at these times.
    #[inline]
    pub(super) fn of(self, entered: Ticks, returned: Ticks, awaits: Awaits, looking: Looking) -> Ticks {
        let before = |ticks| Ticks(returned.0.saturating_sub(ticks)).max(entered);
        match looking {
            Looking::Once => returned,
            Looking::Together => before(self.transit),
            Looking::ToTheEnd => before(self.sending),
            Looking::ForRequests if awaits == Awaits::Buffers && returned.since(entered) < self.once => {
                entered
            }
            Looking::ForRequests => before(self.waiting),
        }
    }

    /// How long a message is on its way.
    #[inline(always)]
    pub(super) fn transit(self) -> u64 {
        self.transit
    }

    /// How long after its beginning a look sees what was sent until then, when it has taken in so many messages.
    #[inline(always)]
    pub(super) fn lasts(self, messages: u32) -> u64 {
        (self.pace * u64::from(messages)).saturating_sub(self.transit)
    }

    /// How long after the end of a look the senders of what it has taken out see the room.
    #[inline(always)]
    pub(super) fn telling(self) -> u64 {
        self.telling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_waits_for_buffers_finds_them_at_once_or_looks_for_long() {
        let last = LastLook::of_clock(1_000_000_000);
        let of = |returned, awaits, looking| last.of(Ticks(1000), Ticks(returned), awaits, looking).0;
        assert_eq!(of(21_000, Awaits::Buffers, Looking::ForRequests), 1000);
        assert_eq!(of(101_000, Awaits::Buffers, Looking::ForRequests), 101_000 - AFTER_WAITING_NS);
        assert_eq!(of(21_000, Awaits::Others, Looking::ForRequests), 21_000 - AFTER_WAITING_NS);
        assert_eq!(of(21_000, Awaits::Others, Looking::ToTheEnd), 21_000 - AFTER_SENDING_NS);
        assert_eq!(of(21_000, Awaits::Others, Looking::Together), 21_000 - TRANSIT_NS);
        assert_eq!(of(21_000, Awaits::Others, Looking::Once), 21_000);
    }

    #[test]
    fn a_look_sees_what_was_sent_while_it_took_others_in() {
        let last = LastLook::of_clock(1_000_000_000);
        assert_eq!([0, 1, 64].map(|messages| last.lasts(messages)), [0, 0, 64 * PACE_NS - TRANSIT_NS]);
    }

    #[test]
    fn no_call_has_looked_before_it_began() {
        let last = LastLook::of_clock(1_000_000_000);
        for looking in [Looking::Once, Looking::ToTheEnd, Looking::ForRequests, Looking::Together] {
            assert!(last.of(Ticks(1000), Ticks(1010), Awaits::Others, looking) >= Ticks(1000));
        }
    }
}
