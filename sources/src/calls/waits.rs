//! What calls have waited for: known once the model follows them, because each envelope says when its message was sent.
//!
//! Cost: a comparison and two additions for each message; an observer is called once for each call that has completed receives,
//! and for each wait of a microsecond or more.

use mpit_events::Ticks;

use super::deferred::DeferredCall;
use crate::matching::{CommIndex, Envelope};

/// A call that has waited for a message: a late sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The context of the call.
    pub context: u16,
    /// Of the last message that it has waited for: the [`Communicator::index`](super::Communicator::index).
    pub comm: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The sender's context of its call; 0 where it is not known.
    pub context_of_send: u16,
    /// When the waiting began: the call was entered.
    pub begin: Ticks,
    /// When it ended: the message was sent, or the call returned.
    pub end: Ticks,
}

/// A test that has completed receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestFound {
    /// The context of the call.
    pub context: u16,
    /// Of the message that was sent last: the [`Communicator::index`](super::Communicator::index).
    pub comm: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The sender's context of its call; 0 where it is not known.
    pub context_of_send: u16,
    /// When it was sent.
    pub sent: Ticks,
    /// When the call returned.
    pub until: Ticks,
}

/// A receive has kept the sender of its message waiting, by a microsecond or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptWaiting {
    /// The context of the call that posted the receive.
    pub context: u16,
    /// The [`Communicator::index`](super::Communicator::index).
    pub comm: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The sender's context of its call; 0 where it is not known.
    pub context_of_send: u16,
    /// The size of the message.
    pub bytes: u64,
    /// When the message was sent; where the receive was there before, when both were.
    pub since: Ticks,
    /// When the receive was posted; where it was there before, when the call was entered that completed it.
    pub until: Ticks,
}

/// Messages that receives of one context have got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The context of the calls that posted them.
    pub context: u16,
    /// How many.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Where a receive comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The context of the call that has posted it.
    pub context: u16,
    /// Its communicator.
    pub comm: CommIndex,
    /// When it came into the posted queue, or found its message.
    pub queued: Ticks,
}

/// A receive that is complete, while the envelope of its message is on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unmet {
    pub(crate) origin: Origin,
    /// The message's.
    pub(crate) source: i32,
    pub(crate) tag: i32,
    /// The call that has completed it.
    pub(crate) call: DeferredCall,
}

/// What the call that is being followed has completed so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    received: Received,
    /// The message that was sent last.
    latest: (CommIndex, Envelope),
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            received: Received { context: 0, messages: 0, bytes: 0 },
            latest: (CommIndex(0), Envelope::default()),
        }
    }
}

impl Tally {
    /// This receive has got this message. Gives what is to be reported before.
    #[inline(always)]
    pub(crate) fn add(&mut self, receive: &Origin, envelope: &Envelope) -> Option<Received> {
        let Origin { context, comm, .. } = *receive;
        let before =
            (self.received.context != context && self.received.messages != 0).then_some(self.received);
        if before.is_some() {
            self.received = Received { context, messages: 0, bytes: 0 };
        }
        self.received.context = context;
        self.received.messages += 1;
        self.received.bytes += envelope.bytes;
        if envelope.sent > self.latest.1.sent {
            self.latest = (comm, *envelope);
        }
        before
    }

    /// Whether a message has been added.
    #[inline(always)]
    pub(crate) fn has_any(&self) -> bool {
        self.received.messages != 0
    }

    /// The message that was sent last, with its communicator.
    pub(crate) fn latest(&self) -> (CommIndex, Envelope) {
        self.latest
    }

    /// The call is followed that was in this interval, in this context: what is to be reported of it. A wait counts from `shortest`
    /// ticks on.
    #[inline(always)]
    pub(crate) fn end(
        &mut self,
        context: u16,
        (from, until): (Ticks, Ticks),
        shortest: u64,
    ) -> (Received, Option<Waited>) {
        let Tally { received, latest: (comm, latest) } = std::mem::take(self);
        let end = latest.sent.min(until);
        let waited = (end.0 >= from.0.saturating_add(shortest)).then_some(Waited {
            context,
            comm: comm.0,
            source: latest.source,
            context_of_send: latest.context_of_send,
            begin: from,
            end,
        });
        (received, waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(source: i32, sent: u64) -> Envelope {
        Envelope {
            source,
            bytes: 8,
            sent: Ticks(sent),
            context_of_send: source as u16,
            ..Envelope::default()
        }
    }

    fn from(context: u16) -> Origin {
        Origin { context, comm: CommIndex(0), queued: Ticks(0) }
    }

    fn end(tally: &mut Tally, from: u64, until: u64) -> Option<(i32, u64, u64)> {
        let (_, waited) = tally.end(3, (Ticks(from), Ticks(until)), 10);
        waited.map(|waited| (waited.source, waited.begin.0, waited.end.0))
    }

    #[test]
    fn a_call_waits_for_the_message_that_is_sent_last() {
        let mut tally = Tally::default();
        for (source, sent) in [(1, 50), (2, 180), (0, 120)] {
            assert_eq!(tally.add(&from(7), &envelope(source, sent)), None);
        }
        assert_eq!(end(&mut tally, 100, 200), Some((2, 100, 180)));
        assert!(!tally.has_any());
    }

    #[test]
    fn a_message_that_was_there_is_not_waited_for() {
        let mut tally = Tally::default();
        tally.add(&from(7), &envelope(1, 99));
        assert_eq!(end(&mut tally, 100, 200), None);
        tally.add(&from(7), &envelope(1, 105));
        assert_eq!(end(&mut tally, 100, 200), None, "it is too short");
        tally.add(&from(7), &envelope(1, 900));
        assert_eq!(end(&mut tally, 100, 200), Some((1, 100, 200)), "never longer than the call");
    }

    #[test]
    fn messages_are_summed_by_the_call_that_posted() {
        let mut tally = Tally::default();
        assert_eq!(tally.add(&from(7), &envelope(1, 1)), None);
        assert_eq!(tally.add(&from(7), &envelope(1, 2)), None);
        let before = tally.add(&from(8), &envelope(1, 3));
        assert_eq!(before, Some(Received { context: 7, messages: 2, bytes: 16 }));
        let (rest, _) = tally.end(0, (Ticks(5), Ticks(9)), 1);
        assert_eq!(rest, Received { context: 8, messages: 1, bytes: 8 });
    }
}
