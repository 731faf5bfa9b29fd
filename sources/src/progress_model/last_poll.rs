//! The last poll: when a call has polled for the last time before it returned. What comes after it waits for the next call.
//!
//! A call that waits for receives only has polled until it had their messages ([`CallInterval`](super::CallInterval)). Where it
//! also waits for what it has sent, that is not known, and guessed from how long it took.

use mpit_events::Ticks;

use super::Parameters;

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
