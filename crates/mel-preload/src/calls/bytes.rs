//! What a call sends and receives, in bytes: of the messages that it sends, and of collective operations both. What receives get is known
//! to the model, and to nobody before.

use std::ffi::c_int;

use mpi_abi::Abi;
use mpi_abi::questions::TypeSizes;
use mpi_intercept::Call;
use mpit_sources::transfers::Transfer;

use crate::registry::Known;
use crate::trace::collectives::{self, Processes};

/// Bytes sent and received by a call that is no collective operation and has succeeded; receives get theirs elsewhere. Nothing goes to
/// `nobody`, which is `MPI_PROC_NULL`.
#[inline(always)]
pub(super) fn of_messages(nobody: c_int, sizes: &mut TypeSizes, call: &Call<'_>) -> (u64, u64) {
    macro_rules! sent {
        ($a:ident) => {
            sent!($a.dest, $a.count, $a.datatype)
        };
        ($a:ident.$peer:ident, $b:ident.$count:ident, $c:ident.$datatype:ident) => {
            if $a.$peer == nobody { (0, 0) } else { (sizes.of($b.$count, $c.$datatype), 0) }
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
        Call::Sendrecv(a) => sent!(a.dest, a.sendcount, a.sendtype),
        Call::Sendrecv_replace(a) => sent!(a),
        Call::Isendrecv(a) => sent!(a.dest, a.sendcount, a.sendtype),
        Call::Isendrecv_replace(a) => sent!(a),
        Call::Put(a) => sent!(a.target_rank, a.origin_count, a.origin_datatype),
        Call::Rput(a) => sent!(a.target_rank, a.origin_count, a.origin_datatype),
        Call::Accumulate(a) => sent!(a.target_rank, a.origin_count, a.origin_datatype),
        Call::Raccumulate(a) => sent!(a.target_rank, a.origin_count, a.origin_datatype),
        Call::Get(a) if a.target_rank != nobody => (0, sizes.of(a.origin_count, a.origin_datatype)),
        Call::Rget(a) if a.target_rank != nobody => (0, sizes.of(a.origin_count, a.origin_datatype)),
        _ => (0, 0),
    }
}

/// What a collective operation moves, and what the program gives it, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OfCollective {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Count times type, whoever it goes to or comes from; of several counts their mean.
    pub(super) given: u64,
}

/// Bytes sent and received by a collective operation that has succeeded, counted as traces do. Where the communicator is known MPI is not
/// asked about it.
#[inline]
pub(super) fn of_collective(
    abi: &Abi,
    sizes: &mut TypeSizes,
    known: Option<Known>,
    transfer: &Transfer,
) -> OfCollective {
    let processes = match known.and_then(|known| known.of_one_group) {
        Some((size, rank)) => Some(Processes { count: size.into(), rank, inter: false }),
        None => Processes::of(abi, transfer.comm),
    };
    let Some(processes) = processes else { return OfCollective::default() };
    let size = |count, datatype| sizes.of(count, datatype);
    let Some(moved) = collectives::moved(abi, transfer, processes, size) else {
        return OfCollective::default();
    };
    let same = [transfer.sent, transfer.received].into_iter().filter(|data| !data.in_place);
    let given = match same.filter_map(|data| data.same()).next() {
        Some((count, datatype)) => sizes.of(count, datatype),
        None => moved.sent.max(moved.received) / processes.count.max(1),
    };
    OfCollective { sent: moved.sent, received: moved.received, given }
}
