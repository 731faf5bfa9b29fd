//! Between which processes a collective operation moves data, by its meaning and not by an algorithm: what this process sends. From a
//! root to each, from each to the root, or from each to each, itself left out.
//!
//! Where every destination gets the same, one row says it all: who reads it knows the communicator. Where they differ, among neighbours,
//! and between groups each destination has a row.

use std::ffi::c_int;

use mpi_abi::{Abi, Comm, Datatype, Handle, questions};
use mpi_functions::Operation as Of;
use mpi_intercept::{Call, FunctionId};

use super::thread::{Group, Thread};
use super::{Kind, To};
use crate::transfers::{Data, Transfer};

/// A collective operation under way.
struct Operation<'a, R, F> {
    abi: &'a Abi,
    thread: &'a mut Thread<R>,
    function: FunctionId,
    comm: Comm,
    group: Group,
    send: F,
}

impl<R: Copy, F: FnMut(&mut Thread<R>, To, u64)> Operation<'_, R, F> {
    fn under(&self, peer: i32, root: i32) -> To {
        To { kind: Kind::Collective, object: self.comm.word(), peer, root, function: Some(self.function) }
    }

    /// The bytes of elements; none where their number or datatype is not there.
    fn bytes(&mut self, elements: Option<(i64, Datatype)>) -> u64 {
        elements.map_or(0, |(count, datatype)| self.thread.size(count, datatype))
    }

    fn pass(&mut self, to: To, bytes: u64) {
        (self.send)(self.thread, to, bytes);
    }

    /// To one process.
    fn send_to(&mut self, peer: i32, bytes: u64) {
        let itself = !self.group.is_inter && peer == self.group.rank;
        if peer >= 0 && !itself {
            self.pass(self.under(peer, -1), bytes);
        }
    }

    /// The same to each.
    fn send_to_all(&mut self, bytes: u64) {
        if self.group.is_inter {
            (0..self.group.size).for_each(|peer| self.send_to(peer, bytes));
        } else {
            self.pass(self.under(-1, -1), bytes);
        }
    }

    /// The same from the root to each.
    fn scatter_from(&mut self, root: c_int, data: &Data) {
        if self.group.is_inter {
            if root == self.abi.constants.root {
                let bytes = self.bytes(data.same());
                (0..self.group.size).for_each(|peer| self.send_to(peer, bytes));
            }
        } else if root == self.group.rank {
            let bytes = self.bytes(data.same());
            self.pass(self.under(-1, root), bytes);
        }
    }

    /// From each to the root.
    fn send_to_root(&mut self, root: c_int, data: &Data) {
        if root < 0 || (!self.group.is_inter && root == self.group.rank) {
            return;
        }
        let bytes = self.bytes(data.same());
        if self.group.is_inter {
            self.send_to(root, bytes);
        } else {
            self.pass(self.under(-1, root), bytes);
        }
    }

    /// To each its own part.
    fn parts(&mut self, data: &Data) {
        let size = self.group.size.max(0) as usize;
        for place in 0..size {
            let Some((count, datatype)) = data.at(place, size) else { return };
            let bytes = self.thread.size(count, datatype);
            self.send_to(place as i32, bytes);
        }
    }

    /// Whether this process is the root.
    fn is_root(&self, root: c_int) -> bool {
        root == if self.group.is_inter { self.abi.constants.root } else { self.group.rank }
    }

    /// To each neighbour, by its place in the topology.
    fn near(&mut self, data: &Data) {
        let destinations = questions::neighbours(self.comm).unwrap_or_default().destinations;
        let size = destinations.len();
        for (place, peer) in destinations.into_iter().enumerate() {
            if let (Some(peer), Some((count, datatype))) = (peer, data.at(place, size)) {
                let bytes = self.thread.size(count, datatype);
                // A process may be its own neighbour: then nothing leaves it.
                self.send_to(peer, bytes);
            }
        }
    }
}

/// Passes on what this process sends in a collective operation; nothing where the call is none, or MPI does not say what the
/// communicator is.
pub(super) fn of<R: Copy>(
    abi: &Abi,
    thread: &mut Thread<R>,
    function: FunctionId,
    call: &Call<'_>,
    send: impl FnMut(&mut Thread<R>, To, u64),
) {
    let Some(Transfer { operation, comm, root, sent, received }) = Transfer::of(abi, function, call) else {
        return;
    };
    let Some(group) = thread.group(abi, comm) else { return };
    let mut all = Operation { abi, thread, function, comm, group, send };
    // In place it is what is received.
    let data = if sent.in_place { received } else { sent };
    match operation {
        Of::Barrier => all.send_to_all(0),
        Of::Bcast | Of::Scatter => all.scatter_from(root, &sent),
        Of::Scatterv if all.is_root(root) => all.parts(&sent),
        Of::Scatterv => {}
        Of::Gather | Of::Gatherv | Of::Reduce => all.send_to_root(root, &sent),
        Of::Allgather | Of::Allgatherv | Of::Alltoall => {
            let (own, size) = (all.group.rank as usize, all.group.size as usize);
            let bytes = all.bytes(data.same().or_else(|| data.at(own, size)));
            all.send_to_all(bytes);
        }
        Of::Alltoallv | Of::Alltoallw => all.parts(&data),
        Of::Allreduce | Of::ReduceScatterBlock | Of::Scan | Of::Exscan => {
            let bytes = all.bytes(received.same());
            all.send_to_all(bytes);
        }
        Of::ReduceScatter if all.group.is_inter => {
            // The parts are those of this group, so that each of the other one gets an equal share.
            let own = questions::comm_size(comm).unwrap_or(0) as usize;
            let bytes: u64 = (0..own).map(|place| all.bytes(received.at(place, own))).sum();
            let bytes = bytes / (all.group.size.max(1) as u64);
            all.send_to_all(bytes);
        }
        Of::ReduceScatter => all.parts(&received),
        Of::NeighborAllgather
        | Of::NeighborAllgatherv
        | Of::NeighborAlltoall
        | Of::NeighborAlltoallv
        | Of::NeighborAlltoallw => all.near(&sent),
    }
}
