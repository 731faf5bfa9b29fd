//! What a call sends and receives, in bytes: of the messages that it sends, and of collective operations both. What receives get is known
//! to the model, and to nobody before.

use mpi_abi::Abi;
use mpi_abi::questions::TypeSizes;
use mpi_intercept::Call;
use mpit_sources::transfers::Transfer;

use super::communicators::Known;
use crate::trace::collectives::{self, Processes};

/// Bytes sent and received by a call that is no collective operation and has succeeded; receives get theirs elsewhere.
#[inline(always)]
pub(super) fn of_messages(sizes: &mut TypeSizes, call: &Call<'_>) -> (u64, u64) {
    macro_rules! sent {
        ($a:ident) => {
            (sizes.of($a.count, $a.datatype), 0)
        };
    }
    match call {
        Call::Isend(a) => sent!(a),
        Call::Send(a) => sent!(a),
        Call::Ssend(a) => sent!(a),
        Call::Bsend(a) => sent!(a),
        Call::Rsend(a) => sent!(a),
        Call::Issend(a) => sent!(a),
        Call::Ibsend(a) => sent!(a),
        Call::Irsend(a) => sent!(a),
        Call::Sendrecv(a) => (sizes.of(a.sendcount, a.sendtype), 0),
        Call::Sendrecv_replace(a) => sent!(a),
        Call::Isendrecv(a) => (sizes.of(a.sendcount, a.sendtype), 0),
        Call::Isendrecv_replace(a) => sent!(a),
        Call::Put(a) => (sizes.of(a.origin_count, a.origin_datatype), 0),
        Call::Rput(a) => (sizes.of(a.origin_count, a.origin_datatype), 0),
        Call::Accumulate(a) => (sizes.of(a.origin_count, a.origin_datatype), 0),
        Call::Raccumulate(a) => (sizes.of(a.origin_count, a.origin_datatype), 0),
        Call::Get(a) => (0, sizes.of(a.origin_count, a.origin_datatype)),
        Call::Rget(a) => (0, sizes.of(a.origin_count, a.origin_datatype)),
        _ => (0, 0),
    }
}

/// Bytes sent and received by a collective operation that has succeeded, counted as traces do. Where the communicator is known MPI is not
/// asked about it.
#[inline]
pub(super) fn of_collective(
    abi: &Abi,
    sizes: &mut TypeSizes,
    known: Option<Known>,
    transfer: &Transfer,
) -> (u64, u64) {
    let processes = match known.and_then(|known| known.of_one_group) {
        Some((size, rank)) => Some(Processes { count: size.into(), rank, inter: false }),
        None => Processes::of(abi, transfer.comm),
    };
    let size = |count, datatype| sizes.of(count, datatype);
    let moved = processes.and_then(|processes| collectives::moved(abi, transfer, processes, size));
    moved.map_or((0, 0), |moved| (moved.sent, moved.received))
}
