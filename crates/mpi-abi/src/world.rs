//! The communicator of all processes of the run: `MPI_COMM_WORLD`, or, in a program that has sessions and no world (MPI-5.0, section
//! 11.3), one that the program has made of all processes. Ranks in the world are ranks in its group, which stays when the program
//! frees the communicator.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Abi, Comm, Group, Handle, Result, pmpi, questions};

/// The communicator that stands for the world, and its group, as the words of their handles; zero where there is `MPI_COMM_WORLD`.
static ADOPTED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

impl Abi {
    /// The communicator of all processes. Allowed at any time; signal-safe.
    #[inline]
    #[must_use]
    pub fn world(&self) -> Comm {
        match ADOPTED[0].load(Ordering::Acquire) {
            0 => self.constants.comm_world,
            word => Comm(word),
        }
    }

    /// Whether another communicator than `MPI_COMM_WORLD` stands for the world. Allowed at any time; signal-safe.
    #[inline]
    #[must_use]
    pub fn has_adopted_a_world(&self) -> bool {
        ADOPTED[0].load(Ordering::Acquire) != 0
    }

    /// From now on this communicator, which has all processes, stands for the world: once in a process, before anybody asks for ranks.
    ///
    /// # Errors
    /// Those of MPI: its group cannot be had.
    pub fn adopt_world(&self, comm: Comm) -> Result<()> {
        let group = questions::comm_group(comm)?;
        ADOPTED[1].store(group.word(), Ordering::Release);
        ADOPTED[0].store(comm.word(), Ordering::Release);
        Ok(())
    }

    /// Runs `user` with the group of all processes.
    ///
    /// # Errors
    /// Those of MPI, and of `user`.
    pub fn with_world_group<R>(&self, user: impl FnOnce(Group) -> Result<R>) -> Result<R> {
        match ADOPTED[1].load(Ordering::Acquire) {
            0 => {
                let world = questions::comm_group(self.constants.comm_world)?;
                let result = user(world);
                let _ = pmpi::group_free(world);
                result
            }
            word => user(Group(word)),
        }
    }
}
