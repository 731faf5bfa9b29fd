//! What a rank did as spans: MPI calls with their messages, searches of the queues, operations on windows and epochs; and
//! as moments: changes of the queues, and other events.
//!
//! Knows no output and interprets no record: made of [facts](super::facts), for the page, the pictures and Perfetto traces,
//! which are visitors. An OTF2 archive has events in the order of time, not spans in the order of their ends: it is made of
//! facts.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::content::{Noted, RequestStep, WindowStep, partners};
use super::facts::{At, EventFact, EventPart, Fact, Facts, MessageFact, WindowFact};
use super::one_sided::{EpochSpan, OperationInCall, OperationSpan};
use super::queues::Length;
use super::types::{Change, Queue, Types};
use mel_log::{Collective, Entry, RankLog, Record, Sample, Switch};

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
    pub messages: &'a [MessageFact],
    /// What became of requests in it, in order.
    pub requests: &'a [(RequestStep, u32)],
    /// How many of its messages there were before each of these: so both are in one order.
    pub messages_before: &'a [u32],
    /// The collective operation that it is, with the index of its communicator.
    pub collective: Option<(u16, Collective)>,
    /// What it did to windows by their numbers, beside operations: locks, fences, and epochs with their partners.
    pub synchronised: &'a [(u16, WindowStep, Vec<u32>)],
    /// Operations on windows that were started in it.
    pub operations: &'a [OperationInCall],
    /// How many operations on windows it completed, and how long the longest of them took, in ticks.
    pub completed: (u64, u64),
    /// Whether it found what the thread had polled for while it worked.
    pub worked: bool,
    /// What the check of the run has noted about it.
    pub noted: &'a [Noted],
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
    /// The event.
    pub record: &'a Record,
    /// Number of its type.
    pub number: u16,
    /// The queue.
    pub queue: Queue<'a>,
    /// Whether the entry comes.
    pub inserts: bool,
    /// How long the queue is from now on.
    pub length: Length,
}

/// Is given everything on a rank: spans when they end.
pub trait Visitor {
    /// An MPI call.
    fn call(&mut self, _: &CallSpan<'_>) {}
    /// A message that a thread sent or received in a call that is not in the log, at this tick: such calls are not
    /// wanted, or recording was off.
    fn lone_message(&mut self, _thread: u32, _ticks: u64, _: &MessageFact) {}
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
    /// The process enters the phase of this number at this tick.
    fn phase(&mut self, _ticks: u64, _number: u16) {}
    /// The thread is in the region of the program of this path from this tick on; an empty one for none.
    fn in_region(&mut self, _thread: u32, _ticks: u64, _path: &str) {}
    /// Recording is on again: how long a queue is on a communicator, which may have changed meanwhile.
    fn length_after_pause(&mut self, _time: u64, _queue: Queue<'_>, _: Length) {}
    /// A variable had a value at this tick.
    fn sample(&mut self, _ticks: u64, _: &Sample) {}
    /// Any other event, with the number of its type and of its stream.
    fn event(&mut self, _stream: u32, _number: u16, _record: &Record) {}
}

/// Gives a visitor everything in a log, in the order of time. `tick` is called with 4096 at every 4096th record.
pub fn walk(log: &RankLog, visitor: &mut impl Visitor, tick: &dyn Fn(u64)) {
    let types = Types::of(log);
    let mut walk = Walk::new(log, &types, tick);
    while walk.step(visitor).is_some() {}
    walk.close(visitor);
}

/// A walk through a log, as far as one wants to go.
pub struct Walk<'a, 't> {
    types: &'t Types<'a>,
    facts: Facts<'a, 't>,
    state: State<'a>,
}

impl<'a, 't> Walk<'a, 't> {
    /// At the beginning of a log, whose types these are. `tick` is called with 4096 at every 4096th record.
    pub fn new(log: &'a RankLog, types: &'t Types<'a>, tick: &'t dyn Fn(u64)) -> Self {
        Walk { types, facts: Facts::of(log, types, tick), state: State::default() }
    }

    /// Goes on by one fact, and gives its tick; none at the end of the log.
    pub fn step(&mut self, visitor: &mut impl Visitor) -> Option<u64> {
        let (at, fact) = self.facts.next()?;
        self.state.last = self.state.last.max(at.time);
        self.state.fact(self.types, at, fact, visitor);
        Some(at.time)
    }

    /// When the first of the calls was entered that are under way, in ticks.
    pub fn oldest_call(&self) -> Option<u64> {
        self.state.calls.values().filter_map(|calls| Some(calls.open.first()?.entered)).min()
    }

    /// Ends what has no end.
    pub fn close(self, visitor: &mut impl Visitor) {
        self.state.close(visitor);
    }
}

/// What is under way.
#[derive(Default)]
struct State<'a> {
    /// By stream.
    calls: FxHashMap<u32, Calls>,
    /// By stream.
    regions: FxHashMap<u32, Vec<OpenRegion<'a>>>,
    /// Threads that are in regions of the program.
    in_regions: BTreeSet<u32>,
    /// Since when recording is off.
    paused: Option<u64>,
    last: u64,
}

/// The calls of a thread that have not ended.
#[derive(Default)]
struct Calls {
    thread: u32,
    open: Vec<OpenCall>,
}

struct OpenRegion<'a> {
    name: &'a str,
    begin: u16,
    first: Record,
    queue_length: Option<u64>,
}

struct OpenCall {
    function: u16,
    returns_to: u64,
    entered: u64,
    messages: Vec<MessageFact>,
    requests: Vec<(RequestStep, u32)>,
    messages_before: Vec<u32>,
    synchronised: Vec<(u16, WindowStep, Vec<u32>)>,
    collective: Option<(u16, Collective)>,
    operations: Vec<OperationInCall>,
    completed: (u64, u64),
    worked: bool,
    noted: Vec<Noted>,
}

impl<'a> State<'a> {
    fn fact(&mut self, types: &Types<'a>, at: At, fact: Fact<'a>, visitor: &mut impl Visitor) {
        let At { stream, thread, time } = at;
        match fact {
            Fact::Enter(entry) => {
                let calls = self.calls.entry(stream).or_default();
                calls.thread = thread;
                calls.open.push(OpenCall::new(entry, time));
            }
            Fact::Leave(function) => {
                let Some(Calls { open, .. }) = self.calls.get_mut(&stream) else { return };
                // An end without its beginning is passed over; what was entered in the call ends with it.
                let Some(place) = open.iter().rposition(|call| call.function == function) else { return };
                while open.len() > place {
                    leave(open, thread, time, visitor);
                }
            }
            Fact::Message(message) => match self.open_call(stream) {
                Some(call) => call.messages.push(message),
                None => visitor.lone_message(thread, time, &message),
            },
            Fact::Collective(object, collective) => {
                if let Some(call) = self.open_call(stream) {
                    call.collective = Some((object, collective));
                }
            }
            Fact::Request(step, request) => {
                if let Some(call) = self.open_call(stream) {
                    call.requests.push((step, request));
                    call.messages_before.push(call.messages.len() as u32);
                }
            }
            Fact::Window(window, fact) => self.window((stream, window), fact, visitor),
            Fact::Phase(number) => visitor.phase(time, number),
            Fact::Region(path) => {
                if path.is_empty() {
                    self.in_regions.remove(&thread);
                } else {
                    self.in_regions.insert(thread);
                }
                visitor.in_region(thread, time, path);
            }
            Fact::Recording(Switch { on: false, .. }) => self.paused = Some(time),
            Fact::Recording(_) => {
                if let Some(since) = self.paused.take() {
                    visitor.pause((since, time));
                }
            }
            Fact::LengthAfterPause { queue, length, .. } => {
                visitor.length_after_pause(time, types.queues[queue], length);
            }
            Fact::Event(event) => self.event(types, at, event, visitor),
            Fact::Worked => {
                if let Some(call) = self.open_call(stream) {
                    call.worked = true;
                }
            }
            Fact::Noted(noted) => {
                if let Some(call) = self.open_call(stream) {
                    call.noted.push(noted);
                }
            }
            Fact::Sample(sample) => visitor.sample(time, &sample),
            Fact::Nothing => {}
        }
    }

    fn window(&mut self, (stream, number): (u32, u16), fact: WindowFact, visitor: &mut impl Visitor) {
        match fact {
            WindowFact::Started(operation, _) => {
                if let Some(call) = self.open_call(stream) {
                    call.operations.push(operation);
                }
            }
            WindowFact::Complete { span: Some(span), .. } => {
                if let Some(call) = self.open_call(stream) {
                    let (number, longest) = call.completed;
                    call.completed = (number + 1, longest.max(span.ticks.1 - span.ticks.0));
                }
                visitor.operation(&span);
            }
            WindowFact::EpochEnded(span) => visitor.epoch(&span),
            WindowFact::Step(step, record) => {
                if let Some(call) = self.open_call(stream) {
                    let with = match step {
                        WindowStep::Group(_) => partners(&record).collect(),
                        _ => Vec::new(),
                    };
                    call.synchronised.push((number, step, with));
                }
            }
            WindowFact::Complete { span: None, .. } => {}
        }
    }

    /// The innermost call that a thread is in.
    fn open_call(&mut self, stream: u32) -> Option<&mut OpenCall> {
        self.calls.get_mut(&stream)?.open.last_mut()
    }

    fn event(&mut self, types: &Types<'a>, at: At, event: EventFact<'a>, visitor: &mut impl Visitor) {
        let EventFact { number, part, record } = event;
        match part {
            EventPart::Single => visitor.event(at.stream, number, &record),
            EventPart::Begins(name, queue_length) => {
                let region = OpenRegion { name, begin: number, first: record, queue_length };
                self.regions.entry(at.stream).or_default().push(region);
            }
            EventPart::Ends(name) => {
                let open = self.regions.entry(at.stream).or_default();
                let Some(place) = open.iter().rposition(|region| region.name == name) else { return };
                visitor.region(&open.remove(place).until(at.stream, record.time));
            }
            EventPart::Changes(Change { queue, inserts }, length) => {
                let queue = types.queues[queue];
                visitor.change(&QueueChange { record: &record, number, queue, inserts, length });
            }
        }
    }

    /// What has no end lasts until the last record.
    fn close(mut self, visitor: &mut impl Visitor) {
        if let Some(since) = self.paused {
            visitor.pause((since, self.last));
        }
        for Calls { thread, open } in self.calls.values_mut() {
            while !open.is_empty() {
                leave(open, *thread, self.last, visitor);
            }
        }
        for (stream, open) in &self.regions {
            for region in open {
                visitor.region(&region.until(*stream, self.last));
            }
        }
        for thread in self.in_regions {
            visitor.in_region(thread, self.last, "");
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
        requests: &call.requests,
        messages_before: &call.messages_before,
        synchronised: &call.synchronised,
        collective: call.collective,
        operations: &call.operations,
        completed: call.completed,
        worked: call.worked,
        noted: &call.noted,
    });
}

impl OpenCall {
    fn new(entry: Entry, entered: u64) -> OpenCall {
        let Entry { function, returns_to, .. } = entry;
        let (messages, operations) = (Vec::new(), Vec::new());
        let (requests, messages_before, synchronised) = (Vec::new(), Vec::new(), Vec::new());
        let (collective, completed) = (None, (0, 0));
        OpenCall {
            function,
            returns_to,
            entered,
            messages,
            requests,
            messages_before,
            synchronised,
            collective,
            operations,
            completed,
            worked: false,
            noted: Vec::new(),
        }
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

/// Rows that are filled with spans in the order of their ends.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// Where the last span of each row ends.
    ends: Vec<u64>,
    most: usize,
}

impl Lanes {
    /// At most so many rows.
    pub fn new(most: usize) -> Lanes {
        Lanes { ends: Vec::new(), most }
    }

    /// The row of a span that ends after those that came before; none if there is no room on any.
    pub fn place(&mut self, (begin, end): (u64, u64)) -> Option<usize> {
        let free = self.ends.iter().position(|last| *last <= begin);
        let row = free.or_else(|| (self.ends.len() < self.most).then_some(self.ends.len()))?;
        self.ends.resize(self.ends.len().max(row + 1), 0);
        self.ends[row] = end;
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_on_another_row() {
        let mut lanes = Lanes::new(2);
        let rows = [(0, 10), (5, 12), (10, 20), (3, 30), (20, 40)].map(|span| lanes.place(span));
        assert_eq!(rows, [Some(0), Some(1), Some(0), None, Some(0)]);
    }
}
