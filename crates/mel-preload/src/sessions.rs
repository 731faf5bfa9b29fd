//! Programs that use sessions of MPI (MPI-5.0, section 11.3). Where there is no `MPI_COMM_WORLD` a communicator of all processes stands for
//! it, and the run is from then on until the last session ends.

use std::sync::atomic::{AtomicBool, Ordering};

use mel_log::launcher::Place;
use mpi_abi::{Comm, pmpi, questions};
use mpi_intercept::FunctionId;
use mpit_events::Clock;

use super::finish;
use super::state::Session;
use crate::asked::{self, Asked};

impl Session {
    /// There is a session, and perhaps no `MPI_COMM_WORLD` yet. Nothing is followed before there is one, or [another
    /// communicator](Session::adopt) of all processes, but calls are seen: in how many threads, only the session knows.
    fn without_world(&self) {
        self.open_sessions.fetch_add(1, Ordering::AcqRel);
        if self.sessions.fetch_add(1, Ordering::AcqRel) != 0 || !self.config.measures() {
            return;
        }
        self.set_threads();
        finish::expect_no_world();
    }

    /// A session has a communicator. Where it has all processes that were started, and there is no `MPI_COMM_WORLD`, it stands for
    /// that: all of them are here, and begin together.
    pub(super) fn adopt(&'static self, comm: Comm) {
        static CLAIMED: AtomicBool = AtomicBool::new(false);
        if !self.config.measures() || comm == self.abi.constants.comm_null {
            return;
        }
        let started = Place::here().map_or(Some(1), |place| place.size);
        let size = questions::comm_size(comm).ok().and_then(|size| u64::try_from(size).ok());
        if started.is_none() || started != size {
            return;
        }
        let is_over = self.run.get().is_some() || self.over.load(Ordering::Acquire);
        let is_possible = !is_over && !questions::world_is_there();
        let claims = is_possible && !CLAIMED.swap(true, Ordering::AcqRel);
        // Threads may make several at a time, in any order: all members of each take part here, and of one all or none claim it.
        let mut all = [0];
        let agreed = pmpi::allreduce(&[i32::from(claims)], &mut all, self.abi.constants.min, comm);
        if agreed.is_err() || all == [0] {
            CLAIMED.fetch_and(!claims, Ordering::AcqRel);
            return;
        }
        self.abi.adopt_world(comm);
        Session::with_others(|| {
            self.know_the_mpi();
            self.begin_or_end(FunctionId::Session_init);
        });
    }

    /// A session is open from now on.
    pub(super) fn session_begins(&'static self) {
        self.without_world();
        self.go_on();
    }

    /// A session is about to end. The run of a program without a world ends with its last one, as far as can be known.
    pub(super) fn session_ends(&self) {
        let one_less = |open: u32| open.checked_sub(1);
        let last = self.open_sessions.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        if last == Ok(1) && self.abi.has_adopted_a_world() {
            if let Some(native) = self.native() {
                native.finish();
            }
            self.close();
        }
    }

    /// Nothing is counted from now on, as far as can be known.
    pub(super) fn close(&self) {
        asked::ask(Asked::Stop);
        let table = self.run.get().and_then(|run| run.table.as_ref());
        let now = table.map_or_else(|| Clock::best().now().0, |table| table.header().phase_since.get());
        self.closed_at.store(now, Ordering::Release);
    }

    /// It has not been the end.
    fn go_on(&self) {
        if self.closed_at.swap(0, Ordering::AcqRel) != 0 {
            asked::ask(Asked::Start);
        }
    }

    /// There is `MPI_COMM_WORLD`, where another communicator stood for it.
    pub(super) fn world_comes(&self) {
        let (world, Some(run)) = (self.abi.constants.comm_world, self.run.get()) else { return };
        let is_same =
            questions::comm_rank(world) == Ok(run.rank) && questions::comm_size(world) == Ok(run.size);
        let mut all = [0];
        let agreed = pmpi::allreduce(&[i32::from(is_same)], &mut all, self.abi.constants.min, world);
        if agreed.is_ok() && all == [1] {
            self.abi.return_to_world();
        }
        self.queue_events.model().follow_late_world();
        self.go_on();
    }
}
