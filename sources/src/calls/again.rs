//! A test that follows one in vain of the same requests, as in a loop that polls: what is known of them is still at hand, and most
//! often nothing has come.

use std::ffi::c_int;

use mpi_abi::{Handle, HandlePtr, Request, StatusPtr};

use super::frame::Frame;
use super::tracker::{Tracker, Work};
use crate::progress_model::Awaits;

/// Requests of one test that are remembered, at most.
const MOST: usize = 8;

/// The requests that the last call which was about requests has tested in vain. What is pending is what is known of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TestedInVain {
    /// Where the program has them, and how many; none where there was no such call.
    address: usize,
    count: usize,
    handles: [usize; MOST],
}

impl TestedInVain {
    /// From now on there are none.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        self.count = 0;
    }

    /// A test has been given these, and has left them as they were. It is nothing new where it was
    /// [the same](Self::are_the_same) test as before.
    #[inline(always)]
    pub(crate) fn remember(&mut self, requests: HandlePtr<Request>, count: c_int) {
        let count = usize::try_from(count).unwrap_or(0);
        if self.count == 0 && count <= MOST && !requests.is_null() {
            self.address = requests.as_ptr().addr();
            self.count = count;
            for (place, handle) in self.handles[..count].iter_mut().enumerate() {
                // SAFETY: the application's array of `count` handles.
                *handle = unsafe { requests.get(place) }.word();
            }
        }
    }

    /// Whether a test is given the same requests.
    #[inline(always)]
    fn are_the_same(&self, requests: HandlePtr<Request>, count: c_int) -> bool {
        self.count != 0
            && self.address == requests.as_ptr().addr()
            && usize::try_from(count) == Ok(self.count)
            && (self.handles.iter().enumerate().take(self.count)).all(|(place, handle)| {
                // SAFETY: the application's array of `count` handles.
                unsafe { requests.get(place) }.word() == *handle
            })
    }
}

impl Tracker {
    /// The entry of a test of `count` requests, where the last call about requests has tested the same, and nothing has come since then;
    /// whether it is so. Only where one thread calls MPI: another could have completed a request meanwhile.
    #[inline(always)]
    pub(crate) fn tests_again(
        &'static self,
        frame: &mut Frame,
        (requests, count): (HandlePtr<Request>, c_int),
        statuses: &mut StatusPtr,
    ) -> bool {
        if !frame.call.tested_in_vain.are_the_same(requests, count)
            || !self.has_home()
            || self.mail.is_open()
            || !self.mode(frame).defers()
        {
            return false;
        }
        let count = frame.call.tested_in_vain.count;
        let entered = self.without_raising(frame, |work, local| {
            if !work.has_nothing_to_follow() {
                return false;
            }
            local.entered = self.now();
            if local.pending.is_empty() {
                local.awaits = Awaits::Receives;
            }
            if local.pending.len() < count {
                let sends = work.awaits_sends(requests, count, local.pending.len());
                local.awaits = local.awaits.max(sends);
            }
            if local.needs_statuses && !local.pending.is_empty() && statuses.is_ignore(work.tracker.abi) {
                work.own_statuses(local, statuses, count);
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
