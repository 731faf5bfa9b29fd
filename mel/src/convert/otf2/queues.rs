//! How long queues are, and how long what leaves them was in them.
//!
//! Event types of the names `X_insert` and `X_remove`, with an element `request`, tell of a queue `X`. Its length, for each
//! communicator, is a metric on the location of the source that changes it. An entry that leaves a queue at the end of
//! a region with an element `request` is what that request gets: a receive's message that was unexpected.

use std::collections::BTreeMap;

use otf2_writer::{
    Definitions, MetricBase, MetricClass, MetricMember, MetricMode, MetricOccurrence, MetricOrigin,
    MetricRef, RecorderKind, Type,
};
use rustc_hash::FxHashMap;

use crate::convert::value::{self, Kind, Value};
use crate::log::RankLog;
use crate::log::definitions::EventType;

/// Entries whose times are kept, at most: receives whose completion the log does not tell would add up.
const MAX_KEPT: usize = 1 << 20;

/// What an event type does to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Its place among the queues.
    queue: usize,
    /// Whether an entry comes, or goes.
    inserts: bool,
    /// Where the entry's request is in the payload.
    request: (Kind, u32),
}

impl Change {
    /// Which queue changes on a communicator.
    pub(super) fn of(self, comm: u16) -> (usize, u16) {
        (self.queue, comm)
    }
}

/// The queues of one rank, as its log goes on.
#[derive(Debug, Default)]
pub(super) struct Queues {
    names: Vec<String>,
    changes: BTreeMap<u16, Change>,
    /// By queue and communicator.
    lengths: FxHashMap<(usize, u16), u64>,
    /// When each entry came into its queue, by request.
    inserted: FxHashMap<(usize, u64), u64>,
    /// How long what a request got had been in its queue.
    found: FxHashMap<u32, u64>,
    /// The request that a thread has found something for since its current call began.
    latest: FxHashMap<u32, u32>,
}

impl Queues {
    /// The queues that the event types of this log tell of.
    pub(super) fn of(log: &RankLog) -> Queues {
        let mut queues = Queues::default();
        let types = &log.definitions.event_types;
        let known = |name: &str| types.values().any(|other| other.name == name);
        for (number, event_type) in types {
            let name = event_type.name.as_str();
            let inserted = name.strip_suffix("_insert").filter(|queue| known(&format!("{queue}_remove")));
            let removed = name.strip_suffix("_remove").filter(|queue| known(&format!("{queue}_insert")));
            let (Some(queue), Some(request)) = (inserted.or(removed), request_of(event_type)) else {
                continue;
            };
            let place = queues.names.iter().position(|other| other == queue).unwrap_or_else(|| {
                queues.names.push(queue.to_owned());
                queues.names.len() - 1
            });
            queues.changes.insert(*number, Change { queue: place, inserts: inserted.is_some(), request });
        }
        queues
    }

    /// What an event type does to a queue, if it does.
    pub(super) fn change(&self, number: u16) -> Option<Change> {
        self.changes.get(&number).copied()
    }

    /// The name of the queue that changes.
    pub(super) fn name(&self, change: Change) -> &str {
        &self.names[change.queue]
    }

    /// The queue that a region of this name searches: `search_posted` searches `posted`, `search_unexpected` `unex`.
    pub(super) fn searched_by(&self, region: &str) -> Option<usize> {
        let (prefix, searched) = region.split_once("search_")?;
        let stem = |name: &str| name.strip_prefix(prefix).map(str::to_owned);
        self.names.iter().position(|name| stem(name).is_some_and(|stem| searched.starts_with(&stem)))
    }

    /// The length of a queue on a communicator.
    pub(super) fn length(&self, queue: usize, comm: u16) -> u64 {
        self.lengths.get(&(queue, comm)).copied().unwrap_or(0)
    }

    /// An entry comes or goes. Gives the new length, and how long an entry that goes was there, where that is known.
    pub(super) fn apply(
        &mut self,
        change: Change,
        comm: u16,
        time: u64,
        payload: &[u8],
    ) -> (u64, Option<u64>) {
        let request = request_in(change.request, payload).unwrap_or(0);
        let length = self.lengths.entry((change.queue, comm)).or_default();
        let key = (change.queue, request);
        if change.inserts {
            *length += 1;
            if self.inserted.len() < MAX_KEPT {
                self.inserted.insert(key, time);
            }
            return (*length, None);
        }
        *length = length.saturating_sub(1);
        (*length, self.inserted.remove(&key).map(|since| time.saturating_sub(since)))
    }

    /// A thread has found, for a request, what had been in its queue so long.
    pub(super) fn found(&mut self, thread: u32, request: u32, nanos: u64) {
        if self.found.len() < MAX_KEPT {
            self.found.insert(request, nanos);
            self.latest.insert(thread, request);
        }
    }

    /// A thread begins another call.
    pub(super) fn begin_call(&mut self, thread: u32) {
        self.latest.remove(&thread);
    }

    /// A receive is complete: how long its message was unexpected. Without a request it is the one that the thread has
    /// found a message for in its current call.
    pub(super) fn received(&mut self, thread: u32, request: Option<u32>) -> Option<u64> {
        let request = request.or_else(|| self.latest.remove(&thread))?;
        self.found.remove(&request)
    }
}

/// Where the element `request` of an event type is.
pub(super) fn request_of(event_type: &EventType) -> Option<(Kind, u32)> {
    let element = event_type.elements.iter().find(|element| element.name == "request")?;
    Some((Kind::of(&element.datatype)?, element.displacement))
}

/// The request in a payload.
pub(super) fn request_in((kind, displacement): (Kind, u32), payload: &[u8]) -> Option<u64> {
    match value::read_at(kind, displacement, payload)? {
        Value::Unsigned(request) => Some(request),
        _ => None,
    }
}

/// Defines the length of a queue on a communicator.
pub(super) fn define(definitions: &mut Definitions, queue: &str, communicator: &str) -> MetricRef {
    let name = format!("{queue}: {communicator}");
    let member = definitions.metric_member(MetricMember {
        name: &name,
        description: "length of the queue on this communicator",
        origin: MetricOrigin::Other,
        mode: MetricMode::AbsoluteNext,
        value_type: Type::U64,
        base: MetricBase::Decimal,
        exponent: 0,
        unit: "entries",
    });
    definitions.metric_class(MetricClass {
        members: &[member],
        occurrence: MetricOccurrence::Asynchronous,
        recorder: RecorderKind::Cpu,
    })
}
