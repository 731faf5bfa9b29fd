//! Exits of calls that have polled.

use mpit_events::Ticks;

use super::frame::Frame;
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

    /// [`polled`](Tracker::polled), in a collective operation.
    pub(crate) fn operated_together(&'static self, frame: &mut Frame) {
        if self.current_mode().defers() {
            return self.defer(frame, Awaits::Others, Polling::Together);
        }
        self.take_in(frame);
        frame.call.entered = Ticks(0);
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
