//! What a function does, and how it goes about it.

use crate::Operation;

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `MPI_Send`: the library chooses whether it waits for the receiver.
    Standard,
    /// `MPI_Bsend`: it never waits.
    Buffered,
    /// `MPI_Ssend`: it waits for the receiver.
    Synchronous,
    /// `MPI_Rsend`: the receive is posted.
    Ready,
}

/// How a function goes about what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// It returns when that is done.
    Blocks,
    /// It starts that, and another call completes it.
    Starts,
    /// It makes a persistent request, which another call starts.
    Prepares,
    /// It waits until what was started is complete.
    Completes,
    /// It looks whether something is complete, and returns at once.
    Tests,
    /// It needs no other process.
    Returns,
}

/// An object of MPI that a function makes or frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the object of that name")]
pub enum Object {
    Communicator,
    Datatype,
    Errhandler,
    File,
    Group,
    Info,
    Op,
    Request,
    Session,
    Window,
}

/// How communicators come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Making {
    /// All processes of a communicator make one with the same members.
    Duplicate,
    /// All processes of a communicator make one or several with some of its members.
    Child,
    /// Both groups of an intercommunicator make one of all.
    Merge,
    /// Only its members make it, of a communicator.
    OfGroup,
    /// Only its members make it, of no communicator.
    WithoutParent,
    /// It connects processes of different jobs.
    Connect,
    /// It is freed.
    Free,
}

/// A one-sided operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Data goes to the target.
    Put,
    /// Data comes from the target.
    Get,
    /// Data goes to the target and is combined there.
    Accumulate,
    /// The same, and what was there before comes back.
    Fetch,
}

/// What a call does with a window besides operations on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowCall {
    /// Makes it.
    Create,
    /// Frees it.
    Free,
    /// Synchronises all its processes.
    Fence,
    /// Begins to access a group.
    Start,
    /// Ends to access a group.
    Complete,
    /// Begins to be accessed by a group.
    Post,
    /// Ends to be accessed by a group: waits for it, or tests.
    Wait,
    /// Begins to access one target, or all.
    Lock,
    /// Ends to access one target, or all.
    Unlock,
    /// Completes operations at their targets.
    Flush,
    /// Completes operations at their origin.
    FlushLocal,
    /// Anything else, in this process alone.
    Local,
}

/// What a call does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileCall {
    /// Opens it.
    Open,
    /// Closes it.
    Close,
    /// Reads from it.
    Read,
    /// Writes to it.
    Write,
    /// Anything else.
    Other,
}

/// What a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Sends a message.
    Send(Mode),
    /// Receives a message, or one that was probed before.
    Receive,
    /// Sends a message, and receives another one.
    SendReceive,
    /// Looks for a message without receiving it.
    Probe,
    /// Sends a message in parts.
    PartitionedSend,
    /// Receives a message in parts.
    PartitionedReceive,
    /// Says that parts are ready, or asks whether one has come.
    Partition,
    /// Starts persistent requests.
    Start,
    /// Completes requests, or tests whether they are complete: `MPI_Wait`, `MPI_Testall` and the like.
    Completion,
    /// Anything else about requests: asks for their status, cancels, frees or makes them.
    Request,
    /// A collective operation that moves data, or the barrier.
    Collective(Operation),
    /// Makes or frees a communicator.
    Communicator(Making),
    /// A one-sided operation.
    OneSided(Access),
    /// Anything else about a window.
    Window(WindowCall),
    /// About a file.
    File {
        /// What it does.
        call: FileCall,
        /// Whether all processes that have opened the file call it.
        together: bool,
    },
    /// Gives memory to buffered sends, or takes it back.
    Buffer,
    /// `MPI_Init`, `MPI_Init_thread`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// `MPI_Alloc_mem`.
    Allocate,
    /// `MPI_Free_mem`.
    Deallocate,
    /// Makes, changes or frees an object that only this process knows: a datatype, a group, an error handler, an attribute and the like.
    Object,
    /// Answers from memory, or computes in this process: `MPI_Comm_rank`, `MPI_Pack`, `MPI_Reduce_local`.
    Local,
    /// Anything else: sessions, ports, errors.
    Environment,
}
