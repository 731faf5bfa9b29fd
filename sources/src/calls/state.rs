//! What one MPI call at a time works on.

use std::collections::VecDeque;

use mpi_abi::questions::TypeSizes;
use mpit_events::{Record, Ticks};

use super::comms::{Comms, Objects};
use super::deferred::Deferred;
use super::frame::Buffer;
use super::requests::Requests;
use super::routes::Routes;
use super::waits::{Tally, Unmet};
use crate::fast_path::{Bursts, Posts, Rows};
use crate::matching::{CommIndex, Engine, Envelope, ReceiveIndex};
use crate::progress_model::{Awaits, ProgressModel};
use crate::transport::batch::Outbox;

/// The model of this process, and the tables of what the application has.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) engine: Engine,
    pub(crate) model: ProgressModel,
    pub(crate) comms: Comms,
    pub(crate) requests: Requests,
    /// Messages taken by matched probes, and their sizes in bytes, by handle.
    pub(crate) messages: hashbrown::HashMap<usize, (CommIndex, u64), rustc_hash::FxBuildHasher>,
    pub(crate) routes: Routes,
    /// Envelopes that wait to be sent to other nodes.
    pub(crate) outbox: Outbox,
    /// Envelopes that came from other nodes.
    pub(crate) inbox: VecDeque<Envelope>,
    pub(crate) sizes: TypeSizes,
    /// Whether the application has cancelled a request: the status of a receive says whether it was.
    pub(crate) cancels: bool,
    /// The most that calls have had to wait for which completed the nonblocking sends so far.
    pub(crate) long_sends: Awaits,
    /// How often the thread had been descheduled when the system was asked last.
    pub(crate) switches: i64,
    pub(crate) not_followed: NotFollowed,
    /// How many receives were matched when observers were last notified of how right the model is.
    pub(crate) matched_told: u64,
    /// Calls that the real library has made and the model has yet to follow.
    pub(crate) deferred: Deferred,
    /// What the call that is being followed has completed so far.
    pub(crate) tally: Tally,
    /// Receives that are complete, whose messages' envelopes are on their way.
    pub(crate) unmet: VecDeque<Unmet>,
    /// Until when the last call of those has returned, and until when its waiting has been reported.
    pub(crate) unmet_told: (Ticks, Ticks),
    /// Receives that calls have found complete, which stay: with the context of the call, and when it returned.
    pub(crate) seen_complete: Vec<(ReceiveIndex, u16, Ticks)>,
    /// Receives that the application has posted after that and the model has not yet.
    pub(crate) posts: Posts,
    /// Receives that were posted and completed together, before that.
    pub(crate) rows: Rows,
    /// Which of them are followed in full.
    pub(crate) bursts: Bursts,
    /// Events of envelopes that were taken in between MPI calls: registrations have been called for them, bulk listeners get them in
    /// the next call.
    pub(crate) between_calls: Vec<Record>,
    pub(crate) objects: Objects,
}

impl State {
    /// Puts what bulk listeners have not got yet before what the coming work emits.
    #[inline(always)]
    pub(crate) fn hand_over(&mut self, sink: &mut Buffer) {
        if !self.between_calls.is_empty() {
            sink.take(&mut self.between_calls);
        }
    }
}

/// Counts of what a process has done that its model does not follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotFollowed {
    /// Communicators with processes of other jobs (`MPI_Comm_spawn`, `MPI_Comm_accept`, `MPI_Comm_connect`,
    /// `MPI_Comm_join`, MPI-5.0 chapter 11), those of sessions (`MPI_Comm_create_from_group`, section 11.3), and those
    /// that are made from these.
    pub communicators: u64,
    /// Sends, receives and probes on such communicators. A persistent one counts each time it is started.
    pub calls: u64,
    /// Partitioned sends and receives (`MPI_Psend_init`, `MPI_Precv_init`, chapter 4.2).
    pub partitioned: u64,
    /// Receives that are not counted in the queues, because all would take more of the run than the model may take; others stand for
    /// them.
    pub receives: u64,
    /// Bursts, receives that one call has completed, since there were such; and how many of them are counted.
    pub bursts: u64,
    /// See `bursts`.
    pub bursts_followed: u64,
}
