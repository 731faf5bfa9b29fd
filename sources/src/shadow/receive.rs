//! Receives: those in the posted queue, and those that are matched and not yet completed.

use super::ANY_TAG;
use super::engine::CommIndex;
use super::envelope::Envelope;

/// Where a receive is kept; valid until the receive is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReceiveIndex(pub(super) u32);

/// How far a receive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// In the posted queue.
    Posted,
    /// Matched with this message, not completed by the application yet.
    Matched(Envelope),
    /// Completed by the real library; its message's envelope, from this source with this tag, has
    /// not come yet.
    Awaited { source: i32, tag: i32 },
    /// The application asked for its cancellation, and it was taken out of the posted queue.
    Cancelled,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    /// The request's identity, as events tell it.
    pub(super) request: u64,
    /// Position in the order of posting, over both kinds of lists.
    pub(super) order: u64,
    pub(super) comm: CommIndex,
    pub(super) source: i32,
    pub(super) tag: i32,
    pub(super) state: State,
}

impl Receive {
    /// Whether this receive accepts a message with this tag from its source.
    #[inline]
    pub(super) fn accepts_tag(&self, tag: i32) -> bool {
        self.tag == tag || self.tag == ANY_TAG
    }
}
