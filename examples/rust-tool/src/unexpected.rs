//! A count of the messages that come unexpected on one communicator.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi_abi::{Comm, Handle, HandlePtr};
use mpit_events::{Error, Registration, Safety, Token, core};

/// Counts until it is dropped.
pub struct Unexpected {
    registration: Registration,
    count: Arc<AtomicI32>,
}

impl Unexpected {
    /// Begins to listen.
    ///
    /// # Errors
    /// [`Error::InvalidName`] where there are no such events.
    pub fn listen(comm: &SimpleCommunicator) -> Result<Self, Error> {
        let core = core();
        let event = core.type_by_name("pml_ob1_unex_insert")?;
        let registration = core.alloc(event, Some(token(comm)))?;
        let count = Arc::new(AtomicI32::new(0));
        let counter = count.clone();
        // Runs inside MPI: it counts, and does nothing else. One thread calls MPI here, so this
        // level is enough.
        core.set_callback(registration, Safety::MpiRestricted, move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        })?;
        Ok(Unexpected { registration, count })
    }

    /// The messages since the last call.
    pub fn take(&self) -> i32 {
        self.count.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Unexpected {
    fn drop(&mut self) {
        let _ = core().free(self.registration, None);
    }
}

/// By what sources know a communicator: its handle as a number, be it a pointer or an integer.
fn token(comm: &SimpleCommunicator) -> Token {
    let mut handle = comm.as_raw();
    // SAFETY: the address of a communicator's handle, as MPI lays it out in memory.
    let handle = unsafe { HandlePtr::<Comm>::new((&raw mut handle).cast()).read() };
    Token(handle.word() as u64)
}
