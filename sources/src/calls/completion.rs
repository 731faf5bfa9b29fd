//! Calls that complete requests: which of them have ended, and with which message.
//!
//! At the entry of such a call its requests are still known by their handles, which MPI takes back; at
//! its exit the statuses say what was received. Where the application wants no statuses and a receive has a
//! wildcard, or may be cancelled, the call gets ours. What others have got is known without.

use std::ffi::c_int;

use mpi_abi::{Handle, HandlePtr, Request, StatusPtr};
use mpit_events::Ticks;

use super::frame::{Current, Frame, Pending};
use super::requests::Tracked;
use super::tracker::{Ending, Tracker, Work};
use crate::progress_model::{Awaits, Polling};

/// Which of its requests a completion call ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// All of them, unless it fails: the table forgets them at once.
    All,
    /// Those that it names.
    Some,
}

/// A completion call: note which of its requests are followed, and have their statuses.
#[inline]
pub(crate) fn await_requests(
    tracker: &'static Tracker,
    frame: &mut Frame,
    requests: HandlePtr<Request>,
    count: c_int,
    statuses: &mut StatusPtr,
    ends: Ends,
) {
    frame.call.awaits = Awaits::Receives;
    // A call that an error handler has jumped out of may have left it.
    frame.call.in_row = 0;
    frame.call.pending.clear();
    let count = if requests.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
    if ends == Ends::All && tracker.awaits_row(frame, requests, count, statuses) {
        frame.call.entered = tracker.now();
        return;
    }
    tracker.with_caught_up(frame, |work, local| {
        local.entered = tracker.now();
        local.needs_statuses = false;
        if work.state.requests.is_empty() {
            local.awaits = work.awaits_sends(requests, count, 0);
            return;
        }
        let mut needs_statuses = work.tracker.wants_messages() || work.state.cancels;
        for place in 0..count {
            // SAFETY: the application's array of `count` handles.
            let handle = unsafe { requests.get(place) }.word();
            let next = work.state.requests.next(handle).copied().filter(|_| ends == Ends::All);
            if let Some(tracked @ Tracked::Receive { source, tag, .. }) = next {
                needs_statuses |= source | tag < 0;
                local.pending.push(Pending { place: place as u32, handle, tracked });
                work.state.requests.take_next();
            } else if let Some(tracked @ Tracked::Send { bytes, .. }) = next {
                local.awaits = local.awaits.max(work.awaits(bytes));
                local.pending.push(Pending { place: place as u32, handle, tracked });
                work.state.requests.take_next();
            } else {
                needs_statuses |= await_request(work, local, place, handle, ends);
            }
        }
        local.awaits = local.awaits.max(work.awaits_sends(requests, count, local.pending.len()));
        local.needs_statuses = needs_statuses;
        if needs_statuses && !local.pending.is_empty() && statuses.is_ignore(work.tracker.abi) {
            work.own_statuses(local, statuses, count);
        }
    });
}

impl Work<'_> {
    /// What a call with these requests may wait for, of which so many are known, if sends that are not followed are among
    /// them. Those that were complete at once share a handle.
    #[inline(always)]
    pub(crate) fn awaits_sends(&self, requests: HandlePtr<Request>, count: usize, known: usize) -> Awaits {
        let sends = self.state.long_sends;
        if sends != Awaits::Receives && self.has_others(requests, count, known) {
            sends
        } else {
            Awaits::Receives
        }
    }

    /// Gives the call statuses of ours.
    #[inline]
    pub(crate) fn own_statuses(&self, local: &mut Current, statuses: &mut StatusPtr, count: usize) {
        let words = self.tracker.abi.status.size.div_ceil(8) * count;
        if local.statuses.len() < words {
            local.statuses.resize(words, 0);
        }
        *statuses = StatusPtr(local.statuses.as_mut_ptr().cast());
    }

    #[inline(never)]
    fn has_others(&self, requests: HandlePtr<Request>, count: usize, known: usize) -> bool {
        let abi = self.tracker.abi;
        let is_open = |place: &usize| {
            // SAFETY: the application's array of `count` handles.
            let handle = unsafe { requests.get(*place) };
            handle != abi.constants.request_null && !abi.is_shared_request(handle)
        };
        (0..count).filter(is_open).count() > known
    }
}

/// Notes a request that may be anything, wherever it is kept; whether its status is needed.
#[inline(never)]
fn await_request(work: &mut Work<'_>, local: &mut Current, place: usize, handle: usize, ends: Ends) -> bool {
    let known = match ends {
        Ends::All => work.state.requests.take(handle),
        Ends::Some => work.state.requests.get(handle),
    };
    let Some(tracked) = known else { return false };
    local.awaits = local.awaits.max(work.awaits_request(tracked));
    local.pending.push(Pending { place: place as u32, handle, tracked });
    match tracked {
        Tracked::Receive { source, tag, .. } => source | tag < 0,
        Tracked::Send { .. } => false,
        _ => true,
    }
}

/// Whether the status of a blocking receive is needed: its source or tag is a wildcard, or observers want its size.
#[inline]
pub(crate) fn needs_status(work: &Work<'_>, source: i32, tag: i32) -> bool {
    source | tag < 0 || work.tracker.wants_messages()
}

/// Gives the call a status of ours where the application wants none.
#[inline]
pub(crate) fn own_status(work: &Work<'_>, local: &mut Current, status: &mut StatusPtr) {
    if status.is_ignore(work.tracker.abi) {
        work.own_statuses(local, status, 1);
    }
}

/// The call has made progress, and completed these of its requests. The receives among them are known before
/// the model follows what came; all else that is complete is raised after that, where somebody wants to know.
#[inline]
fn complete(
    tracker: &'static Tracker,
    frame: &mut Frame,
    which: impl Fn(&Pending) -> Option<Option<StatusPtr>>,
    ends: Ends,
) {
    let (at_once, entered) = (tracker.raises_of_sends(frame), frame.call.entered);
    let is_due = tracker.with_state(frame, |work, local| {
        let polling = if ends == Ends::Some { Polling::ForSome } else { Polling::ForRequests };
        work.defer(local.entered, local.awaits, polling);
        local.entered = Ticks(0);
        for pending in &local.pending {
            if (!at_once || work.is_receive(pending))
                && let Some(status) = which(pending)
            {
                end(work, pending, (status, entered), ends);
            }
        }
        work.is_due()
    });
    tracker.catch_up_if_due(frame, is_due);
    if at_once {
        tracker.catch_up(frame);
        tracker.with_state(frame, |work, local| {
            for pending in &local.pending {
                if !work.is_receive(pending)
                    && let Some(status) = which(pending)
                {
                    end(work, pending, (status, entered), ends);
                }
            }
        });
    }
    frame.call.pending.clear();
}

#[inline(always)]
fn end(work: &mut Work<'_>, pending: &Pending, (status, entered): (Option<StatusPtr>, Ticks), ends: Ends) {
    match ends {
        Ends::All => work.ended(pending, status, entered),
        Ends::Some => work.completed(pending, status, entered),
    }
}

/// A call that waits for all has failed: some requests may be complete, others are as they were.
#[cold]
pub(crate) fn complete_failed(
    tracker: &'static Tracker,
    frame: &mut Frame,
    requests: HandlePtr<Request>,
    statuses: StatusPtr,
    ends: Ends,
) {
    let in_row = std::mem::take(&mut frame.call.in_row);
    if in_row != 0 {
        return tracker.fail_row(frame, requests, in_row);
    }
    let entered = frame.call.entered;
    tracker.polled(frame);
    let pending_error = tracker.abi.constants.err_pending;
    tracker.with_state(frame, |work, local| {
        for pending in local.pending.iter() {
            // SAFETY: the application's array, in which this place was read at the entry.
            let now = unsafe { requests.get(pending.place as usize) }.word();
            let status = status_at(work.tracker, statuses, pending.place as usize);
            // MPI takes a complete request's handle back; a persistent one keeps it, and only the
            // status says it. A status that MPI has not filled is not taken for a message.
            let complete = match pending.tracked {
                Tracked::Persistent(_) => status.is_some_and(|status| {
                    // SAFETY: the call was given a status for each request; a status is a struct of plain numbers.
                    let error = unsafe { status.error(work.tracker.abi) };
                    error != pending_error
                }),
                _ => now != pending.handle,
            };
            if complete
                && status.is_none()
                && let Tracked::Receive { receive, comm, request, .. } = pending.tracked
            {
                // Perhaps it is this one that has failed.
                work.state.requests.forget(pending.handle, request);
                work.ends_request(receive);
                work.received((receive, comm, request), Ending::Unknown, false);
                continue;
            }
            match ends {
                Ends::All if complete => work.ended(pending, status, entered),
                Ends::All => work.state.requests.insert(pending.handle, pending.tracked),
                Ends::Some if complete => work.completed(pending, status, entered),
                Ends::Some => {}
            }
        }
        local.pending.clear();
    });
}

/// The request at this place of the array is complete; a place of none is negative.
pub(crate) fn complete_one(tracker: &'static Tracker, frame: &mut Frame, which: c_int, status: StatusPtr) {
    let is_it = move |pending: &Pending| Ok(pending.place) == u32::try_from(which);
    complete(tracker, frame, |pending| is_it(pending).then(|| status_at(tracker, status, 0)), Ends::Some);
}

/// Some requests are complete: their places and statuses are in arrays of `outcount`.
pub(crate) fn complete_some(
    tracker: &'static Tracker,
    frame: &mut Frame,
    outcount: *mut c_int,
    places: *mut c_int,
    statuses: StatusPtr,
) {
    // SAFETY: MPI has filled the count, also where it failed with errors in the statuses. A count of
    // `MPI_UNDEFINED` is negative, and so none.
    let count = usize::try_from(unsafe { outcount.read() }).unwrap_or(0);
    let done = |pending: &Pending| {
        // SAFETY: MPI has filled `outcount` places.
        (0..count).find(|&done| Ok(pending.place) == u32::try_from(unsafe { places.add(done).read() }))
    };
    let which = |pending: &Pending| done(pending).map(|done| status_at(tracker, statuses, done));
    complete(tracker, frame, which, Ends::Some);
}

/// Every request of the call is complete.
#[inline]
pub(crate) fn complete_all(tracker: &'static Tracker, frame: &mut Frame, statuses: StatusPtr, ends: Ends) {
    if std::mem::take(&mut frame.call.in_row) != 0 {
        return tracker.complete_row(frame, statuses);
    }
    let which = |pending: &Pending| Some(status_at(tracker, statuses, pending.place as usize));
    complete(tracker, frame, which, ends);
}

#[inline]
fn status_at(tracker: &Tracker, statuses: StatusPtr, place: usize) -> Option<StatusPtr> {
    let abi = tracker.abi;
    // SAFETY: the array given to the completion call has a status for each request; it is the
    // application's, or ours of that length.
    (!statuses.is_ignore(abi)).then(|| unsafe { statuses.at(abi, place) })
}
