//! Receives: those in the posted queue, and those that are matched and not yet completed.

use mpit_events::Ticks;

use super::envelope::{ANY_TAG, CommIndex, Envelope};

/// Where a receive is kept; valid until the receive is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReceiveIndex(pub(crate) u32);

/// How far a receive is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// In the posted queue.
    #[default]
    Posted,
    /// Matched with the message [`Receive::message`], not completed by the application yet.
    Matched,
    /// The application asked for its cancellation, and it was taken out of the posted queue.
    Cancelled,
}

/// What is left of a receive that the real library has completed, while the envelope of its message has not come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    /// The message's.
    pub(super) source: i32,
    pub(super) tag: i32,
    /// The request's identity, as events have it; zero where its end has been raised.
    pub(super) request: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Receive {
    /// The request's identity, as events have it.
    pub(super) request: u64,
    /// Position in the order of posting, over both kinds of lists.
    pub(super) order: u64,
    /// When it came into the posted queue.
    pub(super) queued: Ticks,
    pub(super) comm: CommIndex,
    pub(super) source: i32,
    pub(super) tag: i32,
    /// The context of the call that posted it.
    pub(super) context: u16,
    pub(super) state: State,
    /// Whether its request is freed when it is complete.
    pub(super) frees: bool,
    /// Whether the real library is known to have given it the message whose source and tag
    /// [`message`](Receive::message) has, while it still waits here for that message.
    pub(super) expected: bool,
    pub(super) message: Envelope,
}

impl Receive {
    /// Whether it waits for its message.
    pub(crate) fn is_posted(&self) -> bool {
        self.state == State::Posted
    }

    /// Whether this receive, which waits in a list for messages from this source, accepts one with this
    /// tag, and is not known to get another.
    #[inline]
    pub(super) fn accepts(&self, source: i32, tag: i32) -> bool {
        self.fits(tag) && (!self.expected || self.message.source == source && self.message.tag == tag)
    }

    /// Whether it was posted for this tag, too.
    #[inline]
    pub(super) fn fits(&self, tag: i32) -> bool {
        self.tag == tag || self.tag == ANY_TAG
    }

    /// The message that it is matched with.
    #[inline]
    pub(super) fn matched(&self) -> Option<&Envelope> {
        (self.state == State::Matched).then_some(&self.message)
    }
}
