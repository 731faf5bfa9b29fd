//! What a collective call moves, as its arguments say it: one description of the hundred forms, from which follow pairs of processes
//! ([`traffic`](crate::traffic)), and bytes that this process sends and receives.
//!
//! Nonblocking and persistent forms, and those with large counts, are as the blocking one.

use std::ffi::{c_int, c_void};

use mpi_abi::{Abi, Comm, Datatype, HandlePtr};
use mpi_functions::Operation;
use mpi_intercept::{Call, FunctionId};

/// How many elements go to or come from each process, or each neighbour.
#[derive(Clone, Copy, Debug)]
enum Counts {
    /// The same for each.
    Same(i64),
    /// An array with one count for each.
    Each(*const c_int),
    /// The same with large counts.
    EachLarge(*const i64),
}

/// Of which type.
#[derive(Clone, Copy, Debug)]
enum Types {
    /// The same for each.
    Same(Datatype),
    /// An array with one datatype for each; from Fortran it may be null.
    Each(HandlePtr<Datatype>),
    /// There is no data.
    None,
}

/// The data of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// `MPI_IN_PLACE`: it stays where it is, and counts and types say nothing.
    pub in_place: bool,
    counts: Counts,
    types: Types,
}

/// A collective call, with the data that it sends and receives; of an operation with one buffer both are that.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Which operation.
    pub operation: Operation,
    /// On which communicator.
    pub comm: Comm,
    /// The root, as the program gives it; 0 where the operation has none.
    pub root: c_int,
    /// What is sent.
    pub sent: Data,
    /// What is received.
    pub received: Data,
}

/// Pointers to counts, whatever their width.
trait IntoCounts {
    fn counts(self) -> Counts;
}

impl IntoCounts for i64 {
    fn counts(self) -> Counts {
        Counts::Same(self)
    }
}

impl IntoCounts for *const c_int {
    fn counts(self) -> Counts {
        Counts::Each(self)
    }
}

impl IntoCounts for *const i64 {
    fn counts(self) -> Counts {
        Counts::EachLarge(self)
    }
}

trait IntoTypes {
    fn types(self) -> Types;
}

impl IntoTypes for Datatype {
    fn types(self) -> Types {
        Types::Same(self)
    }
}

impl IntoTypes for HandlePtr<Datatype> {
    fn types(self) -> Types {
        Types::Each(self)
    }
}

impl Data {
    /// What a call without data moves.
    const NONE: Data = Data { in_place: false, counts: Counts::Same(0), types: Types::None };

    /// The elements for one process, or one neighbour, of `places`, and their type. Without elements the type may be anything.
    ///
    /// To be called before the program can change its arrays: in the call, or as soon as it has returned.
    pub fn at(&self, place: usize, places: usize) -> Option<(i64, Datatype)> {
        let count = match self.counts {
            Counts::Same(count) => count,
            Counts::Each(counts) => array(counts, places).get(place).copied()?.into(),
            Counts::EachLarge(counts) => *array(counts, places).get(place)?,
        };
        let datatype = match self.types {
            Types::Same(datatype) => datatype,
            Types::None => return None,
            Types::Each(types) if types.is_null() => return None,
            // SAFETY: the program gives MPI a datatype for each process, or each neighbour, and `place` is one of these.
            Types::Each(types) => unsafe { types.get(place) },
        };
        (place < places).then_some((count, datatype))
    }

    /// What goes to or comes from each, where that is the same.
    pub fn same(&self) -> Option<(i64, Datatype)> {
        match (self.counts, self.types) {
            (Counts::Same(count), Types::Same(datatype)) => Some((count, datatype)),
            _ => None,
        }
    }
}

/// An array that the program gave MPI, with one element for each place.
fn array<'a, C: Copy>(counts: *const C, places: usize) -> &'a [C] {
    if counts.is_null() {
        return &[];
    }
    // SAFETY: MPI reads this array in the call under way, or that has just returned, so it has an element for each process, and the
    // program cannot have changed it meanwhile. The callers use it before they return.
    unsafe { std::slice::from_raw_parts(counts, places) }
}

/// The same answer for several forms of a call, whose arguments have the same names.
macro_rules! forms {
    ($call:expr; $([$($form:ident)*]($a:ident) => $answer:expr,)*) => {
        match $call {
            $($(Call::$form($a) => $answer,)*)*
            _ => return None,
        }
    };
}

impl Transfer {
    /// What a call of this function moves; `None` where it is no collective operation.
    #[rustfmt::skip]
    pub fn of(abi: &Abi, function: FunctionId, call: &Call<'_>) -> Option<Transfer> {
        let operation = function.about().operation()?;
        macro_rules! data {
            ($buffer:expr, $counts:expr, $types:expr) => {
                Data {
                    in_place: std::ptr::eq($buffer as *const c_void, abi.constants.in_place),
                    counts: $counts.counts(),
                    types: $types.types(),
                }
            };
        }
        let (comm, root, sent, received) = forms! { call;
            [Barrier Ibarrier Barrier_init](a) => (a.comm, 0, Data::NONE, Data::NONE),
            [Bcast Ibcast Bcast_init](a) => {
                let data = Data { in_place: false, counts: a.count.counts(), types: a.datatype.types() };
                (a.comm, a.root, data, data)
            },
            [Gather Igather Gather_init Scatter Iscatter Scatter_init](a) =>
                (a.comm, a.root, data!(a.sendbuf, a.sendcount, a.sendtype), data!(a.recvbuf, a.recvcount, a.recvtype)),
            [Gatherv Igatherv Gatherv_init Gatherv_c Igatherv_c Gatherv_init_c](a) =>
                (a.comm, a.root, data!(a.sendbuf, a.sendcount, a.sendtype), data!(a.recvbuf, a.recvcounts, a.recvtype)),
            [Scatterv Iscatterv Scatterv_init Scatterv_c Iscatterv_c Scatterv_init_c](a) =>
                (a.comm, a.root, data!(a.sendbuf, a.sendcounts, a.sendtype), data!(a.recvbuf, a.recvcount, a.recvtype)),
            [Reduce Ireduce Reduce_init](a) =>
                (a.comm, a.root, data!(a.sendbuf, a.count, a.datatype), data!(a.recvbuf, a.count, a.datatype)),
            [Allgather Iallgather Allgather_init Alltoall Ialltoall Alltoall_init
             Neighbor_allgather Ineighbor_allgather Neighbor_allgather_init
             Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoall_init](a) =>
                (a.comm, 0, data!(a.sendbuf, a.sendcount, a.sendtype), data!(a.recvbuf, a.recvcount, a.recvtype)),
            [Allgatherv Iallgatherv Allgatherv_init Allgatherv_c Iallgatherv_c Allgatherv_init_c
             Neighbor_allgatherv Ineighbor_allgatherv Neighbor_allgatherv_init Neighbor_allgatherv_c
             Ineighbor_allgatherv_c Neighbor_allgatherv_init_c](a) =>
                (a.comm, 0, data!(a.sendbuf, a.sendcount, a.sendtype), data!(a.recvbuf, a.recvcounts, a.recvtype)),
            [Alltoallv Ialltoallv Alltoallv_init Alltoallv_c Ialltoallv_c Alltoallv_init_c
             Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallv_init Neighbor_alltoallv_c
             Ineighbor_alltoallv_c Neighbor_alltoallv_init_c](a) =>
                (a.comm, 0, data!(a.sendbuf, a.sendcounts, a.sendtype), data!(a.recvbuf, a.recvcounts, a.recvtype)),
            [Alltoallw Ialltoallw Alltoallw_init Alltoallw_c Ialltoallw_c Alltoallw_init_c
             Neighbor_alltoallw Ineighbor_alltoallw Neighbor_alltoallw_init Neighbor_alltoallw_c
             Ineighbor_alltoallw_c Neighbor_alltoallw_init_c](a) =>
                (a.comm, 0, data!(a.sendbuf, a.sendcounts, a.sendtypes), data!(a.recvbuf, a.recvcounts, a.recvtypes)),
            [Allreduce Iallreduce Allreduce_init Scan Iscan Scan_init Exscan Iexscan Exscan_init](a) =>
                (a.comm, 0, data!(a.sendbuf, a.count, a.datatype), data!(a.recvbuf, a.count, a.datatype)),
            [Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init](a) =>
                (a.comm, 0, data!(a.sendbuf, a.recvcount, a.datatype), data!(a.recvbuf, a.recvcount, a.datatype)),
            [Reduce_scatter Ireduce_scatter Reduce_scatter_init Reduce_scatter_c Ireduce_scatter_c Reduce_scatter_init_c](a) =>
                (a.comm, 0, data!(a.sendbuf, a.recvcounts, a.datatype), data!(a.recvbuf, a.recvcounts, a.datatype)),
        };
        Some(Transfer { operation, comm, root, sent, received })
    }
}
