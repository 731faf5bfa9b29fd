//! What each intercepted MPI call means for the tracker: the one table of calls.
//!
//! Sending and posting happen at the entry of a call, so that the envelope is there before the message
//! (where it may be otherwise, see [`sends`](super::sends)); completion and progress happen at its exit. Statuses that the application does not
//! want are replaced by our own, because the truth check reads them.

use std::ffi::c_int;

use mpi_abi::{Handle, HandlePtr, Request, StatusPtr};
use mpi_intercept::{Call, FunctionId, Hook, InThread, Wants};
use mpit_events::Ticks;

use super::communicators;
use super::completion::{
    Ends, await_requests, complete_all, complete_failed, complete_one, complete_some, needs_status,
    own_status,
};
use super::frame::{Frame, Pending, ShortSends};
use super::mode::Part;
use super::requests::{Persistent, Tracked};
use super::sends::{Sending, blocking_send, isend_returned, keep_send, nonblocking_send, sent, waiting_send};
use super::tracker::{Ending, Tracker, Work};
use crate::fast_path::Post;
use crate::progress_model::{Awaits, Polling};

macro_rules! sending {
    ($a:ident) => {
        Sending { comm: $a.comm.word(), peer: $a.dest, tag: $a.tag, count: $a.count, datatype: $a.datatype }
    };
    ($a:ident, $count:ident, $datatype:ident) => {
        Sending {
            comm: $a.comm.word(),
            peer: $a.dest,
            tag: $a.sendtag,
            count: $a.$count,
            datatype: $a.$datatype,
        }
    };
}

/// The model as a hook of the interception.
pub struct Calls(pub(crate) &'static Tracker);

impl Hook for Calls {
    #[rustfmt::skip]
    fn wants(&self, function: FunctionId) -> Wants {
        use FunctionId as F;
        if self.0.part() == Part::Communicators
            && !communicators::changes_communicators(function, self.0.awaits_duplicates())
        {
            return Wants::Nothing;
        }
        if self.0.is_unheard()
            && let Some(wants) = self.0.wants_unheard(function)
        {
            return wants;
        }
        match function {
            F::Irecv | F::Irecv_c if self.0.suspects() => Wants::Both,
            // The clock is read once, and at the entry only where a call may take long.
            F::Irecv | F::Irecv_c => if self.0.times_posts() { Wants::Both } else { Wants::Leave },
            F::Isend | F::Isend_c | F::Ibsend | F::Ibsend_c | F::Irsend | F::Irsend_c | F::Issend | F::Issend_c
                if self.0.current_mode().is_in_bulk() => Wants::Leave,
            F::Start | F::Startall => Wants::Both,
            F::Type_free => Wants::Enter,
            F::Send | F::Send_c | F::Bsend | F::Bsend_c | F::Rsend | F::Rsend_c | F::Ssend | F::Ssend_c
            | F::Isend | F::Isend_c | F::Ibsend | F::Ibsend_c | F::Irsend | F::Irsend_c | F::Issend | F::Issend_c
            | F::Recv | F::Recv_c | F::Sendrecv | F::Sendrecv_c | F::Sendrecv_replace | F::Sendrecv_replace_c
            | F::Isendrecv | F::Isendrecv_c | F::Isendrecv_replace | F::Isendrecv_replace_c
            | F::Probe | F::Iprobe | F::Mprobe | F::Improbe | F::Mrecv | F::Mrecv_c | F::Imrecv | F::Imrecv_c
            | F::Wait | F::Test | F::Waitall | F::Testall | F::Waitany | F::Testany | F::Waitsome | F::Testsome
            | F::Request_get_status | F::Request_free | F::Cancel | F::Comm_free | F::Comm_disconnect => Wants::Both,
            F::Send_init | F::Send_init_c | F::Bsend_init | F::Bsend_init_c | F::Rsend_init | F::Rsend_init_c
            | F::Ssend_init | F::Ssend_init_c | F::Recv_init | F::Recv_init_c => Wants::Leave,
            other => communicators::wants(other, self.0.wants_collectives()),
        }
    }

    #[inline(always)]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        // SAFETY: the frame is this thread's own, lives as long as the thread, and is used by one hook call at a time: the interception
        // never runs hooks inside hooks.
        let frame = unsafe { &mut *self.0.frame_kept(here.slot()) };
        frame.call.context = here.context(function, call) as u16;
        // The most frequent ones first, without what the table of all needs.
        let is_done = match call {
            Call::Isend(_) => self.0.mode(frame).is_in_bulk(),
            Call::Test(a) => self.0.tests_again(frame, (a.request, 1), &mut a.status),
            Call::Testany(a) => self.0.tests_again(frame, (a.array_of_requests, a.count), &mut a.status),
            Call::Testall(a) => {
                self.0.tests_again(frame, (a.array_of_requests, a.count), &mut a.array_of_statuses)
            }
            Call::Testsome(a) => {
                self.0.tests_again(frame, (a.array_of_requests, a.incount), &mut a.array_of_statuses)
            }
            _ => false,
        };
        if !is_done {
            enter(self.0, frame, call);
        }
    }

    #[inline(always)]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        if self.0.is_unheard() && self.0.left_unheard(function) {
            return;
        }
        let success = code == self.0.abi.constants.success;
        // SAFETY: the frame is this thread's own, lives as long as the thread, and is used by one hook call at a time: the interception
        // never runs hooks inside hooks.
        let frame = unsafe { &mut *self.0.frame_kept(here.slot()) };
        frame.call.context = here.context(function, call) as u16;
        frame.call.left = Ticks(here.left(|| self.0.now().0));
        self.left(frame, function, call, success);
        frame.call.left.0 = 0;
    }
}

impl Calls {
    /// A call has returned, whose frame has its context and when that was.
    #[inline(always)]
    fn left(&self, frame: &mut Frame, function: FunctionId, call: &mut Call<'_>, success: bool) {
        // The most frequent ones first, as in `enter_in_thread`.
        if let Call::Isend(a) = call {
            return isend_returned(self.0, frame, a, success);
        }
        if success && self.polled_in_vain(frame, call) {
            return;
        }
        if let Call::Irecv(a) = call
            && success
            && self.0.mode(frame).is_in_bulk()
        {
            // SAFETY: MPI has filled the request, because the call succeeded.
            let handle = unsafe { a.request.read() }.word();
            let (at, comm) = (self.0.posted_at(frame), a.comm.word());
            let context = frame.call.context;
            let post = Post { at, handle, comm, source: a.source, tag: a.tag, request: 0, context };
            if self.0.post_later(frame, post) {
                return;
            }
        }
        // What was tested may be complete, and another request have its handle.
        frame.call.tested_in_vain.forget();
        leave(self.0, frame, function, call, success);
    }

    /// The exit of a test or a probe that has found nothing: whether it is one.
    #[inline(always)]
    fn polled_in_vain(&self, frame: &mut Frame, call: &Call<'_>) -> bool {
        // SAFETY: MPI has filled the flag or the count that is given here, because the call succeeded.
        let is_zero = |filled: *mut c_int| unsafe { filled.read() } == 0;
        let tested = match call {
            Call::Test(a) if is_zero(a.flag) => Some((a.request, 1)),
            Call::Testany(a) if is_zero(a.flag) => Some((a.array_of_requests, a.count)),
            Call::Testall(a) if is_zero(a.flag) => Some((a.array_of_requests, a.count)),
            Call::Testsome(a) if is_zero(a.outcount) => Some((a.array_of_requests, a.incount)),
            Call::Iprobe(a) if is_zero(a.flag) => None,
            _ => return false,
        };
        if let Some((requests, count)) = tested {
            self.0.tested(frame);
            frame.call.tested_in_vain.remember(requests, count);
        }
        self.0.polled_in_vain(frame);
        true
    }
}

/// What a persistent send does each time it is started, in whichever mode.
macro_rules! persistent_send {
    ($work:ident, $a:ident) => {{
        let bytes = $work.bytes($a.count, $a.datatype).unwrap_or(0);
        Persistent { active: None, comm: $a.comm.word(), peer: $a.dest, tag: $a.tag, bytes, sends: true }
    }};
}

#[inline(always)]
fn enter(tracker: &'static Tracker, frame: &mut Frame, call: &mut Call<'_>) {
    if !matches!(call, Call::Iprobe(_)) {
        // It may be about requests.
        frame.call.tested_in_vain.forget();
    }
    if tracker.suspects() {
        tracker.forget_what_is_gone(frame, call);
    }
    match call {
        // Blocking sends. Those that ob1 waits in make progress, from here on.
        Call::Send(a) => blocking_send(tracker, frame, &sending!(a)),
        Call::Bsend(a) => blocking_send(tracker, frame, &sending!(a)),
        Call::Rsend(a) => blocking_send(tracker, frame, &sending!(a)),
        Call::Ssend(a) => {
            waiting_send(tracker, frame, &sending!(a));
            // It waits for the receiver, however short the message is.
            frame.call.entered = tracker.now();
        }
        // Nonblocking sends.
        Call::Isend(a) => nonblocking_send(tracker, frame, &sending!(a)),
        Call::Ibsend(a) => nonblocking_send(tracker, frame, &sending!(a)),
        Call::Irsend(a) => nonblocking_send(tracker, frame, &sending!(a)),
        Call::Issend(a) => nonblocking_send(tracker, frame, &sending!(a)),
        // Receives.
        Call::Irecv(_) => frame.call.posted = tracker.now(),
        Call::Recv(a) => {
            frame.call.awaits = Awaits::Receives;
            if tracker.notes_blocking(frame, a.source, a.tag) {
                return;
            }
            tracker.with_caught_up(frame, |work, local| {
                local.entered = tracker.now();
                local.receive = work.post(a.comm.word(), a.source, a.tag, true, local.entered);
                if local.receive.is_some() && needs_status(work, a.source, a.tag) {
                    own_status(work, local, &mut a.status);
                }
            });
        }
        Call::Sendrecv(a) => sendrecv(
            tracker,
            frame,
            &sending!(a, sendcount, sendtype),
            (a.source, a.recvtag),
            Some(&mut a.status),
        ),
        Call::Sendrecv_replace(a) => sendrecv(
            tracker,
            frame,
            &sending!(a, count, datatype),
            (a.source, a.recvtag),
            Some(&mut a.status),
        ),
        Call::Isendrecv(a) => {
            sendrecv(tracker, frame, &sending!(a, sendcount, sendtype), (a.source, a.recvtag), None)
        }
        Call::Isendrecv_replace(a) => {
            sendrecv(tracker, frame, &sending!(a, count, datatype), (a.source, a.recvtag), None)
        }
        // Probes: a search each.
        Call::Probe(a) => probe(tracker, frame, a.comm.word(), a.source, a.tag, None),
        Call::Iprobe(a) => probe(tracker, frame, a.comm.word(), a.source, a.tag, None),
        Call::Mprobe(a) => probe(tracker, frame, a.comm.word(), a.source, a.tag, Some(&mut a.status)),
        Call::Improbe(a) => probe(tracker, frame, a.comm.word(), a.source, a.tag, Some(&mut a.status)),
        Call::Mrecv(a) => {
            frame.call.entered = tracker.now();
            // SAFETY: the application's in-out argument: one handle.
            let handle = unsafe { a.message.read() }.word();
            use_message(tracker, frame, handle, Some(&mut a.status));
        }
        Call::Imrecv(a) => {
            // SAFETY: the application's in-out argument: one handle.
            let handle = unsafe { a.message.read() }.word();
            use_message(tracker, frame, handle, None);
        }
        // Persistent requests.
        Call::Start(a) => {
            // SAFETY: the application's in-out argument: one handle.
            let handle = unsafe { a.request.read() }.word();
            tracker.catch_up(frame);
            tracker.with_state(frame, |work, call| {
                call.started.clear();
                call.started.push(work.start(handle));
            });
        }
        Call::Startall(a) => {
            tracker.catch_up(frame);
            tracker.with_state(frame, |work, call| {
                call.started.clear();
                for place in 0..usize::try_from(a.count).unwrap_or(0) {
                    // SAFETY: the application's array of `count` handles.
                    call.started.push(work.start(unsafe { a.array_of_requests.get(place) }.word()));
                }
            });
        }
        // Completion.
        Call::Wait(a) => await_requests(tracker, frame, a.request, 1, &mut a.status, Ends::All),
        Call::Test(a) => await_requests(tracker, frame, a.request, 1, &mut a.status, Ends::Some),
        Call::Waitall(a) => {
            await_requests(tracker, frame, a.array_of_requests, a.count, &mut a.array_of_statuses, Ends::All);
        }
        Call::Testall(a) => {
            let statuses = &mut a.array_of_statuses;
            await_requests(tracker, frame, a.array_of_requests, a.count, statuses, Ends::Some);
        }
        Call::Waitany(a) => {
            await_requests(tracker, frame, a.array_of_requests, a.count, &mut a.status, Ends::Some);
        }
        Call::Testany(a) => {
            await_requests(tracker, frame, a.array_of_requests, a.count, &mut a.status, Ends::Some);
        }
        Call::Waitsome(a) => {
            let statuses = &mut a.array_of_statuses;
            await_requests(tracker, frame, a.array_of_requests, a.incount, statuses, Ends::Some);
        }
        Call::Testsome(a) => {
            let statuses = &mut a.array_of_statuses;
            await_requests(tracker, frame, a.array_of_requests, a.incount, statuses, Ends::Some);
        }
        Call::Request_get_status(a) => {
            tracker.catch_up(frame);
            frame.call.entered = tracker.now();
            frame.call.handle = a.request.word();
        }
        Call::Request_free(a) => {
            // SAFETY: the application's in-out argument: one handle.
            frame.call.handle = unsafe { a.request.read() }.word();
        }
        Call::Cancel(a) => {
            // SAFETY: the application's argument: one handle.
            frame.call.handle = unsafe { a.request.read() }.word();
        }
        Call::Type_free(a) => {
            // SAFETY: the application's in-out argument: one handle.
            let datatype = unsafe { a.datatype.read() };
            frame.short = ShortSends::default();
            tracker.with_state(frame, |work, _| work.state.sizes.forget(datatype));
        }
        Call::Comm_free(a) => {
            tracker.catch_up(frame);
            // SAFETY: the application's in-out argument: one handle.
            frame.call.handle = unsafe { a.comm.read() }.word();
            communicators::is_freed(tracker, frame, frame.call.handle);
        }
        Call::Comm_disconnect(a) => {
            tracker.catch_up(frame);
            // SAFETY: the application's in-out argument: one handle.
            frame.call.handle = unsafe { a.comm.read() }.word();
            communicators::is_freed(tracker, frame, frame.call.handle);
        }
        _ => communicators::enter(tracker, frame),
    }
    if frame.sink.mail_waits {
        tracker.send_mail(frame);
    }
}

#[inline(always)]
fn leave(
    tracker: &'static Tracker,
    frame: &mut Frame,
    function: FunctionId,
    call: &mut Call<'_>,
    success: bool,
) {
    match call {
        Call::Send(a) => sent(tracker, frame, &sending!(a), success),
        Call::Bsend(a) => sent(tracker, frame, &sending!(a), success),
        Call::Rsend(a) => sent(tracker, frame, &sending!(a), success),
        Call::Ssend(a) => sent(tracker, frame, &sending!(a), success),
        // `MPI_Isend`: in `leave_in_thread`.
        Call::Ibsend(a) => keep_send(tracker, frame, a.request, &sending!(a), success),
        Call::Irsend(a) => keep_send(tracker, frame, a.request, &sending!(a), success),
        Call::Issend(a) => {
            // It waits for its receiver, however short the message is.
            tracker.without_raising(frame, |work, _| work.state.long_sends = Awaits::Others);
            keep_send(tracker, frame, a.request, &sending!(a), success);
        }
        // Posted here, where the request is known: nothing can come in between.
        Call::Irecv(a) => {
            if success {
                // SAFETY: MPI has filled the request, because the call succeeded.
                let handle = unsafe { a.request.read() }.word();
                let at = tracker.posted_at(frame);
                tracker.with_caught_up(frame, |work, _| {
                    let comm = a.comm.word();
                    let context = work.context;
                    work.post_request(Post {
                        at,
                        handle,
                        comm,
                        source: a.source,
                        tag: a.tag,
                        request: 0,
                        context,
                    });
                });
            }
        }
        Call::Isendrecv(a) => keep_receive(tracker, frame, a.request, (a.source, a.recvtag), success),
        Call::Isendrecv_replace(a) => keep_receive(tracker, frame, a.request, (a.source, a.recvtag), success),
        Call::Recv(a) if frame.call.in_row != 0 => {
            tracker.received_in_row(frame, (a.comm.word(), a.source, a.tag), success);
        }
        Call::Recv(a) => finish_receive(tracker, frame, a.status, (a.source, a.tag), success),
        Call::Sendrecv(a) => finish_receive(tracker, frame, a.status, (a.source, a.recvtag), success),
        Call::Sendrecv_replace(a) => finish_receive(tracker, frame, a.status, (a.source, a.recvtag), success),
        Call::Iprobe(_) => {
            // One that has found nothing: in `leave_in_thread`.
            if success && frame.call.found {
                // ob1 makes progress only where the search has found nothing.
                frame.call.entered.0 = 0;
            } else {
                tracker.polled_once(frame);
            }
        }
        Call::Probe(_) => tracker.polled(frame),
        Call::Request_get_status(a) => {
            let handle = frame.call.handle;
            // SAFETY: MPI has filled the flag where it succeeded.
            let is_complete = success && unsafe { a.flag.read() } != 0;
            if tracker.wants_messages() && success && !is_complete {
                tracker.without_raising(frame, |work, _| {
                    if let Some(tracked) = work.state.requests.get(handle) {
                        work.notify_tested(tracked);
                    }
                });
            }
            tracker.polled(frame);
            if is_complete && tracker.wants_waits() {
                tracker.without_raising(frame, |work, local| {
                    if let Some(Tracked::Receive { receive, .. } | Tracked::Silent { receive, .. }) =
                        work.state.requests.get(handle)
                    {
                        work.saw_complete(receive, local.context, local.left);
                    }
                });
            }
        }
        Call::Mprobe(a) => keep_message(tracker, frame, a.message, a.status, success),
        Call::Improbe(a) => {
            // SAFETY: MPI has filled the flag where it succeeded.
            let found = success && unsafe { a.flag.read() } != 0;
            keep_message(tracker, frame, a.message, a.status, found);
        }
        Call::Mrecv(a) => {
            let status = (success && !a.status.is_ignore(tracker.abi)).then_some(a.status);
            if let Some(Pending { tracked: Tracked::Probed { comm, request, bytes }, .. }) =
                frame.call.pending.pop()
            {
                tracker
                    .with_state(frame, |work, _| work.probed_received((comm, request, bytes), status, true));
            }
            tracker.polled(frame);
        }
        Call::Imrecv(a) => {
            if let Some(Pending { tracked, .. }) = frame.call.pending.pop().filter(|_| success) {
                // SAFETY: MPI has filled the request.
                let handle = unsafe { a.request.read() }.word();
                tracker.with_state(frame, |work, _| {
                    work.state.requests.insert(handle, tracked);
                    if let Tracked::Probed { comm, request, .. } = tracked {
                        work.notify_of_message(|observer| observer.receive_posted(comm.0, request, None));
                    }
                });
            }
        }
        Call::Send_init(a) if success => persist(tracker, frame, a.request, |w| persistent_send!(w, a)),
        Call::Bsend_init(a) if success => persist(tracker, frame, a.request, |w| persistent_send!(w, a)),
        Call::Rsend_init(a) if success => persist(tracker, frame, a.request, |w| persistent_send!(w, a)),
        Call::Ssend_init(a) if success => persist(tracker, frame, a.request, |w| persistent_send!(w, a)),
        Call::Recv_init(a) if success => persist(tracker, frame, a.request, |_| Persistent {
            active: None,
            comm: a.comm.word(),
            peer: a.source,
            tag: a.tag,
            bytes: 0,
            sends: false,
        }),
        Call::Start(a) if success => restarted(tracker, frame, a.request),
        Call::Startall(a) if success => restarted(tracker, frame, a.array_of_requests),
        Call::Wait(a) => complete_all(tracker, frame, a.status, Ends::All),
        // Tests that have found nothing: in `polled_in_vain`.
        Call::Test(a) => {
            if success {
                complete_all(tracker, frame, a.status, Ends::Some);
            } else {
                tracker.tested(frame);
                tracker.polled_once(frame);
            }
        }
        Call::Waitall(a) if !success => {
            complete_failed(tracker, frame, a.array_of_requests, a.array_of_statuses, Ends::All);
        }
        Call::Waitall(a) => complete_all(tracker, frame, a.array_of_statuses, Ends::All),
        Call::Testall(a) if !success => {
            complete_failed(tracker, frame, a.array_of_requests, a.array_of_statuses, Ends::Some);
        }
        Call::Testall(a) => complete_all(tracker, frame, a.array_of_statuses, Ends::Some),
        Call::Waitany(a) => {
            // SAFETY: MPI has filled the index where it succeeded.
            let which = if success { unsafe { a.index.read() } } else { -1 };
            complete_one(tracker, frame, which, a.status);
        }
        Call::Testany(a) => {
            if !success {
                tracker.tested(frame);
            }
            // SAFETY: MPI has set the flag, and filled the index, where it succeeded.
            let which = if success { unsafe { a.index.read() } } else { -1 };
            complete_one(tracker, frame, which, a.status);
        }
        Call::Waitsome(a) => {
            complete_some(tracker, frame, a.outcount, a.array_of_indices, a.array_of_statuses);
        }
        Call::Testsome(a) => {
            complete_some(tracker, frame, a.outcount, a.array_of_indices, a.array_of_statuses);
        }
        Call::Request_free(_) if success => {
            tracker.catch_up(frame);
            let handle = frame.call.handle;
            tracker.with_state(frame, |work, _| free_request(work, handle));
        }
        Call::Cancel(_) if success => {
            tracker.catch_up(frame);
            let handle = frame.call.handle;
            tracker.with_state(frame, |work, _| cancel(work, handle));
        }
        Call::Comm_free(_) | Call::Comm_disconnect(_) if success => {
            let handle = frame.call.handle;
            tracker.with_state(frame, |work, _| work.remove_comm(handle));
        }
        call => communicators::leave(tracker, frame, function, call, success),
    }
}

// Entries.

/// A combined send and receive, which blocks where it has a status.
fn sendrecv(
    tracker: &'static Tracker,
    frame: &mut Frame,
    sending: &Sending,
    (source, tag): (i32, i32),
    mut status: Option<&mut StatusPtr>,
) {
    let Sending { comm, peer, tag: sent_tag, count, datatype } = *sending;
    tracker.with_caught_up(frame, |work, local| {
        let blocking = status.is_some();
        let now = tracker.now();
        local.receive = work.post(comm, source, tag, blocking, now);
        if let Some((receive, ..)) = local.receive {
            // It has a request inside of MPI.
            work.ends_request(receive);
        }
        let bytes = work.bytes(count, datatype);
        local.awaits = bytes.map_or(Awaits::Receives, |bytes| work.awaits(bytes));
        local.send = bytes.and_then(|bytes| work.send(comm, peer, sent_tag, bytes, true));
        if let Some(status) = &mut status {
            local.entered = now;
            if needs_status(work, source, tag) {
                own_status(work, local, status);
            }
        }
    });
}

fn probe(
    tracker: &'static Tracker,
    frame: &mut Frame,
    comm: usize,
    source: i32,
    tag: i32,
    mut status: Option<&mut StatusPtr>,
) {
    frame.call.handle = comm;
    tracker.with_caught_up(frame, |work, local| {
        local.entered = tracker.now();
        let searched = work.probe(comm, source, tag);
        local.found = searched == Some(true);
        if searched.is_some()
            && let Some(status) = &mut status
        {
            own_status(work, local, status);
        }
    });
}

/// A message handle is used up by its receive.
fn use_message(tracker: &'static Tracker, frame: &mut Frame, handle: usize, status: Option<&mut StatusPtr>) {
    tracker.with_state(frame, |work, local| {
        local.pending.clear();
        if let Some((comm, bytes)) = work.state.messages.remove(&handle) {
            let request = work.state.engine.identity();
            work.state.engine.activate(work.sink, comm, request);
            local.pending.push(Pending {
                place: 0,
                handle: 0,
                tracked: Tracked::Probed { comm, request, bytes },
            });
            if let Some(status) = status.filter(|_| work.tracker.wants_messages()) {
                own_status(work, local, status);
            }
        }
    });
}

// Exits.

/// Of a combined send and receive.
#[inline]
fn keep_receive(
    tracker: &'static Tracker,
    frame: &mut Frame,
    request: HandlePtr<Request>,
    (source, tag): (i32, i32),
    success: bool,
) {
    frame.call.send = None;
    let Some((receive, comm, id)) = frame.call.receive.take() else { return };
    if !success {
        tracker.with_state(frame, |work, _| work.received((receive, comm, id), Ending::Unknown, false));
        return;
    }
    // SAFETY: MPI has filled the request, because the call succeeded.
    let handle = unsafe { request.read() }.word();
    // Nothing is raised here: only the table changes.
    tracker.with_state(frame, |work, _| {
        let tracked = if tracker.abi.isendrecv_fills_status() {
            Tracked::Receive { receive, comm, request: id, source, tag }
        } else {
            Tracked::Silent { receive, comm, request: id, source, tag }
        };
        work.state.requests.insert(handle, tracked);
    });
}

#[inline]
fn finish_receive(
    tracker: &'static Tracker,
    frame: &mut Frame,
    status: StatusPtr,
    (source, tag): (i32, i32),
    success: bool,
) {
    // A failed call need not have filled its status.
    let ending = match (success, status.is_ignore(tracker.abi)) {
        (false, _) => Ending::Unknown,
        (true, true) => Ending::asked_for(source, tag),
        (true, false) => Ending::Status(status),
    };
    let is_due = tracker.without_raising(frame, |work, local| {
        // The send of `MPI_Sendrecv` may have been waited for too.
        work.defer(local.entered, local.awaits, Polling::ToTheEnd);
        if let Some(receive) = local.receive.take() {
            work.received(receive, ending, true);
        }
        work.is_due()
    });
    frame.call.entered.0 = 0;
    tracker.catch_up_if_due(frame, is_due);
    if let Some((comm, request, bytes)) = frame.call.send.take() {
        tracker.with_state(frame, |work, _| work.state.engine.transferred(work.sink, comm, request, bytes));
    }
}

/// A matched probe has found a message: the application has it now.
fn keep_message(
    tracker: &'static Tracker,
    frame: &mut Frame,
    message: HandlePtr<mpi_abi::Message>,
    status: StatusPtr,
    found: bool,
) {
    tracker.take_in(frame);
    frame.call.entered.0 = 0;
    if !found {
        return;
    }
    // SAFETY: MPI has filled the message, because it found one.
    let handle = unsafe { message.read() };
    if handle == tracker.abi.constants.message_no_proc || status.is_ignore(tracker.abi) {
        return;
    }
    // Not whether it was cancelled: of a message to oneself MPICH leaves that as it was in the status.
    // SAFETY: MPI has filled the status, because it found a message.
    let (source, tag) = unsafe { (status.source(tracker.abi), status.tag(tracker.abi)) };
    if source < 0 || tag < 0 {
        return;
    }
    let comm = frame.call.handle;
    tracker.with_state(frame, |work, local| {
        let Some(index) = work.state.comms.get(comm).map(|comm| comm.index) else { return };
        let envelope = work.state.engine.take(work.sink, index, source, tag);
        if let Some(envelope) = &envelope {
            work.took((local.context, index, local.left), envelope);
        }
        let bytes = envelope.map_or(0, |envelope| envelope.bytes);
        work.state.messages.insert(handle.word(), (index, bytes));
    });
}

fn persist(
    tracker: &'static Tracker,
    frame: &mut Frame,
    request: HandlePtr<Request>,
    spec: impl FnOnce(&mut Work<'_>) -> Persistent,
) {
    // SAFETY: MPI has filled the request, because the call succeeded.
    let handle = unsafe { request.read() }.word();
    tracker.with_state(frame, |work, _| {
        let spec = spec(work);
        work.state.requests.insert_persistent(handle, spec);
    });
}

/// The application will not ask for this request any more.
/// Persistent requests were started. An MPI may have given them other handles: Open MPI makes another request where the data of a buffered
/// send has not all gone out.
#[inline]
fn restarted(tracker: &'static Tracker, frame: &mut Frame, requests: HandlePtr<Request>) {
    for place in 0..frame.call.started.len() {
        let Some((before, tracked)) = frame.call.started[place] else { continue };
        // SAFETY: the application's array, of which as many were started.
        let now = unsafe { requests.get(place) }.word();
        if now != before {
            tracker.with_state(frame, |work, _| work.state.requests.move_to(before, now, tracked));
        }
    }
    frame.call.started.clear();
}

fn free_request(work: &mut Work<'_>, handle: usize) {
    let (comm, request) = match work.state.requests.remove(handle) {
        Some(
            Tracked::Receive { comm, request, .. }
            | Tracked::Silent { comm, request, .. }
            | Tracked::Send { comm, request, .. },
        ) => (comm, request),
        Some(Tracked::Persistent(place)) => {
            let comm = work.state.requests.persistent(place).comm;
            work.state.requests.discard_persistent(place);
            let Some(index) = work.state.comms.get(comm).map(|comm| comm.index) else { return };
            (index, work.state.engine.identity())
        }
        _ => return,
    };
    work.state.engine.free(work.sink, comm, request);
}

fn cancel(work: &mut Work<'_>, handle: usize) {
    use super::requests::Active;
    let receive = match work.state.requests.get(handle) {
        Some(Tracked::Receive { receive, .. } | Tracked::Silent { receive, .. }) => Some(receive),
        Some(Tracked::Send { .. }) => None,
        Some(Tracked::Persistent(place)) => match work.state.requests.persistent(place).active {
            Some(Active::Receive { receive, .. }) => Some(receive),
            Some(Active::Send { .. }) => None,
            None => return,
        },
        _ => return,
    };
    work.state.cancels = true;
    if let Some(receive) = receive {
        work.state.engine.cancel(work.sink, receive);
    }
}
