//! The communicator of all processes of the run: `MPI_COMM_WORLD`, or, in a program that has sessions and no world (MPI-5.0, section
//! 11.3), one that the program has made of all processes. Nothing of MPI is kept for that: a session may not end before all that was made
//! from it is freed. When the program frees the communicator another one of the same processes may take its place.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::{Abi, Comm, Error, Handle, Result, pmpi, questions};

/// The communicator that stands for the world, as the word of its handle; zero where it is `MPI_COMM_WORLD`.
static ADOPTED: AtomicUsize = AtomicUsize::new(0);
/// Whether it is freed, and none has taken its place.
static LOST: AtomicBool = AtomicBool::new(false);

impl Abi {
    /// The communicator of all processes; `MPI_COMM_NULL` where there is none any more. Allowed at any time; signal-safe.
    #[inline]
    #[must_use]
    pub fn world(&self) -> Comm {
        match ADOPTED.load(Ordering::Acquire) {
            0 => self.constants.comm_world,
            _ if LOST.load(Ordering::Acquire) => self.constants.comm_null,
            word => Comm(word),
        }
    }

    /// Whether another communicator than `MPI_COMM_WORLD` stands for the world, or has. Allowed at any time; signal-safe.
    #[inline]
    #[must_use]
    pub fn has_adopted_a_world(&self) -> bool {
        ADOPTED.load(Ordering::Acquire) != 0
    }

    /// From now on this communicator, which has all processes, stands for the world.
    pub fn adopt_world(&self, comm: Comm) {
        LOST.store(false, Ordering::Release);
        ADOPTED.store(comm.word(), Ordering::Release);
    }

    /// What stands for the world is about to be freed, and no other communicator has the same processes.
    pub fn lose_world(&self) {
        LOST.store(true, Ordering::Release);
    }

    /// There is `MPI_COMM_WORLD` now, in which the ranks are the same.
    pub fn return_to_world(&self) {
        ADOPTED.store(0, Ordering::Release);
    }

    /// Whether MPI can be asked about the communicator of all processes.
    #[must_use]
    pub fn has_a_world(&self) -> bool {
        if self.has_adopted_a_world() { !LOST.load(Ordering::Acquire) } else { questions::world_is_there() }
    }

    /// Runs `user` with the group of all processes.
    ///
    /// # Errors
    /// Those of MPI, and of `user`; [`Error::NotAsked`] where there is no communicator of them.
    pub fn with_world_group<R>(&self, user: impl FnOnce(crate::Group) -> Result<R>) -> Result<R> {
        let comm = self.world();
        if comm == self.constants.comm_null {
            return Err(Error::NotAsked { function: "MPI_Comm_group" });
        }
        let world = questions::comm_group(comm)?;
        let result = user(world);
        let _ = pmpi::group_free(world);
        result
    }
}
