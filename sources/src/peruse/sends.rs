//! Who sends to whom inside ob1: each send request that is activated, the library's own among them, such as those that collective
//! operations are made of.
//!
//! Messages of 256 bytes and less that a blocking send brings on their way at once have no request and are not notified of.

use std::ffi::c_int;

use mpi_abi::{Datatype, Handle, questions};

use super::library::Spec;

/// Hears of each send.
pub trait Sends: Sync {
    /// A message of so many bytes is about to be sent to a rank in `MPI_COMM_WORLD`, or to one that is not known (negative); by the library for
    /// itself, or by the program. Called inside ob1: it must not call MPI, wait or panic.
    fn sent(&self, peer: i32, bytes: u64, is_internal: bool);
}

/// `PERUSE_SEND`
const SEND: c_int = 0;

/// Tells of a request that was activated, where it is a send. `ranks` are those of the communicator's (remote) members in
/// `MPI_COMM_WORLD`.
pub(super) fn tell(sends: &dyn Sends, spec: &Spec, ranks: &[i32]) {
    if spec.operation != SEND {
        return;
    }
    let peer = usize::try_from(spec.peer).ok().and_then(|peer| ranks.get(peer)).copied().unwrap_or(-1);
    // A local procedure of MPI that takes no lock, and so may be called here as an exception.
    let size = if spec.count == 0 { 0 } else { questions::bytes_of(Datatype::from_word(spec.datatype)) };
    let bytes = u64::try_from(spec.count).unwrap_or(0).saturating_mul(size);
    sends.sent(peer, bytes, spec.tag < 0);
}
