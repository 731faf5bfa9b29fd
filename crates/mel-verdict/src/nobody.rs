//! What is lost in the communication itself, so that nobody is the cause: ranks that leave an operation one after the other, ranks that do
//! nothing but to send and receive, data on its way, files.

use std::collections::{BTreeMap, HashMap};

use mel_log::Definition;
use mel_log::table::ContextRow;
use mel_log::table::layout::bounds;
use mpi_functions::{Function, Kind, Operation, Step, Waits};

use crate::budget::OF_BYTE;
use crate::findings::Rule;
use crate::losses::{Loss, Losses};
use crate::places::{self, Place};
use crate::run::{Context, Rank, Run};

/// A rank that does anything but to send and receive for less than this share of what another one waits for its messages is not the cause.
const HARDLY: f64 = 0.25;
/// Between two calls of a rank that does nothing but to send and receive passes less, in seconds.
const BETWEEN_CALLS: f64 = 1e-6;
/// Calls that only latency and the rate of messages hold up take less, in seconds.
const SHORT_CALL: f64 = 100e-6;
/// So much of the time of a call site is in such calls then.
const MOSTLY: f64 = 0.75;
/// Messages of more bytes take time because of their data.
const LARGE: u64 = 64 << 10;

/// Says of all waits whether anybody is their cause, and what data and files cost.
pub(crate) fn tell(run: &Run, losses: &mut Losses) {
    idle_by_design(run, &mut losses.all);
    one_after_the_other(run, &mut losses.all);
    only_communication(run, &mut losses.all);
    let more: Vec<Loss> = run.ranks.iter().flat_map(|rank| of_data(rank, &losses.all)).collect();
    losses.all.extend(more);
}

/// What ranks wait that idle by design, as the user says.
fn idle_by_design(run: &Run, losses: &mut [Loss]) {
    for rank in run.ranks.iter().filter(|rank| rank.rows.definitions.contains(&Definition::Idle {})) {
        let waits =
            losses.iter_mut().filter(|loss| loss.rank == rank.rank && loss.rule.takes_time_of_calls());
        for loss in waits {
            (loss.rule, loss.cause, loss.cause_site, loss.inside) = (Rule::Idle, None, None, None);
        }
    }
}

fn function(context: &Context) -> Option<&'static Function> {
    mpi_functions::named(&context.function)
}

/// A rank that is late because it was in an operation of all, in which the one that waits for it was, too, and from which that one had
/// come away earlier.
fn one_after_the_other(run: &Run, losses: &mut [Loss]) {
    for loss in losses.iter_mut().filter(|loss| loss.rule.is_wait()) {
        let context = |rank, context| run.rank(rank).and_then(|rank| rank.context(context));
        let before = loss.cause.zip(loss.inside).and_then(|(cause, inside)| context(cause, inside));
        let (Some(before), Some(own)) = (before, context(loss.rank, loss.context)) else { continue };
        let is_of_both = before.communicator.is_some() && before.communicator == own.communicator;
        let Some(operation) = function(before).filter(|of| of.step == Step::Blocks) else { continue };
        if is_of_both && operation.operation().is_some() && operation.waits() == Some(Waits::All) {
            let is_barrier = operation.operation() == Some(Operation::Barrier);
            loss.rule = if is_barrier { Rule::BarrierCompletion } else { Rule::NxnCompletion };
            (loss.cause, loss.cause_site, loss.inside) = (None, None, None);
        }
    }
}

/// Whether a call only sends and receives, or looks whether that is done.
fn is_of_messages(function: &Function) -> bool {
    matches!(
        function.kind,
        Kind::Send(_) | Kind::Receive | Kind::SendReceive | Kind::Start | Kind::Completion | Kind::Probe
    )
}

/// What the places of a rank have lost waiting, in seconds.
fn waits<'a>(rank: &'a Rank, losses: &[Loss]) -> BTreeMap<Place<'a>, f64> {
    let mut waits = BTreeMap::new();
    let of_rank = losses.iter().filter(|loss| loss.rank == rank.rank && loss.rule.takes_time_of_calls());
    for loss in of_rank {
        if let Some(context) = rank.context(loss.context) {
            *waits.entry(places::of(context)).or_default() += loss.seconds;
        }
    }
    waits
}

/// What a rank with one thread did in all of the run.
struct Did {
    /// Anything but to send and receive and to wait, in seconds.
    other: f64,
    /// Calls that send and receive.
    calls: f64,
}

impl Did {
    fn of(rank: &Rank, waits: &BTreeMap<Place<'_>, f64>) -> Option<Did> {
        let times = places::times(rank);
        if places::threads(&times) > 1 {
            return None;
        }
        let of_messages = |name: &str| mpi_functions::named(name).is_some_and(is_of_messages);
        let outside = (rank.run_s() - times.values().sum::<f64>()).max(0.0);
        let inside: f64 = times
            .iter()
            .filter(|(place, _)| !of_messages(place.1))
            .map(|(place, time)| (time - waits.get(place).copied().unwrap_or(0.0)).max(0.0))
            .sum();
        let rows = rank.contexts.iter().zip(&rank.rows.contexts);
        let calls =
            rows.filter(|(context, _)| of_messages(&context.function)).map(|(_, row)| row.calls as f64);
        Some(Did { other: outside + inside, calls: calls.sum() })
    }
}

/// Whether most of the time at a place is in short calls.
fn is_of_short_calls(rank: &Rank, place: Place<'_>) -> bool {
    let (mut short, mut all) = (0.0, 0.0);
    for (context, row) in rank.contexts.iter().zip(&rank.rows.contexts) {
        if places::of(context) != place {
            continue;
        }
        for (bin, count) in row.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (low, high) = bounds(bin);
            let time = f64::from(*count) * rank.seconds(low / 2 + high / 2);
            all += time;
            short += if rank.seconds(high) <= SHORT_CALL { time } else { 0.0 };
        }
    }
    short >= MOSTLY * all
}

/// Whether the cause was outside of MPI before, or in a call that sends or receives: for whom that waits is known.
fn is_outside_or_in_messages(run: &Run, loss: &Loss) -> bool {
    let Some((cause, inside)) = loss.cause.zip(loss.inside) else { return true };
    let context = run.rank(cause).and_then(|rank| rank.context(inside));
    let kind = context.and_then(function).map(|of| of.kind);
    matches!(kind, Some(Kind::Send(_) | Kind::Receive | Kind::SendReceive))
}

/// Waits for messages of ranks that did nothing but to send and receive.
fn only_communication(run: &Run, losses: &mut [Loss]) {
    let is_message = |loss: &Loss| {
        matches!(loss.rule, Rule::LateSender | Rule::LateReceiver) && is_outside_or_in_messages(run, loss)
    };
    let mut pairs: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for loss in losses.iter().filter(|loss| is_message(loss)) {
        if let Some(cause) = loss.cause.filter(|cause| *cause != loss.rank) {
            *pairs.entry((cause, loss.rank)).or_default() += loss.seconds;
        }
    }
    let mut did: HashMap<u32, Option<Did>> = HashMap::new();
    for (cause, _) in pairs.keys() {
        did.entry(*cause).or_insert_with(|| {
            let rank = run.rank(*cause)?;
            Did::of(rank, &waits(rank, losses))
        });
    }
    for loss in losses.iter_mut().filter(|loss| is_message(loss)) {
        let Some(cause) = loss.cause else { continue };
        let Some(&lost) = pairs.get(&(cause, loss.rank)) else { continue };
        let Some(did) = did.get(&cause).and_then(Option::as_ref) else { continue };
        let is_of_rate = || {
            let rank = run.rank(loss.rank);
            let place = rank.and_then(|rank| Some((rank, places::of(rank.context(loss.context)?))));
            place.is_some_and(|(rank, place)| is_of_short_calls(rank, place))
        };
        if did.other < HARDLY * lost || did.other <= BETWEEN_CALLS * did.calls && is_of_rate() {
            loss.rule = Rule::OnlyCommunication;
            (loss.cause, loss.cause_site, loss.inside) = (None, None, None);
        }
    }
}

/// Bytes that a row moves, and in how many calls.
fn bytes(row: &ContextRow) -> (u64, u64) {
    (row.sent.saturating_add(row.received), row.calls)
}

/// What large data and files cost a rank beside its waits.
fn of_data(rank: &Rank, losses: &[Loss]) -> Vec<Loss> {
    let (times, waits) = (places::times(rank), waits(rank, losses));
    // By place: a context, bytes and calls.
    let mut moved: BTreeMap<Place<'_>, (u32, u64, u64)> = BTreeMap::new();
    // What calls move that have requests, and others wait for.
    let mut requested = 0.0;
    for (number, (context, row)) in (0..).zip(rank.contexts.iter().zip(&rank.rows.contexts)) {
        let (bytes, calls) = bytes(row);
        if calls == 0 {
            continue;
        }
        let sum = moved.entry(places::of(context)).or_insert((number, 0, 0));
        (sum.1, sum.2) = (sum.1.saturating_add(bytes), sum.2.saturating_add(calls));
        if function(context).is_some_and(|of| of.step == Step::Starts) && bytes / calls > LARGE {
            requested += bytes as f64 * OF_BYTE;
        }
    }
    let rest = |place: &Place<'_>| {
        let waited = waits.get(place).copied().unwrap_or(0.0);
        (times.get(place).copied().unwrap_or(0.0) - waited).max(0.0)
    };
    let completes = |place: &Place<'_>| {
        let about = mpi_functions::named(place.1);
        about.is_some_and(|of| (of.kind, of.step) == (Kind::Completion, Step::Completes))
    };
    let all_completions: f64 = moved.keys().filter(|place| completes(place)).map(rest).sum();
    let mut found = Vec::new();
    for (place, &(context, bytes, calls)) in &moved {
        let rest = rest(place);
        let kind = mpi_functions::named(place.1).map(|of| of.kind);
        let (rule, seconds) = match kind {
            Some(Kind::File { .. }) => (Rule::FileAccess, rest),
            _ if completes(place) => {
                let share = rest / all_completions.max(f64::MIN_POSITIVE);
                (Rule::WaitForTransfer, rest.min(requested * share))
            }
            _ if bytes / calls > LARGE => (Rule::WaitForTransfer, rest.min(bytes as f64 * OF_BYTE)),
            _ => continue,
        };
        if seconds > 0.0 {
            found.push(Loss {
                rule,
                rank: rank.rank,
                context,
                cause: None,
                cause_site: None,
                inside: None,
                seconds,
                count: calls as f64,
            });
        }
    }
    found
}
