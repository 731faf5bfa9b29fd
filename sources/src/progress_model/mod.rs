//! The model of progress: which envelopes has the library taken in during a call, and when.
//!
//! A message counts as unexpected where the library takes it in before its receive is posted. When that is, no library says. This
//! room decides it, from the interval of a call that has returned ([`CallInterval`]) and what is known of its end. It knows no MPI
//! call, no queue and no shared memory: envelopes come from an [`Incoming`], which is a ring in a program and a list in a test, and
//! matching is asked no more than whether a message [comes later](ProgressModel::next).
//!
//! | file | what it decides |
//! |---|---|
//! | [`parameters`] | every number, with its source; what it takes to copy a message that comes by rendezvous |
//! | [`interval`] | when a message came that a call has taken in, when the call was over, and when it polled for the last time, where that cannot be known |
//! | [`polls`] | which messages one poll takes in, and which it leaves for the next one |
//! | [`leftover`] | messages that polls have left |
//! | [`schedule`] | when the process was descheduled |
//!
//! There are two models: [`Progress::Ob1`], Open MPI 4.1 over shared memory, for calls that are followed once they have returned;
//! and [`Progress::AsItComes`], which takes in what is there, where somebody takes envelopes in between calls, too.

mod interval;
mod leftover;
mod parameters;
mod polls;
mod schedule;

use mpit_events::Ticks;

pub use interval::{Awaits, CallInterval, Polling};
pub use parameters::{Copying, Parameters};
pub use schedule::Schedule;

use self::polls::Polls;
use crate::matching::{Envelope, Sender};

/// Envelopes of messages that have been sent to this process, in the order in which they came.
pub trait Incoming {
    /// Takes the next envelope, if one has come and was sent at `until` or before.
    fn pop_until(&mut self, until: Ticks) -> Option<Envelope>;
}

/// Which model of progress a call is followed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// What is there is taken in, in the order in which it came.
    AsItComes,
    /// As `ob1` polls over shared memory: so many messages of each sender, then so many more.
    Ob1,
}

/// What the library has taken in of what has come, and what it has left. Plain data: one thread at a time.
#[derive(Debug, Default)]
pub struct ProgressModel {
    polls: Polls,
}

impl ProgressModel {
    /// A call begins to poll.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.polls.begin();
    }

    /// A call begins to poll that is not known to have completed anything: what earlier polls have left is considered first.
    #[inline]
    pub fn begin_open(&mut self) {
        if self.has_leftover() {
            self.polls.begin();
        }
    }

    /// A call has polled for which nothing was there, and earlier polls have left nothing.
    #[inline(always)]
    pub fn begin_anew(&mut self) {
        if !self.polls.is_new() {
            self.polls.begin();
        }
    }

    /// Whether a poll has left anything for the next one.
    #[inline(always)]
    pub fn has_leftover(&self) -> bool {
        !self.polls.is_empty()
    }

    /// The next envelope that the library has taken in during the call; `None` where there is none until the call's end, as far as
    /// is known now. `comes_later` says of a message that it cannot have been taken in yet: it is held back until others have come.
    #[inline(always)]
    pub fn next(
        &mut self,
        progress: Progress,
        incoming: &mut impl Incoming,
        interval: &CallInterval,
        mut comes_later: impl FnMut(&Envelope) -> bool,
    ) -> Option<Envelope> {
        loop {
            if let Some(left) = self.polls.next_left(&mut comes_later) {
                return Some(left);
            }
            match incoming.pop_until(interval.until) {
                Some(next) if progress == Progress::AsItComes => return Some(next),
                Some(next) => {
                    if self.polls.takes(&next, !interval.is_over(), &mut comes_later) {
                        return Some(next);
                    }
                }
                None if self.polls.is_empty() => return None,
                None if self.polls.reconsiders() => {}
                None if interval.is_over() || !self.polls.has_taken() => return None,
                None => self.polls.begin(),
            }
        }
    }

    /// A message was taken in that did not come through [`next`](ProgressModel::next): it counts in the poll.
    #[inline(always)]
    pub fn count(&mut self, envelope: &Envelope) {
        self.polls.count(envelope);
    }

    /// The next message of this sender, wherever it is; those of others that come before it wait for the next poll.
    pub fn take_of(&mut self, sender: Sender, incoming: &mut impl Incoming) -> Option<Envelope> {
        if let Some(left) = self.polls.take_left(sender) {
            return Some(left);
        }
        loop {
            let envelope = incoming.pop_until(Ticks(u64::MAX))?;
            if envelope.sender() == sender {
                return Some(envelope);
            }
            self.polls.leave(envelope);
        }
    }
}

#[cfg(test)]
mod tests;
