//! The kinds of events that a location records.

use crate::refs::{CommRef, GroupRef, MetricRef, RegionRef, RmaWinRef};

/// One event, without its time and its attributes.
///
/// Ranks are ranks in the communicator of the event. A request is any number that is unique among
/// the pending requests of the location.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The location enters a region.
    Enter {
        /// The region.
        region: RegionRef,
    },
    /// The location leaves the region that it entered last.
    Leave {
        /// The region.
        region: RegionRef,
    },
    /// Recording is switched on or off.
    MeasurementOnOff {
        /// Whether it is on from now on.
        on: bool,
    },
    /// A message is sent, blocking.
    MpiSend {
        /// Rank of the receiver.
        receiver: u32,
        /// Communicator of the message.
        comm: CommRef,
        /// Tag of the message.
        tag: u32,
        /// Size of the message in bytes.
        bytes: u64,
    },
    /// A nonblocking send starts.
    MpiIsend {
        /// Rank of the receiver.
        receiver: u32,
        /// Communicator of the message.
        comm: CommRef,
        /// Tag of the message.
        tag: u32,
        /// Size of the message in bytes.
        bytes: u64,
        /// The request of the send.
        request: u64,
    },
    /// A nonblocking send is complete.
    MpiIsendComplete {
        /// The request of the send.
        request: u64,
    },
    /// A nonblocking receive is posted.
    MpiIrecvRequest {
        /// The request of the receive.
        request: u64,
    },
    /// A nonblocking receive is complete.
    MpiIrecv {
        /// Rank of the sender.
        sender: u32,
        /// Communicator of the message.
        comm: CommRef,
        /// Tag of the message.
        tag: u32,
        /// Size of the message in bytes.
        bytes: u64,
        /// The request of the receive.
        request: u64,
    },
    /// A message is received, blocking.
    MpiRecv {
        /// Rank of the sender.
        sender: u32,
        /// Communicator of the message.
        comm: CommRef,
        /// Tag of the message.
        tag: u32,
        /// Size of the message in bytes.
        bytes: u64,
    },
    /// A request was tested and is not complete.
    MpiRequestTest {
        /// The request.
        request: u64,
    },
    /// A request was cancelled.
    MpiRequestCancelled {
        /// The request.
        request: u64,
    },
    /// A collective operation begins on this location.
    MpiCollectiveBegin,
    /// A collective operation ends on this location.
    MpiCollectiveEnd {
        /// What the operation does.
        op: CollectiveOp,
        /// Communicator of the operation.
        comm: CommRef,
        /// Root of the operation.
        root: CollectiveRoot,
        /// Bytes that this process sent.
        sent_bytes: u64,
        /// Bytes that this process received.
        received_bytes: u64,
    },
    /// A nonblocking collective operation starts.
    NonBlockingCollectiveRequest {
        /// The request of the operation.
        request: u64,
    },
    /// A nonblocking collective operation is complete.
    NonBlockingCollectiveComplete {
        /// What the operation does.
        op: CollectiveOp,
        /// Communicator of the operation.
        comm: CommRef,
        /// Root of the operation.
        root: CollectiveRoot,
        /// Bytes that this process sent.
        sent_bytes: u64,
        /// Bytes that this process received.
        received_bytes: u64,
        /// The request of the operation.
        request: u64,
    },
    /// A communicator exists from now on.
    CommCreate {
        /// The communicator, defined with `create_destroy_events`.
        comm: CommRef,
    },
    /// A communicator is gone.
    CommDestroy {
        /// The communicator, defined with `create_destroy_events`.
        comm: CommRef,
    },
    /// A window exists from now on.
    RmaWinCreate {
        /// The window, defined with `create_destroy_events`.
        window: RmaWinRef,
    },
    /// A window is gone.
    RmaWinDestroy {
        /// The window, defined with `create_destroy_events`.
        window: RmaWinRef,
    },
    /// A collective operation on a window begins on this location.
    RmaCollectiveBegin,
    /// A collective operation on a window ends on this location.
    RmaCollectiveEnd {
        /// What the operation does.
        op: CollectiveOp,
        /// What it synchronises.
        level: RmaSyncLevel,
        /// The window.
        window: RmaWinRef,
        /// Root of the operation.
        root: CollectiveRoot,
        /// Bytes that this process sent.
        sent_bytes: u64,
        /// Bytes that this process received.
        received_bytes: u64,
    },
    /// Synchronisation with some processes of a window.
    RmaGroupSync {
        /// What is synchronised.
        level: RmaSyncLevel,
        /// The window.
        window: RmaWinRef,
        /// The processes.
        group: GroupRef,
    },
    /// A lock is asked for.
    RmaRequestLock {
        /// The window.
        window: RmaWinRef,
        /// What is locked.
        target: LockTarget,
        /// Which lock of it; windows of MPI have one.
        lock: u64,
        /// Whether others may hold it too.
        kind: LockType,
    },
    /// A lock was granted.
    RmaAcquireLock {
        /// The window.
        window: RmaWinRef,
        /// What is locked.
        target: LockTarget,
        /// Which lock of it.
        lock: u64,
        /// Whether others may hold it too.
        kind: LockType,
    },
    /// A lock was given back.
    RmaReleaseLock {
        /// The window.
        window: RmaWinRef,
        /// What was locked.
        target: LockTarget,
        /// Which lock of it.
        lock: u64,
    },
    /// A put was started.
    RmaPut {
        /// The window.
        window: RmaWinRef,
        /// Rank of the target.
        target: u32,
        /// Bytes that are written.
        bytes: u64,
        /// What its completion bears too.
        matching: u64,
    },
    /// A get was started.
    RmaGet {
        /// The window.
        window: RmaWinRef,
        /// Rank of the target.
        target: u32,
        /// Bytes that are read.
        bytes: u64,
        /// What its completion bears too.
        matching: u64,
    },
    /// An atomic operation was started.
    RmaAtomic {
        /// The window.
        window: RmaWinRef,
        /// Rank of the target.
        target: u32,
        /// What it does.
        op: RmaAtomicType,
        /// Bytes that go to the target.
        sent_bytes: u64,
        /// Bytes that come from it.
        received_bytes: u64,
        /// What its completion bears too.
        matching: u64,
    },
    /// An operation is complete, at the latest by a call that waits for it.
    RmaOpCompleteBlocking {
        /// The window.
        window: RmaWinRef,
        /// As its start.
        matching: u64,
    },
    /// An operation with a request is complete.
    RmaOpCompleteNonBlocking {
        /// The window.
        window: RmaWinRef,
        /// As its start.
        matching: u64,
    },
    /// The numbers of a metric, at this time.
    Metric {
        /// The metric class.
        metric: MetricRef,
        /// One value for each member of the class, in its order and of its type; at most 255.
        values: &'a [MetricValue],
    },
}

/// What a lock of a window locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockTarget {
    /// The process of this rank.
    Rank(u32),
    /// All processes of the window.
    All,
}

impl LockTarget {
    pub(crate) const fn to_raw(self) -> u32 {
        match self {
            Self::Rank(rank) => rank,
            Self::All => otf2_sys::OTF2_UNDEFINED_UINT32,
        }
    }
}

/// Whether several may hold a lock at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are those of MPI")]
pub enum LockType {
    Exclusive = otf2_sys::OTF2_LOCK_EXCLUSIVE as u8,
    Shared = otf2_sys::OTF2_LOCK_SHARED as u8,
}

/// What an operation on a window synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmaSyncLevel {
    /// Processes wait for each other.
    Process,
    /// Operations are complete.
    Memory,
    /// Both.
    ProcessAndMemory,
}

impl RmaSyncLevel {
    pub(crate) const fn to_raw(self) -> u32 {
        const PROCESS: u32 = otf2_sys::OTF2_RMA_SYNC_LEVEL_PROCESS;
        const MEMORY: u32 = otf2_sys::OTF2_RMA_SYNC_LEVEL_MEMORY;
        match self {
            Self::Process => PROCESS,
            Self::Memory => MEMORY,
            Self::ProcessAndMemory => PROCESS | MEMORY,
        }
    }
}

/// What an atomic operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum RmaAtomicType {
    Accumulate = otf2_sys::OTF2_RMA_ATOMIC_TYPE_ACCUMULATE as u8,
    CompareAndSwap = otf2_sys::OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP as u8,
    FetchAndAccumulate = otf2_sys::OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE as u8,
}

/// One number of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricValue {
    /// For a member of type [`Type::I64`](crate::Type::I64).
    I64(i64),
    /// For a member of type [`Type::U64`](crate::Type::U64).
    U64(u64),
    /// For a member of type [`Type::F64`](crate::Type::F64).
    F64(f64),
}

/// Which process is the root of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveRoot {
    /// The operation has no root.
    None,
    /// The process of this rank (in the remote group, for an intercommunicator).
    Rank(u32),
    /// Intercommunicators: this process (`MPI_ROOT`).
    Myself,
    /// Intercommunicators: another process of this group (`MPI_PROC_NULL`).
    ThisGroup,
}

impl CollectiveRoot {
    pub(crate) const fn to_raw(self) -> u32 {
        match self {
            Self::None => otf2_sys::OTF2_COLLECTIVE_ROOT_NONE,
            Self::Rank(rank) => rank,
            Self::Myself => otf2_sys::OTF2_COLLECTIVE_ROOT_SELF,
            Self::ThisGroup => otf2_sys::OTF2_COLLECTIVE_ROOT_THIS_GROUP,
        }
    }
}

macro_rules! collective_ops {
    ($($name:ident = $constant:ident,)*) => {
        /// What a collective operation does; the MPI functions have these names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the names are those of MPI")]
        pub enum CollectiveOp {
            $($name = otf2_sys::$constant as u8,)*
        }
    };
}

collective_ops! {
    Barrier = OTF2_COLLECTIVE_OP_BARRIER,
    Bcast = OTF2_COLLECTIVE_OP_BCAST,
    Gather = OTF2_COLLECTIVE_OP_GATHER,
    Gatherv = OTF2_COLLECTIVE_OP_GATHERV,
    Scatter = OTF2_COLLECTIVE_OP_SCATTER,
    Scatterv = OTF2_COLLECTIVE_OP_SCATTERV,
    Allgather = OTF2_COLLECTIVE_OP_ALLGATHER,
    Allgatherv = OTF2_COLLECTIVE_OP_ALLGATHERV,
    Alltoall = OTF2_COLLECTIVE_OP_ALLTOALL,
    Alltoallv = OTF2_COLLECTIVE_OP_ALLTOALLV,
    Alltoallw = OTF2_COLLECTIVE_OP_ALLTOALLW,
    Allreduce = OTF2_COLLECTIVE_OP_ALLREDUCE,
    Reduce = OTF2_COLLECTIVE_OP_REDUCE,
    ReduceScatter = OTF2_COLLECTIVE_OP_REDUCE_SCATTER,
    ReduceScatterBlock = OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
    Scan = OTF2_COLLECTIVE_OP_SCAN,
    Exscan = OTF2_COLLECTIVE_OP_EXSCAN,
    CreateHandle = OTF2_COLLECTIVE_OP_CREATE_HANDLE,
    DestroyHandle = OTF2_COLLECTIVE_OP_DESTROY_HANDLE,
    Allocate = OTF2_COLLECTIVE_OP_ALLOCATE,
    Deallocate = OTF2_COLLECTIVE_OP_DEALLOCATE,
    CreateHandleAndAllocate = OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE,
    DestroyHandleAndDeallocate = OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE,
}
