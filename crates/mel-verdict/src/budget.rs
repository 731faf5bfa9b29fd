//! Where the time of the ranks goes: parts that add up to all of it, from the sums of calls and what was lost in them.
//!
//! Of the time at a call site goes first what was lost waiting, then what the queues cost, then what moving the data needs and the library
//! itself. The rest is not explained.

use std::collections::BTreeMap;

use mel_log::profile::PhaseProfile;
use mel_log::profile::budget::{Budget, Parts, Unexplained, Waiting};
use mel_log::table::ContextRow;
use mel_log::table::layout::bounds;
use mpi_functions::{Function, Kind, Making, WindowCall};

use crate::findings::{LEAST_SHARE, Rule};
use crate::losses::{Losses, NO_CONTEXT};
use crate::places::{self, Place};
use crate::run::{Context, Rank, Run};

/// What a call may take without a reason, in seconds: the way of a message, and the library's own work. In an operation of several processes
/// once for each step of a tree.
const OWN_WORK: f64 = 50e-6;
/// What a byte may take, in seconds: at a gigabyte per second.
pub(crate) const OF_BYTE: f64 = 1e-9;
/// The most places that are kept of what is not explained.
const MOST_PLACES: usize = 10;

/// What is known of a call site of one rank, in seconds.
#[derive(Debug, Default)]
struct Known {
    /// In calls, and between the tests of a thread that polls.
    time: f64,
    waits: BTreeMap<Rule, f64>,
    queues: f64,
    /// The most that moving data and the library's own work take.
    work: f64,
}

/// The time outside of MPI of a rank, in seconds, but for what lies between the tests of a thread that polls.
pub(crate) fn computing_s(rank: &Rank) -> f64 {
    let times = places::times(rank);
    outside(rank.run_s(), times.values().sum(), places::threads(&times))
}

/// The same in each phase that the table has, by the place of the phase in [`Run::phases`].
pub(crate) fn computing_in_phases(run: &Run, rank: &Rank) -> BTreeMap<u32, f64> {
    let times = places::times(rank);
    let threads = places::threads(&times);
    let mut in_calls: BTreeMap<u32, f64> = BTreeMap::new();
    for (place, seconds) in &times {
        *in_calls.entry(place.3).or_default() += seconds;
    }
    let of_phase = |phase: PhaseProfile| {
        let place = run.phases.iter().position(|name| *name == phase.name)? as u32;
        let in_calls = in_calls.get(&place).copied().unwrap_or(0.0);
        Some((place, outside(phase.run_s, in_calls, threads)))
    };
    rank.rows.phase_profiles().into_iter().filter_map(of_phase).collect()
}

/// The time outside of MPI: what the calls leave of `run_s`, as the mean over the threads.
fn outside(run_s: f64, in_calls: f64, threads: usize) -> f64 {
    (run_s - in_calls * share_of(run_s, in_calls, threads)).max(0.0)
}

/// What of the time in calls counts: the mean over the threads; and what was begun before the measurement is no more than all of it.
fn share_of(run_s: f64, in_calls: f64, threads: usize) -> f64 {
    (1.0 / threads as f64).min(if in_calls > 0.0 { run_s / in_calls } else { 1.0 })
}

/// The budget of a run, and the parts of each of its ranks, in the order of [`Run::ranks`].
pub fn of(run: &Run, losses: &Losses) -> (Budget, Vec<Parts>) {
    let mut sums = Sums::default();
    let mut lost: BTreeMap<u32, Vec<(Rule, u32, f64)>> = BTreeMap::new();
    for loss in &losses.all {
        lost.entry(loss.rank).or_default().push((loss.rule, loss.context, loss.seconds));
    }
    let ranks: Vec<Parts> = run
        .ranks
        .iter()
        .map(|rank| sums.add(rank, lost.get(&rank.rank).map_or(&[][..], Vec::as_slice)))
        .collect();
    (sums.budget(run, &ranks), ranks)
}

/// What all ranks have together besides their parts.
#[derive(Debug, Default)]
struct Sums {
    waiting: BTreeMap<Rule, f64>,
    unexplained: BTreeMap<(String, Option<u32>), f64>,
}

impl Sums {
    /// The parts of a rank, which has lost this by rule and context.
    fn add(&mut self, rank: &Rank, lost: &[(Rule, u32, f64)]) -> Parts {
        let mut known = of_calls(rank);
        let mut at_the_end = 0.0;
        for &(rule, context, seconds) in lost {
            if context == NO_CONTEXT {
                at_the_end += seconds;
                *self.waiting.entry(rule).or_default() += seconds;
            } else if let Some(known) = rank.context(context).and_then(|of| known.get_mut(&places::of(of))) {
                if rule.is_of_queues() {
                    known.queues += seconds;
                } else if rule.takes_time_of_calls() {
                    *known.waits.entry(rule).or_default() += seconds;
                }
            }
        }
        let threads = places::threads(&known);
        let (run_s, in_calls) = (rank.run_s(), known.values().map(|known| known.time).sum::<f64>());
        let share = share_of(run_s, in_calls, threads);
        let mut parts = Parts { waiting_s: at_the_end, ..Parts::default() };
        for (&(_, function, site, _), known) in &known {
            let about = mpi_functions::named(function);
            let all_waits: f64 = known.waits.values().sum();
            let waits = all_waits.min(known.time);
            let queues = known.queues.min(known.time - waits);
            let rest = known.time - waits - queues;
            let is_file = about.is_some_and(|about| matches!(about.kind, Kind::File { .. }));
            let is_alone = about.is_some_and(works_alone);
            let explained = if is_file || is_alone { rest } else { known.work.min(rest) };
            parts.waiting_s += share * waits;
            parts.queues_s += share * queues;
            *if is_file { &mut parts.files_s } else { &mut parts.data_s } += share * explained;
            parts.unexplained_s += share * (rest - explained);
            for (rule, seconds) in &known.waits {
                *self.waiting.entry(*rule).or_default() +=
                    share * seconds * waits / all_waits.max(f64::MIN_POSITIVE);
            }
            *self.unexplained.entry((function.to_owned(), site)).or_default() += share * (rest - explained);
        }
        parts.computing_s = outside(run_s, in_calls, threads);
        parts.total_s = parts.named().iter().map(|part| part.1).sum();
        parts
    }

    fn budget(self, run: &Run, ranks: &[Parts]) -> Budget {
        let mut parts = Parts::default();
        ranks.iter().for_each(|rank| parts.add(rank));
        let mut waiting: Vec<Waiting> = self
            .waiting
            .into_iter()
            .filter(|(_, lost_s)| *lost_s > 0.0)
            .map(|(rule, lost_s)| Waiting { rule: rule.name().into(), lost_s })
            .collect();
        waiting.sort_by(|a, b| b.lost_s.total_cmp(&a.lost_s));
        let mut not_looked_at: BTreeMap<&str, f64> = BTreeMap::new();
        for ((function, _), seconds) in &self.unexplained {
            if mpi_functions::named(function).is_some_and(waits_unseen) {
                *not_looked_at.entry(function).or_default() += seconds;
            }
        }
        let is_much = |seconds: f64| seconds >= LEAST_SHARE * parts.total_s;
        let not_looked_at = not_looked_at
            .into_iter()
            .filter(|(_, seconds)| is_much(*seconds))
            .map(|(name, _)| name.to_owned())
            .collect();
        let mut unexplained: Vec<Unexplained> = self
            .unexplained
            .into_iter()
            .filter(|(_, seconds)| *seconds > 0.0)
            .map(|((function, site), seconds)| Unexplained { function, site: run.site(site), seconds })
            .collect();
        unexplained.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        unexplained.truncate(MOST_PLACES);
        Budget { parts, waiting, unexplained, not_looked_at }
    }
}

/// The call sites of a rank with the time in their calls, and what of that is work.
fn of_calls(rank: &Rank) -> BTreeMap<Place<'_>, Known> {
    let known = |(place, time)| (place, Known { time, ..Known::default() });
    let mut all: BTreeMap<Place<'_>, Known> = places::times(rank).into_iter().map(known).collect();
    for (number, (context, row)) in (0..).zip(rank.contexts.iter().zip(&rank.rows.contexts)) {
        if let Some(known) = all.get_mut(&places::of(context)).filter(|_| row.calls > 0) {
            known.work += work(rank, number, context, row);
        }
    }
    all
}

/// The most that calls of a context take for moving data and for the library's own work: none of them takes longer than it lasts.
fn work(rank: &Rank, number: u32, context: &Context, row: &ContextRow) -> f64 {
    let is_operation =
        mpi_functions::named(&context.function).is_some_and(|about| about.operation().is_some());
    let size = if is_operation { rank.size(number).unwrap_or(2) } else { 2 };
    let bytes = row.sent.saturating_add(row.received) as f64 / row.calls as f64;
    let most = OWN_WORK * f64::from(size.max(2).next_power_of_two().ilog2()) + OF_BYTE * bytes;
    let bins = row.bins.iter().enumerate();
    bins.map(|(bin, count)| f64::from(*count) * rank.seconds(bounds(bin).1).min(most)).sum()
}

/// Whether a function that takes long does so by itself, but for the waits that are known: it makes, changes and frees objects and memory.
fn works_alone(function: &Function) -> bool {
    function.is_local()
        || matches!(
            function.kind,
            Kind::Allocate
                | Kind::Deallocate
                | Kind::Buffer
                | Kind::Communicator(Making::Duplicate | Making::Child | Making::Free)
                | Kind::Window(WindowCall::Create | WindowCall::Local)
        )
}

/// Whether a process may wait in a function, and the sums do not say for whom.
pub(crate) fn waits_unseen(function: &Function) -> bool {
    match function.kind {
        Kind::Window(call) => !matches!(call, WindowCall::Create | WindowCall::Fence | WindowCall::Local),
        Kind::OneSided(_) | Kind::Partition | Kind::PartitionedSend | Kind::PartitionedReceive => true,
        Kind::Communicator(making) => !matches!(making, Making::Duplicate | Making::Child | Making::Free),
        _ => false,
    }
}
