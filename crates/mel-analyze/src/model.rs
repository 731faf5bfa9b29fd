//! What a trace says, as the rules want it: calls with their times on one clock, and each message with both of its sides.
//!
//! Times are nanoseconds since the begin of the trace; ranks are those in `MPI_COMM_WORLD`. Functions, call sites,
//! communicators and windows are numbers that [`Names`](crate::names::Names) has the names of.

use mel_verdict::replay;
use mpi_functions::Mode;
use mpi_functions::signature::Signature;

use crate::checks::Noticed;

/// The number of a call site; [`NO_SITE`] where it is not known.
pub type Site = u32;
/// No call site.
pub const NO_SITE: Site = u32::MAX;
/// No communicator.
pub const NO_COMMUNICATOR: u32 = u32::MAX;

/// A call of an MPI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it was entered.
    pub begin: u64,
    /// When it was left.
    pub end: u64,
    /// Who called.
    pub rank: u32,
    /// From where.
    pub site: Site,
    /// Which function.
    pub function: u16,
    /// How long the rank was outside of MPI before, since `MPI_Init`, without what lies between the tests of a poll.
    pub computed: u64,
}

impl Call {
    /// As what it needs of others is followed.
    pub fn step(&self) -> replay::Step {
        let Call { rank, begin, end, computed, .. } = *self;
        replay::Step { rank, begin, end, computed }
    }
}

/// Which message it is: the same on both of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Sender, receiver, communicator and tag, as one number.
    pub channel: u64,
    /// How many there were before.
    pub number: u64,
}

/// How a side of a message was called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A call that returns when its side is done.
    Blocking,
    /// Started, and waited for with its request.
    Nonblocking,
    /// A side of `MPI_Sendrecv`.
    Both,
}

/// One side of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Which message.
    pub key: Key,
    /// The call that sends or receives it, or starts to.
    pub call: Call,
    /// How.
    pub way: Way,
    /// How it is sent; of receives [`Mode::Standard`].
    pub mode: Mode,
    /// The [`Unit`](crate::units) of the call that completes it; none if none was seen.
    pub unit: Option<u64>,
    /// The other rank.
    pub peer: u32,
    /// The communicator.
    pub communicator: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// Receives: when the message came into the unexpected queue and when it left it.
    pub unexpected: Option<(u64, u64)>,
    /// Sends: how many messages were sent before from this rank to that on that communicator.
    pub order: u64,
    /// Receives: whether nothing else was receiving on this rank, so that messages are received in the order of the calls.
    pub alone: bool,
    /// Of blocking calls: the last 32 bits of the address of the data; 0 where that is not known, or not one piece.
    pub buffer: u32,
    /// What its elements are, where that was recorded.
    pub signature: Signature,
}

/// A call that completes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completing {
    /// Its number, another one for each call.
    pub unit: u64,
    /// The call; where it is the last of several tests, from the first one on.
    pub call: Call,
    /// When the call itself was entered.
    pub entered: u64,
    /// How many messages it completes.
    pub count: u32,
}

/// A process takes part in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The call that enters it.
    pub call: Call,
    /// The call that waits for it: the same, if it is blocking.
    pub waiting: Call,
    /// The communicator.
    pub communicator: u32,
    /// How many operations this process has started on the communicator before.
    pub number: u64,
    /// Rank of the root in the communicator; -1 if there is none.
    pub root: i32,
    /// The bytes that it sends in the operation, and those that it receives.
    pub moved: (u64, u64),
    /// What the elements are that it gives or takes, where that was recorded.
    pub signature: Signature,
    /// The operation of a reduction, as [`Described`](mel_log::Described) has it.
    pub reduction: u16,
}

impl Entry {
    /// That of a call which waits for the operation itself: the first one on this communicator, without root and data.
    pub fn blocking(call: Call, communicator: u32) -> Entry {
        Entry {
            call,
            waiting: call,
            communicator,
            number: 0,
            root: -1,
            moved: (0, 0),
            signature: Signature::default(),
            reduction: 0,
        }
    }
}

/// Something about a window, in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnWindow {
    /// A fence.
    Fence,
    /// The group of an access epoch or exposure epoch, in the call that opens or ends it: world ranks.
    Group(Vec<u32>),
    /// A lock of this world rank was granted, or asked for; `u32::MAX` for all.
    Lock {
        /// Whose memory.
        target: u32,
        /// Whether nobody else may have it.
        exclusive: bool,
    },
    /// A lock was given back.
    Unlock {
        /// Whose memory.
        target: u32,
    },
    /// Operations were started, or waited for, on the memory of this world rank; `u32::MAX` for all.
    Operates {
        /// Whose memory.
        target: u32,
    },
}

/// A rank is in another phase, or in another region, from a time on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Since when.
    pub time: u64,
    /// The phase, a place in [`Names::phases`](crate::names::Names::phases), or [`STOPPED`](Change::STOPPED), or the region, a place in
    /// [`Names::regions`](crate::names::Names::regions); none is what has no name.
    pub place: Option<u32>,
    /// How long the rank was outside of MPI until then.
    pub computed: u64,
}

impl Change {
    /// What counts nowhere: the program has stopped counting.
    pub const STOPPED: u32 = u32::MAX;
}

/// One thing that a rank did.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A message is sent, or begins to be.
    Sent(Side),
    /// A message is received.
    Received(Side),
    /// A call completes messages; comes before their sides.
    Completing(Completing),
    /// A collective operation is complete here.
    Collective(Entry),
    /// One-sided communication.
    Window(u32, Call, OnWindow),
    /// The rank has left `MPI_Init`, at this time.
    Started(u32, u64),
    /// The receives of this rank may get other messages: it has used a wildcard, or it is not known whether it has.
    Chooses(u32),
    /// The rank goes into another phase.
    Phase(u32, Change),
    /// The thread of the rank that calls MPI goes into another region.
    Region(u32, Change),
    /// The rank enters `MPI_Finalize`.
    Finalizes(Call),
    /// The rank was in no MPI call, from the first time until it made this call.
    Outside(u64, Call),
    /// The rank was in this call for some time.
    InMpi(Call),
    /// Searches of a queue were long in this call.
    Search(Search),
    /// The check of the run has noticed something about this rank.
    Noticed(u32, Noticed),
}

impl Step {
    /// The side of a message, if it is one.
    pub fn side(&self) -> Option<&Side> {
        match self {
            Step::Sent(side) | Step::Received(side) => Some(side),
            _ => None,
        }
    }
}

/// Searches of a queue in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The call.
    pub call: Call,
    /// The communicator.
    pub communicator: u32,
    /// The time in them.
    pub nanos: u64,
    /// Entries of the queue when the last one began.
    pub entries: u64,
    /// Whether it was for a receive from any source or with any tag.
    pub wild: bool,
}
