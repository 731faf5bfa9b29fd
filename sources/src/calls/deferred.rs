//! Deferred calls: what MPI calls have left for the model to follow. A call returns at once, and the model catches up
//! when the application next posts, probes or waits. Every event keeps the time that it would have had.

use mpit_events::Ticks;

use crate::matching::{Completion, ReceiveIndex};
use crate::progress_model::{Awaits, CallInterval, Parameters, Polling};

/// Calls, and completions, above which the model does not wait to catch up.
const MAX_DEFERRED: usize = 256;

/// One MPI call that has polled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeferredCall {
    pub(crate) from: Ticks,
    pub(crate) until: Ticks,
    /// Where its completions begin and end.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// What it may have waited for, besides the receives that it has completed.
    pub(crate) awaits: Awaits,
    pub(crate) polling: Polling,
    /// Whether the thread was descheduled in it.
    pub(crate) descheduled: bool,
    pub(crate) context: u16,
}

impl DeferredCall {
    /// Whether it may have waited for more than the receives that it has completed.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.awaits != Awaits::Receives
    }

    /// What is known of its interval; of a call that is `open` no more than its times.
    #[inline(always)]
    pub(crate) fn interval(&self, open: bool, parameters: &Parameters) -> CallInterval {
        let mut interval = if open {
            let last = parameters.last_poll(self.from, self.until, self.awaits, self.polling);
            CallInterval::open(self.from, last)
        } else {
            CallInterval::waited(self.from, self.until)
        };
        interval.set_transit(parameters.transit);
        interval
    }
}

/// Calls in the order in which they were made, and the receives that they have completed.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    calls: Vec<DeferredCall>,
    completions: Vec<(ReceiveIndex, Completion)>,
    /// The interval of the call that is being followed, once that has begun.
    pub(crate) interval: Option<CallInterval>,
    /// Calls that were followed already.
    followed: usize,
    /// How often in a row the processor was given to others, and the envelope did not come.
    pub(crate) in_vain: u32,
}

impl Deferred {
    /// Whether there is anything to follow.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether it is time to catch up.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.calls.len() > MAX_DEFERRED || self.completions.len() > MAX_DEFERRED
    }

    /// Whether there is one call, which has completed nothing and which the model has not begun to follow.
    #[inline(always)]
    pub(crate) fn is_one_poll(&self) -> bool {
        matches!(&self.calls[..], [call] if call.first == call.end) && self.interval.is_none()
    }

    /// When the call returned that was deferred last.
    #[inline(always)]
    pub(crate) fn returned(&self) -> Option<Ticks> {
        Some(self.calls.last()?.until)
    }

    /// Adds a call. Calls that have completed nothing are one with such calls before them.
    #[inline(always)]
    pub(crate) fn add(&mut self, call: DeferredCall) {
        let end = self.completions.len();
        match self.calls.last_mut() {
            Some(last)
                if call.is_open() && last.is_open() && last.first == last.end && self.interval.is_none() =>
            {
                last.until = call.until;
                last.polling = call.polling;
                last.descheduled |= call.descheduled;
                last.context = call.context;
            }
            _ => self.calls.push(DeferredCall { first: end, end, ..call }),
        }
    }

    /// Adds a completion to the call that was deferred last; `false` where none was.
    #[inline(always)]
    pub(crate) fn keep(&mut self, receive: ReceiveIndex, real: Completion) -> bool {
        let Some(call) = self.calls.last_mut() else { return false };
        self.completions.push((receive, real));
        call.end = self.completions.len();
        true
    }

    /// Adds a call before all others; where it is followed already, with its interval.
    pub(crate) fn follow_first(&mut self, call: DeferredCall, interval: Option<CallInterval>) {
        let end = self.completions.len();
        self.calls.insert(0, DeferredCall { first: end, end, ..call });
        self.interval = interval;
    }

    /// Adds a completion to that call.
    pub(crate) fn complete_in_first(&mut self, receive: ReceiveIndex, real: Completion) {
        self.completions.push((receive, real));
        self.calls[0].end = self.completions.len();
    }

    /// The completions of that call.
    pub(crate) fn completed_in_first(&self) -> &[(ReceiveIndex, Completion)] {
        self.completions_of(&self.calls[0])
    }

    /// The call to follow next.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<DeferredCall> {
        self.calls.get(self.followed).copied()
    }

    /// The completions of a call.
    #[inline(always)]
    pub(crate) fn completions_of(&self, call: &DeferredCall) -> &[(ReceiveIndex, Completion)] {
        &self.completions[call.first..call.end]
    }

    /// The completion at this place.
    #[inline(always)]
    pub(crate) fn completion(&self, place: usize) -> (ReceiveIndex, Completion) {
        self.completions[place]
    }

    /// The call to follow next has been followed; whether there are more.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> bool {
        self.interval = None;
        self.followed += 1;
        if self.followed < self.calls.len() {
            return true;
        }
        self.calls.clear();
        self.completions.clear();
        self.followed = 0;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(from: u64, until: u64, awaits: Awaits, polling: Polling) -> DeferredCall {
        let (from, until) = (Ticks(from), Ticks(until));
        DeferredCall { from, until, first: 0, end: 0, awaits, polling, descheduled: false, context: 0 }
    }

    #[test]
    fn calls_that_are_followed_as_one_polled_as_the_last_of_them_did() {
        let mut deferred = Deferred::default();
        deferred.add(call(10, 20, Awaits::Others, Polling::Together));
        deferred.add(call(30, 40, Awaits::Others, Polling::ForRequests));
        let all = deferred.next().unwrap();
        assert_eq!((all.from, all.until, all.polling), (Ticks(10), Ticks(40), Polling::ForRequests));
        assert!(!deferred.advance() && deferred.is_empty());
    }

    #[test]
    fn completions_belong_to_the_call_that_was_deferred_last() {
        let mut deferred = Deferred::default();
        let real = Completion::Message { source: 1, tag: 2 };
        let receive = |number: u32| ReceiveIndex(number);
        assert!(!deferred.keep(receive(0), real), "there is no call");
        deferred.add(call(10, 20, Awaits::Receives, Polling::ForRequests));
        assert!(deferred.keep(receive(1), real) && deferred.keep(receive(2), real));
        deferred.add(call(30, 40, Awaits::Receives, Polling::ForRequests));
        assert!(deferred.keep(receive(3), real));
        let first = deferred.next().unwrap();
        assert_eq!(deferred.completions_of(&first), [(receive(1), real), (receive(2), real)]);
        assert!(deferred.advance());
        let second = deferred.next().unwrap();
        assert_eq!(deferred.completions_of(&second), [(receive(3), real)]);
    }

    #[test]
    fn a_call_that_waited_for_receives_alone_has_a_known_end() {
        let parameters = Parameters::ob1(1_000_000_000);
        let of = |awaits, polling| call(1000, 20_000, awaits, polling);
        let waited = of(Awaits::Receives, Polling::ForRequests).interval(false, &parameters);
        assert_eq!(waited.until, Ticks(20_000));
        let open = of(Awaits::Others, Polling::ForRequests).interval(true, &parameters);
        assert_eq!(open.until, Ticks(17_000), "its last poll is guessed");
    }
}
