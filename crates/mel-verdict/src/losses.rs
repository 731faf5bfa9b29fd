//! The time that calls have lost, and who had caused it: estimated.
//!
//! Sums by call site and peer are those of the whole run. Who is the cause is found by single waits, of which each rank keeps as many
//! as there is space for, of the same periods of time: their shares are applied to the sums.

use std::collections::{BTreeMap, HashMap, HashSet};

use mel_log::profile::{Ended, WaitKind, WaitProfile};
use mel_log::table::writer::PERIOD;
use mel_log::table::{IntervalKind, IntervalRow, WaitKey, WaitRow};
use mpi_functions::{Kind, Mode, Step, Waits};
use rustc_hash::FxHashMap;

use super::blame::{Blame, Cause, Wait};
use super::findings::Rule;
use super::ideal::{Ideal, Member, Needed};
use super::lateness;
use super::nobody;
use super::places::{self, Place};
use super::run::{self, Rank, Run};
use super::windows::{self, WindowWait};

/// Time that calls of one context have lost, by one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Why.
    pub rule: Rule,
    /// Who has lost it.
    pub rank: u32,
    /// In which context; [`NO_CONTEXT`] in `MPI_Finalize`.
    pub context: u32,
    /// Who is the cause; `None` where that is not known.
    pub cause: Option<u32>,
    /// The call of the cause that came late: a place in [`Run::sites`].
    pub cause_site: Option<u32>,
    /// The context of the cause's call in which it was until then, where it was in MPI and no rule says for whom.
    pub inside: Option<u32>,
    /// How much.
    pub seconds: f64,
    /// In how many calls.
    pub count: f64,
}

/// From this share of the time on that was waited, and is not known wait by wait, it is not known who depended on whom.
const MOST_IN_SUMS: f64 = 0.01;

/// The context of what has none.
pub const NO_CONTEXT: u32 = u32::MAX;

/// All time lost in a run.
#[derive(Debug, Default)]
pub struct Losses {
    /// By who lost it, where, and who is the cause.
    pub all: Vec<Loss>,
    /// By the rank and its context: the waits for each direct peer.
    waits: BTreeMap<(u32, u32), Vec<WaitProfile>>,
    caused: HashMap<u32, f64>,
    lost: HashMap<u32, f64>,
    /// The run as it can be followed once more.
    pub(crate) ideal: Option<Ideal>,
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

    /// So much of the polling of a context was for what is told otherwise.
    fn no_more_polling(&mut self, rank: u32, context: u32, seconds: f64) {
        let of_it = |loss: &&mut Loss| (loss.rule, loss.rank, loss.context) == (Rule::Polling, rank, context);
        let Some(polling) = self.all.iter_mut().find(of_it) else { return };
        let left = (polling.seconds - seconds).max(0.0) / polling.seconds.max(1e-9);
        polling.seconds *= left;
        let waits = self.waits.get_mut(&(rank, context));
        for wait in waits.into_iter().flatten().filter(|wait| wait.kind == WaitKind::Polling) {
            wait.lost_s *= left;
        }
    }

    fn add_wait(&mut self, rank: u32, context: u32, wait: WaitProfile) {
        let waits = self.waits.entry((rank, context)).or_default();
        match waits
            .iter_mut()
            .find(|known| (known.kind, known.peer, known.peer_site) == (wait.kind, wait.peer, wait.peer_site))
        {
            Some(known) => {
                known.count = known.count.saturating_add(wait.count);
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

/// A call of which it is known when it was, and not whom it waited for.
#[derive(Clone, Copy, Debug)]
struct Inside {
    rank: u32,
    context: u32,
    begin: u64,
    end: u64,
}

/// All time lost.
pub fn of(run: &Run) -> Losses {
    let mut losses = Losses::default();
    let level = run.ranks.iter().map(|rank| rank.rows.level).max().unwrap_or(0);
    let mut instances = Vec::new();
    let lookup = Lookup::of(run);
    losses.ideal = Ideal::of(run, level);
    for rank in &run.ranks {
        of_messages(run, rank, &lookup, level, &mut losses, &mut instances);
    }
    if let Some(ideal) = &mut losses.ideal {
        for Instance { rank, begin, end, culprit, .. } in &instances {
            ideal.waited(*rank, (*begin, *end), *culprit);
        }
    }
    of_collectives(run, level, &mut losses, &mut instances);
    of_windows(run, level, &mut losses, &mut instances);
    of_finalize(run, &mut instances);
    for rank in &run.ranks {
        of_pending_sends(rank, &lookup, &mut losses);
        of_queues(run, rank, &lookup, &mut losses);
    }
    // What is known by its sums alone is on no path.
    let in_sums = |loss: &&Loss| loss.rule == Rule::Polling || loss.rule.is_wait();
    let in_sums: f64 = losses.all.iter().filter(in_sums).map(|loss| loss.seconds).sum();
    if in_sums > MOST_IN_SUMS * run.all_s() {
        losses.ideal.iter_mut().for_each(Ideal::not_known);
    }
    charge(run, level, instances, &mut losses);
    losses.ideal.iter_mut().for_each(Ideal::finish);
    limit(run, &mut losses);
    lateness::tell(run, &mut losses);
    nobody::tell(run, &mut losses);
    for loss in losses.all.iter().filter(|loss| loss.rule.is_wait() && loss.cause != Some(loss.rank)) {
        *losses.lost.entry(loss.rank).or_default() += loss.seconds;
        if let Some(cause) = loss.cause {
            *losses.caused.entry(cause).or_default() += loss.seconds;
        }
    }
    losses
}

/// No line has lost more time than its calls took, or than polling there lasted: sums of estimates may say more.
fn limit(run: &Run, losses: &mut Losses) {
    let most: HashMap<u32, BTreeMap<Place<'_>, f64>> =
        run.ranks.iter().map(|rank| (rank.rank, places::times(rank))).collect();
    let place = |rank, context| Some((rank, places::of(run.rank(rank)?.context(context)?)));
    let mut lost: HashMap<(u32, Place<'_>), (f64, f64)> = HashMap::new();
    for loss in losses.all.iter().filter(|loss| loss.rule.is_wait()) {
        if let Some(place) = place(loss.rank, loss.context) {
            lost.entry(place).or_default().0 += loss.seconds;
        }
    }
    for ((rank, context), waits) in &losses.waits {
        if let Some(place) = place(*rank, *context) {
            lost.entry(place).or_default().1 += waits.iter().map(|wait| wait.lost_s).sum::<f64>();
        }
    }
    let part = |rank, context, of: fn(&(f64, f64)) -> f64| -> f64 {
        let Some(place) = place(rank, context) else { return 1.0 };
        let all = most.get(&rank).and_then(|places| places.get(&place.1)).copied().unwrap_or(0.0);
        let lost = lost.get(&place).map_or(0.0, of);
        if lost > all { all / lost } else { 1.0 }
    };
    for loss in losses.all.iter_mut().filter(|loss| loss.rule.is_wait()) {
        loss.seconds *= part(loss.rank, loss.context, |lost| lost.0);
    }
    for ((rank, context), waits) in &mut losses.waits {
        let part = part(*rank, *context, |lost| lost.1);
        waits.iter_mut().for_each(|wait| wait.lost_s *= part);
    }
}

/// Whether intervals of this time are kept at this level.
pub(crate) fn keeps(level: u64, ticks: u64) -> bool {
    (ticks >> PERIOD) & ((1u64 << level.min(63)) - 1) == 0
}

/// The call site of a peer's context, where it is known.
fn site_of(run: &Run, peer: u32, context: u16) -> Option<u32> {
    if context == 0 {
        return None;
    }
    run.rank(peer)?.context(context.into())?.site
}

/// How long messages waited for their receives; the longest of the sums by line, and the line.
type PostedLate = (u64, (u64, Option<u32>));

/// Rows of waits by what is asked of them: each row is looked at once, however many others ask.
#[derive(Default)]
struct Lookup<'a> {
    /// By rank, communicator, and the peer's rank in it: of the peer's known contexts the one that most messages come from, and how many.
    senders: FxHashMap<(u32, Option<u32>, i32), (u64, u16)>,
    /// By receiver, sender, and the sender's context: how long messages waited for their receives, in the receiver's ticks; the longest of
    /// these sums by line, and the line.
    posted: FxHashMap<(u32, u32, u16), PostedLate>,
    /// By receiver, sender, and the sender's context: how long messages waited for a receiver that was elsewhere, in its ticks.
    left: FxHashMap<(u32, u32, u16), u64>,
    /// By sender: the receivers at which messages waited for their receives.
    late: FxHashMap<u32, Vec<(&'a Rank, &'a WaitRow)>>,
    /// By receiver and its context: of the messages that waited for their receives those with most bytes.
    largest: FxHashMap<(u32, u32), &'a WaitRow>,
}

impl<'a> Lookup<'a> {
    fn of(run: &'a Run) -> Lookup<'a> {
        let mut lookup = Lookup::default();
        for rank in &run.ranks {
            rank.rows.waits.iter().for_each(|row| lookup.add(rank, row));
        }
        lookup
    }

    fn add(&mut self, rank: &'a Rank, row: &'a WaitRow) {
        let WaitKey { context, peer, peer_context, kind } = row.key;
        let known = rank.context(context);
        if peer_context != 0
            && let Some(known) = known
        {
            let most = self.senders.entry((rank.rank, known.communicator, peer)).or_default();
            if row.count >= most.0 {
                *most = (row.count, peer_context);
            }
        }
        if kind == IntervalKind::LeftWaiting
            && let Some(sender) = rank.peer(context, peer)
        {
            let sum = self.left.entry((rank.rank, sender, peer_context)).or_default();
            *sum = sum.saturating_add(row.ticks);
        }
        if kind != IntervalKind::PostedLate {
            return;
        }
        let largest = self.largest.entry((rank.rank, context)).or_insert(row);
        if row.bytes >= largest.bytes {
            *largest = row;
        }
        let Some(sender) = rank.peer(context, peer) else { return };
        self.late.entry(sender).or_default().push((rank, row));
        let (sum, most) = self.posted.entry((rank.rank, sender, peer_context)).or_default();
        *sum = sum.saturating_add(row.ticks);
        if row.ticks >= most.0 {
            *most = (row.ticks, known.and_then(|context| context.site));
        }
    }

    /// The call site that most messages of a peer come from on the communicator of a context: where the one is not known, as of a probe.
    fn site_of_any(&self, run: &Run, rank: &Rank, key: WaitKey, peer: u32) -> Option<u32> {
        let communicator = rank.context(key.context)?.communicator;
        let &(_, context) = self.senders.get(&(rank.rank, communicator, key.peer))?;
        site_of(run, peer, context)
    }

    /// How long messages of a sender's context waited for their receives at this receiver, in the sender's ticks, and the line of the
    /// receives that were posted latest.
    fn posted_late(&self, run: &Run, receiver: u32, sender: &Rank, context: u32) -> (u64, Option<u32>) {
        let found = u16::try_from(context).ok().and_then(|at| self.posted.get(&(receiver, sender.rank, at)));
        let (Some(&(sum, (_, site))), Some(receiver)) = (found, run.rank(receiver)) else { return (0, None) };
        (in_ticks_of(sender, sum, receiver), site)
    }

    /// How long messages of a sender's context waited, though their receives were posted, for this receiver, which was elsewhere; in the
    /// sender's ticks.
    fn left_waiting(&self, run: &Run, receiver: u32, sender: &Rank, context: u32) -> u64 {
        let found = u16::try_from(context).ok().and_then(|at| self.left.get(&(receiver, sender.rank, at)));
        found.zip(run.rank(receiver)).map_or(0, |(sum, receiver)| in_ticks_of(sender, *sum, receiver))
    }
}

/// Ticks of another rank as those of this one.
fn in_ticks_of(rank: &Rank, ticks: u64, other: &Rank) -> u64 {
    (ticks as f64 * rank.rows.ticks_per_second as f64 / other.rows.ticks_per_second as f64) as u64
}

/// When a rank was out of `MPI_Init*`: before that nobody is late.
fn runs_since(run: &Run, rank: u32) -> u64 {
    run.rank(rank).map_or(0, |rank| rank.nanos(rank.rows.runs_since))
}

/// Late senders and late receivers.
fn of_messages(
    run: &Run,
    rank: &Rank,
    lookup: &Lookup<'_>,
    level: u64,
    losses: &mut Losses,
    instances: &mut Vec<Instance>,
) {
    let mut kept: HashMap<WaitKey, u64> = HashMap::new();
    let intervals = || rank.rows.waited.iter().filter(|interval| keeps(level, interval.begin));
    for interval in intervals() {
        let kept = kept.entry(interval.key).or_default();
        *kept = kept.saturating_add(interval.end.saturating_sub(interval.begin));
    }
    let mut weights: HashMap<WaitKey, (f64, Rule, u32, Option<u32>)> = HashMap::new();
    let polled = Polled::of(rank);
    for polled in polled.values() {
        of_polling(rank, polled, losses);
    }
    for row in &rank.rows.waits {
        let Some(peer) = rank.peer(row.key.context, row.key.peer) else { continue };
        let (rule, lost, site) = match row.key.kind {
            IntervalKind::LateSender => {
                let site = site_of(run, peer, row.key.peer_context);
                (Rule::LateSender, row.ticks, site.or_else(|| lookup.site_of_any(run, rank, row.key, peer)))
            }
            IntervalKind::LateReceiver => {
                let (late, site) = lookup.posted_late(run, peer, rank, row.key.context);
                let left = lookup.left_waiting(run, peer, rank, row.key.context);
                // One line has the one or the other, as a rule.
                if left > late {
                    (Rule::WaitWithoutProgress, row.ticks.min(left), None)
                } else {
                    (Rule::LateReceiver, row.ticks.min(late), site)
                }
            }
            _ => continue,
        };
        if lost == 0 {
            continue;
        }
        let (seconds, share) = (rank.seconds(lost), lost as f64 / row.ticks.max(1) as f64);
        let place = rank.context(row.key.context).map(places::of);
        let in_calls = place.and_then(|place| polled.get(&place)).map_or(1.0, Polled::in_calls);
        losses.add_wait(
            rank.rank,
            row.key.context,
            WaitProfile {
                count: row.count,
                lost_s: seconds * in_calls,
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
                cause: Some(peer),
                cause_site: site,
                inside: None,
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

/// What a thread has polled at a place. Times are ticks.
#[derive(Debug, Default)]
struct Polled {
    /// A context of the place, that of the test that has found something.
    context: u32,
    count: u64,
    waited: u64,
    /// The part of `waited` that lies between the tests.
    between: u64,
    longest: u64,
    /// For messages whose senders are known, and for collective operations: how often, and how long.
    known: (u64, u64),
}

impl Polled {
    fn of(rank: &Rank) -> BTreeMap<Place<'_>, Polled> {
        let mut places: BTreeMap<Place<'_>, Polled> = BTreeMap::new();
        let of_kind = |kind| rank.rows.waits.iter().filter(move |row| row.key.kind == kind);
        for row in of_kind(IntervalKind::Polled) {
            let Some(place) = rank.context(row.key.context).map(places::of) else { continue };
            let polled = places.entry(place).or_default();
            polled.context = row.key.context;
            polled.count = polled.count.saturating_add(row.count);
            polled.waited = polled.waited.saturating_add(row.ticks);
            polled.between = polled.between.saturating_add(row.bytes);
            polled.longest = polled.longest.max(row.longest);
        }
        if !places.is_empty() {
            for row in of_kind(IntervalKind::LateSender).chain(of_kind(IntervalKind::Completed)) {
                let place = rank.context(row.key.context).map(places::of);
                if let Some(polled) = place.and_then(|place| places.get_mut(&place)) {
                    let (count, ticks) = polled.known;
                    polled.known = (count.saturating_add(row.count), ticks.saturating_add(row.ticks));
                }
            }
        }
        places
    }

    /// The share of the waits that is in calls, and not between them.
    fn in_calls(&self) -> f64 {
        self.waited.saturating_sub(self.between) as f64 / self.waited.max(1) as f64
    }
}

/// Polling for what is no message whose sender is known: it is not known for whom. Of the waits of a call what lies between its tests is
/// none.
fn of_polling(rank: &Rank, polled: &Polled, losses: &mut Losses) {
    let seconds = rank.seconds(polled.waited.saturating_sub(polled.known.1));
    let (count, in_calls) = (polled.count.saturating_sub(polled.known.0), seconds * polled.in_calls());
    if seconds == 0.0 || count == 0 {
        return;
    }
    let max_s = rank.seconds(polled.longest).min(in_calls);
    let wait = WaitProfile { kind: run::kind(Rule::Polling), ..WaitProfile::default() };
    losses.add_wait(rank.rank, polled.context, WaitProfile { count, lost_s: in_calls, max_s, ..wait });
    losses.all.push(Loss {
        rule: Rule::Polling,
        rank: rank.rank,
        context: polled.context,
        cause: None,
        cause_site: None,
        inside: None,
        seconds,
        count: count as f64,
    });
}

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

/// Whether a function looks whether requests are complete, by its name.
fn tests_requests(function: &str) -> bool {
    mpi_functions::named(function)
        .is_some_and(|function| (function.kind, function.step) == (Kind::Completion, Step::Tests))
}

/// Calls that wait for nonblocking sends whose receives are posted late: no longer than what is not explained by late senders.
fn of_pending_sends(rank: &Rank, lookup: &Lookup<'_>, losses: &mut Losses) {
    let mut late: BTreeMap<(u32, Option<u32>), (u64, u64)> = BTreeMap::new();
    for (receiver, row) in lookup.late.get(&rank.rank).into_iter().flatten() {
        if receiver.rank == rank.rank {
            continue;
        }
        let Some(sent) = rank.context(row.key.peer_context.into()) else { continue };
        if send_waits(&sent.function, row.bytes > mpi_functions::STORED.saturating_mul(row.count)) {
            let site = receiver.context(row.key.context).and_then(|context| context.site);
            let sum = late.entry((receiver.rank, site)).or_default();
            *sum = (sum.0.saturating_add(row.ticks), sum.1.saturating_add(row.count));
        }
    }
    if late.is_empty() {
        return;
    }
    // Who comes late to an exchange sends late and receives late: that is told once, where its message is waited for.
    let mut told: BTreeMap<u32, f64> = BTreeMap::new();
    for (number, wait) in losses.waits(rank.rank).filter(|(_, wait)| wait.kind == WaitKind::LateSender) {
        let peer = wait
            .peer
            .filter(|_| rank.context(number).is_some_and(|context| waits_for_requests(&context.function)));
        if let Some(peer) = peer {
            *told.entry(peer).or_default() += wait.lost_s;
        }
    }
    let mut by_receiver: BTreeMap<u32, f64> = BTreeMap::new();
    for (&(receiver, _), sum) in &late {
        *by_receiver.entry(receiver).or_default() += rank.seconds(sum.0);
    }
    let not_told = |receiver: u32, ticks: u64| {
        let of_receiver = |sums: &BTreeMap<u32, f64>| sums.get(&receiver).copied().unwrap_or(0.0);
        let told = of_receiver(&told) / of_receiver(&by_receiver).max(1e-9);
        rank.seconds(ticks) * (1.0 - told).max(0.0)
    };
    let all: f64 = late.iter().map(|(&(receiver, _), sum)| not_told(receiver, sum.0)).sum();
    if all == 0.0 {
        return;
    }
    // What is not explained of the call that waits longest, or of the polling.
    let explained = |context: &run::Context| -> f64 {
        let of_rank = losses.waits(rank.rank).filter(|(number, wait)| {
            let at = rank.context(*number);
            wait.kind != WaitKind::Polling
                && at.is_some_and(|of| of.function == context.function && of.site == context.site)
        });
        of_rank.map(|(_, wait)| wait.lost_s).sum()
    };
    let rows = &rank.rows.contexts;
    let contexts = rank.contexts.iter().enumerate();
    let waiting = contexts.filter(|(_, context)| waits_for_requests(&context.function));
    let unexplained = waiting.map(|(place, context)| {
        (place as u32, rank.seconds(rows.get(place).map_or(0, |row| row.ticks)) - explained(context))
    });
    let polled = losses.all.iter().filter(|loss| {
        let function = rank.context(loss.context).map(|context| &*context.function);
        (loss.rule, loss.rank) == (Rule::Polling, rank.rank) && function.is_some_and(tests_requests)
    });
    let polled = polled.map(|loss| (loss.context, loss.seconds));
    let Some((context, left)) = unexplained.chain(polled).max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    let share = (left / all).clamp(0.0, 1.0);
    for ((receiver, site), (ticks, count)) in late {
        let seconds = not_told(receiver, ticks) * share;
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
            cause: Some(receiver),
            cause_site: site,
            inside: None,
            seconds,
            count: count as f64,
        });
        losses.no_more_polling(rank.rank, context, seconds);
    }
}

/// Time to copy a byte that was stored first, in seconds: five gigabytes in a second.
pub(crate) const COPYING: f64 = 0.2e-9;

/// Messages of more bytes are not stored: their data comes when their receive is there.
const NOT_STORED: u64 = 64 << 10;

/// What the queues of a rank cost it.
fn of_queues(run: &Run, rank: &Rank, lookup: &Lookup<'_>, losses: &mut Losses) {
    for (context, row) in (0..).zip(&rank.rows.contexts) {
        let own = |rule, seconds, count, cause_site| Loss {
            rule,
            rank: rank.rank,
            context,
            cause: Some(rank.rank),
            cause_site,
            inside: None,
            seconds,
            count,
        };
        let (searches, site) = (rank.seconds(row.search_ticks), rank.contexts[context as usize].site);
        if searches > 0.0 {
            let rule = Rule::of_searches(row.wildcard_search_ticks > row.search_ticks / 2);
            losses.all.push(own(rule, searches, row.calls as f64, site));
        }
        if row.unexpected_bytes > 0 && row.unexpected_bytes <= NOT_STORED.saturating_mul(row.unexpected) {
            let most = lookup.largest.get(&(rank.rank, context));
            let from =
                most.and_then(|wait| site_of(run, rank.peer(context, wait.key.peer)?, wait.key.peer_context));
            let seconds = row.unexpected_bytes as f64 * COPYING;
            losses.all.push(own(Rule::UnexpectedCopies, seconds, row.unexpected as f64, from));
        }
    }
}

/// In an operation with a root nobody is charged with being late by less than this, in nanoseconds, but for those whose data is waited for.
const SHORT: u64 = 50_000;

/// One process in one collective operation.
struct Part<'a> {
    rank: &'a Rank,
    /// The call that takes part: of an operation that has a request the one that starts it.
    interval: &'a IntervalRow,
    /// When the process takes part.
    starts: u64,
    /// The context of the call that waits, since when it does so, and until when; `None` where that is not known.
    waits: Option<(u32, u64, u64)>,
}

impl Part<'_> {
    /// Until when it is known to be in the operation.
    fn end(&self) -> u64 {
        self.waits.map_or(self.starts, |(_, _, end)| end)
    }

    /// Whether it waits in the call by which it takes part.
    fn is_blocking(&self) -> bool {
        self.interval.key.kind == IntervalKind::Collective
    }
}

/// Collective operations: whoever comes last is waited for.
fn of_collectives(run: &Run, level: u64, losses: &mut Losses, instances: &mut Vec<Instance>) {
    let mut operations: BTreeMap<(u32, u32), Vec<Part<'_>>> = BTreeMap::new();
    for rank in &run.ranks {
        let mut completed: FxHashMap<(u32, u32), &IntervalRow> = FxHashMap::default();
        for interval in rank.rows.collectives.iter().filter(|row| row.key.kind == IntervalKind::Completed) {
            let communicator = rank.context(interval.key.context).and_then(|context| context.communicator);
            if let Some(communicator) = communicator.filter(|_| keeps(level, interval.begin)) {
                completed.insert((communicator, interval.key.peer as u32), interval);
            }
        }
        for interval in &rank.rows.collectives {
            let Some(context) = rank.context(interval.key.context) else { continue };
            let Some(communicator) = context.communicator else { continue };
            if !keeps(level, interval.begin) {
                continue;
            }
            let key = (communicator, interval.key.peer as u32);
            let waiting = match interval.key.kind {
                IntervalKind::Started => completed.get(&key).copied(),
                IntervalKind::Collective => Some(interval),
                _ => continue,
            };
            let times = |row: &IntervalRow| (row.key.context, rank.nanos(row.begin), rank.nanos(row.end));
            let (starts, waits) = (rank.nanos(interval.begin), waiting.map(times));
            operations.entry(key).or_default().push(Part { rank, interval, starts, waits });
        }
    }
    // Of the others, such as those at the edges of periods, it is not known who came last.
    let known = operations.into_iter().filter_map(|((communicator, _), parts)| {
        let common = Together::of(&parts);
        let is_alone = || parts.iter().all(|part| part.rank.size(part.interval.key.context) == Some(1));
        let is_known = common.is_some() && parts.iter().all(|part| part.waits.is_some());
        if let Some(ideal) = losses.ideal.as_mut().filter(|_| !is_known && !is_alone()) {
            if level == 0 {
                ideal.not_known();
            }
            let waits = parts.iter().filter_map(|part| part.waits);
            waits.for_each(|(_, begin, end)| ideal.is_cut((begin, end)));
        }
        Some((communicator, common?, parts))
    });
    let known: Vec<(u32, Together, Vec<Part<'_>>)> = known.collect();
    let weights = weights(run, level, known.iter().flat_map(|(.., parts)| parts));
    let mut together: HashMap<u32, u64> = HashMap::new();
    for (communicator, common, parts) in known {
        let before = together.get(&communicator).copied();
        let last = parts.iter().map(|part| part.starts).max().unwrap_or(0);
        together.insert(communicator, last);
        let of_all = parts.len() == run.ranks.len();
        if let Some(ideal) = &mut losses.ideal {
            let member = |part: &Part<'_>| Member {
                rank: part.rank.rank,
                starts: part.starts,
                waits: part.waits.map(|(_, begin, end)| (begin, end)),
            };
            let members: Vec<Member> = parts.iter().map(member).collect();
            ideal.operation(&members, |place| common.needs(&parts[place], &parts));
        }
        for part in &parts {
            let Some((context, waits_since, until)) = part.waits else { continue };
            for (rule, culprit, begin) in common.waits(part, &parts, waits_since) {
                let end = culprit.starts.min(until);
                let begin = begin.max(runs_since(run, culprit.rank.rank));
                // Shorter than what is counted of messages.
                if end < begin.saturating_add(1000) {
                    continue;
                }
                let weight = weights.get(&(part.rank.rank, context)).copied().unwrap_or(1.0);
                let site =
                    culprit.rank.context(culprit.interval.key.context).and_then(|context| context.site);
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
}

/// By rank and context: how many calls each of those stands for that these parts of operations are known of.
fn weights<'a>(run: &Run, level: u64, parts: impl Iterator<Item = &'a Part<'a>>) -> HashMap<(u32, u32), f64> {
    if level == 0 {
        return HashMap::new();
    }
    let mut kept: HashMap<(u32, u32), u64> = HashMap::new();
    for part in parts {
        if let Some((context, begin, end)) = part.waits {
            let kept = kept.entry((part.rank.rank, context)).or_default();
            *kept = kept.saturating_add(end.saturating_sub(begin));
        }
    }
    let weight = |((number, context), nanos): ((u32, u32), u64)| {
        let rank = run.rank(number).filter(|_| nanos > 0)?;
        let is_it = |row: &&WaitRow| row.key.context == context && row.key.kind == IntervalKind::Completed;
        let of_requests = rank.rows.waits.iter().find(is_it).map(|row| row.ticks);
        let of_calls = || rank.rows.contexts.get(context as usize).map(|row| row.ticks);
        let all = of_requests.or_else(of_calls).unwrap_or(0);
        Some(((number, context), rank.seconds(all) * 1e9 / nanos as f64))
    };
    kept.into_iter().filter_map(weight).collect()
}

/// Waits in the synchronisation of windows, of which single ones are known.
fn of_windows(run: &Run, level: u64, losses: &mut Losses, instances: &mut Vec<Instance>) {
    // As many as are left out with their periods.
    let weight = (1_u64 << level.min(40)) as f64;
    for wait in windows::waits(run, |ticks| keeps(level, ticks)) {
        // What these need of others is not known but for whom they wait for.
        losses.ideal.iter_mut().for_each(Ideal::not_known);
        let WindowWait { rule, rank, context, culprit, site, begin, end } = wait;
        let begin = begin.max(runs_since(run, culprit));
        let max_s = end.saturating_sub(begin) as f64 * 1e-9;
        let sum = WaitProfile {
            count: weight as u64,
            lost_s: max_s * weight,
            max_s,
            ..run::wait(rule, culprit, site)
        };
        losses.add_wait(rank, context, sum);
        if let Some(ideal) = &mut losses.ideal {
            ideal.waited(rank, (begin, end), culprit);
        }
        instances.push(Instance {
            rule,
            rank,
            context,
            culprit,
            site,
            begin,
            end,
            since: None,
            weight,
            of_all: false,
        });
    }
}

/// `MPI_Finalize`: where all ranks have called it, they wait there for the last one.
fn of_finalize(run: &Run, instances: &mut Vec<Instance>) {
    let all = run.ranks.first().is_some_and(|rank| rank.rows.world_size as usize == run.ranks.len());
    let finalised = |rank: &Rank| rank.rows.how_it_ended() == Ended::Finalised;
    if !all || !run.has_one_clock || !run.ranks.iter().all(finalised) {
        return;
    }
    let Some(last) = run.ranks.iter().max_by_key(|rank| rank.ends()) else { return };
    let waiting = run.ranks.iter().filter(|rank| last.ends() >= rank.ends().saturating_add(1000));
    instances.extend(waiting.map(|rank| Instance {
        rule: Rule::WaitAtFinalize,
        rank: rank.rank,
        context: NO_CONTEXT,
        culprit: last.rank,
        site: None,
        begin: rank.ends(),
        end: last.ends(),
        since: None,
        weight: 1.0,
        of_all: true,
    }));
}

impl<'a> Part<'a> {
    fn context(&self) -> Option<&'a run::Context> {
        self.rank.context(self.interval.key.context)
    }

    /// What its part of the data needs at a gigabyte per second, and the way of a message, in nanoseconds.
    fn transfer(&self) -> u64 {
        let row = self.rank.rows.contexts.get(self.interval.key.context as usize);
        let bytes = row.map_or(0, |row| row.sent.saturating_add(row.received) / row.calls.max(1));
        bytes.saturating_add(SHORT)
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

    /// Whom a process waits for that does nothing else since then, since when, and why. First, those whose data it gets. Then, where data is large or goes
    /// through others on its way, whoever came last: a process that left after that one had come, and stayed longer than its own data
    /// needs, has waited for it.
    fn waits<'a, 'b>(
        &self,
        part: &Part<'a>,
        parts: &'b [Part<'a>],
        waits_since: u64,
    ) -> Vec<(Rule, &'b Part<'a>, u64)> {
        let first = self.waits_for(part, parts).filter(|first| first.starts > waits_since);
        let since = first.map_or(waits_since, |first| first.starts);
        let mut waits: Vec<_> = first.map(|first| (self.rule, first, waits_since)).into_iter().collect();
        if matches!(self.waits, Some(Waits::ForRoot | Waits::RootForAll | Waits::ForLower))
            && self.group.is_none()
            && part.is_blocking()
        {
            let others =
                parts.iter().filter(|other| other.rank.rank != part.rank.rank && other.starts <= part.end());
            let last = others.max_by_key(|other| other.starts);
            let is_late = |last: &&Part<'a>| last.starts > since.saturating_add(part.transfer());
            waits.extend(last.filter(is_late).map(|last| (Rule::LateMember, last, since)));
        }
        waits
    }

    /// Whose data a process needs, and when those came that it waited for without that.
    fn needs(&self, part: &Part<'_>, parts: &[Part<'_>]) -> (Needed, Vec<(u32, u64)>) {
        let own = part.rank.rank;
        let needed = match self.waits {
            _ if self.group.is_some() => Needed::Unknown,
            Some(Waits::All) | None => Needed::All,
            Some(Waits::ForRoot) => {
                let root = self.root.filter(|root| *root != own);
                let place = parts.iter().position(|other| Some(other.rank.rank) == root);
                Needed::These(place.into_iter().collect())
            }
            Some(Waits::RootForAll) if self.root == Some(own) => Needed::All,
            Some(Waits::RootForAll) => Needed::These(Vec::new()),
            // Of many only whoever came last.
            Some(Waits::ForLower) => {
                let lower = (0..).zip(parts).filter(|(_, other)| other.rank.rank < own);
                let last = lower.max_by_key(|(_, other)| other.starts);
                Needed::These(last.map(|(place, _)| place).into_iter().collect())
            }
            Some(Waits::Neighbours) => Needed::Unknown,
        };
        let waits = part.waits.map_or_else(Vec::new, |waits| self.waits(part, parts, waits.1));
        let is_other = |rule| rule == Rule::LateMember || needed == Needed::Unknown;
        let members = waits.into_iter().filter(|wait| is_other(wait.0));
        let waited = members.map(|(_, other, _)| (other.rank.rank, other.starts)).collect();
        (needed, waited)
    }

    /// Whose data it waits for: the root, or whoever comes last of those whose data it gets.
    fn waits_for<'a, 'b>(&self, part: &Part<'a>, parts: &'b [Part<'a>]) -> Option<&'b Part<'a>> {
        let own = part.rank.rank;
        let side = |rank: u32| self.group.as_ref().map(|group| group.contains(&rank));
        let others = parts.iter().filter(|other| {
            other.rank.rank != own && (self.group.is_none() || side(other.rank.rank) != side(own))
        });
        let is_root = self.root == Some(own);
        let last_of = |wanted: &dyn Fn(&Part<'a>) -> bool| {
            others.filter(|other| wanted(other)).max_by_key(|other| other.starts)
        };
        match self.waits {
            Some(Waits::ForRoot) if is_root || part.root().is_none() => None,
            Some(Waits::ForRoot) => last_of(&|other| Some(other.rank.rank) == self.root),
            Some(Waits::RootForAll) if !is_root => None,
            Some(Waits::RootForAll) => last_of(&|other| other.root().is_some()),
            Some(Waits::ForLower) => last_of(&|other| other.rank.rank < own),
            // Who has left before another one came has not waited for it.
            Some(Waits::Neighbours) => last_of(&|other| other.starts <= part.end()),
            Some(Waits::All) | None => last_of(&|_| true),
        }
    }
}

/// Follows each wait back to its cause, and sums up.
fn charge(run: &Run, level: u64, mut instances: Vec<Instance>, losses: &mut Losses) {
    instances.sort_by_key(|instance| instance.end);
    let mut insides = insides(run, level);
    insides.sort_by_key(|inside| inside.end);
    let mut insides = insides.into_iter().peekable();
    let started = run.ranks.iter().map(|rank| rank.nanos(rank.rows.runs_since)).max().unwrap_or(0);
    let period = run.ranks.first().map_or(1, |rank| (rank.seconds(1 << PERIOD) * 1e9) as u64);
    let (mut blame, mut all) = (Blame::new(), started);
    let mut pairs: HashMap<(u32, u32), u64> = HashMap::new();
    // By rule, rank, context, cause, its call site and where it was before: seconds, and how many.
    type By = (Rule, u32, u32, u32, Option<u32>, Option<u32>);
    let mut sums: BTreeMap<By, (f64, f64)> = BTreeMap::new();
    const NO_SITE: u32 = u32::MAX;
    for instance in &instances {
        let Instance { rule, rank, context, culprit, site, begin, end, .. } = *instance;
        // A call ends after the wait in it.
        let is_before = |inside: &Inside| inside.end < end || inside.end == end && inside.rank != rank;
        while let Some(inside) = insides.next_if(is_before) {
            blame.inside(inside.rank, (inside.begin, inside.end), inside.context);
        }
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
        if let Some(ideal) = &mut losses.ideal {
            let due = causes.iter().map(|cause| {
                let since = (cause.rank == culprit).then_some(since);
                ((rule, rank, context, cause.rank), cause.part, since)
            });
            ideal.charge(rank, (begin, end), due);
        }
        let seconds = end.saturating_sub(begin) as f64 * 1e-9 * instance.weight;
        for Cause { rank: cause, site, inside, part } in causes {
            let site = (site != NO_SITE).then_some(site);
            let sum = sums.entry((rule, rank, context, cause, site, inside)).or_default();
            sum.0 += seconds * part;
            sum.1 += instance.weight * part;
        }
    }
    for ((rule, rank, context, cause, cause_site, inside), (seconds, count)) in sums {
        losses.all.push(Loss { rule, rank, context, cause: Some(cause), cause_site, inside, seconds, count });
    }
}

/// The calls of all ranks of which single ones are known, with and without waits in them.
fn insides(run: &Run, level: u64) -> Vec<Inside> {
    let of = |rank: &Rank, interval: &IntervalRow| Inside {
        rank: rank.rank,
        context: interval.key.context,
        begin: rank.nanos(interval.begin),
        end: rank.nanos(interval.end),
    };
    let is_call = |interval: &&IntervalRow| {
        use IntervalKind::{Collective, Long, Polled};
        matches!(interval.key.kind, Collective | Long | Polled) && keeps(level, interval.begin)
    };
    let all = run.ranks.iter().flat_map(|rank| {
        let intervals = rank.rows.waited.iter().chain(&rank.rows.collectives).filter(is_call);
        intervals.map(move |interval| of(rank, interval))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use mel_log::profile::CallSite;
    use mel_log::table::{ContextKey, ContextRow, TableRows};
    use mel_log::{Definition, Members};

    use super::super::run::LOOKED;
    use super::*;

    /// Two ranks; the calls of the contexts from 1 on have lines, the line of context 1 of each is the first of it.
    fn table(rank: u32, contexts: u64, waits: Vec<WaitRow>) -> TableRows {
        let context = |place| ContextRow {
            key: ContextKey { site: place, communicator: 1, function: 1, ..ContextKey::default() },
            calls: 1,
            ticks: 1_000_000_000,
            unexpected: 1,
            unexpected_bytes: 1,
            ..ContextRow::default()
        };
        let members = Members::from_ranks(0..2);
        TableRows {
            rank,
            world_size: 2,
            ticks_per_second: 1_000_000_000,
            contexts: (0..=contexts).map(context).collect(),
            waits,
            definitions: vec![
                Definition::Function { number: 1, name: "MPI_Recv".into() },
                Definition::Communicator { index: 1, context: 1, name: "w".into(), members, remote: None },
            ],
            ..TableRows::default()
        }
    }

    fn wait(kind: IntervalKind, (context, peer, peer_context): (u32, i32, u16), count: u64) -> WaitRow {
        let key = WaitKey { context, peer, peer_context, kind };
        WaitRow { key, count, ticks: 1_000_000 * count, longest: 1_000_000, bytes: 8 * count }
    }

    fn run(tables: Vec<TableRows>) -> Run {
        let line =
            |_: &str, place| CallSite { file: "a.c".into(), line: place as u32, ..CallSite::default() };
        Run::of(tables, line)
    }

    #[test]
    fn a_sender_that_is_not_known_is_the_one_of_most_messages() {
        use IntervalKind::LateSender;
        let known = [(2, 5), (3, 9), (4, 7)].map(|(at, count)| wait(LateSender, (1, 1, at), count));
        let waits = known.into_iter().chain([wait(LateSender, (2, 1, 0), 1)]).collect();
        let run = run(vec![table(0, 4, waits), table(1, 4, Vec::new())]);
        let losses = of(&run);
        let (_, unknown) = losses.waits(0).find(|(context, _)| *context == 2).expect("it is counted");
        assert_eq!(run.site(unknown.peer_site), run.site(run.ranks[1].contexts[3].site));
    }

    #[test]
    fn the_line_of_a_late_receiver_is_that_of_the_longest_waits() {
        let late = |context, count| wait(IntervalKind::PostedLate, (context, 1, 2), count);
        let receiver = table(0, 4, vec![late(1, 1), late(3, 4), late(4, 2)]);
        let sender = table(1, 4, vec![wait(IntervalKind::LateReceiver, (2, 0, 0), 5)]);
        let run = run(vec![receiver, sender]);
        let losses = of(&run);
        let (_, found) = losses.waits(1).next().expect("it is counted");
        assert_eq!((found.peer, found.lost_s), (Some(0), 0.005));
        assert_eq!(run.site(found.peer_site), run.site(run.ranks[0].contexts[3].site));
    }

    #[test]
    fn who_comes_late_to_an_exchange_is_told_once() {
        let lost = |sends_late: u64| {
            let late = wait(IntervalKind::LateSender, (2, 1, 1), sends_late);
            let mut tables = [table(0, 2, vec![late]), table(1, 2, Vec::new())];
            // Large messages, which wait for their receive.
            let posted = wait(IntervalKind::PostedLate, (1, 0, 1), 20);
            tables[1].waits.push(WaitRow { bytes: 20 << 20, ..posted });
            for table in &mut tables {
                (table.contexts[1].key.function, table.contexts[2].key.function) = (2, 3);
                let functions = [(2, "MPI_Isend"), (3, "MPI_Waitall")];
                table.definitions.extend(
                    functions.map(|(number, name)| Definition::Function { number, name: name.into() }),
                );
            }
            let losses = of(&run(tables.into()));
            let of_rank = losses.waits(0).filter(|(_, wait)| wait.kind == WaitKind::LateReceiver);
            of_rank.map(|(_, wait)| wait.lost_s).sum::<f64>()
        };
        assert!((lost(0) - 0.02).abs() < 1e-9, "{}", lost(0));
        assert!((lost(5) - 0.015).abs() < 1e-9, "{}", lost(5));
        assert_eq!(lost(20), 0.0);
    }

    #[test]
    fn times_of_a_damaged_table_are_no_fault_however_long_they_are() {
        let mut damaged = table(0, 2, vec![wait(IntervalKind::PostedLate, (1, 0, 1), 1)]);
        for row in &mut damaged.contexts {
            (row.search_ticks, row.wildcard_search_ticks) = (u64::MAX, u64::MAX - 1);
        }
        let losses = of(&run(vec![damaged]));
        assert!(losses.all.iter().any(|loss| loss.rule == Rule::of_searches(true)));
    }

    #[test]
    fn each_row_is_looked_at_a_few_times_however_many_there_are() {
        use IntervalKind::{LateReceiver, LateSender, PostedLate};
        let looks = |rows: u64| {
            // Contexts behind the last one have no lines: they are searched for.
            let of_kind = |kind, at: (i32, u16)| {
                (0..rows).map(move |row| wait(kind, (row as u32 % 8, at.0, at.1), row))
            };
            let first = of_kind(LateSender, (1, 60_000)).chain(of_kind(PostedLate, (1, 1))).collect();
            let second = (0..rows).map(|row| wait(LateReceiver, (1, 0, 0), row)).collect();
            let run = run(vec![table(0, rows, first), table(1, rows, second)]);
            LOOKED.set(0);
            of(&run);
            LOOKED.get()
        };
        let (few, many) = (looks(100), looks(1600));
        assert!(few > 0 && many <= 20 * few, "{few} and {many}");
    }
}
