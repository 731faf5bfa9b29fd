//! Judges what ranks did in the order of time, and follows each wait back to its cause.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};
use slab::Slab;

use mel_verdict::replay::{self, Most, Need, Paths, Replay, Waited, WhatIf};
use mel_verdict::{Blame, Wait};

use crate::by_hand::Direction;
use crate::did::Did;
use crate::found::Found;
use crate::model::{Call, Entry, NO_SITE, Search, Site, Step};
use crate::names::{Names, Processes};
use crate::on_path::OnPath;
use crate::operations::{Operation, Operations};
use crate::rendezvous::Protocols;
use crate::rules::collectives::Needed;
use crate::rules::one_sided::Windows;
use crate::rules::{Loss, Rule, Thresholds, close, collectives, messages, queues};
use crate::units::{Part, Unit, Units};
use mpi_functions::{Function, Kind, Mode, Waits};

/// What queues have cost a rank is remembered for so many calls.
const REMEMBERED_COSTS: usize = 1 << 14;
/// What waits to be judged in order, at most; then the oldest is judged with what is known.
const MOST: usize = 1 << 20;

/// Judges the steps of all ranks.
pub struct Judge<'a> {
    names: &'a Names,
    thresholds: Thresholds,
    units: Units,
    operations: Operations,
    windows: Windows,
    /// When something can be judged, the earliest first; how many came before, so that those of one time keep their order; and where it is.
    /// What is moved often is small.
    order: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Slab<What>,
    events_before: u64,
    blame: Blame,
    together: Together,
    /// How long the shortest call of an operation took, by communicator and function.
    shortest: FxHashMap<(u32, u16), u64>,
    /// By rank: when it had left `MPI_Init`.
    started: FxHashMap<u32, u64>,
    /// When each has entered `MPI_Finalize`.
    finalizes: Vec<Call>,
    /// By rank: what queues have cost.
    queues: FxHashMap<u32, VecDeque<Loss>>,
    /// By rank: what it did, and when.
    did: FxHashMap<u32, Did>,
    /// Ranks of which several threads call MPI: they may wait for two at once, and of what they do between calls nothing is known.
    threads: FxHashSet<u32>,
    /// By sender, receiver and communicator: when messages were sent that are not received.
    sent: FxHashMap<(u32, u32, u32), BTreeMap<u64, u64>>,
    /// By rank: the last call that completed messages.
    before: FxHashMap<u32, Unit>,
    found: Found,
    follows: Follows,
    /// What is needed in operations that need everybody, and of how many members it was asked for.
    needed: FxHashMap<(u32, u64), (Needs, usize)>,
}

/// What else is made of the calls in the order of time.
#[derive(Debug, Default)]
pub enum Follows {
    /// Nothing.
    #[default]
    Nothing,
    /// The paths of all ranks; what is needed for the rest, as far as there is room for it.
    Paths(Paths, Option<Box<Recorded>>),
    /// The run under suppositions, and who did what on the path.
    WhatIf(WhatIf, OnPath),
}

/// A recording holds no more than so many calls, needs and times outside of MPI together.
const MOST_RECORDED: usize = 1 << 21;

/// All that is needed to follow the run once more without reading it again.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Calls with what they need.
    pub replay: Replay,
    /// Since when ranks were outside of MPI, and the call that ended that.
    pub outside: Vec<(u64, Call)>,
}

impl Recorded {
    fn has_room(&self) -> bool {
        self.replay.size() + self.outside.len() < MOST_RECORDED
    }
}

/// What a call needs of other ranks, as far as it matters.
#[derive(Clone, Debug, Default)]
struct Needs {
    /// As it is recorded.
    recorded: Option<usize>,
    most: Option<Most>,
    latest: replay::Latest,
}

/// Something to judge.
enum What {
    Unit(Box<Unit>),
    /// A process leaves an operation.
    Leaves(Entry),
    Window(u32, Call, crate::model::OnWindow),
    Outside(u32, (u64, u64)),
    InMpi(Call),
    Search(Search),
}

/// The last times of something, ascending: a message may be known at one end before the wait for it is judged at the other.
#[derive(Clone, Copy, Default)]
struct Latest([u64; 4]);

impl Latest {
    fn add(&mut self, time: u64) {
        if time > self.0[0] && !self.0.contains(&time) {
            self.0[0] = time;
            self.0.sort_unstable();
        }
    }

    /// The last one that was not after `until`; 0 if there is none.
    fn before(&self, until: u64) -> u64 {
        self.0.iter().rev().copied().find(|time| *time <= until).unwrap_or(0)
    }
}

/// When two ranks were together.
#[derive(Default)]
struct Together {
    /// By both ranks, the lower first.
    pairs: FxHashMap<(u32, u32), Latest>,
    /// By communicator.
    operations: FxHashMap<u32, Latest>,
    /// By rank: the communicators that it has had operations on.
    of: FxHashMap<u32, Vec<u32>>,
}

impl Together {
    fn meet(&mut self, a: u32, b: u32, time: u64) {
        self.pairs.entry((a.min(b), a.max(b))).or_default().add(time);
    }

    fn meet_all(&mut self, communicator: u32, ranks: impl Iterator<Item = u32>, time: u64) {
        let is_new = !self.operations.contains_key(&communicator);
        self.operations.entry(communicator).or_default().add(time);
        if is_new {
            for rank in ranks {
                self.of.entry(rank).or_default().push(communicator);
            }
        }
    }

    /// When two ranks were together last, not after `until`.
    fn since(&self, (a, b): (u32, u32), until: u64) -> u64 {
        let pair = self.pairs.get(&(a.min(b), a.max(b))).map_or(0, |times| times.before(until));
        let (Some(of_a), Some(of_b)) = (self.of.get(&a), self.of.get(&b)) else { return pair };
        let both = of_a.iter().filter(|communicator| of_b.contains(communicator));
        both.filter_map(|communicator| self.operations.get(communicator))
            .fold(pair, |last, times| last.max(times.before(until)))
    }
}

impl<'a> Judge<'a> {
    /// Nothing is known yet.
    pub fn new(names: &'a Names, thresholds: Thresholds) -> Judge<'a> {
        Judge {
            names,
            thresholds,
            units: Units::default(),
            operations: Operations::default(),
            windows: Windows::new(thresholds),
            order: BinaryHeap::new(),
            events: Slab::new(),
            events_before: 0,
            blame: Blame::new(),
            together: Together::default(),
            shortest: FxHashMap::default(),
            started: FxHashMap::default(),
            finalizes: Vec::new(),
            queues: FxHashMap::default(),
            did: FxHashMap::default(),
            threads: FxHashSet::default(),
            sent: FxHashMap::default(),
            before: FxHashMap::default(),
            found: Found::new(&names.idle),
            follows: Follows::Nothing,
            needed: FxHashMap::default(),
        }
    }

    /// Makes something else of the calls, too.
    #[must_use]
    pub fn following(self, follows: Follows) -> Judge<'a> {
        Judge { follows, ..self }
    }

    /// Messages of more bytes than this are long.
    #[must_use]
    pub fn with_protocols_of(mut self, longer_than: u64) -> Judge<'a> {
        self.found.protocols = Protocols::of(longer_than, self.thresholds.clocks);
        self
    }

    /// Looks for mistakes that do no harm, too.
    #[must_use]
    pub fn checking(mut self) -> Judge<'a> {
        self.found.checks = Some(Box::default());
        self
    }

    /// Several threads of a rank call MPI.
    pub fn has_threads(&mut self, rank: u32) {
        self.threads.insert(rank);
    }

    /// A rank has done something.
    pub fn step(&mut self, step: Step) {
        match step {
            Step::Completing(completing) => self.units.begin(completing),
            Step::Sent(side) => {
                let key = (side.call.rank, side.peer, side.communicator);
                self.sent.entry(key).or_default().insert(side.order, side.call.begin);
                self.found.loops.side(&side, Direction::ToAll, self.names);
                self.side(side, true);
            }
            Step::Received(side) => {
                self.found.loops.side(&side, Direction::FromAll, self.names);
                self.side(side, false);
            }
            Step::Collective(entry) => {
                self.found.loops.meets(entry.call.rank);
                if self.names.communicator(entry.communicator).map_or(0, Processes::count) > 1 {
                    self.operations.enter(entry);
                    self.event(entry.waiting.end, What::Leaves(entry));
                }
            }
            Step::Window(window, call, what) => self.event(call.end, What::Window(window, call, what)),
            Step::Outside(since, call) => {
                match &mut self.follows {
                    Follows::WhatIf(_, path) => path.outside(&call, since),
                    Follows::Paths(_, kept) => {
                        kept.take_if(|recorded| !recorded.has_room());
                        kept.iter_mut().for_each(|recorded| recorded.outside.push((since, call)));
                    }
                    Follows::Nothing => {}
                }
                self.event(call.begin, What::Outside(call.rank, (since, call.begin)))
            }
            Step::Chooses(rank) => {
                if let Some(checks) = &mut self.found.checks {
                    checks.chooses(rank);
                }
            }
            Step::Phase(rank, change) => self.found.phases.entry(rank).or_default().push(change),
            Step::Region(rank, change) => self.found.regions.entry(rank).or_default().push(change),
            Step::InMpi(call) => self.event(call.end, What::InMpi(call)),
            Step::Search(search) => self.event(search.call.end, What::Search(search)),
            Step::Noticed(rank, noticed) => {
                if let Some(checks) = &mut self.found.checks {
                    checks.noticed(rank, noticed);
                }
            }
            Step::Started(rank, time) => _ = self.started.insert(rank, time),
            Step::Finalizes(call) => self.finalizes.push(call),
        }
    }

    fn side(&mut self, side: crate::model::Side, sends: bool) {
        let mut ready = Vec::new();
        self.units.side(side, sends, &mut |unit| ready.push(unit));
        for unit in ready {
            self.event(unit.call.end, What::Unit(Box::new(unit)));
        }
    }

    fn event(&mut self, time: u64, what: What) {
        self.events_before += 1;
        self.order.push(Reverse((time, self.events_before, self.events.insert(what))));
    }

    /// Judges all that was over before a time; until then everything is known.
    pub fn judge(&mut self, until: u64) {
        let is_due = |Reverse((time, ..)): &Reverse<(u64, u64, usize)>| *time < until;
        while self.order.peek().is_some_and(is_due) || self.order.len() > MOST {
            let Some(Reverse((.., place))) = self.order.pop() else { return };
            match self.events.remove(place) {
                What::Unit(unit) => self.unit(*unit),
                What::Leaves(entry) => self.leaves(&entry),
                What::Window(window, call, what) => self.window(window, call, &what),
                What::Outside(rank, interval) => self.did.entry(rank).or_default().outside(interval),
                What::InMpi(call) => self.did.entry(call.rank).or_default().in_mpi(call),
                What::Search(search) => self.queue(queues::search(&search)),
            }
        }
    }

    /// Nothing comes any more.
    pub fn finish(mut self) -> (Found, Follows) {
        if !self.units.is_settled() {
            self.not_known();
        }
        let left: Vec<Unit> = self.units.finish().collect();
        for unit in left {
            self.event(unit.call.end, What::Unit(Box::new(unit)));
        }
        self.judge(u64::MAX);
        let mut losses = Vec::new();
        let outside = |rank, interval| self.did.get(&rank)?.longest_outside(interval);
        self.windows.finish(&outside, &mut |loss| losses.push(loss));
        self.lost_on_window(losses, None);
        self.end();
        (self.found, self.follows)
    }

    /// Who comes early to `MPI_Finalize` waits there for the last.
    fn end(&mut self) {
        for call in &self.finalizes {
            match &mut self.follows {
                Follows::Paths(paths, recorded) => {
                    paths.ends(&call.step());
                    recorded.iter_mut().for_each(|recorded| recorded.replay.ends(call.step()));
                }
                Follows::WhatIf(what_if, _) => what_if.ends(&call.step()),
                _ => {}
            }
        }
        let Some(last) = self.finalizes.iter().copied().max_by_key(|call| call.begin) else { return };
        for call in std::mem::take(&mut self.finalizes) {
            let (who, culprit) = ((call.rank, call.site), (Some(last.rank), last.site));
            if call.rank != last.rank {
                self.lost(&Loss::new(Rule::WaitAtFinalize, who, (call.begin, last.begin), culprit), None);
            }
        }
    }

    fn unit(&mut self, unit: Unit) {
        if let Some(checks) = &mut self.found.checks {
            checks.unit(&unit, self.names);
        }
        // Who follows the run once more knows them.
        if !matches!(self.follows, Follows::WhatIf(..)) {
            self.found.overlaps.unit(&unit);
            self.found.protocols.unit(&unit);
        }
        let losses = {
            let outside = |rank, interval| self.did.get(&rank)?.longest_outside(interval);
            let sent = &self.sent;
            let sent_before = |part: &Part| {
                let key = (part.other.call.rank, part.own.call.rank, part.own.communicator);
                let (order, sent) = sent.get(&key)?.first_key_value()?;
                (*order < part.other.order).then_some(*sent)
            };
            messages::judge(&unit, self.thresholds, &sent_before, &outside)
        };
        if !matches!(self.follows, Follows::Nothing) {
            let needs: Vec<Need> = needed_by(&unit, losses.iter().flatten()).collect();
            let needs = self.needs(&needs);
            self.follow(&unit.call, &needs);
        }
        for loss in losses.into_iter().flatten() {
            self.lost(&loss, None);
        }
        let mut copies = Vec::new();
        for part in &unit.parts {
            let (own, other) = (part.own.call, part.other.call);
            if let Some(nanos) = messages::transfer(part, &unit) {
                self.found.transfers.add(part.own.bytes, nanos);
            }
            if !part.sends {
                let key = (other.rank, own.rank, part.own.communicator);
                if let Some(sent) = self.sent.get_mut(&key) {
                    sent.remove(&part.other.order);
                }
                if let Some(copy) = queues::copy(part) {
                    copies.push(copy);
                }
                // Of the two ends only this one has met the other: a send may be over long before.
                self.together.meet(own.rank, other.rank, own.begin.max(other.begin).min(unit.call.end));
            }
        }
        copies.into_iter().for_each(|copy| self.queue(copy));
        if let Some(before) = self.before.get(&unit.call.rank)
            && let Some(loss) = close::judge(before, &unit, self.thresholds)
        {
            self.found.add(&loss, None, 1.0);
        }
        self.before.insert(unit.call.rank, unit);
    }

    fn leaves(&mut self, entry: &Entry) {
        let Some(of) = self.names.communicator(entry.communicator) else { return };
        let Some(function) = self.names.about(entry.call.function) else { return };
        let Some(mut operation) = self.operations.left(entry) else { return };
        if let Some(checks) = &mut self.found.checks {
            let is_last = operation.is_judged_but_for_one(of.count());
            checks.compare(entry, (&operation, is_last), self.names, of);
        }
        let shortest = self.shortest.entry((entry.communicator, entry.call.function)).or_insert(u64::MAX);
        let known = if *shortest == u64::MAX { 0 } else { *shortest };
        let mut losses = Vec::new();
        if !operation.is_broken {
            let found = &mut |loss| losses.push(loss);
            let of = (of, function);
            operation.is_broken = !collectives::judge(&operation, entry, of, (self.thresholds, known), found);
        }
        *shortest = (*shortest).min(entry.call.end - entry.call.begin);
        if operation.is_broken {
            self.not_known();
        } else if !matches!(self.follows, Follows::Nothing) {
            self.follow_operation(entry, &operation, (of, function), &losses);
        }
        for loss in losses {
            self.lost(&loss, Some(&operation));
        }
        if !operation.is_broken {
            if let Some(checks) = &mut self.found.checks {
                checks.leaves(entry, &operation, (of, function));
            }
            self.meet(entry, &operation, (of, function.waits()));
        }
        operation.first_left.get_or_insert(entry.waiting.end);
        self.operations.back(operation, of.count());
    }

    /// What calls need of other ranks, as far as it matters.
    fn needs(&mut self, needs: &[Need]) -> Needs {
        match &mut self.follows {
            Follows::Paths(paths, recorded) => {
                // Of too many calls nothing is kept, and the trace is read again.
                recorded.take_if(|recorded| !recorded.has_room());
                let kept = |recorded: &mut Box<Recorded>| recorded.replay.needs(needs.iter().copied());
                let recorded = recorded.as_mut().map(kept);
                Needs { recorded, most: paths.most(needs.iter().copied()), ..Needs::default() }
            }
            Follows::WhatIf(what_if, _) => Needs { latest: what_if.latest(needs), ..Needs::default() },
            _ => Needs::default(),
        }
    }

    /// A call is over that needed this.
    fn follow(&mut self, call: &Call, needs: &Needs) {
        match &mut self.follows {
            Follows::Paths(paths, recorded) => {
                paths.call(&call.step(), needs.most.as_ref());
                if let Some((recorded, kept)) = recorded.as_mut().zip(needs.recorded) {
                    recorded.replay.call(call.step(), kept);
                }
            }
            Follows::WhatIf(what_if, _) => what_if.call(&call.step(), &needs.latest),
            _ => {}
        }
    }

    /// A process leaves an operation, in which it has lost this.
    fn follow_operation(
        &mut self,
        entry: &Entry,
        operation: &Operation,
        of: (&Processes, &Function),
        losses: &[Loss],
    ) {
        let mut whom: Vec<Need> = match collectives::needed(operation, entry, of) {
            Needed::All => {
                let key = (entry.communicator, entry.number);
                let (needs, asked) = self.needed.remove(&key).unwrap_or_else(|| {
                    let all: Vec<Need> =
                        operation.entries.iter().map(|entry| Need::of(entry.call.step())).collect();
                    (self.needs(&all), 0)
                });
                self.follow(&entry.waiting, &needs);
                if asked + 1 < operation.entries.len() {
                    self.needed.insert(key, (needs, asked + 1));
                }
                return;
            }
            Needed::These(entries) => entries.into_iter().map(|entry| Need::of(entry.call.step())).collect(),
            Needed::Unknown => {
                self.not_known();
                Vec::new()
            }
        };
        // Whom it has waited for, though it needs nothing of it.
        let waited = |loss: &Loss| Some(Need { rank: loss.culprit?, time: loss.interval.1, computed: None });
        whom.extend(losses.iter().filter_map(waited));
        let needs = self.needs(&whom);
        self.follow(&entry.waiting, &needs);
    }

    /// It is not known what a call needs of which rank.
    fn not_known(&mut self) {
        if let Follows::Paths(paths, _) = &mut self.follows {
            paths.not_known();
        }
    }

    /// Whom a process that leaves an operation was together with in it.
    fn meet(&mut self, entry: &Entry, operation: &Operation, (of, waits): (&Processes, Option<Waits>)) {
        match waits {
            Some(Waits::All) if operation.first_left.is_none() => {
                let ranks = operation.entries.iter().map(|entry| entry.call.rank);
                let last = operation.latest().map_or(0, |latest| latest.call.begin);
                self.together.meet_all(entry.communicator, ranks, last);
            }
            Some(Waits::ForRoot | Waits::RootForAll) => {
                if let Some(root) = collectives::root(&operation.entries, of) {
                    let time = entry.call.begin.max(root.call.begin);
                    self.together.meet(entry.call.rank, root.call.rank, time);
                }
            }
            _ => {}
        }
    }

    fn window(&mut self, window: u32, call: Call, what: &crate::model::OnWindow) {
        let Some(processes) = self.names.windows.get(window as usize) else { return };
        let group = match self.names.about(call.function).map(|function| function.kind) {
            Some(Kind::Window(group)) => Some(group),
            _ => None,
        };
        let mut losses = Vec::new();
        let outside = |rank, interval| self.did.get(&rank)?.longest_outside(interval);
        self.windows
            .step((window, &processes.members), (call, group), what, &outside, &mut |loss| losses.push(loss));
        self.lost_on_window(losses, Some(call));
    }

    /// Losses on windows, known in this call.
    fn lost_on_window(&mut self, losses: Vec<Loss>, call: Option<Call>) {
        for loss in losses {
            let follows = !matches!(self.follows, Follows::Nothing);
            // Of a call that has been followed already no more is followed.
            if let (Some(culprit), Some(call)) = (loss.culprit, call)
                && follows
                && call.rank == loss.rank
            {
                self.not_known();
                let needs = self.needs(&[Need { rank: culprit, time: loss.interval.1, computed: None }]);
                self.follow(&call, &needs);
            }
            self.lost(&loss, None);
            if let Some(culprit) = loss.culprit {
                self.together.meet(loss.rank, culprit, loss.interval.1);
            }
        }
    }

    /// What a queue has cost its rank.
    fn queue(&mut self, loss: Loss) {
        let of_itself = (loss.rank, &[loss.interval][..]);
        self.found.add_without(&loss, Some((loss.rank, loss.cause_site)), 1.0, of_itself);
        let known = self.queues.entry(loss.rank).or_default();
        known.push_back(loss);
        if known.len() > REMEMBERED_COSTS {
            known.pop_front();
        }
    }

    /// Charges a loss to its causes. Who took part in the same operation has its cause there.
    fn lost(&mut self, loss: &Loss, operation: Option<&Operation>) {
        let Some(culprit) = loss.culprit else {
            return self.found.add_without(loss, None, 1.0, (loss.rank, &[loss.interval]));
        };
        // Who is still in MPI_Init is not late.
        let started = self.started.get(&culprit).copied().unwrap_or(0);
        let mut interval = (loss.interval.0.max(started), loss.interval.1);
        // What a rank has lost to one wait it has not lost to another one: only who polls goes on with other calls meanwhile.
        if !self.threads.contains(&loss.rank) {
            interval = self.did.entry(loss.rank).or_default().waited(interval);
        }
        if interval.1.saturating_sub(interval.0) < self.thresholds.epsilon.max(1) {
            return;
        }
        let loss = &Loss { interval, ..*loss };
        let (begin, end) = interval;
        // Who made no progress is the cause, whatever it did instead.
        let progress = matches!(loss.rule, Rule::WaitWithoutProgress | Rule::WaitForProgress);
        let together = || self.together.since((loss.rank, culprit), begin).max(started);
        let since = if progress { begin } else { together() };
        let wait = Wait { begin, end, since, culprit, site: loss.cause_site };
        let causes = self.blame.wait(loss.rank, &wait);
        if let Some(first) = operation.and_then(|of| of.entries.first())
            && loss.rule.waits_for_last()
        {
            let function = self.names.about(first.call.function);
            if function.is_some_and(|function| function.waits() == Some(Waits::All)) {
                let victims = self.found.waited.entry((loss.rule, loss.communicator)).or_default();
                victims.add(loss.rank, loss.nanos() as f64);
            }
            let last = self.found.last.entry((loss.rule, loss.site, loss.communicator)).or_default();
            for cause in &causes {
                last.add(first.number, cause.rank, loss.nanos() as f64 * cause.part);
            }
        }
        let site_of = |rank: u32, site: Site| {
            let entry = operation.and_then(|of| of.entries.iter().find(|entry| entry.call.rank == rank));
            entry.map_or(site, |entry| entry.call.site)
        };
        for cause in causes {
            let who = Some((cause.rank, site_of(cause.rank, cause.site)));
            let is_direct = cause.rank == culprit && !progress;
            let Some(loss) = &self.with_what_was_done(loss, (since, end), cause.part, is_direct) else {
                let loss = Loss { rule: Rule::OnlyCommunication, ..*loss };
                self.found.add(&loss, None, cause.part);
                continue;
            };
            let Some((of_queue, part)) = self.due_to_queue(cause.rank, (since, end), loss, cause.part) else {
                let removed = self.without(loss, (cause.rank, cause.part), since, progress);
                self.found.add_without(loss, who, cause.part, (removed.0, &removed.1));
                continue;
            };
            let rest = cause.part - part;
            let in_queue = Loss { rule: of_queue.rule, site: of_queue.site, ..*loss };
            self.found.add(&in_queue, Some((cause.rank, of_queue.cause_site)), part);
            if rest > 0.0 {
                let removed = self.without(loss, (cause.rank, rest), since, progress);
                self.found.add_without(loss, who, rest, (removed.0, &removed.1));
            }
        }
    }

    /// The times without which a part of a loss would not be, and of which rank: what the cause did last before it came, as long as that
    /// part; where the cause made no progress, the waiting itself. None where the one that was waited for is not the cause: what that one
    /// waited for has times of its own.
    fn without(
        &self,
        loss: &Loss,
        (cause, part): (u32, f64),
        since: u64,
        progress: bool,
    ) -> (u32, Vec<(u64, u64)>) {
        if progress {
            return (loss.rank, vec![loss.interval]);
        }
        let until = loss.interval.1;
        let nanos = (loss.nanos() as f64 * part).round() as u64;
        let times = match self.did.get(&cause) {
            _ if loss.culprit != Some(cause) => Vec::new(),
            Some(did) => did.waits().busy_before(until, since, nanos),
            None => Waited::default().busy_before(until, since, nanos),
        };
        (cause, times)
    }

    /// A part of a loss with what its cause did instead in this interval, if that was in MPI; none where it did nothing but to send and receive,
    /// so that nobody is the cause.
    fn with_what_was_done(
        &self,
        loss: &Loss,
        interval: (u64, u64),
        part: f64,
        is_direct: bool,
    ) -> Option<Loss> {
        let culprit = loss.culprit.filter(|culprit| is_direct && !self.threads.contains(culprit));
        let did = culprit.and_then(|culprit| self.did.get(&culprit)).filter(|did| did.is_known());
        let Some(did) = did else { return Some(*loss) };
        let (spent, lost) = (did.spent(interval, self.names), (loss.nanos() as f64 * part) as u64);
        let is_message = matches!(loss.rule.family(), Rule::LateSender | Rule::LateReceiver);
        if is_message && spent.outside + spent.in_mpi < lost / 4 {
            return None;
        }
        let most = spent.most.filter(|most| most.1 > spent.outside && most.1 >= lost / 2);
        Some(Loss { inside: most.map_or(NO_SITE, |most| most.0), ..*loss })
    }

    /// What a rank's queues have cost it in an interval in which it was the cause of this part of a loss: then they are, as far
    /// as they have taken that long.
    fn due_to_queue(
        &self,
        rank: u32,
        (since, until): (u64, u64),
        loss: &Loss,
        part: f64,
    ) -> Option<(Loss, f64)> {
        let known = self.queues.get(&rank)?;
        let first = known.partition_point(|cost| cost.interval.0 < since);
        let costs = known.range(first..).take_while(|cost| cost.interval.1 <= until);
        let (mut nanos, mut most) = (0, None::<Loss>);
        for cost in costs {
            nanos += cost.nanos();
            if most.is_none_or(|most| most.nanos() < cost.nanos()) {
                most = Some(*cost);
            }
        }
        // Queues that have cost little explain little.
        let of_loss = nanos as f64 / loss.nanos().max(1) as f64;
        (of_loss >= 0.1 * part).then_some((most?, of_loss.min(part)))
    }
}

/// What a call that completes messages needs: what is sent to it, and the receivers that it has to wait for.
fn needed_by<'a>(
    unit: &'a Unit,
    losses: impl Iterator<Item = &'a Loss> + Clone,
) -> impl Iterator<Item = Need> {
    let waited = move |part: &Part| {
        let of = |loss: &Loss| {
            loss.rule.family() == Rule::LateReceiver && loss.culprit == Some(part.other.call.rank)
        };
        part.own.mode == Mode::Synchronous || losses.clone().any(of)
    };
    let needs = unit
        .parts
        .iter()
        .filter(move |part| !part.sends || part.other.call.begin <= unit.call.end && waited(part));
    needs.map(|part| Need::of(part.other.call.step()))
}

#[cfg(test)]
mod tests;
