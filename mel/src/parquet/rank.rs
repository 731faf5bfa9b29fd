//! What a rank did, as rows.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::columns::{Call, Collective, Message, Name, Sampled, Search};
use super::part::{Names, Part};
use mel_convert::callsites::CallSites;
use mel_convert::content::RequestStep;
use mel_convert::facts::MessageFact;
use mel_convert::spans::{CallSpan, Region, Visitor};
use mel_convert::time::Timeline;
use mel_convert::types::is_search;
use mel_log::{RankLog, Sample};

/// So many of the latest phases are remembered: a call that lasts longer is taken to have begun in the first of them.
const MOST_PHASES: usize = 64;

/// What is called by name, by its number in the log; nothing where it is not defined, or not meant.
type Known = FxHashMap<u16, Option<Name>>;

/// A variable that is sampled.
#[derive(Clone, Copy)]
struct Variable {
    name: Name,
    object: Option<Name>,
    unit: Option<Name>,
}

/// Makes rows of what is in the log of a rank.
pub(super) struct Rank<'a, 'p> {
    part: &'p mut Part<'a>,
    log: &'a RankLog,
    timeline: &'a Timeline,
    /// The place of the log among all.
    position: usize,
    rank: i32,
    functions: FxHashMap<u16, Name>,
    communicators: Known,
    sites: FxHashMap<u64, Name>,
    searches: Known,
    variables: FxHashMap<u32, Option<Variable>>,
    sent: Name,
    received: Name,
    /// The latest phases, with the ticks at which they began.
    phases: VecDeque<(u64, Name)>,
    none: Name,
    /// The region of the program that each thread is in.
    regions: FxHashMap<u32, Name>,
}

impl<'a, 'p> Rank<'a, 'p> {
    pub(super) fn new(
        part: &'p mut Part<'a>,
        log: &'a RankLog,
        position: usize,
        timeline: &'a Timeline,
    ) -> Self {
        let [sent, received, none] = ["sent", "received", ""].map(|name| part.names.number(name));
        Rank {
            part,
            log,
            timeline,
            position,
            rank: whole(log.info.rank),
            functions: FxHashMap::default(),
            communicators: FxHashMap::default(),
            sites: FxHashMap::default(),
            searches: FxHashMap::default(),
            variables: FxHashMap::default(),
            sent,
            received,
            phases: VecDeque::from([(0, none)]),
            none,
            regions: FxHashMap::default(),
        }
    }

    fn nanos(&self, ticks: u64) -> u64 {
        self.timeline.nanos(self.position, ticks)
    }

    /// Seconds since the first record of the run.
    fn seconds(&self, ticks: u64) -> f64 {
        in_seconds(self.nanos(ticks))
    }

    /// Beginning and duration, in seconds.
    fn span(&self, (begin, end): (u64, u64)) -> (f64, f64) {
        let (begin, end) = (self.nanos(begin), self.nanos(end));
        (in_seconds(begin), in_seconds(end.saturating_sub(begin)))
    }

    fn function(&mut self, number: u16) -> Name {
        let (names, definitions) = (&mut self.part.names, &self.log.definitions);
        *self.functions.entry(number).or_insert_with(|| {
            let name = definitions.functions.get(&number);
            names.number(name.map_or("MPI (unknown function)", String::as_str))
        })
    }

    fn communicator(&mut self, index: u16) -> Option<Name> {
        let (names, definitions) = (&mut self.part.names, &self.log.definitions);
        let of = |names: &mut Names| Some(names.number(&definitions.communicators.get(&index)?.name));
        *self.communicators.entry(index).or_insert_with(|| of(names))
    }

    fn site(&mut self, returns_to: u64) -> Option<Name> {
        if returns_to == 0 {
            return None;
        }
        let (Part { names, sites, .. }, definitions) = (&mut *self.part, &self.log.definitions);
        let name = self.sites.entry(returns_to).or_insert_with(|| {
            let site = match definitions.module_of(returns_to) {
                Some(module) => sites.of(&module.path, returns_to.wrapping_sub(module.bias)),
                None => format!("{returns_to:#x}").into(),
            };
            names.number(&site)
        });
        Some(*name)
    }

    fn phase_at(&self, ticks: u64) -> Name {
        let began = self.phases.iter().rev().find(|(since, _)| *since <= ticks);
        began.or_else(|| self.phases.front()).map_or(Name(0), |(_, name)| *name)
    }

    /// The rank in `MPI_COMM_WORLD` of a peer in a communicator.
    fn in_world(&self, communicator: u16, peer: i32) -> Option<i32> {
        let communicator = self.log.definitions.communicators.get(&communicator)?;
        communicator.remote.as_ref().unwrap_or(&communicator.members).get(u32::try_from(peer).ok()?)
    }

    fn message(&mut self, thread: u32, ticks: u64, fact: &MessageFact, call: Option<(Name, Option<Name>)>) {
        let message = fact.message;
        let row = Message {
            rank: self.rank,
            thread: whole(thread),
            direction: if fact.sent { self.sent } else { self.received },
            peer: self.in_world(fact.object, message.peer),
            peer_in_communicator: message.peer,
            tag: message.tag,
            communicator: self.communicator(fact.object),
            bytes: large(message.bytes),
            time_s: self.seconds(ticks),
            function: call.map(|(function, _)| function),
            site: call.and_then(|(_, site)| site),
            request: fact.has_request.then_some(message.request.into()),
            unexpected_s: fact.unexpected.map(|stay| self.span(stay).1),
        };
        self.part.messages.push(&row, &self.part.names);
    }
}

impl Visitor for Rank<'_, '_> {
    fn call(&mut self, call: &CallSpan<'_>) {
        let (function, site) = (self.function(call.function), self.site(call.returns_to));
        let (begin_s, duration_s) = self.span(call.ticks);
        let (thread, phase) = (whole(call.thread), self.phase_at(call.ticks.0));
        let region = self.regions.get(&call.thread).copied().unwrap_or(self.none);
        let [mut sent, mut received] = [0u64; 2];
        for message in call.messages {
            let sum = if message.sent { &mut sent } else { &mut received };
            *sum = sum.saturating_add(message.message.bytes);
            let ticks = if message.sent { call.ticks.0 } else { call.ticks.1 };
            self.message(call.thread, ticks, message, Some((function, site)));
        }
        let object = call.collective.map(|(object, _)| object);
        let object = object.or_else(|| call.messages.first().map(|message| message.object));
        let communicator = object.and_then(|object| self.communicator(object));
        if let Some((_, moved)) = call.collective {
            sent = sent.saturating_add(moved.sent);
            received = received.saturating_add(moved.received);
            let started = |(step, _): &&(RequestStep, u32)| *step == RequestStep::CollectiveStarted;
            let row = Collective {
                rank: self.rank,
                thread,
                communicator,
                function,
                site,
                phase,
                region,
                root: Some(moved.root).filter(|root| *root >= 0),
                bytes_sent: large(moved.sent),
                bytes_received: large(moved.received),
                begin_s,
                duration_s,
                request: call.requests.iter().find(started).map(|(_, request)| (*request).into()),
            };
            self.part.collectives.push(&row, &self.part.names);
        }
        let row = Call {
            rank: self.rank,
            thread,
            function,
            site,
            communicator,
            phase,
            region,
            begin_s,
            duration_s,
            depth: i32::try_from(call.depth).unwrap_or(i32::MAX),
            bytes_sent: large(sent),
            bytes_received: large(received),
        };
        self.part.calls.push(&row, &self.part.names);
    }

    fn lone_message(&mut self, thread: u32, ticks: u64, message: &MessageFact) {
        self.message(thread, ticks, message, None);
    }

    fn region(&mut self, region: &Region<'_>) {
        let (names, definitions) = (&mut self.part.names, &self.log.definitions);
        let search = *self.searches.entry(region.begin).or_insert_with(|| {
            let name = &definitions.event_types.get(&region.begin)?.name;
            let name = name.strip_suffix("_begin").filter(|name| is_search(name))?;
            Some(names.number(name))
        });
        let Some(search) = search else { return };
        let thread = definitions.streams.get(&region.stream).map_or(0, |stream| stream.thread);
        let (begin_s, duration_s) = self.span(region.ticks);
        let row = Search {
            rank: self.rank,
            thread: whole(thread),
            search,
            communicator: self.communicator(region.object),
            begin_s,
            duration_s,
            queue_length: region.queue_length.map(large),
        };
        self.part.searches.push(&row, &self.part.names);
    }

    fn phase(&mut self, ticks: u64, number: u16) {
        let name = self.log.definitions.phase_names.get(&number).map_or("", String::as_str);
        let name = self.part.names.number(name);
        if self.phases.len() == MOST_PHASES {
            self.phases.pop_front();
        }
        self.phases.push_back((ticks, name));
    }

    fn in_region(&mut self, thread: u32, _: u64, path: &str) {
        let name = self.part.names.number(path);
        self.regions.insert(thread, name);
    }

    fn sample(&mut self, ticks: u64, sample: &Sample) {
        let (names, definitions) = (&mut self.part.names, &self.log.definitions);
        let known = *self.variables.entry(sample.variable).or_insert_with(|| {
            let variable = definitions.variables.get(&sample.variable)?;
            let mut unless_empty = |name: &str| (!name.is_empty()).then(|| names.number(name));
            let (object, unit) = (unless_empty(&variable.object), unless_empty(&variable.unit));
            Some(Variable { name: names.number(&variable.name), object, unit })
        });
        let Some(Variable { name: variable, object, unit }) = known else { return };
        let row = Sampled {
            rank: self.rank,
            variable,
            object,
            element: sample.element.map(whole),
            time_s: self.seconds(ticks),
            value: sample.value,
            unit,
        };
        self.part.samples.push(&row, &self.part.names);
    }
}

/// Call sites as the profile has them, each looked up once for all ranks of a part.
#[derive(Default)]
pub(super) struct Sites {
    files: CallSites,
    known: FxHashMap<(String, u64), Rc<str>>,
}

impl Sites {
    /// A return address, as the file at this path counts addresses.
    fn of(&mut self, path: &str, address: u64) -> Rc<str> {
        let key = (path.to_owned(), address);
        let files = &mut self.files;
        let found = self.known.entry(key).or_insert_with(|| files.place(path, address).to_string().into());
        Rc::clone(found)
    }
}

fn in_seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn whole(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn large(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
