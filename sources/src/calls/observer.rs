//! What others may learn of the application's communicators and messages.

use mpit_events::{Ticks, Token};

use super::state::NotFollowed;
use super::waits::{KeptWaiting, Received, TestFound, Waited};
use crate::matching::Truth;

/// A communicator, as its own process sees it.
#[derive(Clone, Copy, Debug)]
pub struct Communicator {
    /// The object that events of this communicator are bound to: the handle's value.
    pub token: Token,
    /// Its identity, the same in all of its processes.
    pub context: u64,
    /// A small number, reused after the communicator is freed.
    pub index: u32,
    /// Number of processes (in the local group).
    pub size: i32,
    /// The rank of this process.
    pub rank: i32,
    /// Whether it is an intercommunicator.
    pub inter: bool,
    /// The same number for communicators that have the same processes with the same ranks, as far as that is known: a duplicate has
    /// that of the one it was made from.
    pub group: u64,
    /// The number that the call has from other hooks in which it was made; 0 where that is not known.
    pub made_in: u16,
}

/// A message that was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The [`Communicator::index`].
    pub comm: u32,
    /// The other process's rank in the communicator.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// Its size in bytes.
    pub bytes: u64,
    /// The request's identity; `None` for a blocking call.
    pub request: Option<u64>,
}

/// The call in which something is complete, or begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct During {
    /// The number that it has from other hooks.
    pub context: u16,
    /// When it was entered; zero where that is not known.
    pub entered: Ticks,
    /// When it returned.
    pub left: Ticks,
}

/// Told of the application's communicators and messages, on the thread that calls MPI, inside that
/// call: it must not wait, and it must not call the tracker.
pub trait Observer: Sync {
    /// A communicator was made (the predefined ones: at `MPI_Init`).
    fn communicator_created(&self, _: &Communicator) {}
    /// A communicator was freed.
    fn communicator_freed(&self, _: &Communicator) {}
    /// The messages in the unexpected queue of this communicator have so many bytes more, or less. Comes only where
    /// [asked for](super::Ob1Model::ask_for_bytes), also in a signal handler.
    fn unexpected_bytes(&self, _comm: u32, _change: i64) {}
    /// Whether the following are wanted.
    fn wants_messages(&self) -> bool {
        false
    }
    /// Whether the two about collective operations are wanted, which those get in any case that want messages.
    fn wants_collectives(&self) -> bool {
        self.wants_messages()
    }
    /// Whether the seven after this are wanted. They come when the model follows a call: later than the call, on the thread that
    /// follows, one at a time.
    fn wants_waits(&self) -> bool {
        false
    }
    /// A call has waited for a message.
    fn waited(&self, _: &Waited) {}
    /// A test has found messages, which the thread may have polled for.
    fn test_found(&self, _: &TestFound) {}
    /// Receives have got messages.
    fn received_bytes(&self, _: &Received) {}
    /// A receive was posted after its message had been sent.
    fn posted_late(&self, _: &KeptWaiting) {}
    /// A long message was sent and its receive posted, while the receiver was elsewhere.
    fn left_waiting(&self, _: &KeptWaiting) {}
    /// A receive of this context has found its message, of so many bytes, in the unexpected queue.
    fn found_unexpected(&self, _context: u16, _bytes: u64) {}
    /// The search for a receive of this context, in an unexpected queue with messages, took so many ticks; whether the receive has a
    /// wildcard.
    fn searched(&self, _context: u16, _ticks: u64, _wildcard: bool) {}
    /// How right the model was so far, and what it has not followed: once for some 64 receives.
    fn followed(&self, _: &Truth, _: &NotFollowed) {}
    /// A message is about to be sent. Where this gives a time, the message counts as sent then: the clock need not be
    /// read again.
    fn sent(&self, _: &Message) -> Option<Ticks> {
        None
    }
    /// A nonblocking send on this communicator is complete.
    fn send_completed(&self, _comm: u32, _request: u64) {}
    /// A nonblocking receive is posted: at this time, where the call is about to return.
    fn receive_posted(&self, _comm: u32, _request: u64, _returns: Option<Ticks>) {}
    /// A message was received: by this time, where the call is about to return.
    fn received(&self, _: &Message, _returns: Option<Ticks>) {}
    /// A request was cancelled.
    fn cancelled(&self, _comm: u32, _request: u64) {}
    /// A request was tested, and is not complete.
    fn tested(&self, _comm: u32, _request: u64) {}
    /// The collective operation of the call under way has this request; or one that has it, because it is persistent, is
    /// started.
    fn collective_requested(&self, _comm: u32, _request: u64, _during: During) {}
    /// A collective operation that has a request is complete.
    fn collective_completed(&self, _comm: u32, _request: u64, _during: During) {}
}
