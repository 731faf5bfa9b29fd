//! What one rank did, step by step, from its log: calls with their messages, made of spans.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use mel_convert::content::{Noted, RequestStep, WindowStep};
use mel_convert::facts::MessageFact;
use mel_convert::partners::MessageIds;
use mel_convert::spans::{CallSpan, Region, Visitor, Walk};
use mel_convert::time::Timeline;
use mel_convert::types::{QueueKind, Types};
use mel_convert::value::{self, Value};
use mel_log::format::NO_ROOT;
use mel_log::table::layout::STOPPED;
use mel_log::{Described, Element, Overlap, RankLog, StreamKind};

use crate::checks::Noticed;
use crate::model::{
    Call, Change, Completing, Entry, Key, NO_COMMUNICATOR, OnWindow, Search, Side, Site, Step, Way,
};
use crate::names::{Local, Names};
use crate::numbering::Numbering;
use crate::polling::Polling;
use mpi_functions::signature::Signature;
use mpi_functions::{FileCall, Function, Kind, Mode, Step as How, WindowCall};

/// A function that the log does not define.
const UNKNOWN: u16 = u16::MAX;

/// What lies between two tests is waiting where it is shorter, in nanoseconds; else something was done.
const SHORT_GAP: u64 = 100_000;

/// Searches of queues with fewer entries are not looked at.
const LONG: u64 = 16;

/// What is the same for all ranks.
pub struct Shared<'a> {
    /// The clocks.
    pub timeline: &'a Timeline,
    /// Names.
    pub names: &'a Names,
    /// Times that are shorter are not looked at, in nanoseconds.
    pub epsilon: u64,
    /// Whether recording was off at times in any log.
    pub gaps: bool,
}

/// The walk through the log of a rank.
pub struct Reader<'a, 't> {
    walk: Option<Walk<'a, 't>>,
    maker: Maker<'a>,
    position: usize,
    /// The time of the last record that was read.
    now: u64,
}

/// How far a reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Everything that was over before is known.
    pub known: u64,
    /// Whether the log goes on.
    pub goes_on: bool,
    /// Whether that is before the time that was asked for.
    pub behind: bool,
}

impl<'a, 't> Reader<'a, 't> {
    /// At the beginning of the log at this position.
    pub fn new(
        shared: &'a Shared<'a>,
        (position, log): (usize, &'a RankLog),
        local: &'a Local,
        types: &'t Types<'a>,
        tick: &'t dyn Fn(u64),
    ) -> Self {
        let maker = Maker::new(shared, (position, log), local, types);
        Reader { walk: Some(Walk::new(log, types, tick)), maker, position, now: 0 }
    }

    /// Reads what happened until a time, but not many more than so many steps. They are appended.
    pub fn advance(&mut self, until: u64, most: usize, steps: &mut Vec<Step>) -> Progress {
        let timeline = self.maker.shared.timeline;
        let (mut now, mut behind) = (self.now, false);
        while let Some(walk) = &mut self.walk {
            if now >= until {
                break;
            }
            if self.maker.steps.len() >= most {
                behind = true;
                break;
            }
            match walk.step(&mut self.maker) {
                Some(ticks) => now = timeline.nanos(self.position, ticks).max(now),
                None => {
                    if let Some(walk) = self.walk.take() {
                        walk.close(&mut self.maker);
                    }
                    self.maker.finish();
                }
            }
        }
        self.now = now;
        steps.append(&mut self.maker.steps);
        let Some(walk) = &self.walk else {
            return Progress { known: u64::MAX, goes_on: false, behind: false };
        };
        let oldest = walk.oldest_call().map(|ticks| timeline.nanos(self.position, ticks));
        Progress { known: oldest.unwrap_or(now).min(now).min(until), goes_on: true, behind }
    }

    /// When `MPI_Init` was left and `MPI_Finalize` entered, as far as they are known.
    pub fn between(&self) -> (Option<u64>, Option<u64>) {
        (self.maker.started, self.maker.finalized)
    }

    /// The time in MPI between these.
    pub fn in_mpi(&self) -> u64 {
        self.maker.in_mpi
    }

    /// When its last call was left.
    pub fn last(&self) -> u64 {
        self.maker.last
    }
}

/// Makes steps of spans.
struct Maker<'a> {
    shared: &'a Shared<'a>,
    position: usize,
    log: &'a RankLog,
    rank: u32,
    local: &'a Local,
    steps: Vec<Step>,
    sites: FxHashMap<u64, Site>,
    /// Which message is which, where recording was off at times.
    ids: Option<MessageIds>,
    numbering: Numbering,
    /// Sends that are started, by their requests.
    sends: FxHashMap<u32, Side>,
    /// Receives that are posted, by their requests: their places, and the calls that posted them.
    receives: FxHashMap<u32, (u64, Started)>,
    collectives: FxHashMap<u32, Entry>,
    sent: FxHashMap<u64, u64>,
    orders: FxHashMap<(u32, u32), u64>,
    /// By communicator, and whether they are about its files.
    started_on: FxHashMap<(u32, bool), u64>,
    units: u64,
    /// Whether only one thread calls MPI.
    single: bool,
    polling: Polling,
    /// Communicators of the files that are open, the latest last.
    files: Vec<u32>,
    /// Threads of streams.
    threads: FxHashMap<u32, u32>,
    /// By thread: what was searched in the call under way.
    searches: FxHashMap<u32, Search>,
    /// Whether a search was recorded, so that it is known what receives ask for.
    searched: bool,
    /// Whether a receive has had a wildcard, or something was probed for.
    chooses: bool,
    /// The event types that begin searches of the unexpected queue, with the elements that say what is searched for.
    searching: FxHashMap<u16, Vec<Element>>,
    /// The last window that was operated on, with its target.
    operated: Option<(u32, u32)>,
    started: Option<u64>,
    finalized: Option<u64>,
    last: u64,
    /// The time in MPI, between the two.
    in_mpi: u64,
    /// The time outside of MPI since `MPI_Init`, but for what lies between the tests of a poll.
    computed: u64,
    /// Whether the last call was a test that found nothing.
    polls: bool,
}

impl<'a> Maker<'a> {
    fn new(
        shared: &'a Shared<'a>,
        (position, log): (usize, &'a RankLog),
        local: &'a Local,
        types: &Types<'a>,
    ) -> Self {
        let streams = &log.definitions.streams;
        let searching = types
            .all()
            .into_iter()
            .filter(|(_, of)| {
                let queue = of.searches.and_then(|queue| types.queues.get(queue));
                queue.is_some_and(|queue| queue.kind == QueueKind::Unexpected)
            })
            .map(|(number, of)| {
                let elements = of.definition.elements.iter();
                let wanted = elements.filter(|element| matches!(&*element.name, "source" | "tag"));
                (number, wanted.cloned().collect())
            })
            .collect();
        Maker {
            shared,
            position,
            log,
            rank: log.info.rank,
            local,
            steps: Vec::new(),
            sites: FxHashMap::default(),
            ids: shared.gaps.then(|| MessageIds::of(log)),
            numbering: Numbering::default(),
            sends: FxHashMap::default(),
            receives: FxHashMap::default(),
            collectives: FxHashMap::default(),
            sent: FxHashMap::default(),
            orders: FxHashMap::default(),
            started_on: FxHashMap::default(),
            units: u64::from(log.info.rank) << 40,
            single: is_single(log),
            polling: Polling::default(),
            files: Vec::new(),
            threads: streams.iter().map(|(number, stream)| (*number, stream.thread)).collect(),
            searches: FxHashMap::default(),
            searched: false,
            chooses: false,
            searching,
            operated: None,
            started: None,
            finalized: None,
            last: 0,
            in_mpi: 0,
            computed: 0,
            polls: false,
        }
    }

    fn nanos(&self, ticks: u64) -> u64 {
        self.shared.timeline.nanos(self.position, ticks)
    }

    fn call_of(&mut self, span: &CallSpan<'_>) -> Call {
        let (names, position, log) = (self.shared.names, self.position, self.log);
        let function = self.local.functions.get(&span.function).copied().unwrap_or(UNKNOWN);
        let site = self.sites.entry(span.returns_to);
        let site = *site.or_insert_with(|| names.site((position, log), span.returns_to, function));
        Call {
            begin: self.nanos(span.ticks.0),
            end: self.nanos(span.ticks.1),
            rank: self.rank,
            site,
            function,
            computed: self.computed,
        }
    }

    fn about(&self, call: &Call) -> About {
        self.shared.names.about(call.function)
    }

    fn communicator(&self, object: u16) -> u32 {
        self.local.communicators.get(&object).copied().unwrap_or(NO_COMMUNICATOR)
    }

    /// A side of a message; none where it is not known which message that is.
    fn side(&self, message: &MessageFact, (call, described): Started, about: About) -> Option<Side> {
        let communicator = self.communicator(message.object);
        let peer = self.shared.names.communicator(communicator)?.world(message.message.peer)?;
        let (from, to) = if message.sent { (self.rank, peer) } else { (peer, self.rank) };
        let key = match &self.ids {
            Some(ids) => {
                let of = if message.sent { &ids.sends } else { &ids.receives };
                let id = (*of.get(message.index)?)?;
                Key { channel: id.channel, number: id.number }
            }
            None => {
                let mut hasher = FxHasher::default();
                (communicator, from, to, message.message.tag).hash(&mut hasher);
                Key { channel: hasher.finish(), number: 0 }
            }
        };
        let nanos = |ticks| self.nanos(ticks);
        Some(Side {
            key,
            call,
            way: match about {
                Some(Function { kind: Kind::SendReceive, step: How::Blocks, .. }) => Way::Both,
                _ if message.has_request => Way::Nonblocking,
                _ => Way::Blocking,
            },
            mode: match about {
                Some(Function { kind: Kind::Send(mode), .. }) if message.sent => *mode,
                _ => Mode::Standard,
            },
            unit: None,
            peer,
            communicator,
            bytes: message.message.bytes,
            unexpected: message.unexpected.map(|(since, until)| (nanos(since), nanos(until))),
            order: 0,
            alone: false,
            buffer: if message.has_request { 0 } else { message.message.request },
            signature: Signature(if message.sent { described.sent } else { described.received }),
        })
    }

    /// The call as the wait that it is the end of.
    fn waits(&mut self, span: &CallSpan<'_>, call: Call, about: About) -> Call {
        let is_open = |step| {
            use RequestStep::{CollectiveStarted, ReceivePosted, Tested};
            matches!(step, Tested | ReceivePosted | CollectiveStarted)
        };
        let completes = span.messages.iter().any(|message| !message.sent)
            || span.requests.iter().any(|(step, _)| !is_open(*step));
        let first = self.polling.call(span.thread, call, about, completes);
        if span.worked {
            // Who works between its tests does not wait.
            self.polling.forget(span.thread);
            return call;
        }
        first
    }

    /// What the check of the run has noticed in a call.
    fn noted(&mut self, span: &CallSpan<'_>, call: Call) {
        for noted in span.noted {
            let noticed = match *noted {
                Noted::Described(_) => continue,
                Noted::Truncated => Noticed::Truncated(call.site),
                Noted::Failed => Noticed::Shifted,
                Noted::Overlap(Overlap { function, site, other, other_site }) => {
                    Noticed::Overlap(self.site_of(function, site), self.site_of(other, other_site))
                }
            };
            self.steps.push(Step::Noticed(self.rank, noticed));
        }
    }

    /// The call site of a function, as the log has both.
    fn site_of(&self, function: u16, site: u16) -> Site {
        let entry = mel_log::Entry { function, site, ..mel_log::Entry::default() };
        let returns_to = self.log.definitions.returns_to(entry);
        let function = self.local.functions.get(&function).copied().unwrap_or(UNKNOWN);
        self.shared.names.site((self.position, self.log), returns_to, function)
    }

    /// Takes the messages and requests of a call in their order.
    fn messages(&mut self, span: &CallSpan<'_>, (call, waits): (Call, Call), about: About) {
        if span.messages.is_empty() && span.requests.is_empty() {
            return;
        }
        self.units += 1;
        let (unit, entered) = (self.units, call.begin);
        let described = described(span);
        let place = self.steps.len();
        // The call and its messages stand together; what else becomes known follows.
        let mut later = Vec::new();
        let (mut count, mut next) = (0, 0);
        for (place, (step, request)) in span.requests.iter().enumerate() {
            let before = span.messages_before[place] as usize;
            for message in &span.messages[next..before.max(next)] {
                count += self.message(message, (call, described), (about, unit), &mut later);
            }
            next = before.max(next);
            count += self.request(*step, *request, (waits, described, unit), &mut later);
        }
        for message in &span.messages[next..] {
            count += self.message(message, (call, described), (about, unit), &mut later);
        }
        if count > 0 {
            // What was started since it began to ask was not asked for before.
            let started = later.iter().filter_map(Step::side).filter(|side| side.way == Way::Nonblocking);
            let begin = started.map(|side| side.call.end).fold(waits.begin, u64::max);
            let call = Call { begin: begin.min(call.begin).max(waits.begin), ..waits };
            self.steps.insert(place, Step::Completing(Completing { unit, call, entered, count }));
        }
        self.steps.append(&mut later);
    }

    fn message(
        &mut self,
        message: &MessageFact,
        call: Started,
        (about, unit): (About, u64),
        later: &mut Vec<Step>,
    ) -> u32 {
        let request = message.message.request;
        let posted = (!message.sent && message.has_request).then(|| self.receives.remove(&request)).flatten();
        let started = posted.map_or(call, |(_, started)| started);
        let Some(mut side) = self.side(message, started, about) else {
            if let Some((place, _)) = posted {
                self.numbering.cancel(place, &mut |side| later.push(Step::Received(side)));
            }
            return 0;
        };
        if message.sent {
            if self.ids.is_none() {
                let number = self.sent.entry(side.key.channel).or_default();
                side.key.number = *number;
                *number += 1;
            }
            let order = self.orders.entry((side.peer, side.communicator)).or_default();
            side.order = *order;
            *order += 1;
            if message.has_request {
                self.sends.insert(request, side);
                return 0;
            }
            side.unit = Some(unit);
            later.push(Step::Sent(side));
            return 1;
        }
        side.unit = Some(unit);
        let mut ready = |side| later.push(Step::Received(side));
        match (posted, self.ids.is_some()) {
            (Some((place, _)), true) => {
                self.numbering.cancel(place, &mut |_| {});
                ready(side);
            }
            (None, true) => ready(side),
            (Some((place, _)), false) => self.numbering.complete(place, side, &mut ready),
            (None, false) => {
                side.alone = self.single && self.numbering.is_empty();
                self.numbering.receive(side, &mut ready);
            }
        }
        1
    }

    fn request(
        &mut self,
        step: RequestStep,
        request: u32,
        (call, described, unit): (Call, Described, u64),
        later: &mut Vec<Step>,
    ) -> u32 {
        match step {
            RequestStep::ReceivePosted => {
                let place = self.numbering.post();
                self.receives.insert(request, (place, (call, described)));
                0
            }
            RequestStep::SendComplete => match self.sends.remove(&request) {
                Some(side) => {
                    later.push(Step::Sent(Side { unit: Some(unit), ..side }));
                    1
                }
                None => 0,
            },
            RequestStep::Cancelled => {
                if let Some((place, _)) = self.receives.remove(&request) {
                    self.numbering.cancel(place, &mut |side| later.push(Step::Received(side)));
                }
                if let Some(side) = self.sends.remove(&request) {
                    // It is no message, and later ones on its channel are received in its place; those that were sent before it was
                    // cancelled have other numbers than their receives.
                    let sent = self.sent.entry(side.key.channel).or_default();
                    if *sent == side.key.number + 1 {
                        *sent -= 1;
                    } else {
                        later.push(Step::Noticed(self.rank, Noticed::Shifted));
                    }
                }
                0
            }
            RequestStep::CollectiveComplete => {
                if let Some(entry) = self.collectives.remove(&request) {
                    let waiting = Call { begin: call.begin.max(entry.call.end).min(call.end), ..call };
                    later.push(Step::Collective(Entry { waiting, ..entry }));
                }
                0
            }
            RequestStep::CollectiveStarted | RequestStep::Tested => 0,
        }
    }

    fn collective(&mut self, span: &CallSpan<'_>, call: Call, about: About) {
        let requested = span.requests.iter().find(|(step, _)| *step == RequestStep::CollectiveStarted);
        let (communicator, root, moved, is_of_file) = match (span.collective, about.map(|about| about.kind)) {
            (Some((object, moved)), kind) => {
                let communicator = self.communicator(object);
                if let Some(Kind::File { call: FileCall::Open, .. }) = kind {
                    self.files.push(communicator);
                }
                (communicator, moved.root, (moved.sent, moved.received), false)
            }
            (None, Some(Kind::File { call, together: true })) => {
                let Some(communicator) = self.file(call) else { return };
                (communicator, NO_ROOT, (0, 0), true)
            }
            _ => return,
        };
        if communicator == NO_COMMUNICATOR {
            return;
        }
        let number = self.started_on.entry((communicator, is_of_file)).or_default();
        let number_of_all = *number << 1 | u64::from(is_of_file);
        let Described { sent, reduction, .. } = described(span);
        let entry = Entry {
            number: number_of_all,
            root,
            moved,
            signature: Signature(sent),
            reduction,
            ..Entry::blocking(call, communicator)
        };
        *number += 1;
        match requested {
            Some((_, request)) => _ = self.collectives.insert(*request, entry),
            None => self.steps.push(Step::Collective(entry)),
        }
    }

    /// The communicator of a file about which all call: a trace does not say which file, so that all that are open have to have the same.
    fn file(&mut self, call: FileCall) -> Option<u32> {
        let latest = *self.files.last()?;
        let is_clear = self.files.iter().all(|communicator| *communicator == latest);
        if call == FileCall::Close {
            self.files.pop();
        }
        is_clear.then_some(latest)
    }

    fn windows(&mut self, span: &CallSpan<'_>, call: Call) {
        let processes = |local: &Local, window: u16| {
            let number = *local.windows.get(&window)?;
            Some((number, self.shared.names.windows.get(number as usize)?))
        };
        for operation in span.operations {
            let Some((window, of)) = processes(self.local, operation.window) else { continue };
            let Some(target) = of.world(operation.target) else { continue };
            self.operated = Some((window, target));
            if call.end - call.begin >= self.shared.epsilon {
                self.steps.push(Step::Window(window, call, OnWindow::Operates { target }));
            }
        }
        for (window, step, partners) in span.synchronised {
            let Some((window, of)) = processes(self.local, *window) else { continue };
            let world = |rank: i32| if rank < 0 { Some(u32::MAX) } else { of.world(rank) };
            let what = match step {
                WindowStep::FenceEntered => Some(OnWindow::Fence),
                WindowStep::Group(_) => {
                    Some(OnWindow::Group(partners.iter().filter_map(|rank| of.world(*rank as i32)).collect()))
                }
                WindowStep::Locked(lock) => {
                    world(lock.target).map(|target| OnWindow::Lock { target, exclusive: lock.exclusive })
                }
                WindowStep::Unlocked(target) => world(*target).map(|target| OnWindow::Unlock { target }),
                _ => None,
            };
            if let Some(what) = what {
                self.steps.push(Step::Window(window, call, what));
            }
        }
        let flushes = matches!(
            self.about(&call).map(|about| about.kind),
            Some(Kind::Window(WindowCall::Flush | WindowCall::FlushLocal))
        );
        if flushes && let Some((window, target)) = self.operated {
            self.steps.push(Step::Window(window, call, OnWindow::Operates { target }));
        }
    }

    /// How long the rank was outside of MPI until this call, which is not inside of another one.
    fn computes_until(&mut self, span: &CallSpan<'_>, call: &Call, about: About) -> u64 {
        let gap = call.begin.saturating_sub(self.last);
        let tests = about.is_some_and(|about| {
            matches!((about.kind, about.step), (Kind::Probe | Kind::Completion | Kind::Request, How::Tests))
        });
        // What lies shortly between two tests of which the first has found nothing is waiting.
        if self.started.is_some() && self.finalized.is_none() && !(self.polls && tests && gap < SHORT_GAP) {
            self.computed += gap;
        }
        self.polls = tests && span.messages.is_empty();
        self.computed
    }

    /// Its receives may get other messages.
    fn choose(&mut self) {
        if !std::mem::replace(&mut self.chooses, true) {
            self.steps.push(Step::Chooses(self.rank));
        }
    }

    fn finish(&mut self) {
        if !self.searched {
            self.choose();
        }
        let steps = &mut self.steps;
        self.numbering.finish(&mut |side| steps.push(Step::Received(side)));
        let sends = std::mem::take(&mut self.sends);
        self.steps.extend(sends.into_values().map(Step::Sent));
    }
}

/// A call that sends or receives, or starts to, and what the check of the run has noted of its data.
type Started = (Call, Described);

/// What the function of a call is, where MPI has one of its name.
type About = Option<&'static Function>;

/// What the check of the run has noted of the data of a call.
fn described(span: &CallSpan<'_>) -> Described {
    let known = span.noted.iter().find_map(|noted| match noted {
        Noted::Described(described) => Some(*described),
        _ => None,
    });
    known.unwrap_or_default()
}

/// Whether only one thread of a process has called MPI.
pub fn is_single(log: &RankLog) -> bool {
    log.definitions.streams.values().filter(|stream| stream.kind == StreamKind::Calls).count() <= 1
}

impl Maker<'_> {
    /// The rank goes elsewhere at this time.
    fn goes(&self, ticks: u64, place: Option<u32>) -> Change {
        let time = self.nanos(ticks);
        // The call that changes it is not over, and takes no time until then. Of what lies between two tests that poll it is not known yet
        // whether it counts: it belongs to what comes.
        let counts = self.started.is_some() && self.finalized.is_none() && !self.polls;
        let since_last = if counts { time.saturating_sub(self.last) } else { 0 };
        Change { time, place, computed: self.computed + since_last }
    }
}

impl Visitor for Maker<'_> {
    fn call(&mut self, span: &CallSpan<'_>) {
        let mut call = self.call_of(span);
        let about = self.about(&call);
        if span.depth == 0 {
            call.computed = self.computes_until(span, &call, about);
        }
        match about.map(|about| about.kind) {
            Some(Kind::Init) => {
                self.started = Some(call.end);
                self.steps.push(Step::Started(self.rank, call.end));
            }
            Some(Kind::Finalize) => {
                self.finalized = Some(call.begin);
                self.steps.push(Step::Finalizes(call));
            }
            _ if span.depth == 0 => self.in_mpi += call.end - call.begin,
            _ => {}
        }
        if about.is_some_and(|about| about.kind == Kind::Probe) {
            self.choose();
        }
        if span.depth == 0 {
            if self.single && call.begin.saturating_sub(self.last) >= self.shared.epsilon && self.last > 0 {
                self.steps.push(Step::Outside(self.last, call));
            }
            self.last = self.last.max(call.end);
            if call.end - call.begin >= self.shared.epsilon {
                self.steps.push(Step::InMpi(call));
            }
        }
        if let Some(search) = self.searches.remove(&span.thread)
            && search.entries >= LONG
        {
            self.steps.push(Step::Search(Search { call, ..search }));
        }
        let waits = self.waits(span, call, about);
        self.noted(span, call);
        self.collective(span, call, about);
        self.messages(span, (call, waits), about);
        if !(span.operations.is_empty() && span.synchronised.is_empty() && self.operated.is_none()) {
            self.windows(span, call);
        }
    }

    fn phase(&mut self, ticks: u64, number: u16) {
        let phase =
            if number == STOPPED { Some(Change::STOPPED) } else { self.local.phases.get(&number).copied() };
        let change = self.goes(ticks, phase);
        self.steps.push(Step::Phase(self.rank, change));
    }

    fn in_region(&mut self, _: u32, ticks: u64, path: &str) {
        let change = self.goes(ticks, self.shared.names.region(path));
        self.steps.push(Step::Region(self.rank, change));
    }

    fn region(&mut self, region: &Region<'_>) {
        let Some(wanted) = self.searching.get(&region.begin) else { return };
        // Sources and tags below zero are wildcards.
        let is_any = |element| matches!(value::read(element, region.payload), Some(Value::Signed(..0)));
        let wild = wanted.iter().any(is_any);
        self.searched = true;
        if wild {
            self.choose();
        }
        let thread = self.threads.get(&region.stream).copied().unwrap_or(0);
        let nanos = self.nanos(region.ticks.1) - self.nanos(region.ticks.0);
        let (entries, communicator) = (region.queue_length.unwrap_or(0), self.communicator(region.object));
        let found = self.searches.entry(thread).or_insert_with(|| Search {
            call: Call { begin: 0, end: 0, rank: self.rank, site: 0, function: UNKNOWN, computed: 0 },
            communicator,
            nanos: 0,
            entries,
            wild: false,
        });
        (found.entries, found.communicator) = (entries.max(found.entries), communicator);
        found.wild |= wild;
        if nanos <= longest(entries) {
            found.nanos += nanos;
        }
    }
}

/// How long a search of so many entries may take; one that takes longer was interrupted by the scheduler.
fn longest(entries: u64) -> u64 {
    20_000 + 1000 * entries
}
