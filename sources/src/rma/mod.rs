//! One-sided communication as the application calls it: windows, operations, and what completes them.
//!
//! This room turns intercepted MPI calls into the thirteen `osc_rdma_*` events, which are bound to windows. It
//! knows what MPI guarantees, and not what a library does inside: an operation is complete when the call returns
//! that completes it by the MPI standard ([`Completes`]). It must not know who listens.
//!
//! - [`events`](RmaEvents): names, payloads and descriptions of the events.
//! - `operation`, `pending`: operations that have been started and not been completed, by thread.
//! - `times`: whether the starts of operations are timed.
//! - `synchronisation`: which call completes which operations.
//! - `window`, `requests`: the state of each window, and the requests of operations.
//! - `calls`: the hook, which feeds all this; `frame`: the state of a thread, and how it raises events.
//! - [`Rma`]: the life of the source in a process: its event types exist from the start, windows are followed from the end of
//!   `MPI_Init*` on.
//! - [`Observer`]: notifications for those who want operations and epochs and not events.

mod calls;
mod events;
mod frame;
mod observer;
mod operation;
mod pending;
mod requests;
mod synchronisation;
mod times;
mod tracker;
mod window;

pub use events::{Event, Moved, RmaEvents, Targeted};
use mpi_abi::{Abi, pmpi};
use mpi_intercept::Hook;
use mpit_events::{Core, Error};
pub use observer::{Created, Observer, Synchronised};
pub use operation::{Kind, Operation};
pub use synchronisation::{Call, Completes, Whose};
pub use window::{Epoch, EpochKind};

use calls::Calls;
use tracker::Tracker;

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
        pmpi::allreduce(&[i32::from(wanted)], &mut any, constants.max, self.0.abi.world())?;
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
