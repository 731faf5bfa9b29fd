//! Calls that complete requests: which of them have ended, and with which message.
//!
//! At the entry of such a call its requests are still known by their handles, which MPI takes back; at
//! its exit the statuses tell what was received. Where the application wants no statuses the call gets
//! ours, because the truth check reads them.

use std::ffi::c_int;

use mpi_abi::{Handle, HandlePtr, Request, StatusPtr};

use super::calls::drained;
use super::frame::{Current, Frame, Pending};
use super::requests::Tracked;
use super::tracker::{Tracker, Work};

/// Which of its requests a completion call ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// All of them, unless it fails: the table forgets them at once.
    All,
    /// Those that it tells.
    Some,
}

/// A completion call: note which of its requests are followed, and have their statuses.
#[inline]
pub(super) fn await_requests(
    tracker: &'static Tracker,
    frame: &mut Frame,
    requests: HandlePtr<Request>,
    count: c_int,
    statuses: &mut StatusPtr,
    ends: Ends,
) {
    frame.call.entered = tracker.now();
    frame.call.pending.clear();
    if requests.is_null() {
        return;
    }
    let count = usize::try_from(count).unwrap_or(0);
    tracker.settled(frame, |work, local| {
        if work.state.requests.is_empty() {
            return;
        }
        for place in 0..count {
            // SAFETY: the application's array of `count` handles.
            let handle = unsafe { requests.get(place) }.word();
            let tracked = match ends {
                Ends::All => work.state.requests.take(handle),
                Ends::Some => work.state.requests.get(handle),
            };
            if let Some(tracked) = tracked {
                local.pending.push(Pending { place: place as u32, handle, tracked });
            }
        }
        if !local.pending.is_empty() && statuses.is_ignore(work.tracker.abi) {
            own_statuses(work, local, statuses, count);
        }
    });
}

/// Gives the call a status of ours where the application wants none.
#[inline]
pub(super) fn own_status(work: &Work<'_>, local: &mut Current, status: &mut StatusPtr) {
    if status.is_ignore(work.tracker.abi) {
        own_statuses(work, local, status, 1);
    }
}

#[inline]
fn own_statuses(work: &Work<'_>, local: &mut Current, statuses: &mut StatusPtr, count: usize) {
    let words = work.tracker.abi.status.size.div_ceil(8) * count;
    if local.statuses.len() < words {
        local.statuses.resize(words, 0);
    }
    *statuses = StatusPtr(local.statuses.as_mut_ptr().cast());
}

/// Every request of the call is complete.
#[inline]
pub(super) fn complete_all(tracker: &'static Tracker, frame: &mut Frame, statuses: StatusPtr, ends: Ends) {
    let defers = tracker.defers();
    if !defers {
        tracker.drain(frame);
    }
    tracker.work(frame, |work, local| {
        if defers {
            work.defer(local.entered);
        }
        local.entered = mpit_events::Ticks(0);
        for pending in local.pending.iter() {
            let status = status_at(work, statuses, pending.place as usize);
            match ends {
                Ends::All => work.ended(pending, status),
                Ends::Some => work.completed(pending, status),
            }
        }
        local.pending.clear();
    });
}

/// A call that waits for all has failed: some requests may be complete, others are as they were.
#[cold]
pub(super) fn complete_failed(
    tracker: &'static Tracker,
    frame: &mut Frame,
    requests: HandlePtr<Request>,
    statuses: StatusPtr,
    ends: Ends,
) {
    drained(tracker, frame);
    let pending_error = tracker.abi.constants.err_pending;
    tracker.work(frame, |work, local| {
        for pending in local.pending.iter() {
            // SAFETY: the application's array, in which this place was read at the entry.
            let now = unsafe { requests.get(pending.place as usize) }.word();
            let status = status_at(work, statuses, pending.place as usize);
            // MPI takes a complete request's handle back; a persistent one keeps it, and only the
            // status tells. A status that MPI has not filled is not taken for a message.
            let complete = match pending.tracked {
                Tracked::Persistent(_) => status.is_some_and(|status| {
                    // SAFETY: as for `status_at`; a status is a struct of plain numbers.
                    let error = unsafe { status.error(work.tracker.abi) };
                    error != pending_error
                }),
                _ => now != pending.handle,
            };
            match ends {
                Ends::All if complete => work.ended(pending, status),
                Ends::All => work.state.requests.insert(pending.handle, pending.tracked),
                Ends::Some if complete => work.completed(pending, status),
                Ends::Some => {}
            }
        }
        local.pending.clear();
    });
}

/// The request at this place of the array is complete; a place of none is negative.
pub(super) fn complete_one(tracker: &'static Tracker, frame: &mut Frame, which: c_int, status: StatusPtr) {
    let Ok(which) = usize::try_from(which) else { return };
    tracker.work(frame, |work, local| {
        if let Some(pending) = local.pending.iter().find(|pending| pending.place as usize == which) {
            let status = status_at(work, status, 0);
            work.completed(pending, status);
        }
    });
}

/// Some requests are complete: their places and statuses are in arrays of `outcount`.
pub(super) fn complete_some(
    tracker: &'static Tracker,
    frame: &mut Frame,
    outcount: *mut c_int,
    places: *mut c_int,
    statuses: StatusPtr,
) {
    if frame.call.pending.is_empty() {
        return;
    }
    // SAFETY: MPI has filled the count, also where it failed with errors in the statuses.
    let count = usize::try_from(unsafe { outcount.read() }).unwrap_or(0);
    tracker.work(frame, |work, local| {
        // A count of `MPI_UNDEFINED` is negative, and so none.
        for done in 0..count {
            // SAFETY: MPI has filled `outcount` places.
            let which = unsafe { places.add(done).read() };
            let found = local.pending.iter().find(|pending| u32::try_from(which) == Ok(pending.place));
            if let Some(pending) = found {
                let status = status_at(work, statuses, done);
                work.completed(pending, status);
            }
        }
    });
}

#[inline]
fn status_at(work: &Work<'_>, statuses: StatusPtr, place: usize) -> Option<StatusPtr> {
    let abi = work.tracker.abi;
    // SAFETY: the array given to the completion call has a status for each request; it is the
    // application's, or ours of that length.
    (!statuses.is_ignore(abi)).then(|| unsafe { statuses.at(abi, place) })
}
