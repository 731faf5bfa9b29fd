//! Judges what ranks did in the order of time, and follows each wait back to its cause.

use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use mel_verdict::{Blame, Wait};

use crate::found::Found;
use crate::loss::{Loss, Rule};
use crate::model::{Call, Search, Site, Step};
use crate::names::{Names, Processes};
use crate::operations::{Operation, Operations};
use crate::rules::one_sided::Windows;
use crate::rules::{Thresholds, close, collectives, messages, queues};
use crate::units::{Part, Unit, Units};
use mpi_functions::{Kind, Waits};

/// Times outside of MPI that are remembered of a rank.
const REMEMBERED: usize = 4096;
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
    /// What can be judged, the earliest first.
    events: BinaryHeap<Event>,
    events_before: u64,
    blame: Blame,
    together: Together,
    /// By rank: when it had left `MPI_Init`.
    started: FxHashMap<u32, u64>,
    /// By rank: what queues have cost.
    queues: FxHashMap<u32, VecDeque<Loss>>,
    /// By rank: when it was outside of MPI.
    outside: FxHashMap<u32, VecDeque<(u64, u64)>>,
    /// By sender, receiver and communicator: when messages were sent that are not received.
    sent: FxHashMap<(u32, u32, u32), BTreeMap<u64, u64>>,
    /// By rank: the last call that completed messages.
    before: FxHashMap<u32, Unit>,
    found: Found,
}

/// Something to judge, when it was over.
struct Event {
    time: u64,
    /// How many came before, so that those of one time keep their order.
    number: u64,
    what: What,
}

enum What {
    Unit(Box<Unit>),
    Operation(Operation),
    Window(u32, Call, crate::model::OnWindow),
    Outside(u32, (u64, u64)),
    Search(Search),
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
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
            events: BinaryHeap::new(),
            events_before: 0,
            blame: Blame::new(),
            together: Together::default(),
            started: FxHashMap::default(),
            queues: FxHashMap::default(),
            outside: FxHashMap::default(),
            sent: FxHashMap::default(),
            before: FxHashMap::default(),
            found: Found::default(),
        }
    }

    /// A rank has done something.
    pub fn step(&mut self, step: Step) {
        match step {
            Step::Completing(completing) => self.units.begin(completing),
            Step::Sent(side) => {
                let key = (side.call.rank, side.peer, side.communicator);
                self.sent.entry(key).or_default().insert(side.order, side.call.begin);
                self.side(side, true);
            }
            Step::Received(side) => self.side(side, false),
            Step::Collective(entry) => {
                let size = self.names.communicator(entry.communicator).map_or(0, Processes::count);
                if size > 1
                    && let Some(operation) = self.operations.enter(entry, size)
                {
                    self.event(operation.end(), What::Operation(operation));
                }
            }
            Step::Window(window, call, what) => self.event(call.end, What::Window(window, call, what)),
            Step::Outside(since, call) => {
                self.event(call.begin, What::Outside(call.rank, (since, call.begin)))
            }
            Step::Search(search) => self.event(search.call.end, What::Search(search)),
            Step::Started(rank, time) => _ = self.started.insert(rank, time),
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
        self.events.push(Event { time, number: self.events_before, what });
    }

    /// Judges all that was over before a time; until then everything is known.
    pub fn judge(&mut self, until: u64) {
        while self.events.peek().is_some_and(|event| event.time < until) || self.events.len() > MOST {
            let Some(Event { what, .. }) = self.events.pop() else { return };
            match what {
                What::Unit(unit) => self.unit(*unit),
                What::Operation(operation) => self.operation(&operation),
                What::Window(window, call, what) => self.window(window, call, &what),
                What::Outside(rank, interval) => {
                    let known = self.outside.entry(rank).or_default();
                    known.push_back(interval);
                    if known.len() > REMEMBERED {
                        known.pop_front();
                    }
                }
                What::Search(search) => self.queue(queues::search(&search)),
            }
        }
    }

    /// Nothing comes any more.
    pub fn finish(mut self) -> Found {
        let left: Vec<Unit> = self.units.finish().collect();
        for unit in left {
            self.event(unit.call.end, What::Unit(Box::new(unit)));
        }
        self.judge(u64::MAX);
        self.found
    }

    fn unit(&mut self, unit: Unit) {
        let losses = {
            let outside = |rank, interval| last_in(self.outside.get(&rank), interval);
            let sent = &self.sent;
            let sent_before = |part: &Part| {
                let key = (part.other.call.rank, part.own.call.rank, part.own.communicator);
                let (order, sent) = sent.get(&key)?.first_key_value()?;
                (*order < part.other.order).then_some(*sent)
            };
            messages::judge(&unit, self.thresholds, &sent_before, &outside)
        };
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

    fn operation(&mut self, operation: &Operation) {
        let Some(first) = operation.entries.first().copied() else { return };
        let Some(of) = self.names.communicator(first.communicator) else { return };
        let Some(function) = self.names.about(first.call.function) else { return };
        let Some(waits) = function.waits() else { return };
        if !collectives::is_whole(operation, of, waits, self.thresholds) {
            return;
        }
        let mut losses = Vec::new();
        collectives::judge(operation, of, function, self.thresholds, &mut |loss| losses.push(loss));
        losses.sort_by_key(|loss| loss.interval.1);
        for loss in &losses {
            self.lost(loss, Some(operation));
        }
        let ranks = operation.entries.iter().map(|entry| entry.call.rank);
        let last = operation.entries.iter().map(|entry| entry.call.begin).max().unwrap_or(0);
        match waits {
            Waits::All => self.together.meet_all(first.communicator, ranks, last),
            Waits::ForRoot | Waits::RootForAll => {
                let Some(root) = collectives::root(operation, of) else { return };
                for entry in &operation.entries {
                    let time = entry.call.begin.max(root.call.begin);
                    self.together.meet(entry.call.rank, root.call.rank, time);
                }
            }
            Waits::ForLower | Waits::Neighbours => {}
        }
    }

    fn window(&mut self, window: u32, call: Call, what: &crate::model::OnWindow) {
        let Some(processes) = self.names.windows.get(window as usize) else { return };
        let group = match self.names.about(call.function).map(|function| function.kind) {
            Some(Kind::Window(group)) => Some(group),
            _ => None,
        };
        let mut losses = Vec::new();
        let outside = |rank, interval| last_in(self.outside.get(&rank), interval);
        self.windows
            .step((window, &processes.members), (call, group), what, &outside, &mut |loss| losses.push(loss));
        for loss in losses {
            self.lost(&loss, None);
            if let Some(culprit) = loss.culprit {
                self.together.meet(loss.rank, culprit, loss.interval.1);
            }
        }
    }

    /// What a queue has cost its rank.
    fn queue(&mut self, loss: Loss) {
        self.found.add(&loss, Some((loss.rank, loss.cause_site)), 1.0);
        let known = self.queues.entry(loss.rank).or_default();
        known.push_back(loss);
        if known.len() > REMEMBERED_COSTS {
            known.pop_front();
        }
    }

    /// Charges a loss to its causes. Who took part in the same operation has its cause there.
    fn lost(&mut self, loss: &Loss, operation: Option<&Operation>) {
        let Some(culprit) = loss.culprit else { return self.found.add(loss, None, 1.0) };
        // Who is still in MPI_Init is not late.
        let started = self.started.get(&culprit).copied().unwrap_or(0);
        let interval = (loss.interval.0.max(started), loss.interval.1);
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
        let site_of = |rank: u32, site: Site| {
            let entry = operation.and_then(|of| of.entries.iter().find(|entry| entry.call.rank == rank));
            entry.map_or(site, |entry| entry.call.site)
        };
        for cause in causes {
            let who = Some((cause.rank, site_of(cause.rank, cause.site)));
            let Some((of_queue, part)) = self.due_to_queue(cause.rank, (since, end), loss, cause.part) else {
                self.found.add(loss, who, cause.part);
                continue;
            };
            let rest = cause.part - part;
            let in_queue = Loss { rule: of_queue.rule, site: of_queue.site, ..*loss };
            self.found.add(&in_queue, Some((cause.rank, of_queue.cause_site)), part);
            if rest > 0.0 {
                self.found.add(loss, who, rest);
            }
        }
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

/// The last time outside of MPI that ended in an interval.
fn last_in(known: Option<&VecDeque<(u64, u64)>>, (since, until): (u64, u64)) -> Option<(u64, u64)> {
    let known = known?;
    let place = known.partition_point(|outside| outside.1 <= until).checked_sub(1)?;
    known.get(place).copied().filter(|outside| outside.1 > since)
}
