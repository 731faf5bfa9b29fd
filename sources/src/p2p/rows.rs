//! Calls that wait for all receives that the application has posted since the twin last caught up, in order: then the
//! twin follows posts and completions of all of them as a row, and keeps none of them by its request.

use std::sync::atomic::Ordering;

use mpi_abi::{Handle, HandlePtr, Request, StatusPtr};

use super::calls::drained;
use super::completion::own_statuses;
use super::deferral::Progress;
use super::frame::Frame;
use super::last_look::Looking;
use super::posts::{AT_ONCE, Post, ROOM};
use super::requests::Tracked;
use super::tracker::{Ending, State, Tracker, Work};
use crate::shadow::{Completion, Foretold, Row, Window};
use crate::transport::ring::Ring;

/// Envelopes taken in before their events are raised.
const DRAIN: usize = 32;

/// A row that the twin has yet to follow.
#[derive(Debug)]
pub(super) struct Rows {
    /// The call that has completed it; `None` where there is nothing to follow.
    call: Option<Progress>,
    /// Its receives.
    posts: Vec<Post>,
    /// Those before it are posted.
    next: usize,
    row: Row,
    /// What is known of the call, once all is posted.
    window: Option<Window>,
}

impl Default for Rows {
    fn default() -> Self {
        let posts = Vec::with_capacity(ROOM);
        Rows { call: None, posts, next: 0, row: Row::with_capacity(ROOM), window: None }
    }
}

/// A receive is on a communicator that is not followed.
struct NotFollowed;

impl Rows {
    /// Whether there is a row to follow.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.call.is_none()
    }
}

/// Whether the requests of this call are all receives that were noted, in order, and others that are not followed: then
/// it is left for later that the twin posts them, too.
#[inline(always)]
pub(super) fn awaits_row(
    tracker: &'static Tracker,
    frame: &mut Frame,
    requests: HandlePtr<Request>,
    count: usize,
    statuses: &mut StatusPtr,
) -> bool {
    if !tracker.posts_later(frame) || tracker.mail.is_open() {
        return false;
    }
    let is_row = tracker.quietly(frame, |work, local| {
        let is_row = work.is_row(requests, count);
        if is_row {
            local.awaits = work.awaits_sends(requests, count, work.state.posts.waiting().len());
            if tracker.wants_messages() && statuses.is_ignore(tracker.abi) {
                own_statuses(work, local, statuses, count);
            }
        }
        is_row
    });
    if is_row != Some(true) {
        return false;
    }
    while tracker.work(frame, |work, _| work.follow_some()) == Some(true) {}
    frame.call.in_row = count;
    true
}

/// The call has returned, and its row is complete.
#[inline(always)]
pub(super) fn complete_row(tracker: &'static Tracker, frame: &mut Frame, statuses: StatusPtr) {
    tracker.quietly(frame, |work, local| {
        work.state.rows.call = Some(work.progress(local.entered, local.awaits, Looking::ForRequests));
        if tracker.wants_messages() {
            work.tell_of_row(statuses);
        }
        work.state.posts.give(&mut work.state.rows.posts);
    });
    tracker.unsettled.store(true, Ordering::Relaxed);
    frame.call.entered.0 = 0;
}

/// The call has failed: those of its receives are over whose handles MPI has taken back.
#[cold]
pub(super) fn fail_row(
    tracker: &'static Tracker,
    frame: &mut Frame,
    requests: HandlePtr<Request>,
    count: usize,
) {
    let noted = |work: &mut Work<'_>| work.state.posts.waiting().iter().map(|post| post.handle).collect();
    let noted: Vec<usize> = tracker.quietly(frame, |work, _| noted(work)).unwrap_or_default();
    drained(tracker, frame);
    tracker.settle(frame);
    let is_open = |handle: usize| {
        // SAFETY: the application's array of `count` handles.
        (0..count).any(|place| unsafe { requests.get(place) }.word() == handle)
    };
    tracker.work(frame, |work, _| {
        for handle in noted.into_iter().filter(|&handle| !is_open(handle)) {
            if let Some(Tracked::Receive { receive, comm, request, .. }) = work.state.requests.take(handle) {
                work.received((receive, comm, request), Ending::Unknown, false);
            }
        }
    });
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
        // Observers are told by places.
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
    fn tell_of_row(&mut self, statuses: StatusPtr) {
        for place in 0..self.state.posts.waiting().len() {
            let Post { comm, request, .. } = self.state.posts.waiting()[place];
            let Some(comm) = self.state.comms.get(comm).map(|known| known.index) else { continue };
            // SAFETY: the call has a status for each of its requests, its own or ours, and they are the row's.
            let status = unsafe { statuses.at(self.tracker.abi, place) };
            let returned = self.state.rows.call.map(|call| call.until);
            self.tell_received(comm, Some(request), self.completion(status), Some(status), returned);
        }
    }

    /// Follows some of the row; whether there may be more to follow, of it or of what came after it.
    #[inline(never)]
    pub(super) fn follow_row(&mut self) -> bool {
        let Some(call) = self.state.rows.call else { return true };
        let mut window = match self.state.rows.window {
            Some(window) => window,
            None if self.state.rows.next == 0 && !self.has_room_for_row() => {
                self.end_row(call, None);
                return true;
            }
            None => match self.post_row() {
                Ok(true) => return true,
                Ok(false) => self.open_for_row(&call),
                Err(NotFollowed) => {
                    self.end_row(call, None);
                    return true;
                }
            },
        };
        if window.is_away() {
            self.end_row(call, Some(window));
            return true;
        }
        for taken in 0..DRAIN {
            let State { engine, routes, deferred, rows, .. } = &mut *self.state;
            if taken > 1 {
                routes.ring.iter().for_each(Ring::prefetch);
            }
            let next = if rows.row.is_over() { None } else { routes.ring.as_mut() };
            let Some(envelope) = next.and_then(|ring| ring.pop_until(window.until)) else {
                // The rest is as in any other call.
                self.end_row(call, Some(window));
                return true;
            };
            deferred.looks.note(&envelope);
            if !engine.arrive_in_row(self.sink, &mut rows.row, &envelope, &mut window) {
                self.end_row(call, Some(window));
                self.arrive_in_call(envelope);
                return true;
            }
        }
        self.state.rows.window = Some(window);
        true
    }

    /// Whether nothing waits that is older than the row.
    #[inline(always)]
    fn has_room_for_row(&self) -> bool {
        self.state.engine.is_vacant() && self.state.deferred.looks.is_empty()
    }

    /// Posts some of the row; whether there is more.
    #[inline(always)]
    fn post_row(&mut self) -> Result<bool, NotFollowed> {
        let State { engine, comms, rows, .. } = &mut *self.state;
        let end = rows.posts.len().min(rows.next + AT_ONCE);
        while rows.next < end {
            let Post { at, comm, source, tag, request, .. } = rows.posts[rows.next];
            let known = comms.get(comm).filter(|known| (source as usize) < known.destinations.len());
            let comm = known.ok_or(NotFollowed)?.index;
            let request = if request == 0 { engine.identity() } else { request };
            engine.post_in_row(self.sink, &mut rows.row, comm, request, (source, tag), at);
            rows.next += 1;
        }
        Ok(end < rows.posts.len())
    }

    /// What is known of the call that has completed the row.
    #[inline(always)]
    fn open_for_row(&mut self, call: &Progress) -> Window {
        let mut window = self.open(call, call.is_open());
        for _ in 0..self.state.rows.row.unmet() {
            window.completes(Foretold::Waits);
        }
        window
    }

    /// There is no row any more: what is left of it is posted one by one, and the call that has completed it is followed
    /// as any other, from the beginning or, in its window, from where it is.
    #[inline(never)]
    fn end_row(&mut self, call: Progress, window: Option<Window>) {
        let State { engine, deferred, rows, .. } = &mut *self.state;
        deferred.follow_first(call, window);
        engine.give_up(&mut rows.row, |receive, real| deferred.complete_in_first(receive, real));
        for place in std::mem::take(&mut rows.next)..rows.posts.len() {
            let post @ Post { source, tag, .. } = self.state.rows.posts[place];
            if let Some((receive, ..)) = self.post_noted(post) {
                self.state.deferred.complete_in_first(receive, Completion::Message { source, tag });
            }
        }
        let State { engine, deferred, rows, .. } = &mut *self.state;
        if window.is_some() {
            for &(receive, real) in deferred.completed_in_first() {
                engine.foretell(receive, real);
            }
        }
        rows.posts.clear();
        rows.call = None;
        rows.window = None;
    }
}
