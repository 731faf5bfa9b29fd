//! Requests of a rank that are under way: collective operations that have one, and, where recording was switched off for a
//! while, which requests the trace has seen begin.

use otf2_writer::{CollectiveOp, CollectiveRoot, CommRef, Event};
use rustc_hash::{FxHashMap, FxHashSet};

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

/// The requests of one rank.
#[derive(Debug, Default)]
pub(super) struct Requests {
    collectives: FxHashMap<u32, Requested>,
    /// Those of messages, where the log has gaps.
    begun: Option<FxHashSet<u64>>,
}

impl Requests {
    /// The requests of a log that has gaps, or has none.
    pub(super) fn new(has_gaps: bool) -> Self {
        Requests { collectives: FxHashMap::default(), begun: has_gaps.then(FxHashSet::default) }
    }

    /// The call under way tells of this request: that of its own operation, or of one that was made before and is started.
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

    /// What can be told of a message where the beginning of its request may be missing: an end without a beginning is left
    /// out, but that a message was received is told as of a receive without a request.
    #[inline]
    pub(super) fn whole(&mut self, event: Event<'static>) -> Option<Event<'static>> {
        match &mut self.begun {
            None => Some(event),
            Some(begun) => whole(begun, event),
        }
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
