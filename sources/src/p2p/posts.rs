//! Nonblocking receives that the application has posted and the twin has not yet: a posted receive is noted and
//! nothing else, and the twin posts all of them in one go, before it follows what comes after.
//!
//! Cost of a note: a reading of the clock, 40 bytes. One receive after the other takes half as long as each in a call
//! of its own, and they are still at hand when they complete together.

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::frame::Frame;
use super::requests::Tracked;
use super::tracker::{Tracker, Work};
use crate::shadow::{CommIndex, ReceiveIndex};

/// Notes that the twin does not wait longer with.
pub(super) const ROOM: usize = 256;
/// Receives that are posted before their events are raised.
pub(super) const AT_ONCE: usize = 32;

/// A receive as the application has posted it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Post {
    /// When that was.
    pub at: Ticks,
    /// The value of the request's handle.
    pub handle: usize,
    /// The value of the communicator's handle.
    pub comm: usize,
    pub source: i32,
    pub tag: i32,
    /// Its identity, where observers have been told of it; else zero.
    pub request: u64,
}

/// Receives that the twin has yet to post.
#[derive(Debug)]
pub(super) struct Posts {
    noted: Vec<Post>,
    /// Those before it are posted.
    next: usize,
}

impl Default for Posts {
    fn default() -> Self {
        Posts { noted: Vec::with_capacity(ROOM), next: 0 }
    }
}

impl Posts {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// Adds one; `false` where there is no more room.
    #[inline(always)]
    fn note(&mut self, post: Post) -> bool {
        let has_room = self.noted.len() < ROOM;
        if has_room {
            self.noted.push(post);
        }
        has_room
    }

    /// Those that wait.
    #[inline(always)]
    pub(super) fn waiting(&self) -> &[Post] {
        &self.noted[self.next..]
    }

    /// Gives those that wait to another list, which is empty.
    #[inline(always)]
    pub(super) fn give(&mut self, to: &mut Vec<Post>) {
        std::mem::swap(&mut self.noted, to);
    }
}

impl Tracker {
    /// When the nonblocking receive was posted whose call returns: at its entry, where that was noted.
    #[inline(always)]
    pub(super) fn posted_at(&self, frame: &mut Frame) -> Ticks {
        match std::mem::take(&mut frame.call.posted) {
            Ticks(0) => self.now(),
            entered => entered,
        }
    }

    /// Whether it may be left for later that the twin posts a receive: nobody wants to hear in the call of its events,
    /// nor of those of sends, which would come before them.
    #[inline(always)]
    pub(super) fn posts_later(&self, frame: &mut Frame) -> bool {
        !self.core.has_registrations() && self.tells_after(frame)
    }

    /// Notes a receive that the twin is to post later; `false` where there is no more room. Observers are told now.
    #[inline(always)]
    pub(super) fn post_later(&'static self, frame: &mut Frame, post: Post) -> bool {
        if self.wants_messages() {
            return self.tell_and_post_later(frame, post);
        }
        let noted = self.state.with(|state| state.posts.note(post));
        self.unsettled.store(true, Ordering::Relaxed);
        noted == Some(true)
    }

    /// Notes a receive that observers are to be told of, where the search for it is certain to find nothing, and so to
    /// take no time: observers are told when the call returns.
    #[inline(always)]
    fn tell_and_post_later(&'static self, frame: &mut Frame, mut post: Post) -> bool {
        if self.unsettled.load(Ordering::Relaxed)
            && self.quietly(frame, |work, _| work.follows_calls()) == Some(true)
        {
            self.settle(frame);
        }
        let noted = self.quietly(frame, |work, _| {
            let Some(known) = work.state.comms.get(post.comm) else { return false };
            let (comm, is_rank) = (known.index, (post.source as usize) < known.destinations.len());
            if !is_rank || post.tag < 0 || work.state.engine.unexpected_len() > 0 {
                return false;
            }
            post.request = work.state.engine.identity();
            let noted = work.state.posts.note(post);
            if noted {
                let returns = work.state.engine.searched(post.at);
                work.tell_of_message(|observer| observer.receive_posted(comm.0, post.request, Some(returns)));
            }
            noted
        });
        if noted == Some(true) {
            self.unsettled.store(true, Ordering::Relaxed);
        }
        noted == Some(true)
    }
}

impl Work<'_> {
    /// Posts some of the receives that were noted; whether there are more.
    pub(super) fn post_some(&mut self) -> bool {
        let first = self.state.posts.next;
        let end = self.state.posts.noted.len().min(first + AT_ONCE);
        for place in first..end {
            let post = self.state.posts.noted[place];
            self.post_request(post);
        }
        let posts = &mut self.state.posts;
        posts.next = end;
        if end < posts.noted.len() {
            return true;
        }
        posts.noted.clear();
        posts.next = 0;
        false
    }

    /// The application has posted a nonblocking receive, in a call that is about to return.
    #[inline(always)]
    pub(super) fn post_request(&mut self, post: Post) {
        let Post { handle, source, tag, .. } = post;
        if let Some((receive, comm, request)) = self.post_noted(post) {
            if post.request == 0 && self.tracker.wants_messages() {
                let returns = self.state.engine.time();
                self.tell_of_message(|observer| observer.receive_posted(comm.0, request, Some(returns)));
            }
            self.state.requests.insert(handle, Tracked::Receive { receive, comm, request, source, tag });
        }
    }

    /// Posts a receive of which observers are not told.
    #[inline(always)]
    pub(super) fn post_noted(&mut self, post: Post) -> Option<(ReceiveIndex, CommIndex, u64)> {
        let Post { at, comm, source, tag, request, .. } = post;
        self.post_silently(comm, source, tag, at, request)
    }
}
