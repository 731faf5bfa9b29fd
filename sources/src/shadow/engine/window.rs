//! The time in which one MPI call has made progress, and what is known of it afterwards.
//!
//! When the twin follows a call, the call has returned: which receives it has completed is known. That
//! tells more than the envelopes do. A receive gets no other message than the one that it has completed
//! with ([`Engine::foretell`](super::Engine::foretell)). A call that waited for receives returned as soon
//! as the last of them had its message: it came then, however long before it was sent (the process may
//! have been off the processor), and nothing that came later was looked at. A message that would have gone to a
//! wildcard receive which got another one was looked at after that other one
//! ([`Engine::comes_later`](super::Engine::comes_later)).

use mpit_events::Ticks;

/// From when to when a call has looked for messages.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// When it began.
    pub from: Ticks,
    /// When it returned; once the last of its messages has come, that moment, but no later than `last`.
    pub until: Ticks,
    /// The latest time of sending of what it can have seen.
    last: Ticks,
    /// Where the process was off the processor in it: how many ticks after its sending a message was looked
    /// at, but not after `back`.
    lag: u64,
    back: Ticks,
    /// Receives that it has completed and whose messages have not come.
    pub(super) unmet: u32,
    /// Whether it waited for receives and for nothing else.
    pub(super) waited: bool,
    /// Where it is known when the process was off the processor in it: when it was back for the last time.
    resumed: Option<Ticks>,
}

impl Window {
    /// A call of which nothing is known but its time.
    pub fn open(from: Ticks, until: Ticks) -> Self {
        Window { from, until, last: until, lag: 0, back: Ticks(0), unmet: 0, waited: false, resumed: None }
    }

    /// A call that has waited for receives only.
    pub fn waited(from: Ticks, until: Ticks) -> Self {
        Window { waited: true, ..Window::open(from, until) }
    }

    /// The process was off the processor in it, again and again, and back at `back` at the latest, where it
    /// saw what had been sent at `last`. How long that one had waited is the best guess for the others.
    pub fn set_back(&mut self, back: Ticks, last: Ticks) {
        self.back = back;
        self.lag = back.since(last);
    }

    /// It is known when the process was off the processor in it, for the last time until `resumed`: what came meanwhile is given
    /// as if it had been sent when the process was back ([`Away::back_after`](crate::shadow::Away::back_after)).
    pub fn set_away(&mut self, resumed: Ticks) {
        self.resumed = Some(resumed);
    }

    /// Whether that is known.
    #[inline(always)]
    pub fn is_away(&self) -> bool {
        self.resumed.is_some()
    }

    /// When the call was back for the last time, if that was after this time and it waits for one more message, and for nothing
    /// else: it would not have given the processor away if it had had that one.
    #[inline(always)]
    pub(super) fn ends_after(&self, time: Ticks) -> Option<Ticks> {
        self.resumed.filter(|&resumed| time < resumed && self.waited && self.unmet == 1)
    }

    /// When the call began to look, for the last time: when it was back, where that is known.
    #[inline(always)]
    pub(super) fn looked_from(&self) -> Ticks {
        self.resumed.unwrap_or(self.from)
    }

    /// Adds a receive that the call has completed.
    #[inline]
    pub fn completes(&mut self, foretold: Foretold) {
        match foretold {
            Foretold::Waits => self.unmet += 1,
            Foretold::Long | Foretold::Unknown => self.waited = false,
            Foretold::Nothing => {}
        }
    }

    /// A message is on its way for so many ticks before a call can see it: set before anything has come.
    pub fn set_transit(&mut self, ticks: u64) {
        self.last = Ticks(self.last.0.saturating_sub(ticks));
    }

    /// With this message, which came at this time and took so long, it has all that it waited for, and looks no more.
    #[inline(always)]
    pub(super) fn end(&mut self, came: Ticks, took: u64) {
        self.until = self.until.min(came.plus(took)).max(came).min(self.last);
    }

    /// The latest time of sending of what it can see, where its last look goes on for so many ticks.
    #[inline(always)]
    pub fn until_after(&self, ticks: u64) -> Ticks {
        if self.is_over() { self.until.plus(ticks).min(self.last).max(self.until) } else { self.until }
    }

    /// When a message came that was sent then.
    #[inline(always)]
    pub fn seen(&self, sent: Ticks) -> Ticks {
        if sent <= self.from { self.from } else { sent.max(sent.plus(self.lag).min(self.back)) }
    }

    /// Whether the messages of some receives that it has waited for have not come.
    #[inline]
    pub fn is_lacking(&self) -> bool {
        self.waited && self.unmet != 0
    }

    /// Whether the call has looked for no more messages: all that it waited for are there.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.waited && self.unmet == 0
    }
}

/// What the twin knows of a receive that the real library has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foretold {
    /// It waits here for its message.
    Waits,
    /// It has a message that is not complete when it is matched: the call has waited for its data.
    Long,
    /// It may have waited for a message that is not known.
    Unknown,
    /// It was complete when the call began, or is cancelled.
    Nothing,
}
