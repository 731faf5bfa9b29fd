//! Notifications about windows beyond events.

use mpit_events::{Ticks, Token};

use super::operation::Operation;
use super::synchronisation::Call;
use super::window::Epoch;

/// A window that this process has joined.
#[derive(Clone, Copy, Debug)]
pub struct Created<'a> {
    /// The number of the window in this process, from zero.
    pub window: u32,
    /// What its events are bound to: the value of its handle.
    pub token: Token,
    /// The communicator that it was made on: the value of its handle.
    pub comm: Token,
    /// The ranks in `MPI_COMM_WORLD` of its processes; −1 for one of another job.
    pub members: &'a [i32],
}

/// A call that has synchronised a window.
#[derive(Clone, Copy, Debug)]
pub struct Synchronised<'a> {
    /// Which call.
    pub call: Call,
    /// When it was entered.
    pub entered: Ticks,
    /// When it returned.
    pub left: Ticks,
    /// The epoch that it has ended.
    pub ended: Option<Epoch>,
    /// Whether an epoch follows, where it is a fence.
    pub opens: bool,
    /// The ranks in the window of the other processes that take part: targets of an access epoch, origins of an
    /// exposure epoch.
    pub partners: &'a [i32],
}

/// An observer of windows and of the calls on them.
///
/// Called on the application's threads inside its MPI calls, at their exit where nothing else is said, with no lock held.
/// Several threads may call it at once where they call MPI at once. It must not wait and should not allocate.
pub trait Observer: Sync {
    /// Whether this observer wants operations and epochs, beyond the creation and the end of windows. Asked once, at the
    /// start.
    fn wants_operations(&self) -> bool {
        false
    }

    /// A window was created. Comes before all other notifications of it.
    fn window_created(&self, created: &Created<'_>) {
        let _ = created;
    }

    /// A window was freed. The last notification of it.
    fn window_freed(&self, window: u32, token: Token) {
        let _ = (window, token);
    }

    /// This thread has started an operation: the call has just succeeded.
    fn started(&self, window: u32, operation: &Operation) {
        let _ = (window, operation);
    }

    /// An operation was completed by the call that this thread is about to return from.
    fn completed(&self, window: u32, thread: u32, operation: &Operation, at: Ticks) {
        let _ = (window, thread, operation, at);
    }

    /// This thread begins to synchronise a window: the call was just entered.
    fn synchronises(&self, window: u32, call: Call) {
        let _ = (window, call);
    }

    /// This thread has synchronised a window. Comes after the completions of the same call.
    fn synchronised(&self, window: u32, thread: u32, what: &Synchronised<'_>) {
        let _ = (window, thread, what);
    }
}
