//! Requests of a rank that are under way: collective operations that have one, and, where recording was switched off for a
//! while, which requests the trace has seen begin.

use otf2_writer::{CollectiveOp, CollectiveRoot, CommRef, Event};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::partners::{MessageId, MessageIds, Recorded};
use mel_log::RankLog;

/// A collective operation, as a process takes part in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) op: CollectiveOp,
    pub(super) comm: CommRef,
    pub(super) root: CollectiveRoot,
    /// Bytes.
    pub(super) sent: u64,
    /// Bytes.
    pub(super) received: u64,
}

impl Operation {
    /// The end of a blocking one.
    pub(super) fn end(self) -> Event<'static> {
        let Operation { op, comm, root, sent, received } = self;
        Event::MpiCollectiveEnd { op, comm, root, sent_bytes: sent, received_bytes: received }
    }

    /// The end of one that has a request.
    pub(super) fn complete(self, request: u64) -> Event<'static> {
        let Operation { op, comm, root, sent, received } = self;
        let (sent_bytes, received_bytes) = (sent, received);
        Event::NonBlockingCollectiveComplete { op, comm, root, sent_bytes, received_bytes, request }
    }
}

/// A collective operation that has a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requested {
    pub(super) operation: Operation,
    /// Whether the request stays, to be started again.
    pub(super) persistent: bool,
}

/// Where a message is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Where it is sent.
    Sent,
    /// Where it is received.
    Received,
    /// Where its nonblocking receive is posted.
    Posted,
}

/// The requests of one rank.
#[derive(Debug, Default)]
pub(super) struct Requests {
    collectives: FxHashMap<u32, Requested>,
    /// Those of messages, where logs have gaps.
    messages: Option<Messages>,
}

/// The messages of a rank, where logs have gaps.
#[derive(Debug)]
struct Messages {
    /// Requests whose beginning the trace has.
    begun: FxHashSet<u64>,
    /// Which of what was sent, of what was received, and of the receives that were posted, have no other side; and how many
    /// of each were there until now.
    left_out: [Vec<bool>; 3],
    next: [usize; 3],
}

impl Requests {
    /// The requests of a log of a run in which recording was off at times.
    pub(super) fn with_gaps(log: &RankLog, recorded: &Recorded) -> Self {
        let MessageIds { sends, receives, completes, .. } = MessageIds::of(log);
        let one_sided = |id: &Option<MessageId>| !id.is_some_and(|id| recorded.has_both(id));
        let [sends, receives]: [Vec<bool>; 2] =
            [sends, receives].map(|ids| ids.iter().map(one_sided).collect());
        let posted =
            completes.iter().map(|receive| receive.is_some_and(|receive| receives[receive])).collect();
        let messages =
            Messages { begun: FxHashSet::default(), left_out: [sends, receives, posted], next: [0; 3] };
        Requests { messages: Some(messages), ..Requests::default() }
    }

    /// Whether the next send, receive, or posted receive is one that the trace does not show, because the logs have one side
    /// of its message only. To be asked for each of them, once.
    #[inline]
    pub(super) fn is_one_sided(&mut self, side: Side) -> bool {
        self.messages.as_mut().is_some_and(|messages| messages.is_one_sided(side))
    }

    /// The call under way has this request: that of its own operation, or of one that was made before and is started.
    /// Whether an operation begins.
    pub(super) fn begin_collective(&mut self, request: u32, of_call: Option<Requested>) -> bool {
        match of_call {
            Some(requested) => {
                self.collectives.insert(request, requested);
                !requested.persistent
            }
            None => self.collectives.contains_key(&request),
        }
    }

    /// The operation of this request is complete.
    pub(super) fn end_collective(&mut self, request: u32) -> Option<Operation> {
        let requested = *self.collectives.get(&request)?;
        if !requested.persistent {
            self.collectives.remove(&request);
        }
        Some(requested.operation)
    }

    /// What can be written of a message where the beginning of its request may be missing: an end without a beginning is left
    /// out, but a message that was received is written as that of a receive without a request.
    #[inline]
    pub(super) fn whole(&mut self, event: Event<'static>) -> Option<Event<'static>> {
        match &mut self.messages {
            None => Some(event),
            Some(messages) => whole(&mut messages.begun, event),
        }
    }
}

impl Messages {
    #[cold]
    fn is_one_sided(&mut self, side: Side) -> bool {
        let of = side as usize;
        self.next[of] += 1;
        self.left_out[of].get(self.next[of] - 1).copied().unwrap_or(false)
    }
}

#[cold]
fn whole(begun: &mut FxHashSet<u64>, event: Event<'static>) -> Option<Event<'static>> {
    match event {
        Event::MpiIsend { request, .. } | Event::MpiIrecvRequest { request } => {
            begun.insert(request);
            Some(event)
        }
        Event::MpiIsendComplete { request } | Event::MpiRequestCancelled { request } => {
            begun.remove(&request).then_some(event)
        }
        Event::MpiRequestTest { request } => begun.contains(&request).then_some(event),
        Event::MpiIrecv { sender, comm, tag, bytes, request } if !begun.remove(&request) => {
            Some(Event::MpiRecv { sender, comm, tag, bytes })
        }
        other => Some(other),
    }
}
