//! What a call sends and receives, in bytes: of the messages that it sends, and of collective operations both. What receives get is known
//! to the model, and to nobody before.

use mpi_abi::{Abi, Datatype, Handle, pmpi};
use mpi_intercept::Call;

use super::communicators::Known;
use crate::trace::collectives;

const ENTRIES: usize = 64;

/// The sizes of datatypes that a thread has used last.
#[derive(Debug)]
pub(super) struct Sizes([(usize, u64); ENTRIES]);

impl Default for Sizes {
    fn default() -> Self {
        Sizes([(usize::MAX, 0); ENTRIES])
    }
}

impl Sizes {
    /// Handles may be those of others.
    pub(super) fn forget(&mut self) {
        self.0.fill((usize::MAX, 0));
    }

    /// So many elements, in bytes.
    #[inline(always)]
    pub(super) fn of(&mut self, count: i64, datatype: Datatype) -> u64 {
        let word = datatype.word();
        let entry = &mut self.0[(word ^ (word >> 5) ^ (word >> 12)) % ENTRIES];
        if entry.0 != word {
            *entry = (word, ask(datatype));
        }
        u64::try_from(count).unwrap_or(0).saturating_mul(entry.1)
    }
}

#[cold]
#[inline(never)]
fn ask(datatype: Datatype) -> u64 {
    pmpi::type_size(datatype).ok().and_then(|size| u64::try_from(size).ok()).unwrap_or(0)
}

/// Bytes sent and received by a call that is no collective operation; receives get theirs elsewhere.
#[inline(always)]
pub(super) fn of_messages(sizes: &mut Sizes, call: &Call<'_>) -> (u64, u64) {
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

/// Bytes sent and received by a collective operation, counted as traces do. The most frequent ones need not ask MPI.
#[inline]
pub(super) fn of_collective(
    abi: &Abi,
    sizes: &mut Sizes,
    known: Option<Known>,
    call: &Call<'_>,
) -> (u64, u64) {
    let stays = |buffer| std::ptr::eq(buffer, abi.constants.in_place);
    let Some((size, rank)) = known.and_then(|known| known.of_one_group) else { return asked(abi, call) };
    let size = u64::from(size);
    match call {
        Call::Barrier(_) => (0, 0),
        Call::Bcast(a) => {
            let each = sizes.of(a.count, a.datatype);
            (if a.root == rank { size * each } else { 0 }, each)
        }
        Call::Allreduce(a) => {
            let others = size - u64::from(stays(a.sendbuf));
            let bytes = others * sizes.of(a.count, a.datatype);
            (bytes, bytes)
        }
        Call::Alltoall(a) => {
            let others = size - u64::from(stays(a.sendbuf));
            let bytes = others * sizes.of(a.recvcount, a.recvtype);
            (bytes, bytes)
        }
        _ => asked(abi, call),
    }
}

#[cold]
#[inline(never)]
fn asked(abi: &Abi, call: &Call<'_>) -> (u64, u64) {
    collectives::of(abi, call).map_or((0, 0), |operation| (operation.sent, operation.received))
}
