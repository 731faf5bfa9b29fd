//! Sends: when the envelope of a message goes to its receiver.
//!
//! Where callbacks may want every event of a send, its envelope is sent before the message. Otherwise
//! ([`Mode::is_in_bulk`](super::mode::Mode)) the envelope of a send that returns without
//! waiting for its receiver is sent afterwards, and observers are notified then, while the message is on its way
//! and this process would wait: the message itself is not held up. Then
//!
//! - a message was `sent` when its call began, where observers know that, else when it returned, which is later by no
//!   more than that send took;
//! - its receive may be complete before its envelope is there; the receiver's model waits a moment for it
//!   ([`deferral`](super::deferred));
//! - the envelopes of one process still come in the order of its sends, and each before the next MPI call:
//!   what a message causes is never known before the message;
//! - a send that fails has no envelope.

use mpi_abi::{Datatype, Handle, HandlePtr, Request};

use super::frame::Frame;
use super::requests::{FollowedSend, Tracked};
use super::tracker::{Tracker, Work};
use crate::progress_model::Awaits;

/// The arguments of a send, in whichever call.
///
/// What takes it is inlined, or reads each field once, as it was stored: a copy through memory would be loaded in other
/// pieces than it was stored in, and so wait for all stores before it, those of the message among them.
#[derive(Clone, Copy)]
pub(crate) struct Sending {
    pub(crate) comm: usize,
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    pub(crate) count: i64,
    pub(crate) datatype: Datatype,
}

impl Work<'_> {
    /// [`send`](Work::send), of so many elements of a datatype.
    #[inline(always)]
    fn send_counted(&mut self, sending: &Sending, blocking: bool) -> Option<FollowedSend> {
        let Sending { comm, peer, tag, count, datatype } = *sending;
        let bytes = self.bytes(count, datatype)?;
        self.send(comm, peer, tag, bytes, blocking)
    }

    /// Notes that calls which wait for sends may wait for their receivers from now on, where this one is so long.
    #[inline(always)]
    fn note_long_send(&mut self, bytes: u64) {
        self.state.long_sends = self.state.long_sends.max(self.awaits(bytes));
    }
}

// Entries.

/// A blocking send: the envelope of a short message perhaps goes later.
#[inline(always)]
pub(crate) fn blocking_send(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    if tracker.mode(frame).is_in_bulk()
        && (tracker.has_home() && frame.short.are(sending.datatype, sending.count)
            || is_short(tracker, frame, sending))
    {
        return;
    }
    waiting_send(tracker, frame, sending);
}

/// Whether a message is so short that its envelope may come after it. Keeps which of the same datatype are.
#[cold]
#[inline(never)]
fn is_short(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) -> bool {
    let most = tracker.parameters().inline_bytes;
    let of_one = tracker.without_raising(frame, |work, _| {
        let bytes = work.bytes(sending.count, sending.datatype)?;
        (bytes <= most).then(|| work.bytes(1, sending.datatype)).flatten()
    });
    let Some(of_one) = of_one.flatten() else { return false };
    let fit = most.checked_div(of_one).map_or(i64::MAX, |fit| fit as i64);
    frame.short.know(sending.datatype, fit);
    true
}

/// A blocking send that may wait for the receiver: the envelope goes first.
#[inline(never)]
pub(crate) fn waiting_send(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    let awaits = tracker.with_state(frame, |work, local| {
        local.envelope_sent = true;
        let Some(bytes) = work.bytes(sending.count, sending.datatype) else { return Awaits::Receives };
        local.send = work.send(sending.comm, sending.peer, sending.tag, bytes, true);
        work.awaits(bytes)
    });
    if awaits.is_some_and(|awaits| awaits != Awaits::Receives) {
        frame.call.entered = tracker.now();
    }
}

/// A nonblocking send, which never waits.
#[inline(always)]
pub(crate) fn nonblocking_send(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    if tracker.mode(frame).is_in_bulk() {
        return;
    }
    tracker.with_state(frame, |work, local| {
        local.envelope_sent = true;
        local.send = work.send_counted(sending, false);
        let bytes = work.bytes(sending.count, sending.datatype).unwrap_or(0);
        work.note_long_send(bytes);
    });
}

// Exits.

/// Sends the envelope of a message that a blocking call has sent, and notifies observers.
#[inline(always)]
fn send_envelope(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    tracker.without_raising(frame, |work, local| {
        work.prefetch_envelope();
        if tracker.wants_messages() {
            local.send = work.send_counted(sending, true);
        } else if let Some(bytes) = work.bytes(sending.count, sending.datatype) {
            work.send_envelope(sending.comm, sending.peer, sending.tag, bytes);
        }
    });
    if frame.sink.mail_waits {
        tracker.send_mail(frame);
    }
}

/// A blocking send has returned.
#[inline(always)]
pub(crate) fn sent(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending, success: bool) {
    if !std::mem::take(&mut frame.call.envelope_sent) {
        if success {
            send_envelope(tracker, frame, sending);
            frame.call.send = None;
        }
        return;
    }
    if let Some((comm, request, bytes)) = frame.call.send.take() {
        tracker.with_state(frame, |work, _| work.state.engine.transferred(work.sink, comm, request, bytes));
    }
    if frame.call.entered.0 != 0 {
        tracker.polled(frame);
    }
}

/// `MPI_Isend` has returned. One function that all of it is inlined into: what it stores delays the next message, which waits for
/// all stores before it.
#[inline(never)]
pub(crate) fn isend_returned(
    tracker: &'static Tracker,
    frame: &mut Frame,
    a: &mpi_intercept::args::Isend,
    success: bool,
) {
    let sending =
        Sending { comm: a.comm.word(), peer: a.dest, tag: a.tag, count: a.count, datatype: a.datatype };
    keep_send(tracker, frame, a.request, &sending, success);
}

/// A nonblocking send has returned its request.
#[inline(always)]
pub(crate) fn keep_send(
    tracker: &'static Tracker,
    frame: &mut Frame,
    request: HandlePtr<Request>,
    sending: &Sending,
    success: bool,
) {
    if std::mem::take(&mut frame.call.envelope_sent) {
        let send = frame.call.send.take();
        if let Some(send) = send.filter(|_| success) {
            tracker.with_state(frame, |work, _| work.remember(request, send));
        }
    } else if success {
        send_envelope_of_request(tracker, frame, request, sending);
    }
}

/// The same as [`send_envelope`], where there is a request.
#[inline(always)]
fn send_envelope_of_request(
    tracker: &'static Tracker,
    frame: &mut Frame,
    request: HandlePtr<Request>,
    sending: &Sending,
) {
    let Sending { comm, peer, tag, count, datatype } = *sending;
    tracker.without_raising(frame, |work, _| {
        work.prefetch_envelope();
        let Some(bytes) = work.bytes(count, datatype) else { return };
        if !tracker.wants_messages() {
            work.send_envelope(comm, peer, tag, bytes);
            return work.note_long_send(bytes);
        }
        if let Some((send, route, envelope)) = work.begin_message(comm, peer, tag, bytes, false) {
            if let Some(send) = send {
                work.remember(request, send);
            }
            // Last, because a claim in the ring waits for all stores before it, those of the message among them.
            work.deliver(route, &envelope);
        }
    });
    if frame.sink.mail_waits {
        tracker.send_mail(frame);
    }
}

impl Work<'_> {
    /// Remembers the request of a send that is followed.
    #[inline(always)]
    fn remember(&mut self, request: HandlePtr<Request>, (comm, id, bytes): FollowedSend) {
        // SAFETY: MPI has filled the request, because the call succeeded.
        let handle = unsafe { request.read() };
        if self.tracker.abi.is_shared_request(handle) {
            // Complete already; many sends share this handle.
            self.send_ended((comm, id, bytes), None);
        } else {
            self.state.requests.insert(handle.word(), Tracked::Send { comm, request: id, bytes });
        }
    }
}
