//! As long as there is no tool: MPI calls go straight to MPI, and of messages nothing is known. The processes of a node agree on it at the
//! end of `MPI_Init*`; the first of them that has a tool says so in memory that all look at, each at its next call.
//!
//! What began before that is not known then: receives that were posted, and messages that were sent. The model follows what begins later,
//! and finds by itself what it has mistaken:
//!
//! - A receive that is complete and whose message has no envelope has got one of before.
//! - A message that the model has in its unexpected queue, and the real library has not, has been got by a receive of before. The library
//!   is asked when the next receive would find it, and only if receives had been posted before.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpi_abi::{Comm, Handle, pmpi};
use mpi_functions::{Kind, Step};
use mpi_intercept::{Call, FunctionId, Wants};

use super::communicators;
use super::frame::Frame;
use super::tracker::Tracker;

/// Whose calls pass by.
static WAITS: OnceLock<&'static Tracker> = OnceLock::new();

/// What is known of the time before there was a tool.
#[derive(Debug, Default)]
pub(crate) struct Unheard {
    /// It is that time.
    lasts: AtomicBool,
    /// Nonblocking receives have been posted, or requests started.
    posted: AtomicBool,
    /// It is over, and such receives may still be there, or have got what has come.
    suspects: AtomicBool,
}

/// Whether calls of a function leave a receive behind.
fn leaves_receives(function: FunctionId) -> bool {
    let about = function.about();
    about.kind == Kind::Start
        || matches!((about.kind, about.step), (Kind::Receive | Kind::SendReceive, Step::Starts))
}

impl Tracker {
    /// Whether there is no tool yet.
    #[inline(always)]
    pub(crate) fn is_unheard(&self) -> bool {
        self.unheard.lasts.load(Ordering::Relaxed)
    }

    /// Whether receives of before may still be there.
    #[inline(always)]
    pub(crate) fn suspects(&self) -> bool {
        self.unheard.suspects.load(Ordering::Relaxed)
    }

    /// Lets calls pass by until somebody writes into this byte.
    pub(crate) fn pass_until(&'static self, byte: &'static std::sync::atomic::AtomicU8) {
        if WAITS.set(self).is_ok() {
            self.unheard.lasts.store(true, Ordering::Relaxed);
            mpi_intercept::pass_until(byte, || {
                if let Some(tracker) = WAITS.get() {
                    tracker.begin_late();
                }
            });
        }
    }

    fn begin_late(&'static self) {
        self.outside_of_calls(|work| work.state.engine.begin_late());
        // What has come until now may have been for a receive that nobody followed, in the call before this one.
        let has_come = !self.waiting_in_ring(1).is_empty();
        let suspects = has_come || self.unheard.posted.load(Ordering::Relaxed);
        self.unheard.suspects.store(suspects, Ordering::Relaxed);
        self.unheard.lasts.store(false, Ordering::Relaxed);
    }

    /// What is wanted of a function meanwhile; `None` for what is wanted always.
    pub(crate) fn wants_unheard(&self, function: FunctionId) -> Option<Wants> {
        let about = function.about();
        match (about.kind, about.step) {
            _ if leaves_receives(function) => {
                let first = !self.unheard.posted.load(Ordering::Relaxed);
                Some(if first { Wants::Leave } else { Wants::Nothing })
            }
            // They may be started later.
            (Kind::Send(_) | Kind::Receive, Step::Prepares) => None,
            _ if function == FunctionId::Request_free => None,
            (Kind::Communicator(_), _) => None,
            _ if communicators::changes_communicators(function, self.awaits_duplicates()) => None,
            _ => Some(Wants::Nothing),
        }
    }

    /// The exit of a call meanwhile: whether no more is to be done than this.
    #[cold]
    #[inline(never)]
    pub(crate) fn left_unheard(&self, function: FunctionId) -> bool {
        let posts = leaves_receives(function);
        if posts && !self.unheard.posted.swap(true, Ordering::Relaxed) {
            mpi_intercept::ask_again();
        }
        posts
    }

    /// Before a receive is posted, where receives of before may have got what the model has: the messages that it would find and the library
    /// has not are gone.
    #[cold]
    #[inline(never)]
    pub(crate) fn forget_what_is_gone(&'static self, frame: &mut Frame, call: &Call<'_>) {
        let (comm, source, tag) = match call {
            Call::Recv(a) => (a.comm, a.source, a.tag),
            Call::Irecv(a) => (a.comm, a.source, a.tag),
            Call::Sendrecv(a) => (a.comm, a.source, a.recvtag),
            Call::Sendrecv_replace(a) => (a.comm, a.source, a.recvtag),
            Call::Isendrecv(a) => (a.comm, a.source, a.recvtag),
            Call::Isendrecv_replace(a) => (a.comm, a.source, a.recvtag),
            _ => return,
        };
        self.catch_up(frame);
        while self.would_find(frame, comm, source, tag, false) {
            if !matches!(pmpi::iprobe(source, tag, comm), Ok(None)) {
                return;
            }
            self.would_find(frame, comm, source, tag, true);
        }
    }

    /// Whether the model has a message for such a receive; which it `forgets`, where that is wanted.
    fn would_find(
        &'static self,
        frame: &mut Frame,
        comm: Comm,
        source: i32,
        tag: i32,
        forgets: bool,
    ) -> bool {
        frame.call.entered = self.now();
        self.take_in(frame);
        let found = self.with_state(frame, |work, _| {
            let (index, source, tag) = work.asked(comm.word(), source, tag)?;
            let found = work.state.engine.finds(work.sink, index, source, tag);
            if found && forgets {
                work.state.engine.forget(work.sink, index, source, tag);
            }
            Some(found)
        });
        frame.call.entered.0 = 0;
        found.flatten() == Some(true)
    }
}
