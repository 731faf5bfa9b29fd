//! The life of the source in a process: its event types exist from the start, windows are followed from the end of
//! `MPI_Init*` on.

use mpi_abi::{Abi, pmpi};
use mpi_intercept::Hook;
use mpit_events::{Core, Error};

use super::calls::Calls;
use super::events::RmaEvents;
use super::observer::Observer;
use super::tracker::Tracker;

/// The source of the `osc_rdma_*` events.
#[derive(Clone, Copy)]
pub struct Rma(&'static Tracker);

impl Rma {
    /// A source that raises its events in `core`. It lives as long as the process.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core is full of event types.
    pub fn new(abi: &'static Abi, core: &'static Core) -> Result<Self, Error> {
        let events = RmaEvents::register(core)?;
        let tracker: &'static Tracker = Box::leak(Box::new(Tracker::new(abi, core, events)));
        core.add_producer(tracker)?;
        Ok(Rma(tracker))
    }

    /// The hook that follows the application's calls.
    pub fn hook(self) -> &'static dyn Hook {
        Box::leak(Box::new(Calls(self.0)))
    }

    /// Begins to follow windows, at the end of `MPI_Init*`, all processes together: where one of them wants it, all
    /// do, because the processes of a window exchange the addresses of their memory.
    ///
    /// # Errors
    /// Those of MPI; nothing is followed then.
    pub fn start(self, wanted: bool, observers: Vec<&'static dyn Observer>) -> mpi_abi::Result<()> {
        let constants = &self.0.abi.constants;
        let threads = pmpi::query_thread()? == constants.thread.multiple;
        let mut any = [0];
        pmpi::allreduce(&[i32::from(wanted)], &mut any, constants.max, constants.comm_world)?;
        if any != [0] {
            self.0.start(observers, threads);
        }
        Ok(())
    }

    /// Operations whose completion had no event, because too many were pending.
    pub fn lost(self) -> u64 {
        self.0.lost()
    }
}
