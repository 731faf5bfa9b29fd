//! What a rank did as spans: MPI calls with their messages, searches of the queues, operations on windows and epochs; and
//! as moments: changes of the queues, and other events.
//!
//! Knows no output: the page, the pictures and Perfetto traces are visitors. Records that it does not
//! know are passed over.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::merge::Merged;
use super::one_sided::{EpochSpan, OneSided, OperationInCall, OperationSpan};
use super::queues::{Latest, Length, Queues, Stay};
use super::types::{Queue, Role, Types};
use mel_log::format::u16_at;
use mel_log::{Collective, Entry, Message, RankLog, Record, Switch, kind};

/// An MPI call from its entry to its exit.
#[derive(Debug)]
pub struct CallSpan<'a> {
    /// The application's thread: 0 for the one that initialised MPI.
    pub thread: u32,
    /// Number of the function.
    pub function: u16,
    /// When it was entered and left, in ticks.
    pub ticks: (u64, u64),
    /// The address that it returns to; 0 where it was not recorded.
    pub returns_to: u64,
    /// Calls of the same thread that it lies in; mostly 0.
    pub depth: usize,
    /// Messages that were sent or received in it.
    pub messages: &'a [MessageInCall],
    /// The collective operation that it is, with the index of its communicator.
    pub collective: Option<(u16, Collective)>,
    /// Operations on windows that were started in it.
    pub operations: &'a [OperationInCall],
    /// How many operations on windows it completed, and how long the longest of them took, in ticks.
    pub completed: (u64, u64),
}

/// A message, told in the call that sent or received it.
#[derive(Clone, Copy, Debug)]
pub struct MessageInCall {
    /// Whether this is the sending side.
    pub sent: bool,
    /// Index of the communicator.
    pub object: u16,
    /// Peer, tag and length.
    pub message: Message,
    /// Of how many messages that were sent, or received, the log tells before.
    pub index: usize,
    /// Receives: when the message came into the unexpected queue and when it left it, in ticks, if it was there.
    pub unexpected: Option<Stay>,
}

/// From an event `X_begin` to its `X_end`.
#[derive(Debug)]
pub struct Region<'a> {
    /// Number of the stream.
    pub stream: u32,
    /// Number of the event type that begins it.
    pub begin: u16,
    /// When it began and ended, in ticks.
    pub ticks: (u64, u64),
    /// Index of the communicator.
    pub object: u16,
    /// Elements of the beginning.
    pub payload: &'a [u8],
    /// For a search: how many entries the queue had on this communicator when it began.
    pub queue_length: Option<u64>,
}

/// An entry comes into a queue, or leaves it.
#[derive(Debug)]
pub struct QueueChange<'a> {
    /// The event that tells of it.
    pub record: &'a Record<'a>,
    /// Number of its type.
    pub number: u16,
    /// The queue.
    pub queue: Queue<'a>,
    /// Whether the entry comes.
    pub inserts: bool,
    /// How long the queue is from now on.
    pub length: Length,
}

/// Hears of everything on a rank. Spans are told when they end.
pub trait Visitor {
    /// An MPI call.
    fn call(&mut self, _: &CallSpan<'_>) {}
    /// A message that a thread sent or received in a call that the log does not tell of, at this tick: such calls are not
    /// wanted, or recording was off.
    fn lone_message(&mut self, _thread: u32, _ticks: u64, _: &MessageInCall) {}
    /// A search, or another pair of events.
    fn region(&mut self, _: &Region<'_>) {}
    /// A change of a queue.
    fn change(&mut self, _: &QueueChange<'_>) {}
    /// An operation on a window.
    fn operation(&mut self, _: &OperationSpan) {}
    /// An epoch of a window.
    fn epoch(&mut self, _: &EpochSpan) {}
    /// Recording was off, from the first tick to the second.
    fn pause(&mut self, _: (u64, u64)) {}
    /// Recording is on again: how long a queue is on a communicator, which may have changed meanwhile.
    fn length_after_pause(&mut self, _time: u64, _queue: Queue<'_>, _: Length) {}
    /// Any other event, with the number of its type and of its stream.
    fn event(&mut self, _stream: u32, _number: u16, _record: &Record<'_>) {}
}

/// Tells a visitor everything in a log, in the order of time. `tick` hears of every 4096 records.
pub fn walk(log: &RankLog, visitor: &mut impl Visitor, tick: &dyn Fn(u64)) {
    let types = Types::of(log);
    let threads = log.definitions.streams.iter().map(|(number, stream)| (*number, stream.thread)).collect();
    let mut state = State { queues: Queues::new(&types), threads, ..State::default() };
    for (count, (stream, record)) in Merged::new(log, log.streams()).enumerate() {
        super::advance(tick, count);
        state.last = state.last.max(record.time);
        state.record(&types, stream, record, visitor);
    }
    state.close(visitor);
}

#[derive(Default)]
struct State<'a> {
    /// Of each stream.
    threads: BTreeMap<u32, u32>,
    calls: FxHashMap<u32, Vec<OpenCall>>,
    sources: FxHashMap<u32, Source<'a>>,
    queues: Queues,
    one_sided: OneSided,
    /// How many messages the log has told of until now.
    sends: usize,
    receives: usize,
    /// Since when recording is off.
    paused: Option<u64>,
    last: u64,
}

/// Where a stream of events is.
#[derive(Default)]
struct Source<'a> {
    open: Vec<OpenRegion<'a>>,
    latest: Latest,
}

struct OpenRegion<'a> {
    name: &'a str,
    begin: u16,
    first: Record<'a>,
    queue_length: Option<u64>,
}

struct OpenCall {
    function: u16,
    returns_to: u64,
    entered: u64,
    messages: Vec<MessageInCall>,
    collective: Option<(u16, Collective)>,
    operations: Vec<OperationInCall>,
    completed: (u64, u64),
}

impl<'a> State<'a> {
    fn record(&mut self, types: &Types<'a>, stream: u32, record: Record<'a>, visitor: &mut impl Visitor) {
        if self.queues.has_changed() && record.kind != kind::UNSEEN_EVENTS {
            for (queue, _, length) in self.queues.changed() {
                visitor.length_after_pause(record.time, types.queues[queue], length);
            }
        }
        if let Some(number) = record.event_type() {
            return self.event(types, stream, number, record, visitor);
        }
        let thread = self.threads.get(&stream).copied().unwrap_or(0);
        match record.kind {
            kind::ENTER => {
                let entry = Entry::from_payload(&record.payload);
                self.queues.begin_call(thread);
                self.calls.entry(stream).or_default().push(OpenCall::new(entry, record.time));
            }
            kind::LEAVE => {
                let function = u16_at(&record.payload, 0);
                let Some(open) = self.calls.get_mut(&stream) else { return };
                // An end without its beginning is passed over; what was entered in the call ends with it.
                let Some(place) = open.iter().rposition(|call| call.function == function) else { return };
                while open.len() > place {
                    leave(open, thread, record.time, visitor);
                }
            }
            kind::MPI_SEND | kind::MPI_ISEND | kind::MPI_RECV | kind::MPI_IRECV => {
                let message = Message::from_payload(&record.payload);
                let sent = matches!(record.kind, kind::MPI_SEND | kind::MPI_ISEND);
                let counter = if sent { &mut self.sends } else { &mut self.receives };
                let index = *counter;
                *counter += 1;
                let unexpected = match record.kind {
                    kind::MPI_RECV => self.queues.received(thread, None),
                    kind::MPI_IRECV => self.queues.received(thread, Some(message.request)),
                    _ => None,
                };
                let told = MessageInCall { sent, object: record.object, message, index, unexpected };
                match self.open_call(stream) {
                    Some(call) => call.messages.push(told),
                    None => visitor.lone_message(thread, record.time, &told),
                }
            }
            kind::COLLECTIVE => {
                let told = Collective::from_payload(&record.payload);
                if let Some(call) = self.open_call(stream) {
                    call.collective = Some((record.object, told));
                }
            }
            kind::RECORDING if !Switch::from_payload(&record.payload).on => {
                self.paused = Some(record.time);
                self.queues.pause();
            }
            kind::RECORDING => {
                if let Some(since) = self.paused.take() {
                    visitor.pause((since, record.time));
                }
            }
            kind::UNSEEN_EVENTS => self.queues.unseen(types, &record),
            kind::RMA_OPERATION..=kind::RMA_LAST_OPERATION => {
                let told = self.one_sided.start(thread, &record);
                if let Some(call) = self.open_call(stream) {
                    call.operations.push(told);
                }
            }
            kind::RMA_COMPLETE | kind::RMA_REQUEST_COMPLETE => {
                let Some(span) = self.one_sided.complete(&record) else { return };
                if let Some(call) = self.open_call(stream) {
                    let (number, longest) = call.completed;
                    call.completed = (number + 1, longest.max(span.ticks.1 - span.ticks.0));
                }
                visitor.operation(&span);
            }
            kind::RMA_EPOCH => visitor.epoch(&self.one_sided.end_epoch(&record)),
            _ => {}
        }
    }

    /// The innermost call that a thread is in.
    fn open_call(&mut self, stream: u32) -> Option<&mut OpenCall> {
        self.calls.get_mut(&stream)?.last_mut()
    }

    fn event(
        &mut self,
        types: &Types<'a>,
        stream: u32,
        number: u16,
        record: Record<'a>,
        visitor: &mut impl Visitor,
    ) {
        let Some(of) = types.get(number) else { return visitor.event(stream, number, &record) };
        let Source { open, latest } = self.sources.entry(stream).or_default();
        match of.role {
            Role::Single => visitor.event(stream, number, &record),
            Role::Begins(name) => {
                latest.enter(of, &record.payload);
                let queue_length = of.searches.map(|queue| self.queues.length(queue, record.object));
                open.push(OpenRegion { name, begin: number, first: record, queue_length });
            }
            Role::Ends(name) => {
                latest.leave(record.time);
                let Some(place) = open.iter().rposition(|region| region.name == name) else { return };
                visitor.region(&open.remove(place).until(stream, record.time));
            }
            Role::Changes(change) => {
                let thread = self.threads.get(&stream).copied().unwrap_or(0);
                let (place, request) = ((record.object, record.time), of.request(&record.payload));
                let length = self.queues.apply(change, (thread, latest), place, request);
                let queue = types.queues[change.queue];
                visitor.change(&QueueChange {
                    record: &record,
                    number,
                    queue,
                    inserts: change.inserts,
                    length,
                });
            }
        }
    }

    /// What has no end lasts until the last record.
    fn close(mut self, visitor: &mut impl Visitor) {
        if let Some(since) = self.paused {
            visitor.pause((since, self.last));
        }
        for (stream, open) in &mut self.calls {
            let thread = self.threads.get(stream).copied().unwrap_or(0);
            while !open.is_empty() {
                leave(open, thread, self.last, visitor);
            }
        }
        for (stream, source) in &self.sources {
            for region in &source.open {
                visitor.region(&region.until(*stream, self.last));
            }
        }
    }
}

fn leave(open: &mut Vec<OpenCall>, thread: u32, time: u64, visitor: &mut impl Visitor) {
    let Some(call) = open.pop() else { return };
    visitor.call(&CallSpan {
        thread,
        function: call.function,
        ticks: (call.entered, time.max(call.entered)),
        returns_to: call.returns_to,
        depth: open.len(),
        messages: &call.messages,
        collective: call.collective,
        operations: &call.operations,
        completed: call.completed,
    });
}

impl OpenCall {
    fn new(entry: Entry, entered: u64) -> OpenCall {
        let Entry { function, returns_to } = entry;
        let (messages, operations) = (Vec::new(), Vec::new());
        OpenCall { function, returns_to, entered, messages, collective: None, operations, completed: (0, 0) }
    }
}

impl OpenRegion<'_> {
    fn until(&self, stream: u32, end: u64) -> Region<'_> {
        let OpenRegion { begin, first, queue_length, .. } = self;
        let ticks = (first.time, end.max(first.time));
        let (object, payload) = (first.object, &*first.payload);
        Region { stream, begin: *begin, ticks, object, payload, queue_length: *queue_length }
    }
}
