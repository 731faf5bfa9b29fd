//! Posting later: receives are noted as the application posts them, and posted in the model together.

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::posts::{AT_ONCE, Post};
use crate::calls::frame::Frame;
use crate::calls::requests::Tracked;
use crate::calls::tracker::{Tracker, Work};
use crate::matching::{CommIndex, ReceiveIndex};

impl Tracker {
    /// When the nonblocking receive was posted whose call returns: at its entry, where that was noted.
    #[inline(always)]
    pub(crate) fn posted_at(&self, frame: &mut Frame) -> Ticks {
        match std::mem::take(&mut frame.call.posted) {
            Ticks(0) if frame.call.left.0 != 0 => frame.call.left,
            Ticks(0) => self.now(),
            entered => entered,
        }
    }

    /// Notes a receive that the model is to post later; `false` where there is no more space. Observers are notified now.
    #[inline(always)]
    pub(crate) fn post_later(&'static self, frame: &mut Frame, post: Post) -> bool {
        if self.wants_messages() {
            return self.notify_and_post_later(frame, post);
        }
        let noted = self.state.with(|state| state.posts.note(post));
        self.behind.store(true, Ordering::Relaxed);
        noted == Some(true)
    }

    /// Notes a receive that observers are to be notified of, where the search for it is certain to find nothing, and so to
    /// take no time: observers are notified when the call returns.
    #[inline(always)]
    fn notify_and_post_later(&'static self, frame: &mut Frame, mut post: Post) -> bool {
        if self.behind.load(Ordering::Relaxed)
            && self.without_raising(frame, |work, _| work.has_deferred()) == Some(true)
        {
            self.catch_up(frame);
        }
        let noted = self.without_raising(frame, |work, _| {
            let Some(known) = work.state.comms.get(post.comm) else { return false };
            let (comm, is_rank) = (known.index, (post.source as usize) < known.destinations.len());
            if !is_rank || post.tag < 0 || work.state.engine.unexpected_len() > 0 {
                return false;
            }
            post.request = work.state.engine.identity();
            let noted = work.state.posts.note(post);
            if noted {
                let returns = work.state.engine.searched(post.at);
                work.notify_of_message(|observer| {
                    observer.receive_posted(comm.0, post.request, Some(returns))
                });
            }
            noted
        });
        if noted == Some(true) {
            self.behind.store(true, Ordering::Relaxed);
        }
        noted == Some(true)
    }
}

impl Work<'_> {
    /// Posts some of the receives that were noted; whether there are more.
    pub(crate) fn post_some(&mut self) -> bool {
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
    pub(crate) fn post_request(&mut self, post: Post) {
        let Post { handle, source, tag, .. } = post;
        if let Some((receive, comm, request)) = self.post_noted(post) {
            if post.request == 0 && self.tracker.wants_messages() {
                let returns = self.state.engine.time();
                self.notify_of_message(|observer| observer.receive_posted(comm.0, request, Some(returns)));
            }
            self.state.requests.insert(handle, Tracked::Receive { receive, comm, request, source, tag });
        }
    }

    /// Posts a receive of which observers are not notified.
    #[inline(always)]
    pub(crate) fn post_noted(&mut self, post: Post) -> Option<(ReceiveIndex, CommIndex, u64)> {
        let Post { at, comm, source, tag, request, context, .. } = post;
        self.post_silently(comm, source, tag, at, request, context)
    }
}
