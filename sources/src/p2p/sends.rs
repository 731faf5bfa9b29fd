//! Sends: when the receiver's twin is told of a message.
//!
//! Where every event of a send may be wanted, its envelope is written before the message is sent. Where
//! nobody wants to know of these (a queue profile, a trace), the envelope of a send that returns without
//! waiting for its receiver is written afterwards, and observers are told then, while the message is on its way
//! and this process would wait: the message itself is not held up. Then
//!
//! - a message was `sent` when its call began, where observers know that, else when it returned, which is later by no
//!   more than that send took;
//! - its receive may be complete before its envelope is there; the receiver's twin waits a moment for it
//!   ([`deferral`](super::deferral));
//! - the envelopes of one process still come in the order of its sends, and each before the next MPI call:
//!   what a message causes is never known before the message;
//! - of a send that fails nobody is told.

use mpi_abi::{Datatype, Handle, HandlePtr, Request};

use super::calls::drained;
use super::frame::Frame;
use super::last_look::Awaits;
use super::messages::FollowedSend;
use super::requests::Tracked;
use super::tracker::{OF_SENDS, Tracker, Work};

/// The arguments of a send, in whichever call.
///
/// What takes it is inlined, or reads each field once, as it was stored: a copy through memory would be loaded in other
/// pieces than it was stored in, and so wait for all stores before it, those of the message among them.
#[derive(Clone, Copy)]
pub(super) struct Sending {
    pub(super) comm: usize,
    pub(super) peer: i32,
    pub(super) tag: i32,
    pub(super) count: i64,
    pub(super) datatype: Datatype,
}

impl Work<'_> {
    /// Whether receivers are told of messages before these are sent ([`Tracker::tells_after`]).
    #[inline(always)]
    pub(super) fn tells_before(&self) -> bool {
        self.tracker.follows_sends()
            && (self.tracker.core.has_registrations() || self.sink.wanted & OF_SENDS != 0)
    }

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

/// A blocking send: of a short message the receiver is perhaps told later.
#[inline(always)]
pub(super) fn blocking_send(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    if tracker.tells_after(frame) {
        let prompt = tracker.quietly(frame, |work, _| {
            work.bytes(sending.count, sending.datatype).is_some_and(|bytes| bytes <= work.tracker.prompt)
        });
        if prompt == Some(true) {
            frame.call.untold = true;
            return;
        }
    }
    waiting_send(tracker, frame, sending);
}

/// A blocking send that may wait for the receiver, which is told first.
#[inline(never)]
pub(super) fn waiting_send(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    let awaits = tracker.work(frame, |work, local| {
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
pub(super) fn nonblocking_send(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    frame.call.untold = tracker.tells_after(frame);
    if !frame.call.untold {
        tracker.work(frame, |work, local| {
            local.send = work.send_counted(sending, false);
            let bytes = work.bytes(sending.count, sending.datatype).unwrap_or(0);
            work.note_long_send(bytes);
        });
    }
}

// Exits.

/// Tells the receiver of a message that a blocking call has sent, and observers.
#[inline(always)]
fn tell(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending) {
    tracker.quietly(frame, |work, local| {
        work.expect_envelope();
        if tracker.wants_messages() {
            local.send = work.send_counted(sending, true);
        } else if let Some(bytes) = work.bytes(sending.count, sending.datatype) {
            work.tell_receiver(sending.comm, sending.peer, sending.tag, bytes);
        }
    });
    if frame.sink.mail_waits {
        tracker.send_mail(frame);
    }
}

/// A blocking send has returned.
#[inline(always)]
pub(super) fn sent(tracker: &'static Tracker, frame: &mut Frame, sending: &Sending, success: bool) {
    if std::mem::take(&mut frame.call.untold) {
        if success {
            tell(tracker, frame, sending);
            frame.call.send = None;
        }
        return;
    }
    if let Some((comm, request, bytes)) = frame.call.send.take() {
        tracker.work(frame, |work, _| work.state.engine.transferred(work.sink, comm, request, bytes));
    }
    if frame.call.entered.0 != 0 {
        drained(tracker, frame);
    }
}

/// A nonblocking send has returned its request. One function that all of it is inlined into: what it stores delays the
/// next message, which waits for all stores before it.
#[inline(never)]
pub(super) fn keep_send(
    tracker: &'static Tracker,
    frame: &mut Frame,
    request: HandlePtr<Request>,
    sending: &Sending,
    success: bool,
) {
    // Where nobody follows sends, their entry is not seen.
    let untold = if tracker.follows_sends() {
        std::mem::take(&mut frame.call.untold)
    } else {
        tracker.tells_after(frame)
    };
    if !untold {
        let send = frame.call.send.take();
        if let Some(send) = send.filter(|_| success) {
            tracker.work(frame, |work, _| work.remember(request, send));
        }
    } else if success {
        tell_nonblocking(tracker, frame, request, sending);
    }
}

/// The same as [`tell`], where there is a request.
#[inline(always)]
fn tell_nonblocking(
    tracker: &'static Tracker,
    frame: &mut Frame,
    request: HandlePtr<Request>,
    sending: &Sending,
) {
    let Sending { comm, peer, tag, count, datatype } = *sending;
    tracker.quietly(frame, |work, _| {
        work.expect_envelope();
        let Some(bytes) = work.bytes(count, datatype) else { return };
        if !tracker.wants_messages() {
            work.tell_receiver(comm, peer, tag, bytes);
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
