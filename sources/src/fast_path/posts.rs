//! Nonblocking receives that the application has posted and the model has not yet: a posted receive is noted and
//! nothing else, and the model posts all of them in one go, before it follows what comes after.
//!
//! Cost of a note: a reading of the clock, 40 bytes. One receive after the other takes half as long as each in a call
//! of its own, and they are still at hand when they complete together.

use mpit_events::Ticks;

use super::row::Row;
use crate::calls::DeferredCall;
use crate::progress_model::CallInterval;

/// Notes that the model does not wait longer with.
pub(crate) const CAPACITY: usize = 256;
/// Receives that are posted before their events are raised.
pub(crate) const AT_ONCE: usize = 32;

/// A receive as the application has posted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Post {
    /// When that was.
    pub at: Ticks,
    /// The value of the request's handle.
    pub handle: usize,
    /// The value of the communicator's handle.
    pub comm: usize,
    pub source: i32,
    pub tag: i32,
    /// Its identity, where observers have been notified of it; else zero.
    pub request: u64,
    /// The context of the call.
    pub context: u16,
}

/// Receives that the model has yet to post.
#[derive(Debug)]
pub(crate) struct Posts {
    pub(crate) noted: Vec<Post>,
    /// Those before it are posted.
    pub(crate) next: usize,
}

impl Default for Posts {
    fn default() -> Self {
        Posts { noted: Vec::with_capacity(CAPACITY), next: 0 }
    }
}

impl Posts {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// Adds one; `false` where there is no more space.
    #[inline(always)]
    pub(crate) fn note(&mut self, post: Post) -> bool {
        let has_space = self.noted.len() < CAPACITY;
        if has_space {
            self.noted.push(post);
        }
        has_space
    }

    /// Those that wait.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> &[Post] {
        &self.noted[self.next..]
    }

    /// Gives those that wait to another list, which is empty.
    #[inline(always)]
    pub(crate) fn give(&mut self, to: &mut Vec<Post>) {
        std::mem::swap(&mut self.noted, to);
    }
}

/// A row that the model has yet to follow.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The call that has completed it; `None` where there is nothing to follow.
    pub(crate) call: Option<DeferredCall>,
    /// Its receives.
    pub(crate) posts: Vec<Post>,
    /// Those before it are posted.
    pub(crate) next: usize,
    pub(crate) row: Row,
    /// What is known of the call, once all is posted.
    pub(crate) interval: Option<CallInterval>,
}

impl Default for Rows {
    fn default() -> Self {
        let posts = Vec::with_capacity(CAPACITY);
        Rows { call: None, posts, next: 0, row: Row::with_capacity(CAPACITY), interval: None }
    }
}

impl Rows {
    /// There is no row any more.
    pub(crate) fn clear(&mut self) {
        self.call = None;
        self.posts.clear();
        self.next = 0;
        self.row.clear();
        self.interval = None;
    }

    /// Whether there is a row to follow.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.call.is_none()
    }
}
