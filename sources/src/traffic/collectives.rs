//! Between which processes a collective operation moves data, by its meaning and not by an algorithm: what this process sends. From a
//! root to each, from each to the root, or from each to each, itself left out.
//!
//! Where every destination gets the same, one row says it all: who reads it knows the communicator. Where they differ, among neighbours,
//! and between groups each destination has a row.

use std::ffi::c_int;

use mpi_abi::{Abi, Comm, Datatype, Handle, HandlePtr, questions};
use mpi_intercept::{Call, FunctionId};

use super::thread::{Group, Thread};
use super::{Kind, To};

/// The same answer for several forms of a call, whose arguments have the same names.
macro_rules! forms {
    ($call:expr; $([$($form:ident)*]($a:ident) => $answer:expr,)*) => {
        match $call {
            $($(Call::$form($a) => $answer,)*)*
            _ => {}
        }
    };
}

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

    fn in_place(&self, buffer: *const std::ffi::c_void) -> bool {
        std::ptr::eq(buffer, self.abi.constants.in_place)
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
    fn scatter_from(&mut self, root: c_int, bytes: impl FnOnce(&mut Thread<R>) -> u64) {
        if self.group.is_inter {
            if root == self.abi.constants.root {
                let bytes = bytes(self.thread);
                (0..self.group.size).for_each(|peer| self.send_to(peer, bytes));
            }
        } else if root == self.group.rank {
            let bytes = bytes(self.thread);
            self.pass(self.under(-1, root), bytes);
        }
    }

    /// From each to the root.
    fn send_to_root(&mut self, root: c_int, count: i64, datatype: Datatype) {
        if root < 0 || (!self.group.is_inter && root == self.group.rank) {
            return;
        }
        let bytes = self.thread.size(count, datatype);
        if self.group.is_inter {
            self.send_to(root, bytes);
        } else {
            self.pass(self.under(-1, root), bytes);
        }
    }

    /// To each its own part.
    fn parts<C: Copy + Into<i64>>(&mut self, counts: *const C, datatype: impl Fn(usize) -> Datatype) {
        for (place, &count) in array(counts, self.group.size).iter().enumerate() {
            let bytes = self.thread.size(count.into(), datatype(place));
            self.send_to(place as i32, bytes);
        }
    }

    /// Whether this process is the root.
    fn is_root(&self, root: c_int) -> bool {
        root == if self.group.is_inter { self.abi.constants.root } else { self.group.rank }
    }

    /// To each neighbour, by its place in the topology.
    fn near(&mut self, mut bytes: impl FnMut(&mut Thread<R>, usize) -> u64) {
        let destinations = questions::neighbours(self.comm).unwrap_or_default().destinations;
        for (place, peer) in destinations.into_iter().enumerate() {
            if let Some(peer) = peer {
                let bytes = bytes(self.thread, place);
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
    let Some(comm) = call.comm() else { return };
    let Some(group) = thread.group(abi, comm) else { return };
    let mut operation = Operation { abi, thread, function, comm, group, send };
    // A call and its form for large counts differ in the types of their arrays.
    macro_rules! scatterv {
        ($a:ident) => {
            if operation.is_root($a.root) {
                operation.parts($a.sendcounts, |_| $a.sendtype);
            }
        };
    }
    macro_rules! allgatherv {
        ($a:ident) => {{
            let in_place = operation.in_place($a.sendbuf);
            let own = || one($a.recvcounts, operation.group.rank);
            let (count, datatype) = if in_place { (own(), $a.recvtype) } else { ($a.sendcount, $a.sendtype) };
            let bytes = operation.thread.size(count, datatype);
            operation.send_to_all(bytes);
        }};
    }
    macro_rules! alltoallv {
        ($a:ident) => {
            if operation.in_place($a.sendbuf) {
                operation.parts($a.recvcounts, |_| $a.recvtype);
            } else {
                operation.parts($a.sendcounts, |_| $a.sendtype);
            }
        };
    }
    macro_rules! alltoallw {
        ($a:ident) => {{
            let in_place = operation.in_place($a.sendbuf);
            let types = if in_place { $a.recvtypes } else { $a.sendtypes };
            // From Fortran there may be none.
            if !types.is_null() {
                let counts = if in_place { $a.recvcounts } else { $a.sendcounts };
                operation.parts(counts, |place| nth(types, place));
            }
        }};
    }
    macro_rules! near_varying {
        ($a:ident, $datatype:expr) => {
            operation.near(|thread, place| {
                let count = one($a.sendcounts, place as i32);
                thread.size(count, $datatype(place))
            })
        };
    }
    forms! { call;
        [Barrier Ibarrier Barrier_init](_a) => operation.send_to_all(0),
        [Bcast Ibcast Bcast_init](a) => operation.scatter_from(a.root, |thread| thread.size(a.count, a.datatype)),
        [Scatter Iscatter Scatter_init](a) => operation.scatter_from(a.root, |thread| thread.size(a.sendcount, a.sendtype)),
        [Gather Igather Gather_init](a) => operation.send_to_root(a.root, a.sendcount, a.sendtype),
        [Gatherv Igatherv Gatherv_init](a) => operation.send_to_root(a.root, a.sendcount, a.sendtype),
        [Gatherv_c Igatherv_c Gatherv_init_c](a) => operation.send_to_root(a.root, a.sendcount, a.sendtype),
        [Reduce Ireduce Reduce_init](a) => operation.send_to_root(a.root, a.count, a.datatype),
        [Scatterv Iscatterv Scatterv_init Scatterv_c Iscatterv_c Scatterv_init_c](a) => scatterv!(a),
        [Allgather Iallgather Allgather_init](a) => {
            let in_place = operation.in_place(a.sendbuf);
            let (count, datatype) = if in_place { (a.recvcount, a.recvtype) } else { (a.sendcount, a.sendtype) };
            let bytes = operation.thread.size(count, datatype);
            operation.send_to_all(bytes);
        },
        [Allgatherv Iallgatherv Allgatherv_init Allgatherv_c Iallgatherv_c Allgatherv_init_c](a) => allgatherv!(a),
        [Alltoall Ialltoall Alltoall_init](a) => {
            let in_place = operation.in_place(a.sendbuf);
            let (count, datatype) = if in_place { (a.recvcount, a.recvtype) } else { (a.sendcount, a.sendtype) };
            let bytes = operation.thread.size(count, datatype);
            operation.send_to_all(bytes);
        },
        [Alltoallv Ialltoallv Alltoallv_init Alltoallv_c Ialltoallv_c Alltoallv_init_c](a) => alltoallv!(a),
        [Alltoallw Ialltoallw Alltoallw_init Alltoallw_c Ialltoallw_c Alltoallw_init_c](a) => alltoallw!(a),
        [Allreduce Iallreduce Allreduce_init](a) => {
            let bytes = operation.thread.size(a.count, a.datatype);
            operation.send_to_all(bytes);
        },
        [Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init](a) => {
            let bytes = operation.thread.size(a.recvcount, a.datatype);
            operation.send_to_all(bytes);
        },
        [Reduce_scatter Ireduce_scatter Reduce_scatter_init](a) => reduce_scatter(&mut operation, a.recvcounts, a.datatype),
        [Reduce_scatter_c Ireduce_scatter_c Reduce_scatter_init_c](a) => reduce_scatter(&mut operation, a.recvcounts, a.datatype),
        [Scan Iscan Scan_init Exscan Iexscan Exscan_init](a) => {
            let bytes = operation.thread.size(a.count, a.datatype);
            operation.send_to_all(bytes);
        },
        [Neighbor_allgather Ineighbor_allgather Neighbor_allgather_init](a) => {
            operation.near(|thread, _| thread.size(a.sendcount, a.sendtype));
        },
        [Neighbor_allgatherv Ineighbor_allgatherv Neighbor_allgatherv_init Neighbor_allgatherv_c
         Ineighbor_allgatherv_c Neighbor_allgatherv_init_c](a) => {
            operation.near(|thread, _| thread.size(a.sendcount, a.sendtype));
        },
        [Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoall_init](a) => {
            operation.near(|thread, _| thread.size(a.sendcount, a.sendtype));
        },
        [Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallv_init Neighbor_alltoallv_c Ineighbor_alltoallv_c
         Neighbor_alltoallv_init_c](a) => near_varying!(a, |_| a.sendtype),
        [Neighbor_alltoallw Ineighbor_alltoallw Neighbor_alltoallw_init Neighbor_alltoallw_c Ineighbor_alltoallw_c
         Neighbor_alltoallw_init_c](a) => {
            if !a.sendtypes.is_null() {
                near_varying!(a, |place| nth(a.sendtypes, place));
            }
        },
    }
}

/// To each process its part; between groups the parts are those of this group, so that each of the other one gets an equal share.
fn reduce_scatter<R: Copy, C: Copy + Into<i64>, F: FnMut(&mut Thread<R>, To, u64)>(
    operation: &mut Operation<'_, R, F>,
    counts: *const C,
    datatype: Datatype,
) {
    if !operation.group.is_inter {
        return operation.parts(counts, |_| datatype);
    }
    let own = questions::comm_size(operation.comm).unwrap_or(0);
    let count: i64 = array(counts, own).iter().map(|&count| count.into()).sum();
    let bytes = operation.thread.size(count, datatype) / (operation.group.size.max(1) as u64);
    operation.send_to_all(bytes);
}

fn nth(types: HandlePtr<Datatype>, place: usize) -> Datatype {
    // SAFETY: the program gives MPI a datatype for each process, or each neighbour, and `place` counts those.
    unsafe { types.get(place) }
}

/// The count for one place.
fn one<C: Copy + Into<i64>>(counts: *const C, place: i32) -> i64 {
    array(counts, place.saturating_add(1)).last().map_or(0, |&count| count.into())
}

/// An array that the program gave MPI, with one element for each place.
fn array<'a, C: Copy>(counts: *const C, length: i32) -> &'a [C] {
    if counts.is_null() || length <= 0 {
        return &[];
    }
    // SAFETY: MPI reads this array in the call that has just returned, so it has an element for each process, and the program cannot have
    // changed it meanwhile. The callers use it before they return.
    unsafe { std::slice::from_raw_parts(counts, length as usize) }
}
