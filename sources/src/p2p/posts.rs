//! Nonblocking receives that the application has posted and the twin has not yet: a posted receive is noted and
//! nothing else, and the twin posts all of them in one go, before it follows what comes after.
//!
//! Cost of a note: a reading of the clock, 32 bytes. One receive after the other takes half as long as each in a call
//! of its own, and they are still at hand when they complete together.

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::requests::Tracked;
use super::tracker::{Tracker, Work};

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
    /// Whether it may be left for later that the twin posts a receive: nobody wants to hear of it in the call.
    #[inline(always)]
    pub(super) fn posts_later(&self) -> bool {
        self.tells_after() && !self.wants_messages() && !self.core.has_registrations()
    }

    /// Notes a receive that the twin is to post later; `false` where there is no more room.
    #[inline(always)]
    pub(super) fn post_later(&'static self, post: Post) -> bool {
        let noted = self.state.with(|state| {
            let has_room = state.posts.noted.len() < ROOM;
            if has_room {
                state.posts.noted.push(post);
            }
            has_room
        });
        self.unsettled.store(true, Ordering::Relaxed);
        noted == Some(true)
    }
}

impl Work<'_> {
    /// Posts some of the receives that were noted; whether there are more.
    pub(super) fn post_some(&mut self) -> bool {
        let first = self.state.posts.next;
        let end = self.state.posts.noted.len().min(first + AT_ONCE);
        for place in first..end {
            let Post { at, handle, comm, source, tag } = self.state.posts.noted[place];
            self.post_request(handle, comm, source, tag, at);
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
    pub(super) fn post_request(&mut self, handle: usize, comm: usize, source: i32, tag: i32, at: Ticks) {
        if let Some((receive, comm, request)) = self.post_silently(comm, source, tag, at) {
            if self.tracker.wants_messages() {
                let returns = self.state.engine.time();
                self.tell_of_message(|observer| observer.receive_posted(comm.0, request, Some(returns)));
            }
            self.state.requests.insert(handle, Tracked::Receive { receive, comm, request, source, tag });
        }
    }
}
