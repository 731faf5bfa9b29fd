//! What a rank did, fact by fact, in the order of time: what its records say, and what follows from those before: how long
//! the queues are, how long a message was unexpected, which operation is complete.
//!
//! The only place where records are interpreted. Spans and traces are made of facts; they know no record.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use super::content::{Content, Noted, RequestStep, Transfer, WindowStep};
use super::one_sided::{EpochSpan, OneSided, OperationInCall, OperationSpan};
use super::queues::{Latest, Length, Queues, Stay};
use super::run::Merged;
use super::types::{Change, Role, Types};
use mel_log::{Collective, Definitions, Entry, Message, RankLog, Record, Sample, Switch};

/// Where a fact is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Number of the stream.
    pub stream: u32,
    /// The application's thread: 0 for the one that initialised MPI.
    pub thread: u32,
    /// When, in ticks.
    pub time: u64,
}

/// Something that happened.
#[derive(Debug)]
pub enum Fact<'a> {
    /// A function was entered.
    Enter(Entry),
    /// The function of this number was left.
    Leave(u16),
    /// A message was sent or received.
    Message(MessageFact),
    /// Something about the request of this number.
    Request(RequestStep, u32),
    /// The call under way is a collective operation on the communicator of this index.
    Collective(u16, Collective),
    /// Something about the window of this number.
    Window(u16, WindowFact),
    /// Recording was switched off or on.
    Recording(Switch),
    /// The process enters the phase of this number.
    Phase(u16),
    /// The thread is in the region of the program of this path from now on; empty for none.
    Region(&'a str),
    /// Recording is on again, and this is how long a queue is, which may have changed meanwhile.
    LengthAfterPause {
        /// The place of the queue among [`Types::queues`].
        queue: usize,
        /// Index of the communicator.
        communicator: u16,
        /// How long it is.
        length: Length,
    },
    /// An event.
    Event(EventFact<'a>),
    /// A variable had a value.
    Sample(Sample),
    /// The call under way found what was polled for, by a thread that has worked between its tests.
    Worked,
    /// The check of the run has noted something about the call under way.
    Noted(Noted),
    /// Nothing that concerns anybody: its consequences are in other facts.
    Nothing,
}

/// A message, at one of its ends.
#[derive(Clone, Copy, Debug)]
pub struct MessageFact {
    /// Whether this is the sending side.
    pub sent: bool,
    /// Whether it has a request.
    pub has_request: bool,
    /// Index of the communicator.
    pub object: u16,
    /// Peer, tag, length and request.
    pub message: Message,
    /// How many messages were sent, or received, before.
    pub index: usize,
    /// Receives: when the message came into the unexpected queue and when it left it, in ticks, if it was there.
    pub unexpected: Option<Stay>,
}

/// Something about a window.
#[derive(Debug)]
pub enum WindowFact {
    /// An operation was started, of this number.
    Started(OperationInCall, u64),
    /// An operation is complete.
    Complete {
        /// Its number.
        number: u64,
        /// Whether it had a request.
        by_request: bool,
        /// From start to completion, if its start is known.
        span: Option<OperationSpan>,
    },
    /// An epoch has ended.
    EpochEnded(EpochSpan),
    /// Anything else, with its record.
    Step(WindowStep, Record),
}

/// An event.
#[derive(Debug)]
pub struct EventFact<'a> {
    /// Number of its type.
    pub number: u16,
    /// What it is to other events.
    pub part: EventPart<'a>,
    /// Its communicator and elements.
    pub record: Record,
}

/// What an event is to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPart<'a> {
    /// It begins the pair of this name. If that is a search: how many entries its queue has on this communicator.
    Begins(&'a str, Option<u64>),
    /// It ends the pair of this name.
    Ends(&'a str),
    /// It changes a queue, which is so long from now on.
    Changes(Change, Length),
    /// It stands for itself.
    Single,
}

/// The facts of a rank.
pub struct Facts<'a, 't> {
    types: &'t Types<'a>,
    definitions: &'a Definitions,
    records: Merged<'a>,
    /// Of each stream.
    threads: BTreeMap<u32, u32>,
    /// The region that each stream was in last.
    latest: FxHashMap<u32, Latest>,
    queues: Queues,
    one_sided: OneSided,
    /// How many messages were sent and received until now.
    sends: usize,
    receives: usize,
    /// Facts that come before the next record.
    waiting: VecDeque<(At, Fact<'a>)>,
    tick: &'t dyn Fn(u64),
    count: usize,
}

impl<'a, 't> Facts<'a, 't> {
    /// The facts of a log, whose types these are. `tick` is called with 4096 at every 4096th record.
    pub fn of(log: &'a RankLog, types: &'t Types<'a>, tick: &'t dyn Fn(u64)) -> Self {
        let threads = log.definitions.streams.iter().map(|(number, stream)| (*number, stream.thread));
        Facts {
            types,
            definitions: &log.definitions,
            records: Merged::new(log, log.streams()),
            threads: threads.collect(),
            latest: FxHashMap::default(),
            queues: Queues::new(types),
            one_sided: OneSided::default(),
            sends: 0,
            receives: 0,
            waiting: VecDeque::new(),
            tick,
            count: 0,
        }
    }

    fn fact(&mut self, at: At, content: Content, record: Record) -> Fact<'a> {
        let object = record.object;
        match content {
            Content::Event(number) => Fact::Event(self.event(at, number, record)),
            Content::Enter(entry) => {
                self.queues.begin_call(at.thread);
                Fact::Enter(Entry { returns_to: self.definitions.returns_to(entry), ..entry })
            }
            Content::Leave(function) => Fact::Leave(function),
            Content::Message(transfer) => Fact::Message(self.message(at.thread, object, transfer)),
            Content::Request(step, request) => Fact::Request(step, request),
            Content::Collective(collective) => Fact::Collective(object, collective),
            Content::Window(step) => Fact::Window(object, self.window(at, step, record)),
            Content::Recording(switch) => {
                if !switch.on {
                    self.queues.pause();
                }
                Fact::Recording(switch)
            }
            Content::UnseenEvents(unseen) => {
                self.queues.unseen(self.types, object, unseen);
                Fact::Nothing
            }
            Content::Phase(number) => Fact::Phase(number),
            Content::Region(number) => {
                Fact::Region(self.definitions.regions.get(&number).map_or("", String::as_str))
            }
            Content::Worked => Fact::Worked,
            Content::Noted(noted) => Fact::Noted(noted),
            Content::Sample(sample) => Fact::Sample(sample),
            Content::UnseenMessages(_) | Content::LostEvents(_) | Content::Unknown => Fact::Nothing,
        }
    }

    fn message(&mut self, thread: u32, object: u16, transfer: Transfer) -> MessageFact {
        let Transfer { sent, has_request, message } = transfer;
        let counter = if sent { &mut self.sends } else { &mut self.receives };
        let index = *counter;
        *counter += 1;
        let unexpected = match sent {
            true => None,
            false => self.queues.received(thread, has_request.then_some(message.request)),
        };
        MessageFact { sent, has_request, object, message, index, unexpected }
    }

    fn window(&mut self, at: At, step: WindowStep, record: Record) -> WindowFact {
        let (window, At { thread, time, .. }) = (record.object, at);
        match step {
            WindowStep::Started(kind, operation) => {
                let started = self.one_sided.start((thread, time), window, kind, operation);
                WindowFact::Started(started, operation.number)
            }
            WindowStep::Complete { number, by_request } => {
                let span = self.one_sided.complete(time, window, number);
                WindowFact::Complete { number, by_request, span }
            }
            WindowStep::EpochEnded(epoch) => {
                WindowFact::EpochEnded(self.one_sided.end_epoch(time, window, epoch))
            }
            step => WindowFact::Step(step, record),
        }
    }

    fn event(&mut self, at: At, number: u16, record: Record) -> EventFact<'a> {
        let part = match self.types.get(number) {
            None => EventPart::Single,
            Some(of) => {
                let latest = self.latest.entry(at.stream).or_default();
                match of.role {
                    Role::Single => EventPart::Single,
                    Role::Begins(name) => {
                        latest.enter(of, &record.payload);
                        let length = of.searches.map(|queue| self.queues.length(queue, record.object));
                        EventPart::Begins(name, length)
                    }
                    Role::Ends(name) => {
                        latest.leave(record.time);
                        EventPart::Ends(name)
                    }
                    Role::Changes(change) => {
                        let (place, request) = ((record.object, record.time), of.request(&record.payload));
                        EventPart::Changes(
                            change,
                            self.queues.apply(change, (at.thread, latest), place, request),
                        )
                    }
                }
            }
        };
        EventFact { number, part, record }
    }
}

impl<'a> Iterator for Facts<'a, '_> {
    type Item = (At, Fact<'a>);

    fn next(&mut self) -> Option<(At, Fact<'a>)> {
        if let Some(waiting) = self.waiting.pop_front() {
            return Some(waiting);
        }
        let (stream, record) = self.records.next()?;
        super::advance(self.tick, self.count);
        self.count += 1;
        let thread = self.threads.get(&stream).copied().unwrap_or(0);
        let (at, content) = (At { stream, thread, time: record.time }, Content::of(&record));
        if self.queues.has_changed() && !matches!(content, Content::UnseenEvents(_)) {
            let lengths = self.queues.changed().into_iter();
            self.waiting.extend(lengths.map(|(queue, communicator, length)| {
                (at, Fact::LengthAfterPause { queue, communicator, length })
            }));
            let fact = self.fact(at, content, record);
            self.waiting.push_back((at, fact));
            return self.waiting.pop_front();
        }
        Some((at, self.fact(at, content, record)))
    }
}
