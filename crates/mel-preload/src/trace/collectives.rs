//! What a collective call moves: its root, and the bytes that this process sends and receives.
//!
//! Bytes are counted as an algorithm without any cleverness would move them, as Score-P does: the root of a broadcast
//! sends to every process, itself included, and in an all-to-all each process sends to each. Nothing is counted for
//! `MPI_IN_PLACE` where data stays where it is. Among neighbours it is what goes to and comes from each of them, without
//! those that are `MPI_PROC_NULL`. Nonblocking and persistent forms count as the blocking one.

use std::ffi::c_int;
use std::sync::{PoisonError, RwLock};

use mpi_abi::{Abi, Comm, Datatype, questions};
use mpi_functions::{Direction, Operation};
use mpit_sources::ask_about;
use mpit_sources::transfers::{Data, Transfer};

use mel_log::Collective;
use mel_log::format::{NO_OBJECT, NO_ROOT, ROOT_IN_THIS_GROUP, ROOT_ITSELF};
use rustc_hash::FxHashMap;

/// The processes of a communicator, as a collective operation sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processes {
    /// How many the data goes to or comes from: those of the other group, for an intercommunicator.
    pub(crate) count: u64,
    pub(crate) rank: c_int,
    pub(crate) inter: bool,
}

impl Processes {
    /// As MPI says; `None` where it does not.
    #[cold]
    #[inline(never)]
    pub(crate) fn of(abi: &Abi, comm: Comm) -> Option<Processes> {
        ask_about(abi, comm, || {
            let inter = questions::comm_test_inter(comm)?;
            let count = if inter { questions::comm_remote_size(comm) } else { questions::comm_size(comm) }?;
            Ok(Processes { count: count as u64, rank: questions::comm_rank(comm)?, inter })
        })
    }
}

/// What a process has to do with a root.
struct Rooted {
    /// As the log has it.
    root: i32,
    is_root: bool,
    /// Whether it does what those that are not the root do; in an intracommunicator the root does that too.
    is_other: bool,
}

impl Rooted {
    fn new(abi: &Abi, root: c_int, processes: Processes) -> Rooted {
        let constants = &abi.constants;
        let (root, is_root, is_other) = match root {
            root if !processes.inter => (root, root == processes.rank, true),
            root if root == constants.root => (ROOT_ITSELF, true, false),
            root if root == constants.proc_null => (ROOT_IN_THIS_GROUP, false, false),
            root => (root, false, true),
        };
        Rooted { root, is_root, is_other }
    }
}

/// What a call moves among these processes, of which `size` gives the bytes of elements; `None` where MPI does not say who the neighbours
/// are.
pub(crate) fn moved(
    abi: &Abi,
    transfer: &Transfer,
    processes: Processes,
    mut size: impl FnMut(i64, Datatype) -> u64,
) -> Option<Collective> {
    let Transfer { operation, comm, root, sent, received } = *transfer;
    let Processes { count, rank, inter } = processes;
    let mut of = |elements: Option<(i64, Datatype)>| elements.map_or(0, |(count, of)| size(count, of));
    // What goes to or comes from each, where this process's own may stay where it is.
    let total = |data: &Data, own_stays: bool, of: &mut dyn FnMut(Option<(i64, Datatype)>) -> u64| match data
        .same()
    {
        Some(same) => count.saturating_sub(own_stays.into()).saturating_mul(of(Some(same))),
        None => {
            let places = (0..count as usize).filter(|place| !own_stays || *place != rank as usize);
            places.map(|place| of(data.at(place, count as usize))).sum()
        }
    };
    let unrooted = |sent: u64, received: u64| Some(Collective { root: NO_ROOT, sent, received });
    let stays = sent.in_place;
    match (operation, operation.direction()) {
        (Operation::Barrier, _) => unrooted(0, 0),
        (_, Direction::FromRoot) => {
            let taking = Rooted::new(abi, root, processes);
            let to_all = if taking.is_root { total(&sent, received.in_place, &mut of) } else { 0 };
            let own = if taking.is_other && !received.in_place { of(received.same()) } else { 0 };
            Some(Collective { root: taking.root, sent: to_all, received: own })
        }
        (_, Direction::ToRoot) => {
            let taking = Rooted::new(abi, root, processes);
            let from_all = if taking.is_root { total(&received, stays, &mut of) } else { 0 };
            let own = if taking.is_other && !stays { of(sent.same()) } else { 0 };
            Some(Collective { root: taking.root, sent: own, received: from_all })
        }
        (_, Direction::Upwards) => {
            let (before, after) = (rank as u64, count.saturating_sub(rank as u64 + 1));
            let itself = u64::from(operation == Operation::Scan && !stays);
            let each = of(received.same());
            unrooted((after + itself) * each, (before + itself) * each)
        }
        (_, Direction::Neighbours) => {
            let near = ask_about(abi, comm, || questions::neighbours(comm))?;
            let mut all = |data: &Data, peers: &[Option<c_int>]| -> u64 {
                let there = peers.iter().enumerate().filter(|(_, peer)| peer.is_some());
                there.map(|(place, _)| of(data.at(place, peers.len()))).sum()
            };
            unrooted(all(&sent, &near.destinations), all(&received, &near.sources))
        }
        (Operation::Allgather | Operation::Allgatherv, _) => {
            // In place this process's own is among what is received.
            let own = if stays { received.at(rank as usize, count as usize) } else { sent.same() };
            let others = count.saturating_sub(stays.into());
            unrooted(others.saturating_mul(of(own)), total(&received, stays, &mut of))
        }
        (Operation::ReduceScatter, _) => {
            // The parts are those of the group of this process.
            let own = if inter { questions::comm_size(comm).ok()? as usize } else { count as usize };
            let parts = (0..own).filter(|place| !stays || *place != rank as usize);
            let sent = parts.map(|place| of(received.at(place, own))).sum();
            unrooted(
                sent,
                count.saturating_sub(stays.into()).saturating_mul(of(received.at(rank as usize, own))),
            )
        }
        (Operation::Allreduce | Operation::ReduceScatterBlock, _) => {
            let each_way = total(&received, stays, &mut of);
            unrooted(each_way, each_way)
        }
        (_, Direction::All) => {
            let from_all = total(&received, stays, &mut of);
            unrooted(if stays { from_all } else { total(&sent, false, &mut of) }, from_all)
        }
    }
}

/// Numbers by handle, of those that are there. Read once for each collective operation.
#[derive(Debug, Default)]
pub(super) struct Handles(RwLock<FxHashMap<u64, u16>>);

impl Handles {
    /// This handle has this number from now on; [`NO_OBJECT`] for none.
    pub(super) fn set(&self, handle: u64, number: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(handle, number);
    }

    /// The handle is nobody's any more.
    pub(super) fn forget(&self, handle: u64) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
    }

    /// The number of this handle.
    #[inline]
    pub(super) fn number(&self, handle: u64) -> u16 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&handle).copied().unwrap_or(NO_OBJECT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_its_last_number() {
        let handles = Handles::default();
        assert_eq!(handles.number(7), NO_OBJECT);
        handles.set(7, 1);
        handles.set(8, 2);
        handles.set(7, 3);
        assert_eq!((handles.number(7), handles.number(8), handles.number(9)), (3, 2, NO_OBJECT));
        handles.forget(8);
        assert_eq!(handles.number(8), NO_OBJECT);
    }
}
