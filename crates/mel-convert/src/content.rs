//! What a record says by itself: the only place where kinds of records are distinguished.

use mel_log::format::{u16_at, u32_at, u64_at};
use mel_log::{
    Collective, Completion, Described, Entry, Epoch, Message, Operation, Overlap, Record, Sample, Switch,
    UnseenEvents, UnseenMessages, kind,
};

/// What a record says. What it is about, a communicator or a window, is the record's `object`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// An event of the type of this number, whose elements are the payload.
    Event(u16),
    /// A function was entered.
    Enter(Entry),
    /// The function of this number was left.
    Leave(u16),
    /// A message was sent or received.
    Message(Transfer),
    /// Something about the request of this number.
    Request(RequestStep, u32),
    /// The call under way is a collective operation.
    Collective(Collective),
    /// One-sided communication.
    Window(WindowStep),
    /// Recording was switched off or on.
    Recording(Switch),
    /// The process enters the phase of this number.
    Phase(u16),
    /// The thread is in the region of the program of this number from now on.
    Region(u16),
    /// There were messages while recording was off.
    UnseenMessages(UnseenMessages),
    /// There were events while recording was off.
    UnseenEvents(UnseenEvents),
    /// The call under way found what was polled for, by a thread that has worked between its tests.
    Worked,
    /// The check of a run has noted something about the call under way.
    Noted(Noted),
    /// A variable had a value.
    Sample(Sample),
    /// So many events, or samples, were lost before this record.
    LostEvents(u64),
    /// A kind that is not known.
    Unknown,
}

/// A message, at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Whether this is the sending side.
    pub sent: bool,
    /// Whether the call was nonblocking: then the message has a request.
    pub has_request: bool,
    /// Peer, tag, length and request.
    pub message: Message,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStep {
    /// Its message is sent.
    SendComplete,
    /// It is that of a receive that was posted.
    ReceivePosted,
    /// It was cancelled.
    Cancelled,
    /// It was tested, and is not complete.
    Tested,
    /// It is that of the collective operation of the call under way, or of a persistent one that was started.
    CollectiveStarted,
    /// Its collective operation is complete.
    CollectiveComplete,
}

/// What `mel run --check` notes about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// What its data is.
    Described(Described),
    /// It has completed an operation whose buffer another one used at the same time.
    Overlap(Overlap),
    /// It has failed, for its message is longer than the receive.
    Truncated,
    /// It has failed otherwise, and receives or completes messages.
    Failed,
}

/// What happened to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowStep {
    /// It was made.
    Created,
    /// It was freed.
    Freed,
    /// An operation of this kind was started: its place among [`OPERATIONS`](super::one_sided::OPERATIONS).
    Started(usize, Operation),
    /// The operation of this number is complete.
    Complete {
        /// Its number.
        number: u64,
        /// Whether it had a request.
        by_request: bool,
    },
    /// A fence was entered.
    FenceEntered,
    /// A fence was passed.
    FencePassed,
    /// An access or exposure epoch was opened or ended, with so many [`partners`].
    Group(u32),
    /// A lock was asked for.
    LockRequested(Lock),
    /// A lock was granted.
    Locked(Lock),
    /// The lock of this target was given back; -1 for all.
    Unlocked(i32),
    /// An epoch has ended.
    EpochEnded(Epoch),
}

/// A lock of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Rank in the group of the window; -1 for all.
    pub target: i32,
    /// Whether nobody else may have it.
    pub exclusive: bool,
}

impl Content {
    /// What this record says. Bytes that its payload lacks count as zero.
    #[inline]
    pub fn of(record: &Record) -> Content {
        if let Some(number) = record.event_type() {
            return Content::Event(number);
        }
        let payload = &record.payload[..];
        let transfer = |sent, has_request| {
            let message = Message::from_payload(payload);
            Content::Message(Transfer { sent, has_request, message })
        };
        let request = |step| Content::Request(step, Completion::from_payload(payload).request);
        let lock = || Lock { target: u32_at(payload, 0) as i32, exclusive: u32_at(payload, 4) != 0 };
        let complete = |by_request| WindowStep::Complete { number: u64_at(payload, 0), by_request };
        Content::Window(match record.kind {
            kind::ENTER => return Content::Enter(Entry::from_payload(payload)),
            kind::LEAVE => return Content::Leave(u16_at(payload, 0)),
            kind::MPI_SEND => return transfer(true, false),
            kind::MPI_ISEND => return transfer(true, true),
            kind::MPI_RECV => return transfer(false, false),
            kind::MPI_IRECV => return transfer(false, true),
            kind::MPI_ISEND_COMPLETE => return request(RequestStep::SendComplete),
            kind::MPI_IRECV_REQUEST => return request(RequestStep::ReceivePosted),
            kind::REQUEST_CANCELLED => return request(RequestStep::Cancelled),
            kind::REQUEST_TESTED => return request(RequestStep::Tested),
            kind::COLLECTIVE_REQUEST => return request(RequestStep::CollectiveStarted),
            kind::COLLECTIVE_COMPLETE => return request(RequestStep::CollectiveComplete),
            kind::COLLECTIVE => return Content::Collective(Collective::from_payload(payload)),
            kind::RECORDING => return Content::Recording(Switch::from_payload(payload)),
            kind::PHASE => return Content::Phase(u16_at(payload, 0)),
            kind::REGION => return Content::Region(u16_at(payload, 0)),
            kind::UNSEEN_MESSAGES => return Content::UnseenMessages(UnseenMessages::from_payload(payload)),
            kind::UNSEEN_EVENTS => return Content::UnseenEvents(UnseenEvents::from_payload(payload)),
            kind::WORKED => return Content::Worked,
            kind::DESCRIBED => return Content::Noted(Noted::Described(Described::from_payload(payload))),
            kind::OVERLAP => return Content::Noted(Noted::Overlap(Overlap::from_payload(payload))),
            kind::TRUNCATED => return Content::Noted(Noted::Truncated),
            kind::FAILED => return Content::Noted(Noted::Failed),
            kind::SAMPLE => return Content::Sample(Sample::from_payload(payload)),
            kind::DROPPED => return Content::LostEvents(u64_at(payload, 0)),
            kind::RMA_OPERATION..=kind::RMA_LAST_OPERATION => {
                let place = usize::from(record.kind - kind::RMA_OPERATION);
                WindowStep::Started(place, Operation::from_payload(payload))
            }
            kind::RMA_COMPLETE => complete(false),
            kind::RMA_REQUEST_COMPLETE => complete(true),
            kind::RMA_FENCE_BEGIN => WindowStep::FenceEntered,
            kind::RMA_FENCE_END => WindowStep::FencePassed,
            kind::RMA_GROUP => WindowStep::Group(u32_at(payload, 0)),
            kind::RMA_LOCK_REQUEST => WindowStep::LockRequested(lock()),
            kind::RMA_LOCK => WindowStep::Locked(lock()),
            kind::RMA_UNLOCK => WindowStep::Unlocked(u32_at(payload, 0) as i32),
            kind::WIN_CREATE => WindowStep::Created,
            kind::WIN_DESTROY => WindowStep::Freed,
            kind::RMA_EPOCH => WindowStep::EpochEnded(Epoch::from_payload(payload)),
            _ => return Content::Unknown,
        })
    }
}

/// The ranks, in the group of the window, of the partners of an epoch: of a record with [`WindowStep::Group`], those that it
/// has room for.
pub fn partners<'a>(record: &'a Record) -> impl Iterator<Item = u32> + 'a {
    let count = (u32_at(&record.payload, 0) as usize).min(record.payload.len() / 4);
    (0..count).map(|place| u32_at(&record.payload, 4 * (place + 1)))
}
