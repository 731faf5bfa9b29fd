//! Exits of calls that have polled.

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::deferred::DeferredCall;
use super::frame::{Current, Frame};
use super::state::State;
use super::tracker::Tracker;
use crate::progress_model::{Awaits, Polling};

impl Tracker {
    /// The call has polled and completed nothing that is followed: the model follows, now or at the next call that needs it.
    #[inline]
    pub(crate) fn polled(&'static self, frame: &mut Frame) {
        self.defer(frame, Awaits::Others, Polling::ToTheEnd);
    }

    /// [`polled`](Tracker::polled), where the call has polled once, after it had found that what it wanted was not there: ob1 does
    /// so in `MPI_Iprobe` and in tests.
    #[inline]
    pub(crate) fn polled_once(&'static self, frame: &mut Frame) {
        self.defer(frame, Awaits::Others, Polling::Once);
    }

    /// [`polled_once`](Tracker::polled_once), of a test or a probe that has found nothing. Straight for what loops do again and again:
    /// one thread calls MPI, nothing was posted before, and the call was too short for the thread to be descheduled in it.
    #[inline(always)]
    pub(crate) fn polled_in_vain(&'static self, frame: &mut Frame) {
        let Current { entered, left, .. } = frame.call;
        let middle = entered.plus(left.since(entered) / 2);
        if !self.deferred_straight(frame, middle, Polling::Once) {
            self.polled_once(frame);
        }
    }

    /// [`polled`](Tracker::polled), in a collective operation. Straight where one thread calls MPI, nothing was posted before, and the call
    /// was too short for the thread to be descheduled in it.
    #[inline(always)]
    pub(crate) fn operated_together(&'static self, frame: &mut Frame) {
        if !self.deferred_straight(frame, frame.call.entered, Polling::Together) {
            self.operated_at_length(frame);
        }
    }

    #[inline(never)]
    fn operated_at_length(&'static self, frame: &mut Frame) {
        if self.current_mode().defers() {
            return self.defer(frame, Awaits::Others, Polling::Together);
        }
        self.take_in(frame);
        frame.call.entered = Ticks(0);
    }

    /// The call has polled since `from` and completed nothing: whether that is deferred, where nothing else is to be done for it.
    #[inline(always)]
    fn deferred_straight(&'static self, frame: &mut Frame, from: Ticks, polling: Polling) -> bool {
        let Current { entered, left, context, .. } = frame.call;
        let is_short = left.since(entered) <= self.parameters().may_be_descheduled;
        let deferred = is_short && self.has_home() && self.current_mode().defers() && {
            self.state.with(|state| state.defer_vain_poll((from, left), polling, context)) == Some(true)
        };
        if deferred {
            self.behind.store(true, Ordering::Relaxed);
            frame.call.entered = Ticks(0);
        }
        deferred
    }

    #[inline(always)]
    fn defer(&'static self, frame: &mut Frame, awaits: Awaits, polling: Polling) {
        let is_due = self.without_raising(frame, |work, local| {
            work.defer(local.entered, awaits, polling);
            work.is_due()
        });
        frame.call.entered = Ticks(0);
        self.catch_up_if_due(frame, is_due);
    }

    /// No request of the call is complete.
    #[inline]
    pub(crate) fn tested(&'static self, frame: &mut Frame) {
        if self.wants_messages() {
            self.without_raising(frame, |work, local| {
                local.pending.iter().for_each(|pending| work.notify_tested(pending.tracked));
            });
        }
    }
}

impl State {
    /// A call has polled, and completed nothing: the model will follow. Not where receives were posted before it, or much waits to be
    /// followed: whether it is deferred.
    #[inline(always)]
    fn defer_vain_poll(&mut self, (from, until): (Ticks, Ticks), polling: Polling, context: u16) -> bool {
        if !self.posts.is_empty() || self.deferred.is_full() || !self.between_calls.is_empty() {
            return false;
        }
        let awaits = Awaits::Others;
        let call =
            DeferredCall { from, until, first: 0, end: 0, awaits, polling, descheduled: false, context };
        self.deferred.add(call);
        true
    }
}
