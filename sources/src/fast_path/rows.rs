//! A row that the model has yet to follow.

use super::posts::{CAPACITY, Post};
use super::row::Row;
use crate::calls::DeferredCall;
use crate::progress_model::CallInterval;

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
    /// Whether there is a row to follow.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.call.is_none()
    }
}
