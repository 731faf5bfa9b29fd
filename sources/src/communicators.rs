//! Which communicators MPI may be asked about.

use mpi_abi::{Abi, Comm, Handle, Result, questions};
use mpit_events::{BindKind, Token, core};

/// Asks MPI about a communicator that nobody has seen to be freed, but perhaps nobody has seen to be made: one that is not followed, or
/// that a tool names. `None` where it may be none, or MPI does not answer.
pub fn ask_about<R>(abi: &Abi, comm: Comm, ask: impl FnOnce() -> Result<R>) -> Option<R> {
    let constants = &abi.constants;
    let is_predefined = comm == constants.comm_world || comm == constants.comm_self;
    if is_predefined || core().is_bound(BindKind::Comm, Token(comm.word() as u64)) {
        return ask().ok();
    }
    // A call with it may have succeeded nevertheless: MPICH 5 says so after an error handler of the program.
    let answers = questions::is_communicator(abi, comm);
    answers.then(|| questions::with_errors_returned(ask).ok()).flatten()
}
