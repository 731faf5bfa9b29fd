//! Calls that wait for all receives that the application has posted since the model last caught up, in order: then the
//! model follows posts and completions of all of them as a row, and keeps none of them by its request. A blocking receive is one
//! of its own.

use std::sync::atomic::Ordering;

use mpi_abi::{Handle, HandlePtr, Request, StatusPtr};
use mpit_events::Ticks;

use super::posts::{AT_ONCE, Post};
use crate::calls::DeferredCall;
use crate::calls::Origin;
use crate::calls::frame::{Current, Frame};
use crate::calls::requests::Tracked;
use crate::calls::state::State;
use crate::calls::tracker::{Ending, Tracker, Work};
use crate::matching::{Completed, Completion, Event, Sink};
use crate::progress_model::{Awaits, CallInterval, Incoming, Polling};
use crate::transport::ring::Ring;

/// A receive is on a communicator that is not followed.
struct NotFollowed;

impl Tracker {
    /// Whether the requests of this call are all receives that were noted, in order, and others that are not followed: then
    /// it is left for later that the model posts them, too.
    #[inline(always)]
    pub(crate) fn awaits_row(
        &'static self,
        frame: &mut Frame,
        requests: HandlePtr<Request>,
        count: usize,
        statuses: &mut StatusPtr,
    ) -> bool {
        if !self.mode(frame).is_in_bulk() || self.mail.is_open() {
            return false;
        }
        let is_row = self.without_raising(frame, |work, local| {
            let is_row = work.is_row(requests, count);
            if is_row {
                local.awaits = work.awaits_sends(requests, count, work.state.posts.waiting().len());
                if self.wants_messages() && statuses.is_ignore(self.abi) {
                    work.own_statuses(local, statuses, count);
                }
            }
            is_row
        });
        if is_row != Some(true) {
            return false;
        }
        while self.with_state(frame, |work, _| work.follow_deferred()) == Some(true) {}
        frame.call.in_row = count;
        true
    }

    /// Whether a blocking receive with this source and tag is left for later, as a row of its own: it is noted when its call has
    /// returned.
    #[inline(always)]
    pub(crate) fn notes_blocking(&'static self, frame: &mut Frame, source: i32, tag: i32) -> bool {
        // A call that an error handler has jumped out of may have left it.
        frame.call.in_row = 0;
        if source | tag < 0 || !self.mode(frame).is_in_bulk() || self.mail.is_open() || self.wants_messages()
        {
            return false;
        }
        self.catch_up(frame);
        frame.call.entered = self.now();
        frame.call.in_row = 1;
        true
    }

    /// Such a call has returned.
    #[inline(always)]
    pub(crate) fn received_in_row(
        &'static self,
        frame: &mut Frame,
        (comm, source, tag): (usize, i32, i32),
        success: bool,
    ) {
        frame.call.in_row = 0;
        let Current { entered, context, .. } = frame.call;
        let post = Post { at: entered, handle: 0, comm, source, tag, request: 0, context };
        if !success {
            return self.failed_in_row(frame, post);
        }
        self.without_raising(frame, |work, _| {
            work.state.rows.call = Some(work.deferred_call(entered, Awaits::Receives, Polling::ToTheEnd));
            work.state.rows.posts.push(post);
        });
        self.behind.store(true, Ordering::Relaxed);
        frame.call.entered = Ticks(0);
    }

    /// The receive was posted, and which message it has got is not known.
    #[cold]
    #[inline(never)]
    fn failed_in_row(&'static self, frame: &mut Frame, post: Post) {
        self.with_state(frame, |work, _| {
            let receive = work.post_noted(post);
            work.defer(post.at, Awaits::Receives, Polling::ToTheEnd);
            if let Some(receive) = receive {
                work.received(receive, Ending::Unknown, true);
            }
        });
        frame.call.entered = Ticks(0);
    }

    /// The call has returned, and its row is complete.
    #[inline(always)]
    pub(crate) fn complete_row(&'static self, frame: &mut Frame, statuses: StatusPtr) {
        self.without_raising(frame, |work, local| {
            work.state.rows.call =
                Some(work.deferred_call(local.entered, local.awaits, Polling::ForRequests));
            if self.wants_messages() {
                work.notify_of_row(statuses);
            }
            work.state.posts.give(&mut work.state.rows.posts);
        });
        self.behind.store(true, Ordering::Relaxed);
        frame.call.entered.0 = 0;
    }

    /// The call has failed: those of its receives are over whose handles MPI has taken back.
    #[cold]
    pub(crate) fn fail_row(&'static self, frame: &mut Frame, requests: HandlePtr<Request>, count: usize) {
        let noted = |work: &mut Work<'_>| work.state.posts.waiting().iter().map(|post| post.handle).collect();
        let noted: Vec<usize> = self.without_raising(frame, |work, _| noted(work)).unwrap_or_default();
        self.polled(frame);
        self.catch_up(frame);
        let is_open = |handle: usize| {
            // SAFETY: the application's array of `count` handles.
            (0..count).any(|place| unsafe { requests.get(place) }.word() == handle)
        };
        self.with_state(frame, |work, _| {
            for handle in noted.into_iter().filter(|&handle| !is_open(handle)) {
                if let Some(Tracked::Receive { receive, comm, request, .. }) =
                    work.state.requests.take(handle)
                {
                    work.received((receive, comm, request), Ending::Unknown, false);
                }
            }
        });
    }
}

impl Work<'_> {
    /// Whether these requests are those of all receives that were noted, in order, and none else that is known.
    #[inline(always)]
    fn is_row(&self, requests: HandlePtr<Request>, count: usize) -> bool {
        let State { posts, requests: known, cancels, .. } = &*self.state;
        let mut noted = posts.waiting();
        if noted.is_empty() || !known.is_empty() || *cancels {
            return false;
        }
        // Observers are notified by places.
        if self.tracker.wants_messages() && noted.len() != count {
            return false;
        }
        for place in 0..count {
            // SAFETY: the application's array of `count` handles.
            let handle = unsafe { requests.get(place) }.word();
            if let [next, rest @ ..] = noted
                && next.handle == handle
            {
                if next.source | next.tag < 0 {
                    return false;
                }
                noted = rest;
            }
        }
        noted.is_empty()
    }

    /// Tells observers of the messages of the row that is complete.
    #[inline(always)]
    fn notify_of_row(&mut self, statuses: StatusPtr) {
        for place in 0..self.state.posts.waiting().len() {
            let Post { comm, request, .. } = self.state.posts.waiting()[place];
            let Some(comm) = self.state.comms.get(comm).map(|known| known.index) else { continue };
            // SAFETY: the call has a status for each of its requests, its own or ours, and they are the row's.
            let status = unsafe { statuses.at(self.tracker.abi, place) };
            let returned = self.state.rows.call.map(|call| call.until);
            self.notify_received(comm, Some(request), self.completion(status), Some(status), returned);
        }
    }

    /// Follows some of the row; whether there may be more to follow, of it or of what came after it.
    #[inline(never)]
    pub(crate) fn follow_row(&mut self) -> bool {
        let Some(call) = self.state.rows.call else { return true };
        let mut interval = match self.state.rows.interval {
            Some(interval) => interval,
            None if self.state.rows.next == 0 && !self.can_have_row() => {
                self.state.rows.row.weigh(1);
                self.end_row(call, None);
                return true;
            }
            None => match self.post_row(&call) {
                Ok(true) => return true,
                Ok(false) => self.open_for_row(&call),
                Err(NotFollowed) => {
                    self.end_row(call, None);
                    return true;
                }
            },
        };
        if interval.has_schedule() {
            self.end_row(call, Some(interval));
            return true;
        }
        let copying = self.tracker.parameters().copying;
        for taken in 0..AT_ONCE {
            let State { engine, routes, model, rows, .. } = &mut *self.state;
            if taken > 1 {
                routes.ring.iter().for_each(Ring::prefetch);
            }
            let next = if rows.row.is_over() { None } else { routes.ring.as_mut() };
            let Some(envelope) = next.and_then(|ring| ring.pop_until(interval.until)) else {
                if rows.row.is_over() && interval.is_over() && self.nothing_came_until(interval.until) {
                    return self.finish_row(&call);
                }
                // The rest is as in any other call.
                self.end_row(call, Some(interval));
                return true;
            };
            model.count(&envelope);
            let when = || interval.came(&envelope, true, copying);
            let Some((context, comm, queued)) = rows.row.arrive(engine, self.sink, &envelope, when) else {
                self.end_row(call, Some(interval));
                self.arrive_in_call(envelope);
                return true;
            };
            self.count_received(&Origin { context, comm, queued }, &envelope, call.from);
        }
        self.state.rows.row.emit(self.sink);
        self.state.rows.interval = Some(interval);
        true
    }

    /// Whether nothing waits that is older than the row.
    #[inline(always)]
    fn can_have_row(&self) -> bool {
        self.state.engine.is_vacant()
            && !self.state.model.has_leftover()
            // Of a row it is not kept which request is freed when.
            && !self.sink.wants(Event::Free)
    }

    /// Posts some of the row; whether there is more.
    #[inline(always)]
    fn post_row(&mut self, call: &DeferredCall) -> Result<bool, NotFollowed> {
        let State { engine, comms, rows, bursts, not_followed, .. } = &mut *self.state;
        if rows.next == 0 {
            let counted = self.sink.weighs && self.sink.wants_any(u16::MAX);
            let weight = match counted {
                true => bursts.next(rows.posts.len(), (call.from, call.until), not_followed),
                false => 1,
            };
            rows.row.weigh(weight);
            if weight != 0 {
                bursts.begin(|| self.tracker.now());
            }
        }
        let end = rows.posts.len().min(rows.next + AT_ONCE);
        while rows.next < end {
            let Post { at, comm, source, tag, request, context, .. } = rows.posts[rows.next];
            let known = comms.get(comm).filter(|known| (source as usize) < known.destinations.len());
            let comm = known.ok_or(NotFollowed)?.index;
            let request = if request == 0 { engine.identity() } else { request };
            rows.row.post(engine, self.sink, comm, request, (source, tag, context), at);
            rows.next += 1;
        }
        rows.row.emit(self.sink);
        Ok(end < rows.posts.len())
    }

    /// What is known of the call that has completed the row.
    #[inline(always)]
    fn open_for_row(&mut self, call: &DeferredCall) -> CallInterval {
        let mut interval = self.open(call, call.is_open());
        let copying = self.tracker.parameters().copying;
        for _ in 0..self.state.rows.row.unmet() {
            interval.completes(Completed::Waits, copying);
        }
        interval
    }

    /// Whether the call has taken in no more than its row, when that was over.
    #[inline(always)]
    fn nothing_came_until(&self, until: Ticks) -> bool {
        let State { routes, model, inbox, .. } = &*self.state;
        let ring_has = routes.ring.as_ref().is_some_and(|ring| ring.has_until(until));
        !ring_has && inbox.is_empty() && !model.has_leftover()
    }

    /// The row is over, and with it what is to be followed of its call; whether there may be more to follow.
    #[inline(always)]
    fn finish_row(&mut self, call: &DeferredCall) -> bool {
        let tracker = self.tracker;
        let State { rows, bursts, deferred, .. } = &mut *self.state;
        rows.row.emit(self.sink);
        bursts.end(rows.posts.len(), || tracker.now());
        rows.clear();
        let more = !deferred.is_empty();
        if self.state.tally.has_any() {
            self.end_tally(call);
        }
        more
    }

    /// There is no row any more: what is left of it is posted one by one, and the call that has completed it is followed
    /// as any other, from the beginning or, with its interval, from where it is.
    #[inline(never)]
    fn end_row(&mut self, call: DeferredCall, interval: Option<CallInterval>) {
        let tracker = self.tracker;
        let State { engine, deferred, rows, bursts, not_followed, .. } = &mut *self.state;
        rows.row.emit(self.sink);
        bursts.end(rows.posts.len(), || tracker.now());
        if rows.row.is_silent() {
            // What is left of it is counted after all.
            let left = rows.row.unmet() as usize + rows.posts.len() - rows.next;
            bursts.give_back(rows.posts.len(), left, not_followed);
        }
        deferred.follow_first(call, interval);
        rows.row.give_up(engine, self.sink, |receive, real| deferred.complete_in_first(receive, real));
        for place in rows.next..rows.posts.len() {
            let post @ Post { source, tag, .. } = self.state.rows.posts[place];
            if let Some((receive, ..)) = self.post_noted(post) {
                self.state.deferred.complete_in_first(receive, Completion::Message { source, tag });
            }
        }
        let State { engine, deferred, rows, .. } = &mut *self.state;
        if interval.is_some() {
            for &(receive, real) in deferred.completed_in_first() {
                engine.expect(receive, real);
            }
        }
        rows.clear();
    }
}
