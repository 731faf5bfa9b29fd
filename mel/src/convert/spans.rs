//! What a rank did as spans: MPI calls with their messages, searches of the queues, and single events.
//!
//! Knows no output: the page, the pictures and Perfetto traces are visitors. Records that it does not
//! know are passed over.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::merge::Merged;
use crate::log::format::u16_at;
use crate::log::{Collective, Completion, Message, RankLog, Record, StreamKind, kind};

/// An MPI call from its entry to its exit.
#[derive(Debug)]
pub struct CallSpan<'a> {
    /// The application's thread: 0 for the one that initialised MPI.
    pub thread: u32,
    /// Number of the function.
    pub function: u16,
    /// When it was entered and left, in ticks.
    pub ticks: (u64, u64),
    /// Calls of the same thread that it lies in; mostly 0.
    pub depth: usize,
    /// Messages that were sent or received in it.
    pub messages: &'a [MessageInCall],
    /// The collective operation that it is, with the index of its communicator.
    pub collective: Option<(u16, Collective)>,
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
    /// Sends: how many were started before. Receives: how many were posted before. Of the messages that
    /// two ranks exchange with one tag in one communicator, the n-th that was sent is the n-th of those
    /// that were posted (MPI-5.0, section 3.5).
    pub order: u64,
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
}

/// Hears of everything on a rank. Spans are told when they end.
pub trait Visitor {
    /// An MPI call.
    fn call(&mut self, call: &CallSpan<'_>);
    /// A search, or another pair of events.
    fn region(&mut self, region: &Region<'_>);
    /// An event that is no part of a pair, with the number of its type and of its stream.
    fn event(&mut self, stream: u32, number: u16, record: &Record<'_>);
}

/// Tells a visitor everything in a log, in the order of time. `tick` hears of every 4096 records.
pub fn walk(log: &RankLog, visitor: &mut impl Visitor, tick: &dyn Fn(u64)) {
    let parts = parts(log);
    let threads: BTreeMap<u32, u32> = log
        .definitions
        .streams
        .iter()
        .filter(|(_, stream)| stream.kind == StreamKind::Calls)
        .map(|(number, stream)| (*number, stream.thread))
        .collect();
    let mut state = State { parts, threads, ..State::default() };
    for (count, (stream, record)) in Merged::new(log, log.streams()).enumerate() {
        super::tell(tick, count);
        state.last = state.last.max(record.time);
        state.record(stream, record, visitor);
    }
    state.close(visitor);
}

/// What an event type is to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Begin,
    /// The end of the pair that this type begins.
    End(u16),
    Single,
}

/// The pairs among the event types of a log, by their names.
fn parts(log: &RankLog) -> FxHashMap<u16, Part> {
    let types = &log.definitions.event_types;
    let number = |name: String| types.iter().find(|(_, other)| other.name == name).map(|(number, _)| *number);
    let part = |name: &str| {
        if let Some(x) = name.strip_suffix("_begin")
            && number(format!("{x}_end")).is_some()
        {
            return Part::Begin;
        }
        let begin = name.strip_suffix("_end").and_then(|x| number(format!("{x}_begin")));
        begin.map_or(Part::Single, Part::End)
    };
    types.iter().map(|(number, event_type)| (*number, part(&event_type.name))).collect()
}

#[derive(Default)]
struct State<'a> {
    parts: FxHashMap<u16, Part>,
    threads: BTreeMap<u32, u32>,
    calls: FxHashMap<u32, Vec<OpenCall>>,
    regions: FxHashMap<u32, Vec<(u16, Record<'a>)>>,
    /// When each pending receive was posted, as its number among all.
    posted: FxHashMap<u32, u64>,
    receives: u64,
    sends: u64,
    last: u64,
}

struct OpenCall {
    function: u16,
    entered: u64,
    messages: Vec<MessageInCall>,
    collective: Option<(u16, Collective)>,
}

impl<'a> State<'a> {
    fn record(&mut self, stream: u32, record: Record<'a>, visitor: &mut impl Visitor) {
        if let Some(number) = record.event_type() {
            return self.event(stream, number, record, visitor);
        }
        match record.kind {
            kind::ENTER => {
                let function = u16_at(&record.payload, 0);
                let call =
                    OpenCall { function, entered: record.time, messages: Vec::new(), collective: None };
                self.calls.entry(stream).or_default().push(call);
            }
            kind::LEAVE => {
                let function = u16_at(&record.payload, 0);
                let Some(open) = self.calls.get_mut(&stream) else { return };
                // An end without its beginning is passed over; what was entered in the call ends with it.
                let Some(place) = open.iter().rposition(|call| call.function == function) else { return };
                let thread = self.threads.get(&stream).copied().unwrap_or(0);
                while open.len() > place {
                    leave(open, thread, record.time, visitor);
                }
            }
            kind::MPI_IRECV_REQUEST => {
                let request = Completion::from_payload(&record.payload).request;
                self.posted.insert(request, self.receives);
                self.receives += 1;
            }
            kind::MPI_SEND | kind::MPI_ISEND | kind::MPI_RECV | kind::MPI_IRECV => {
                let message = Message::from_payload(&record.payload);
                let sent = matches!(record.kind, kind::MPI_SEND | kind::MPI_ISEND);
                let known = if sent { None } else { self.posted.remove(&message.request) };
                let counter = if sent { &mut self.sends } else { &mut self.receives };
                let order = known.unwrap_or_else(|| {
                    *counter += 1;
                    *counter - 1
                });
                if let Some(call) = self.calls.get_mut(&stream).and_then(|open| open.last_mut()) {
                    call.messages.push(MessageInCall { sent, object: record.object, message, order });
                }
            }
            kind::COLLECTIVE => {
                let told = Collective::from_payload(&record.payload);
                if let Some(call) = self.calls.get_mut(&stream).and_then(|open| open.last_mut()) {
                    call.collective = Some((record.object, told));
                }
            }
            kind::REQUEST_CANCELLED => {
                self.posted.remove(&Completion::from_payload(&record.payload).request);
            }
            _ => {}
        }
    }

    fn event(&mut self, stream: u32, number: u16, record: Record<'a>, visitor: &mut impl Visitor) {
        match self.parts.get(&number).copied().unwrap_or(Part::Single) {
            Part::Single => visitor.event(stream, number, &record),
            Part::Begin => self.regions.entry(stream).or_default().push((number, record)),
            Part::End(begin) => {
                let Some(open) = self.regions.get_mut(&stream) else { return };
                let Some(place) = open.iter().rposition(|(other, _)| *other == begin) else { return };
                let (_, first) = open.remove(place);
                visitor.region(&region(stream, begin, &first, record.time));
            }
        }
    }

    /// What has no end lasts until the last record.
    fn close(mut self, visitor: &mut impl Visitor) {
        for (stream, open) in &mut self.calls {
            let thread = self.threads.get(stream).copied().unwrap_or(0);
            while !open.is_empty() {
                leave(open, thread, self.last, visitor);
            }
        }
        for (stream, open) in &self.regions {
            for (begin, first) in open {
                visitor.region(&region(*stream, *begin, first, self.last));
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
        depth: open.len(),
        messages: &call.messages,
        collective: call.collective,
    });
}

fn region<'a>(stream: u32, begin: u16, first: &'a Record<'_>, end: u64) -> Region<'a> {
    let ticks = (first.time, end.max(first.time));
    Region { stream, begin, ticks, object: first.object, payload: &first.payload }
}
