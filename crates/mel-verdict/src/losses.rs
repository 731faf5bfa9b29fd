//! The time that calls have lost, and who had caused it: estimated.
//!
//! Sums by call site and peer are those of the whole run. Who is the cause is found by single waits, of which each rank keeps as many
//! as there is space for, of the same periods of time: their shares are applied to the sums.

use std::collections::{BTreeMap, HashMap, HashSet};

use mel_log::profile::WaitProfile;
use mel_log::table::writer::PERIOD;
use mel_log::table::{IntervalKind, IntervalRow, WaitKey};

use mpi_functions::{Kind, Mode, Step, Waits};

use super::blame::{Blame, Cause, Wait};
use super::findings::Rule;
use super::run::{self, Rank, Run};

/// Time that calls of one context have lost, by one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Why.
    pub rule: Rule,
    /// Who has lost it.
    pub rank: u32,
    /// In which context.
    pub context: u32,
    /// Who is the cause.
    pub cause: u32,
    /// The call of the cause that came late: a place in [`Run::sites`].
    pub cause_site: Option<u32>,
    /// How much.
    pub seconds: f64,
    /// In how many calls.
    pub count: f64,
}

/// All time lost in a run.
#[derive(Debug, Default)]
pub struct Losses {
    /// By who lost it, where, and who is the cause.
    pub all: Vec<Loss>,
    /// By the rank and its context: the waits for each direct peer.
    waits: BTreeMap<(u32, u32), Vec<WaitProfile>>,
    caused: HashMap<u32, f64>,
    lost: HashMap<u32, f64>,
}

impl Losses {
    /// Time that others have lost because of a rank.
    pub fn caused(&self, rank: u32) -> f64 {
        self.caused.get(&rank).copied().unwrap_or(0.0)
    }

    /// Time that a rank has lost.
    pub fn lost(&self, rank: u32) -> f64 {
        self.lost.get(&rank).copied().unwrap_or(0.0)
    }

    /// The waits of a rank, with their contexts.
    pub fn waits(&self, rank: u32) -> impl Iterator<Item = (u32, WaitProfile)> + '_ {
        let of_rank = self.waits.range((rank, 0)..=(rank, u32::MAX));
        of_rank.flat_map(|((_, context), waits)| waits.iter().map(move |wait| (*context, *wait)))
    }

    fn add_wait(&mut self, rank: u32, context: u32, wait: WaitProfile) {
        let waits = self.waits.entry((rank, context)).or_default();
        match waits
            .iter_mut()
            .find(|known| (known.kind, known.peer, known.peer_site) == (wait.kind, wait.peer, wait.peer_site))
        {
            Some(known) => {
                known.count += wait.count;
                known.lost_s += wait.lost_s;
                known.max_s = known.max_s.max(wait.max_s);
            }
            None => waits.push(wait),
        }
    }
}

/// A wait of one call whose times are known.
#[derive(Clone, Copy, Debug)]
struct Instance {
    rule: Rule,
    rank: u32,
    context: u32,
    culprit: u32,
    site: Option<u32>,
    begin: u64,
    end: u64,
    /// Where the two were together the last time before that is known.
    since: Option<u64>,
    /// How many waits of its kind it stands for.
    weight: f64,
    /// Whether all processes of the run are together at its end.
    of_all: bool,
}

/// All time lost.
pub fn of(run: &Run) -> Losses {
    let mut losses = Losses::default();
    let level = run.ranks.iter().map(|rank| rank.rows.level).max().unwrap_or(0);
    let mut instances = Vec::new();
    for rank in &run.ranks {
        of_messages(run, rank, level, &mut losses, &mut instances);
    }
    of_collectives(run, level, &mut losses, &mut instances);
    for rank in &run.ranks {
        of_pending_sends(run, rank, &mut losses);
        of_queues(run, rank, &mut losses);
    }
    charge(run, level, instances, &mut losses);
    losses
}

/// Whether intervals of this time are kept at this level.
fn keeps(level: u64, ticks: u64) -> bool {
    (ticks >> PERIOD) & ((1u64 << level.min(63)) - 1) == 0
}

/// The call site of a peer's context, where it is known.
fn site_of(run: &Run, peer: u32, context: u16) -> Option<u32> {
    if context == 0 {
        return None;
    }
    run.rank(peer)?.context(context.into())?.site
}

/// The call site that most messages of a peer come from on the communicator of a context: where the one is not known, as of a probe.
fn site_of_any(run: &Run, rank: &Rank, key: WaitKey, peer: u32) -> Option<u32> {
    let communicator = rank.context(key.context)?.communicator;
    let of_peer = rank.rows.waits.iter().filter(|row| {
        row.key.peer == key.peer
            && row.key.peer_context != 0
            && rank.context(row.key.context).is_some_and(|context| context.communicator == communicator)
    });
    site_of(run, peer, of_peer.max_by_key(|row| row.count)?.key.peer_context)
}

/// When a rank was out of `MPI_Init*`: before that nobody is late.
fn runs_since(run: &Run, rank: u32) -> u64 {
    run.rank(rank).map_or(0, |rank| rank.nanos(rank.rows.runs_since))
}

/// Late senders and late receivers.
fn of_messages(run: &Run, rank: &Rank, level: u64, losses: &mut Losses, instances: &mut Vec<Instance>) {
    let mut kept: HashMap<WaitKey, u64> = HashMap::new();
    let intervals = || rank.rows.waited.iter().filter(|interval| keeps(level, interval.begin));
    for interval in intervals() {
        *kept.entry(interval.key).or_default() += interval.end.saturating_sub(interval.begin);
    }
    let mut weights: HashMap<WaitKey, (f64, Rule, u32, Option<u32>)> = HashMap::new();
    for row in &rank.rows.waits {
        let Some(peer) = rank.peer(row.key.context, row.key.peer) else { continue };
        let (rule, lost, site) = match row.key.kind {
            IntervalKind::LateSender => {
                let site = site_of(run, peer, row.key.peer_context);
                (Rule::LateSender, row.ticks, site.or_else(|| site_of_any(run, rank, row.key, peer)))
            }
            IntervalKind::LateReceiver => {
                let (late, site) = posted_late(run, peer, rank, row.key.context);
                (Rule::LateReceiver, row.ticks.min(late), site)
            }
            _ => continue,
        };
        if lost == 0 {
            continue;
        }
        let (seconds, share) = (rank.seconds(lost), lost as f64 / row.ticks.max(1) as f64);
        losses.add_wait(
            rank.rank,
            row.key.context,
            WaitProfile {
                count: row.count,
                lost_s: seconds,
                max_s: rank.seconds(row.longest.min(lost)),
                ..run::wait(rule, peer, site)
            },
        );
        match kept.get(&row.key) {
            Some(&ticks) if ticks > 0 => {
                let weight = row.ticks as f64 / ticks as f64 * share;
                weights.insert(row.key, (weight, rule, peer, site));
            }
            _ => losses.all.push(Loss {
                rule,
                rank: rank.rank,
                context: row.key.context,
                cause: peer,
                cause_site: site,
                seconds,
                count: row.count as f64,
            }),
        }
    }
    for interval in intervals() {
        let Some(&(weight, rule, culprit, site)) = weights.get(&interval.key) else { continue };
        instances.push(Instance {
            rule,
            rank: rank.rank,
            context: interval.key.context,
            culprit,
            site,
            begin: rank.nanos(interval.begin).max(runs_since(run, culprit)),
            end: rank.nanos(interval.end),
            since: None,
            weight,
            of_all: false,
        });
    }
}

/// How long messages of a sender's context waited for their receives at this receiver, in the sender's ticks, and the line of the receives
/// that were posted latest.
fn posted_late(run: &Run, receiver: u32, sender: &Rank, context: u32) -> (u64, Option<u32>) {
    let Some(receiver) = run.rank(receiver) else { return (0, None) };
    let (mut sum, mut most) = (0, (0, None));
    for row in &receiver.rows.waits {
        let is_it = row.key.kind == IntervalKind::PostedLate
            && u32::from(row.key.peer_context) == context
            && receiver.peer(row.key.context, row.key.peer) == Some(sender.rank);
        if is_it {
            sum += row.ticks;
            if row.ticks >= most.0 {
                most = (row.ticks, receiver.context(row.key.context).and_then(|context| context.site));
            }
        }
    }
    let ratio = sender.rows.ticks_per_second as f64 / receiver.rows.ticks_per_second as f64;
    ((sum as f64 * ratio) as u64, most.1)
}

/// Above this size, in bytes, a nonblocking send may wait for its receiver.
const LONG: u64 = 4096;

/// Whether what this function has started may wait for its receive, by its name and by whether messages are long.
fn send_waits(function: &str, long: bool) -> bool {
    mpi_functions::named(function).is_some_and(|function| match (function.kind, function.step) {
        (Kind::Send(Mode::Buffered), _) => false,
        (Kind::Send(Mode::Synchronous), Step::Starts) => true,
        (Kind::Send(_) | Kind::SendReceive | Kind::Start, Step::Starts) => long,
        _ => false,
    })
}

/// Whether a function waits for requests, by its name.
fn waits_for_requests(function: &str) -> bool {
    mpi_functions::named(function)
        .is_some_and(|function| (function.kind, function.step) == (Kind::Completion, Step::Completes))
}

/// Calls that wait for nonblocking sends whose receives are posted late: no longer than what is not explained by late senders.
fn of_pending_sends(run: &Run, rank: &Rank, losses: &mut Losses) {
    let mut late: BTreeMap<(u32, Option<u32>), (u64, u64)> = BTreeMap::new();
    for receiver in run.ranks.iter().filter(|receiver| receiver.rank != rank.rank) {
        for row in receiver.rows.waits.iter().filter(|row| row.key.kind == IntervalKind::PostedLate) {
            if receiver.peer(row.key.context, row.key.peer) != Some(rank.rank) {
                continue;
            }
            let Some(sent) = rank.context(row.key.peer_context.into()) else { continue };
            if send_waits(&sent.function, row.bytes > LONG * row.count) {
                let site = receiver.context(row.key.context).and_then(|context| context.site);
                let sum = late.entry((receiver.rank, site)).or_default();
                *sum = (sum.0 + row.ticks, sum.1 + row.count);
            }
        }
    }
    let all: u64 = late.values().map(|sum| sum.0).sum();
    if all == 0 {
        return;
    }
    // What is not explained of the call that waits longest.
    let explained = |context: &run::Context| -> f64 {
        let of_rank = losses.waits(rank.rank).filter(|(number, _)| {
            rank.context(*number).is_some_and(|of| of.function == context.function && of.site == context.site)
        });
        of_rank.map(|(_, wait)| wait.lost_s).sum()
    };
    let contexts = rank.contexts.iter().enumerate();
    let waiting = contexts.filter(|(_, context)| waits_for_requests(&context.function));
    let rows = &rank.rows.contexts;
    let unexplained = waiting.map(|(place, context)| {
        (place as u32, rank.seconds(rows.get(place).map_or(0, |row| row.ticks)) - explained(context))
    });
    let Some((context, left)) = unexplained.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    let share = (left / rank.seconds(all)).clamp(0.0, 1.0);
    for ((receiver, site), (ticks, count)) in late {
        let seconds = rank.seconds(ticks) * share;
        if seconds < 1e-6 {
            continue;
        }
        let wait = run::wait(Rule::LateReceiver, receiver, site);
        let longest = rows.get(context as usize).map_or(0, |row| row.longest);
        losses.add_wait(
            rank.rank,
            context,
            WaitProfile { count, lost_s: seconds, max_s: rank.seconds(longest).min(seconds), ..wait },
        );
        losses.all.push(Loss {
            rule: Rule::LateReceiver,
            rank: rank.rank,
            context,
            cause: receiver,
            cause_site: site,
            seconds,
            count: count as f64,
        });
    }
}

/// Time to copy a byte that was stored first, in seconds: five gigabytes in a second.
pub(crate) const COPYING: f64 = 0.2e-9;

/// What the queues of a rank cost it.
fn of_queues(run: &Run, rank: &Rank, losses: &mut Losses) {
    for (context, row) in (0..).zip(&rank.rows.contexts) {
        let own = |rule, seconds, count, cause_site| Loss {
            rule,
            rank: rank.rank,
            context,
            cause: rank.rank,
            cause_site,
            seconds,
            count,
        };
        let (searches, site) = (rank.seconds(row.search_ticks), rank.contexts[context as usize].site);
        if searches > 0.0 {
            let rule = Rule::of_searches(row.wildcard_search_ticks * 2 > row.search_ticks);
            losses.all.push(own(rule, searches, row.calls as f64, site));
        }
        if row.unexpected_bytes > 0 {
            let sent = rank
                .rows
                .waits
                .iter()
                .filter(|wait| wait.key.kind == IntervalKind::PostedLate && wait.key.context == context);
            let most = sent.max_by_key(|wait| wait.bytes);
            let from =
                most.and_then(|wait| site_of(run, rank.peer(context, wait.key.peer)?, wait.key.peer_context));
            let seconds = row.unexpected_bytes as f64 * COPYING;
            losses.all.push(own(Rule::UnexpectedCopies, seconds, row.unexpected as f64, from));
        }
    }
}

/// One process in one collective operation.
struct Part<'a> {
    rank: &'a Rank,
    interval: &'a IntervalRow,
    begin: u64,
    end: u64,
}

/// Collective operations: whoever comes last is waited for.
fn of_collectives(run: &Run, level: u64, losses: &mut Losses, instances: &mut Vec<Instance>) {
    let mut operations: BTreeMap<(u32, u32), Vec<Part<'_>>> = BTreeMap::new();
    let mut weights: HashMap<(u32, u32), f64> = HashMap::new();
    for rank in &run.ranks {
        let mut kept: HashMap<u32, u64> = HashMap::new();
        for interval in &rank.rows.collectives {
            let Some(context) = rank.context(interval.key.context) else { continue };
            let Some(communicator) = context.communicator else { continue };
            if !keeps(level, interval.begin) {
                continue;
            }
            *kept.entry(interval.key.context).or_default() += interval.end.saturating_sub(interval.begin);
            let (begin, end) = (rank.nanos(interval.begin), rank.nanos(interval.end));
            let key = (communicator, interval.key.peer as u32);
            operations.entry(key).or_default().push(Part { rank, interval, begin, end });
        }
        for (context, ticks) in kept {
            let all = rank.rows.contexts.get(context as usize).map_or(0, |row| row.ticks);
            let weight = if level == 0 || ticks == 0 { 1.0 } else { all as f64 / ticks as f64 };
            weights.insert((rank.rank, context), weight);
        }
    }
    let mut together: HashMap<u32, u64> = HashMap::new();
    for ((communicator, _), parts) in operations {
        let Some(common) = Together::of(&parts) else { continue };
        let before = together.get(&communicator).copied();
        let last = parts.iter().map(|part| part.begin).max().unwrap_or(0);
        together.insert(communicator, last);
        let of_all = parts.len() == run.ranks.len();
        for part in &parts {
            let Some(culprit) = common.waits_for(part, &parts) else { continue };
            let rule = common.rule;
            let end = culprit.begin.min(part.end);
            let begin = part.begin.max(runs_since(run, culprit.rank.rank));
            // Shorter than what is counted of messages.
            if end < begin.saturating_add(1000) {
                continue;
            }
            let context = part.interval.key.context;
            let weight = weights.get(&(part.rank.rank, context)).copied().unwrap_or(1.0);
            let site = culprit.rank.context(culprit.interval.key.context).and_then(|context| context.site);
            let lost_s = (end - begin) as f64 * 1e-9;
            losses.add_wait(
                part.rank.rank,
                context,
                WaitProfile {
                    count: weight.round() as u64,
                    lost_s: lost_s * weight,
                    max_s: lost_s,
                    ..run::wait(rule, culprit.rank.rank, site)
                },
            );
            instances.push(Instance {
                rule,
                rank: part.rank.rank,
                context,
                culprit: culprit.rank.rank,
                site,
                begin,
                end,
                since: before,
                weight,
                of_all,
            });
        }
    }
}

impl<'a> Part<'a> {
    fn context(&self) -> Option<&'a run::Context> {
        self.rank.context(self.interval.key.context)
    }

    /// The world rank of the root; between groups those of its own group do not know it.
    fn root(&self) -> Option<u32> {
        let root = self.interval.key.peer_context;
        let known = root != 0 && root != 0xffff;
        known.then(|| self.rank.peer(self.interval.key.context, i32::from(root) - 1)).flatten()
    }
}

/// What all parts of an operation have in common.
struct Together {
    rule: Rule,
    waits: Option<Waits>,
    root: Option<u32>,
    /// Of an operation between two groups, one of them: each waits for the other.
    group: Option<HashSet<u32>>,
}

impl Together {
    /// `None` of an operation that is not known of all who took part: it is not known who came last.
    fn of(parts: &[Part<'_>]) -> Option<Together> {
        let [first, _, ..] = parts else { return None };
        let function = first.context()?.function.clone();
        let size = first.rank.size(first.interval.key.context);
        let world = |part: &Part<'_>, rank: usize| part.rank.peer(part.interval.key.context, rank as i32);
        let peers = || (0..size.unwrap_or(0)).filter_map(|rank| world(first, rank));
        // Between groups the peers are those of the other one.
        let is_between = size.is_some() && peers().all(|peer| peer != first.rank.rank);
        let group: Option<HashSet<u32>> = is_between.then(|| peers().collect());
        let size = match &group {
            None => size,
            Some(group) => {
                let other = parts.iter().find(|part| group.contains(&part.rank.rank))?;
                Some(group.len() + other.rank.size(other.interval.key.context)?)
            }
        };
        (size.is_none_or(|size| parts.len() >= size)).then(|| Together {
            rule: Rule::of_collective(&function),
            waits: mpi_functions::named(&function).and_then(mpi_functions::Function::waits),
            root: parts.iter().find_map(Part::root),
            group,
        })
    }

    /// Whom a process waits for in an operation: the root, or whoever comes last of those whose data it gets.
    fn waits_for<'a, 'b>(&self, part: &Part<'a>, parts: &'b [Part<'a>]) -> Option<&'b Part<'a>> {
        let own = part.rank.rank;
        let side = |rank: u32| self.group.as_ref().map(|group| group.contains(&rank));
        let others = parts.iter().filter(|other| {
            other.rank.rank != own && (self.group.is_none() || side(other.rank.rank) != side(own))
        });
        let is_root = self.root == Some(own);
        let last_of = |wanted: &dyn Fn(&Part<'a>) -> bool| {
            others.filter(|other| wanted(other)).max_by_key(|other| other.begin)
        };
        match self.waits {
            Some(Waits::ForRoot) if is_root || part.root().is_none() => None,
            Some(Waits::ForRoot) => last_of(&|other| Some(other.rank.rank) == self.root),
            Some(Waits::RootForAll) if !is_root => None,
            Some(Waits::RootForAll) => last_of(&|other| other.root().is_some()),
            Some(Waits::ForLower) => last_of(&|other| other.rank.rank < own),
            // Who has left before another one came has not waited for it.
            Some(Waits::Neighbours) => last_of(&|other| other.begin <= part.end),
            Some(Waits::All) | None => last_of(&|_| true),
        }
    }
}

/// Follows each wait back to its cause, and sums up.
fn charge(run: &Run, level: u64, mut instances: Vec<Instance>, losses: &mut Losses) {
    instances.sort_by_key(|instance| instance.end);
    let started = run.ranks.iter().map(|rank| rank.nanos(rank.rows.runs_since)).max().unwrap_or(0);
    let period = run.ranks.first().map_or(1, |rank| (rank.seconds(1 << PERIOD) * 1e9) as u64);
    let (mut blame, mut all) = (Blame::new(), started);
    let mut pairs: HashMap<(u32, u32), u64> = HashMap::new();
    // By rule, rank, context, cause and its call site: seconds, and how many.
    type By = (Rule, u32, u32, u32, Option<u32>);
    let mut sums: BTreeMap<By, (f64, f64)> = BTreeMap::new();
    const NO_SITE: u32 = u32::MAX;
    for instance in &instances {
        let Instance { rule, rank, context, culprit, site, begin, end, .. } = *instance;
        let pair = (rank.min(culprit), rank.max(culprit));
        let mut since = all.max(instance.since.unwrap_or(0)).max(pairs.get(&pair).copied().unwrap_or(0));
        if level > 0 {
            // What was before is not known.
            since = since.max(begin.saturating_sub(period));
        }
        let wait = Wait { begin, end, since: since.min(begin), culprit, site: site.unwrap_or(NO_SITE) };
        let causes = blame.wait(rank, &wait);
        pairs.insert(pair, end);
        if instance.of_all {
            all = all.max(end);
        }
        let seconds = end.saturating_sub(begin) as f64 * 1e-9 * instance.weight;
        for Cause { rank: cause, site, part } in causes {
            let site = (site != NO_SITE).then_some(site);
            let sum = sums.entry((rule, rank, context, cause, site)).or_default();
            sum.0 += seconds * part;
            sum.1 += instance.weight * part;
        }
    }
    for ((rule, rank, context, cause, cause_site), (seconds, count)) in sums {
        losses.all.push(Loss { rule, rank, context, cause, cause_site, seconds, count });
    }
    for loss in losses.all.iter().filter(|loss| loss.cause != loss.rank) {
        *losses.caused.entry(loss.cause).or_default() += loss.seconds;
        *losses.lost.entry(loss.rank).or_default() += loss.seconds;
    }
}
