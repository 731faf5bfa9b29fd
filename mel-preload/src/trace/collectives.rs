//! What a collective call moves: its communicator, its root, and the bytes that this process sends and receives.
//!
//! Bytes are counted as an algorithm without any cleverness would move them, as Score-P does: the root of a broadcast
//! sends to every process, itself included, and in an all-to-all each process sends to each. Nothing is counted for
//! `MPI_IN_PLACE` where data stays where it is. Among neighbours it is what goes to and comes from each of them, without
//! those that are `MPI_PROC_NULL`. Nonblocking and persistent forms count as the blocking one.

use std::ffi::{c_int, c_void};

use mpi_abi::{Abi, Comm, Datatype, HandlePtr, questions};
use mpi_intercept::{Call, FunctionId};
use mpit_sources::ask_about;
use mpit_sources::calls::COLLECTIVES;

use mel_log::format::{NO_ROOT, ROOT_IN_THIS_GROUP, ROOT_ITSELF};

/// A collective operation, as this process takes part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collective {
    pub(crate) comm: Comm,
    /// A rank, or one of the values that the log has for others.
    pub(crate) root: i32,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// Which functions [`of`] has an answer for: by their names, as the forms of an operation differ only in these.
pub(super) fn functions() -> [bool; FunctionId::COUNT] {
    let mut collective = [false; FunctionId::COUNT];
    for function in FunctionId::all() {
        let name = function.name();
        let name = name.strip_prefix("MPI_").unwrap_or(name);
        let name = name.strip_suffix("_c").unwrap_or(name);
        let name = name.strip_suffix("_init").or(name.strip_prefix('I')).unwrap_or(name).to_lowercase();
        let name = name.strip_prefix("neighbor_").unwrap_or(&name);
        collective[function.index()] = COLLECTIVES.contains(&name);
    }
    collective
}

/// The same answer for several forms of a call, whose arguments have the same names.
macro_rules! forms {
    ($call:expr; $([$($form:ident)*]($a:ident) => $answer:expr,)*) => {
        match $call {
            $($(Call::$form($a) => $answer,)*)*
            _ => None,
        }
    };
}

/// The processes of a communicator, as a collective operation sees them.
struct Processes {
    /// How many the data goes to or comes from: those of the other group, for an intercommunicator.
    count: u64,
    rank: c_int,
    inter: bool,
}

impl Processes {
    fn of(comm: Comm) -> Option<Processes> {
        ask_about(Abi::current()?, comm, || {
            let inter = questions::comm_test_inter(comm)?;
            let count = if inter { questions::comm_remote_size(comm) } else { questions::comm_size(comm) }?;
            Ok(Processes { count: count as u64, rank: questions::comm_rank(comm)?, inter })
        })
    }
}

/// What a call is about; `None` where it is no collective operation, or MPI does not answer.
#[cold]
#[inline(never)]
pub(crate) fn of(abi: &Abi, call: &Call<'_>) -> Option<Collective> {
    let stays = |buffer: *const c_void| std::ptr::eq(buffer, abi.constants.in_place);
    // What a process has of its own, where it is not in place.
    let own = |buffer, count, datatype| if stays(buffer) { 0 } else { bytes(count, datatype) };
    // A call and its form for large counts differ in the types of their arrays.
    macro_rules! gatherv {
        ($a:ident) => {{
            let of_own = || own($a.sendbuf, $a.sendcount, $a.sendtype);
            let counts = ($a.recvcounts, $a.recvtype);
            Some(Rooted::new(abi, $a.comm, $a.root)?.gathers_varying(of_own, stays($a.sendbuf), counts))
        }};
    }
    macro_rules! scatterv {
        ($a:ident) => {{
            let of_own = || own($a.recvbuf, $a.recvcount, $a.recvtype);
            let counts = ($a.sendcounts, $a.sendtype);
            Some(
                Rooted::new(abi, $a.comm, $a.root)?
                    .gathers_varying(of_own, stays($a.recvbuf), counts)
                    .reversed(),
            )
        }};
    }
    macro_rules! allgatherv {
        ($a:ident) => {{
            let sent = (!stays($a.sendbuf)).then(|| bytes($a.sendcount, $a.sendtype));
            allgathers($a.comm, sent, ($a.recvcounts, $a.recvtype))
        }};
    }
    macro_rules! alltoallv {
        ($a:ident) => {
            exchanges($a.comm, stays($a.sendbuf), |sends, part| match sends {
                true => part.of($a.sendcounts, $a.sendtype),
                false => part.of($a.recvcounts, $a.recvtype),
            })
        };
    }
    macro_rules! alltoallw {
        ($a:ident) => {
            exchanges($a.comm, stays($a.sendbuf), |sends, part| match sends {
                true => part.of_mixed($a.sendcounts, $a.sendtypes),
                false => part.of_mixed($a.recvcounts, $a.recvtypes),
            })
        };
    }
    forms! { call;
        [Barrier Ibarrier Barrier_init](a) => unrooted(a.comm, 0, 0),
        [Bcast Ibcast Bcast_init](a) => {
            let taking = Rooted::new(abi, a.comm, a.root)?;
            let each = taking.bytes(a.count, a.datatype);
            Some(taking.scatters(|| each, || taking.processes.count * each))
        },
        [Gather Igather Gather_init](a) => {
            let taking = Rooted::new(abi, a.comm, a.root)?;
            let at_root = || taking.others(stays(a.sendbuf)) * bytes(a.recvcount, a.recvtype);
            Some(taking.gathers(|| own(a.sendbuf, a.sendcount, a.sendtype), at_root))
        },
        [Scatter Iscatter Scatter_init](a) => {
            let taking = Rooted::new(abi, a.comm, a.root)?;
            let at_root = || taking.others(stays(a.recvbuf)) * bytes(a.sendcount, a.sendtype);
            Some(taking.scatters(|| own(a.recvbuf, a.recvcount, a.recvtype), at_root))
        },
        [Reduce Ireduce Reduce_init](a) => {
            let taking = Rooted::new(abi, a.comm, a.root)?;
            let each = taking.bytes(a.count, a.datatype);
            let sent = if stays(a.sendbuf) { 0 } else { each };
            Some(taking.gathers(|| sent, || taking.others(stays(a.sendbuf)) * each))
        },
        [Gatherv Igatherv Gatherv_init Gatherv_c Igatherv_c Gatherv_init_c](a) => gatherv!(a),
        [Scatterv Iscatterv Scatterv_init Scatterv_c Iscatterv_c Scatterv_init_c](a) => scatterv!(a),
        [Allgather Iallgather Allgather_init](a) => {
            let others = Processes::of(a.comm)?.count - u64::from(stays(a.sendbuf));
            let received = bytes(a.recvcount, a.recvtype);
            let sent = if stays(a.sendbuf) { received } else { bytes(a.sendcount, a.sendtype) };
            unrooted(a.comm, others * sent, others * received)
        },
        [Allgatherv Iallgatherv Allgatherv_init Allgatherv_c Iallgatherv_c Allgatherv_init_c](a) => allgatherv!(a),
        [Alltoall Ialltoall Alltoall_init](a) => with_all(a.comm, stays(a.sendbuf), bytes(a.recvcount, a.recvtype)),
        [Alltoallv Ialltoallv Alltoallv_init Alltoallv_c Ialltoallv_c Alltoallv_init_c](a) => alltoallv!(a),
        [Alltoallw Ialltoallw Alltoallw_init Alltoallw_c Ialltoallw_c Alltoallw_init_c](a) => alltoallw!(a),
        [Allreduce Iallreduce Allreduce_init](a) => with_all(a.comm, stays(a.sendbuf), bytes(a.count, a.datatype)),
        [Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init](a) => with_all(a.comm, stays(a.sendbuf), bytes(a.recvcount, a.datatype)),
        [Reduce_scatter Ireduce_scatter Reduce_scatter_init Reduce_scatter_c Ireduce_scatter_c Reduce_scatter_init_c](a) => reduces(a.comm, stays(a.sendbuf), a.recvcounts, a.datatype),
        [Scan Iscan Scan_init](a) => {
            let (before, after) = neighbours(a.comm)?;
            let itself = u64::from(!stays(a.sendbuf));
            let each = bytes(a.count, a.datatype);
            unrooted(a.comm, (after + itself) * each, (before + itself) * each)
        },
        [Exscan Iexscan Exscan_init](a) => {
            let (before, after) = neighbours(a.comm)?;
            let each = bytes(a.count, a.datatype);
            unrooted(a.comm, after * each, before * each)
        },
        [Neighbor_allgather Ineighbor_allgather Neighbor_allgather_init](a) => {
            let near = Near::of(a.comm)?;
            let (sent, received) = (bytes(a.sendcount, a.sendtype), bytes(a.recvcount, a.recvtype));
            unrooted(a.comm, near.destinations() * sent, near.sources() * received)
        },
        [Neighbor_allgatherv Ineighbor_allgatherv Neighbor_allgatherv_init Neighbor_allgatherv_c
         Ineighbor_allgatherv_c Neighbor_allgatherv_init_c](a) => {
            let near = Near::of(a.comm)?;
            let sent = near.destinations() * bytes(a.sendcount, a.sendtype);
            unrooted(a.comm, sent, near.received(a.recvcounts, |_| a.recvtype))
        },
        [Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoall_init](a) => {
            let near = Near::of(a.comm)?;
            let (sent, received) = (bytes(a.sendcount, a.sendtype), bytes(a.recvcount, a.recvtype));
            unrooted(a.comm, near.destinations() * sent, near.sources() * received)
        },
        [Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallv_init Neighbor_alltoallv_c Ineighbor_alltoallv_c
         Neighbor_alltoallv_init_c](a) => {
            let near = Near::of(a.comm)?;
            let sent = near.sent(a.sendcounts, |_| a.sendtype);
            unrooted(a.comm, sent, near.received(a.recvcounts, |_| a.recvtype))
        },
        [Neighbor_alltoallw Ineighbor_alltoallw Neighbor_alltoallw_init Neighbor_alltoallw_c Ineighbor_alltoallw_c
         Neighbor_alltoallw_init_c](a) => {
            let near = Near::of(a.comm)?;
            // SAFETY: the application gives MPI a datatype for each neighbour.
            let sent = near.sent(a.sendcounts, |place| unsafe { a.sendtypes.get(place) });
            // SAFETY: the application gives MPI a datatype for each neighbour that it receives from.
            unrooted(a.comm, sent, near.received(a.recvcounts, |place| unsafe { a.recvtypes.get(place) }))
        },
    }
}

/// An operation with a root, and what this process is in it.
struct Rooted {
    comm: Comm,
    /// As the log has it.
    root: i32,
    processes: Processes,
    is_root: bool,
    /// Whether it does what those that are not the root do; in an intracommunicator the root does that too.
    is_other: bool,
}

impl Rooted {
    fn new(abi: &Abi, comm: Comm, root: c_int) -> Option<Rooted> {
        let processes = Processes::of(comm)?;
        let constants = &abi.constants;
        let (root, is_root, is_other) = match root {
            root if !processes.inter => (root, root == processes.rank, true),
            root if root == constants.root => (ROOT_ITSELF, true, false),
            root if root == constants.proc_null => (ROOT_IN_THIS_GROUP, false, false),
            root => (root, false, true),
        };
        Some(Rooted { comm, root, processes, is_root, is_other })
    }

    /// How many processes the root exchanges data with, where its own may stay where it is.
    fn others(&self, own_stays: bool) -> u64 {
        self.processes.count - u64::from(own_stays)
    }

    /// The bytes of so many elements, which MPI looks at where this process takes part.
    fn bytes(&self, count: i64, datatype: Datatype) -> u64 {
        if self.is_root || self.is_other { bytes(count, datatype) } else { 0 }
    }

    fn gathers(&self, own: impl FnOnce() -> u64, at_root: impl FnOnce() -> u64) -> Collective {
        let received = if self.is_root { at_root() } else { 0 };
        let sent = if self.is_other { own() } else { 0 };
        Collective { comm: self.comm, root: self.root, sent, received }
    }

    /// A scatter is a gather with the roles of sending and receiving changed.
    fn scatters(&self, own: impl FnOnce() -> u64, at_root: impl FnOnce() -> u64) -> Collective {
        self.gathers(own, at_root).reversed()
    }

    fn gathers_varying<C: Copy + Into<i64>>(
        &self,
        own: impl FnOnce() -> u64,
        stays: bool,
        (counts, datatype): (*const C, Datatype),
    ) -> Collective {
        let part = Part { processes: self.processes.count, without: stays.then_some(self.processes.rank) };
        self.gathers(own, || part.of(counts, datatype))
    }
}

impl Collective {
    fn reversed(self) -> Collective {
        Collective { sent: self.received, received: self.sent, ..self }
    }
}

fn unrooted(comm: Comm, sent: u64, received: u64) -> Option<Collective> {
    Some(Collective { comm, root: NO_ROOT, sent, received })
}

/// To and from every process the same, but this one where its data stays where it is.
fn with_all(comm: Comm, stays: bool, each: u64) -> Option<Collective> {
    let count = Processes::of(comm)?.count - u64::from(stays);
    unrooted(comm, count * each, count * each)
}

/// To every process the same (as much as comes from this one, where that is in place), from each its own.
fn allgathers<C: Copy + Into<i64>>(
    comm: Comm,
    sent: Option<u64>,
    (counts, datatype): (*const C, Datatype),
) -> Option<Collective> {
    let Processes { count, rank, .. } = Processes::of(comm)?;
    let part = Part { processes: count, without: sent.is_none().then_some(rank) };
    let others = count - u64::from(sent.is_none());
    let sent = sent.unwrap_or_else(|| one(counts, rank, datatype));
    unrooted(comm, others * sent, part.of(counts, datatype))
}

/// To each process its own, and from each its own; in place the same both ways.
fn exchanges(comm: Comm, stays: bool, bytes: impl Fn(bool, Part) -> u64) -> Option<Collective> {
    let Processes { count, rank, .. } = Processes::of(comm)?;
    let part = Part { processes: count, without: stays.then_some(rank) };
    let received = bytes(false, part);
    unrooted(comm, if stays { received } else { bytes(true, part) }, received)
}

/// To each process its part, and from every one ours.
fn reduces<C: Copy + Into<i64>>(
    comm: Comm,
    stays: bool,
    counts: *const C,
    datatype: Datatype,
) -> Option<Collective> {
    let Processes { count, rank, .. } = Processes::of(comm)?;
    let part = Part { processes: count, without: stays.then_some(rank) };
    let others = count - u64::from(stays);
    unrooted(comm, part.of(counts, datatype), others * one(counts, rank, datatype))
}

/// How many processes come before and after this one.
fn neighbours(comm: Comm) -> Option<(u64, u64)> {
    let Processes { count, rank, .. } = Processes::of(comm)?;
    let rank = rank as u64;
    Some((rank, count.saturating_sub(rank + 1)))
}

/// The neighbours of this process.
struct Near(questions::Neighbours);

impl Near {
    fn of(comm: Comm) -> Option<Near> {
        ask_about(Abi::current()?, comm, || questions::neighbours(comm)).map(Near)
    }

    fn sources(&self) -> u64 {
        self.0.sources.iter().flatten().count() as u64
    }

    fn destinations(&self) -> u64 {
        self.0.destinations.iter().flatten().count() as u64
    }

    fn sent<C: Copy + Into<i64>>(&self, counts: *const C, datatype: impl Fn(usize) -> Datatype) -> u64 {
        of_each(&self.0.destinations, counts, datatype)
    }

    fn received<C: Copy + Into<i64>>(&self, counts: *const C, datatype: impl Fn(usize) -> Datatype) -> u64 {
        of_each(&self.0.sources, counts, datatype)
    }
}

/// The bytes for those neighbours that are there.
fn of_each<C: Copy + Into<i64>>(
    neighbours: &[Option<c_int>],
    counts: *const C,
    datatype: impl Fn(usize) -> Datatype,
) -> u64 {
    let counts = array(counts, neighbours.len() as u64).iter().zip(neighbours).enumerate();
    counts
        .filter(|(_, (_, rank))| rank.is_some())
        .map(|(place, (&count, _))| bytes(count.into(), datatype(place)))
        .sum()
}

/// The bytes of so many elements; 0 where MPI does not know the datatype.
fn bytes(count: i64, datatype: Datatype) -> u64 {
    let size = if count > 0 { questions::bytes_of(datatype) } else { 0 };
    u64::try_from(count).unwrap_or(0).saturating_mul(size)
}

/// The processes whose counts are added up.
#[derive(Clone, Copy)]
struct Part {
    processes: u64,
    /// Whose count is left out, because its data stays where it is.
    without: Option<c_int>,
}

impl Part {
    fn counts<'a, C: Copy + Into<i64> + 'a>(
        self,
        counts: *const C,
    ) -> impl Iterator<Item = (usize, i64)> + 'a {
        let all = array(counts, self.processes).iter().enumerate();
        all.filter(move |(rank, _)| Some(*rank as c_int) != self.without)
            .map(|(rank, &count)| (rank, count.into()))
    }

    fn of<C: Copy + Into<i64>>(self, counts: *const C, datatype: Datatype) -> u64 {
        bytes(self.counts(counts).map(|(_, count)| count).sum(), datatype)
    }

    /// Where each count has a datatype.
    fn of_mixed<C: Copy + Into<i64>>(self, counts: *const C, types: HandlePtr<Datatype>) -> u64 {
        if types.is_null() {
            return 0;
        }
        // SAFETY: the application gives MPI an array with a datatype for each process.
        self.counts(counts).map(|(rank, count)| bytes(count, unsafe { types.get(rank) })).sum()
    }
}

/// The bytes of the count for one process.
fn one<C: Copy + Into<i64>>(counts: *const C, rank: c_int, datatype: Datatype) -> u64 {
    array(counts, rank as u64 + 1).last().map_or(0, |&count| bytes(count.into(), datatype))
}

/// An array that the application gave MPI, with one element for each process.
fn array<'a, C: Copy>(counts: *const C, processes: u64) -> &'a [C] {
    if counts.is_null() {
        return &[];
    }
    // SAFETY: MPI reads this array in the call that has just been entered, so it has an element for each process, and
    // nobody writes to it meanwhile. The callers use it before they return.
    unsafe { std::slice::from_raw_parts(counts, processes as usize) }
}
