//! Questions whose error must not reach the program's error handlers.

use std::ffi::c_void;

use super::kinds::world_is_there;
use crate::pmpi::call::{abi, mpi};
use crate::pmpi::{self, Out};
use crate::{Abi, Comm, Errhandler, Error, Family, Handle, Result};

/// Asks about a handle of which nobody knows whether it is one, such that an error of MPI comes back as a value: the error handlers of
/// `MPI_COMM_WORLD` and `MPI_COMM_SELF` are others meanwhile. Not under `MPI_THREAD_MULTIPLE`, where another thread's error must find the
/// program's, and not where there is no `MPI_COMM_WORLD`: then nothing is asked. Inside the program's MPI calls, on their thread.
///
/// Costs ten calls of MPI: for what is asked once for each object.
///
/// # Errors
/// Those of the question, and [`Error::NotAsked`].
pub fn with_errors_returned<R>(ask: impl FnOnce() -> Result<R>) -> Result<R> {
    let abi = abi()?;
    if !world_is_there() || pmpi::query_thread()? == abi.constants.thread.multiple {
        return Err(Error::NotAsked { function: "MPI_Comm_set_errhandler" });
    }
    let _world = Exchanged::new(abi, abi.constants.comm_world)?;
    let _itself = Exchanged::new(abi, abi.constants.comm_self)?;
    ask()
}

/// Runs `f` with errors on the communicator of all processes coming back as codes, also while a panic unwinds. For the exit of `MPI_Init*` and the entry of
/// `MPI_Finalize`, when no other thread of the program calls MPI (MPI-5.0, 11.2).
pub fn returning_errors<R>(f: impl FnOnce() -> R) -> R {
    let _world =
        abi().ok().filter(|abi| abi.has_a_world()).and_then(|abi| Exchanged::new(abi, abi.world()).ok());
    f()
}

/// Runs `f`, which communicates on a communicator of the program, with its errors coming back as codes. Where several threads may call MPI
/// (`MPI_THREAD_MULTIPLE`) the handler stays the program's: another thread may need it at the same time.
pub fn returning_errors_on<R>(comm: Comm, f: impl FnOnce() -> R) -> R {
    let alone = |abi: &&Abi| pmpi::query_thread().is_ok_and(|level| level != abi.constants.thread.multiple);
    let _exchanged = abi().ok().filter(alone).and_then(|abi| Exchanged::new(abi, comm).ok());
    f()
}

/// A communicator whose error handler is `MPI_ERRORS_RETURN`, until this is dropped.
struct Exchanged<'a> {
    abi: &'a Abi,
    comm: Comm,
    before: Errhandler,
}

impl<'a> Exchanged<'a> {
    fn new(abi: &'a Abi, comm: Comm) -> Result<Self> {
        let mut out = Out(0);
        // SAFETY: the output is large enough for a handle of either width; the communicator is there.
        unsafe { mpi!(MPI_Comm_get_errhandler(comm.word() => usize, out.pointer() => *mut c_void)) }?;
        let exchanged = Exchanged { abi, comm, before: out.handle() };
        pmpi::comm_return_errors(comm)?;
        Ok(exchanged)
    }

    /// Whether MPI has counted one more user of the handler as it gave it.
    fn is_counted(&self) -> bool {
        let word = self.before.word();
        match self.abi.family {
            Family::OpenMpi => true,
            // Predefined ones are of another kind, of which the upper two bits tell.
            Family::Mpich => word >> 30 != 1,
            Family::Standard => word > 0x3ff,
        }
    }
}

impl Drop for Exchanged<'_> {
    fn drop(&mut self) {
        let (comm, mut word) = (self.comm.word(), self.before.word());
        // SAFETY: the communicator is there, and the handler is what it had.
        let _ = unsafe { mpi!(MPI_Comm_set_errhandler(comm => usize, word => usize)) };
        if self.is_counted() {
            // SAFETY: the in-out parameter is a handle of either width in a machine word, which MPI gave for us to free.
            let _ = unsafe { mpi!(MPI_Errhandler_free((&raw mut word).cast() => *mut c_void)) };
        }
    }
}
