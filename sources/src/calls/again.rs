//! A test that follows one in vain of the same request, as in a loop that polls: what is known of the request is still at hand, and most
//! often nothing has come.

use mpi_abi::{Handle, HandlePtr, Request, StatusPtr};

use super::completion::own_status;
use super::frame::Frame;
use super::tracker::{Tracker, Work};
use crate::progress_model::Awaits;

/// The request that the last call which was about requests has tested in vain. What is pending is what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestedInVain {
    /// Where the program has it.
    address: usize,
    handle: usize,
}

impl TestedInVain {
    /// The request that a test has been given and has left as it was.
    #[inline(always)]
    pub(crate) fn of(request: HandlePtr<Request>) -> Option<Self> {
        let address = request.as_ptr().addr();
        // SAFETY: the application's in-out argument: one handle.
        (address != 0).then(|| TestedInVain { address, handle: unsafe { request.read() }.word() })
    }
}

impl Tracker {
    /// The entry of a test, where the last call about requests has tested the same one, and nothing has come since then; whether it is
    /// so. Only where one thread calls MPI: another could have completed the request meanwhile.
    #[inline(always)]
    pub(crate) fn tests_again(
        &'static self,
        frame: &mut Frame,
        request: HandlePtr<Request>,
        status: &mut StatusPtr,
    ) -> bool {
        let Some(before) = frame.call.tested_in_vain else { return false };
        if request.as_ptr().addr() != before.address
            || TestedInVain::of(request) != Some(before)
            || !self.has_home()
            || self.mail.is_open()
            || !self.mode(frame).defers()
        {
            return false;
        }
        let entered = self.without_raising(frame, |work, local| {
            if !work.has_nothing_to_follow() {
                return false;
            }
            local.entered = self.now();
            if local.pending.is_empty() {
                local.awaits = Awaits::Receives.max(work.awaits_sends(request, 1, 0));
            } else if local.needs_statuses {
                own_status(work, local, status);
            }
            true
        });
        entered == Some(true)
    }
}

impl Work<'_> {
    /// Whether the model has nothing to follow, or no more than a call that has polled in vain.
    #[inline(always)]
    fn has_nothing_to_follow(&mut self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        if !self.tracker.behind.load(Relaxed) {
            return true;
        }
        let nothing = self.state.passes_only_vain_poll();
        if nothing {
            self.tracker.behind.store(false, Relaxed);
        }
        nothing
    }
}
