//! From the sums of each rank to whom to name.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::profile::processors::Processors;
use mel_log::profile::{Basis, Finding};
use mel_log::table::IntervalKind;
use mpi_functions::{Kind, Step, Waits};

use super::{Causes, Key, LEAST_SHARE, LEAST_SHARE_OF_ALL, Lost, MOST_SUPPOSED, Rule, Victims};
use crate::budget::waits_unseen;
use crate::ideal::{self, Ideal};
use crate::losses::{Loss, Losses, NO_CONTEXT};
use crate::run::Run;

/// What belongs together: why, and the line and communicator where it is lost.
type Place = (Rule, Option<u32>, Option<u32>);

/// The findings of a run.
pub fn of(run: &Run, losses: &Losses) -> Vec<Finding> {
    // The time in which ranks wait in MPI_Finalize is theirs, too.
    let at_the_end = losses.all.iter().filter(|loss| loss.context == NO_CONTEXT);
    let all_s = run.all_s() + at_the_end.map(|loss| loss.seconds).sum::<f64>();
    if all_s <= 0.0 {
        return Vec::new();
    }
    let lacks = Lacks::of(run, losses);
    let mut places: BTreeMap<Place, Vec<Loss>> = BTreeMap::new();
    for loss in &losses.all {
        let context = run.rank(loss.rank).and_then(|rank| rank.context(loss.context));
        let (site, communicator) =
            context.map_or((None, None), |context| (context.site, context.communicator));
        places.entry((loss.rule, site, communicator)).or_default().push(*loss);
    }
    let early = fewer_wait(run, &losses.all);
    let mut found = Vec::new();
    let mut by_finding: BTreeMap<Key, (f64, BTreeSet<ideal::Key>)> = BTreeMap::new();
    for (place, of_place) in &places {
        let total: f64 = of_place.iter().map(|loss| loss.seconds).sum();
        let mut causes: BTreeMap<Option<u32>, Vec<Loss>> = BTreeMap::new();
        for loss in of_place {
            causes.entry(loss.cause).or_default().push(*loss);
        }
        let seconds = |of: &[Loss]| of.iter().map(|loss| loss.seconds).sum::<f64>();
        let by_cause = causes.iter().filter_map(|(cause, of)| Some(((*cause)?, seconds(of))));
        let other = causes.get(&None).map_or(0.0, |of| seconds(of));
        let all_causes = Causes::of_sums(by_cause, other, times(of_place));
        let mut rest = Vec::new();
        let mut named = 0.0;
        for (&cause, of_cause) in &causes {
            let lost: f64 = of_cause.iter().map(|loss| loss.seconds).sum();
            // Who is late because it was in MPI is told so, and not as somebody's victim.
            let inside: f64 =
                of_cause.iter().filter(|loss| loss.inside.is_some()).map(|loss| loss.seconds).sum();
            let waiting: f64 = of_cause
                .iter()
                .filter(|loss| waits_itself(run, loss).is_some())
                .map(|loss| loss.seconds)
                .sum();
            let is_cause = !place.0.is_wait()
                || cause.is_some_and(|cause| {
                    waiting <= 0.5 * lost
                        && all_causes.names(cause, run.ranks.len(), !early.contains(&(place.0, place.2)))
                        && (inside > 0.5 * lost || !waits_more(run, losses, cause))
                        && !lacks.why_late(cause, inside > 0.5 * lost)
                });
            let worth = if place.0.is_a_bound() { LEAST_SHARE_OF_ALL } else { LEAST_SHARE };
            if is_cause && lost / all_s >= worth {
                named += lost;
                for loss in of_cause {
                    let lost = one(run, *place, loss, cause);
                    let known = by_finding.entry(lost.key(place.0)).or_default();
                    known.0 += loss.seconds;
                    known.1.extend(loss.cause.map(|cause| (loss.rule, loss.rank, loss.context, cause)));
                    found.push((place.0, lost));
                }
            } else {
                rest.extend(of_cause);
            }
        }
        // Beside a rank that is named, and of what has no rank to name, nothing is left out.
        let is_known = named > 0.0 || place.0 == Rule::Polling;
        let least = if is_known { LEAST_SHARE } else { LEAST_SHARE_OF_ALL };
        if (total - named) / all_s >= least {
            let is_lacking =
                |loss: &Loss| loss.cause.is_some_and(|cause| lacks.why_late(cause, loss.inside.is_some()));
            found.extend(rest.into_iter().map(|loss| {
                let (lacks_processor, waits_itself) = (is_lacking(loss), waits_itself(run, loss));
                let lost = Lost { lacks_processor, waits_itself, ..one(run, *place, loss, None) };
                (place.0, lost)
            }));
        }
    }
    if let Some(ideal) = &losses.ideal {
        would_win(ideal, by_finding, &mut found);
    }
    super::of(found, all_s, Basis::Estimated)
}

/// Says of the findings that cost most what would be won without them.
fn would_win(
    ideal: &Ideal,
    by_finding: BTreeMap<Key, (f64, BTreeSet<ideal::Key>)>,
    found: &mut [(Rule, Lost)],
) {
    let mut worth: Vec<_> = by_finding.into_iter().collect();
    worth.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0));
    worth.truncate(MOST_SUPPOSED);
    let (findings, without): (Vec<Key>, Vec<(f64, Vec<ideal::Key>)>) = worth
        .into_iter()
        .map(|(finding, (lost, keys))| (finding, (lost, keys.into_iter().collect())))
        .unzip();
    let won: BTreeMap<Key, Option<f64>> = findings.into_iter().zip(ideal.won(&without)).collect();
    for (rule, lost) in found {
        let won = won.get(&lost.key(*rule)).copied().flatten();
        lost.would_win = won.map(|won| ideal.gain(won));
    }
}

/// Operations, by rule and communicator, in which each waits for all and fewer than half of the ranks have waited: the others are not late,
/// those are early.
fn fewer_wait(run: &Run, losses: &[Loss]) -> BTreeSet<(Rule, Option<u32>)> {
    let mut victims: BTreeMap<(Rule, Option<u32>), (usize, Victims)> = BTreeMap::new();
    for loss in losses.iter().filter(|loss| loss.rule.waits_for_last()) {
        let Some(rank) = run.rank(loss.rank) else { continue };
        let Some(context) = rank.context(loss.context) else { continue };
        let waits = mpi_functions::named(&context.function).and_then(mpi_functions::Function::waits);
        if waits == Some(Waits::Neighbours) {
            continue;
        }
        let communicator = context.communicator;
        let of = victims.entry((loss.rule, communicator)).or_default();
        of.0 = rank.size(loss.context).unwrap_or(0);
        of.1.add(loss.rank, loss.seconds);
    }
    victims.into_iter().filter(|(_, (size, of))| !of.are_most(*size)).map(|(key, _)| key).collect()
}

/// The cause of a loss that was late because it waited itself, and its call: whoever it waited for is the cause, and is not known.
fn waits_itself(run: &Run, loss: &Loss) -> Option<(u32, String)> {
    let (rank, context) = loss.cause.zip(loss.inside)?;
    let function = mpi_functions::named(&run.rank(rank)?.context(context)?.function)?;
    let waits = function.step == Step::Tests
        || (function.kind, function.step) == (Kind::Completion, Step::Completes)
        || waits_unseen(function);
    Some((rank, call(run, rank, context)?)).filter(|_| waits)
}

/// How often time was lost at a place: as often as the rank that did so most often.
fn times(of_place: &[Loss]) -> f64 {
    let mut by_rank: BTreeMap<u32, f64> = BTreeMap::new();
    of_place.iter().for_each(|loss| *by_rank.entry(loss.rank).or_default() += loss.count);
    by_rank.into_values().fold(0.0, f64::max)
}

/// The ranks that could have run and had no processor for half as long as others waited for them, or longer: they are late because others
/// had it.
struct Lacks {
    /// Ranks that had none outside of MPI.
    outside: BTreeSet<u32>,
    /// Ranks that had none wherever they were. A rank that waits in MPI wants a processor, too, and harms nobody without one.
    anywhere: BTreeSet<u32>,
}

impl Lacks {
    fn of(run: &Run, losses: &Losses) -> Lacks {
        let mut latest: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for loss in &losses.all {
            if let Some(cause) = loss.cause.filter(|cause| *cause != loss.rank) {
                *latest.entry((cause, loss.rank)).or_default() += loss.seconds;
            }
        }
        let mut lacks = Lacks { outside: BTreeSet::new(), anywhere: BTreeSet::new() };
        for rank in &run.ranks {
            let processors = Processors::of(&rank.rows.definitions).unwrap_or_default();
            let (Some(used), Some(waited)) = (processors.used_s, processors.waited_s) else { continue };
            let polls = rank.rows.waits.iter().filter(|row| row.key.kind == IntervalKind::Polled);
            let between: f64 = polls.map(|row| rank.seconds(row.bytes)).sum();
            let in_calls: f64 = rank.rows.contexts.iter().map(|row| rank.seconds(row.ticks)).sum();
            let in_mpi = in_calls + between;
            let outside = (used + waited - in_mpi).max(0.0) / (used + waited).max(f64::MIN_POSITIVE);
            let victims = latest.range((rank.rank, 0)..=(rank.rank, u32::MAX));
            let late = victims.map(|(_, seconds)| *seconds).fold(0.0, f64::max);
            if waited * outside >= 0.5 * late {
                lacks.outside.insert(rank.rank);
            }
            if waited >= 0.5 * late {
                lacks.anywhere.insert(rank.rank);
            }
        }
        lacks
    }

    /// Whether that is why a rank is late, which was in MPI until then or outside.
    fn why_late(&self, rank: u32, is_inside: bool) -> bool {
        (if is_inside { &self.anywhere } else { &self.outside }).contains(&rank)
    }
}

/// Whether a rank loses more than it makes others lose, and more than half of the ranks do: then it is a victim.
fn waits_more(run: &Run, losses: &Losses, rank: u32) -> bool {
    let mut lost: Vec<f64> = run.ranks.iter().map(|rank| losses.lost(rank.rank)).collect();
    lost.sort_by(f64::total_cmp);
    let median = lost.get(lost.len() / 2).copied().unwrap_or(0.0);
    losses.lost(rank) > median && losses.lost(rank) > losses.caused(rank)
}

fn one(run: &Run, (_, site, communicator): Place, loss: &Loss, cause: Option<u32>) -> Lost {
    let context = run.rank(loss.rank).and_then(|rank| rank.context(loss.context));
    let communicator = communicator.and_then(|place| run.communicators.get(place as usize));
    let inside = loss.cause.zip(loss.inside).and_then(|(rank, context)| call(run, rank, context));
    let phase = context.and_then(|context| run.phases.get(context.phase as usize));
    let phase = phase.filter(|name| !name.is_empty());
    Lost {
        phases: phase.map(|name| (name.clone(), loss.seconds)).into_iter().collect(),
        function: match loss.context {
            NO_CONTEXT => Some("MPI_Finalize".into()),
            _ => context.map(|context| context.function.to_string()),
        },
        site: run.site(site),
        communicator: communicator.map(|communicator| communicator.name.clone()),
        cause,
        cause_site: run.site(loss.cause_site),
        inside: inside.into_iter().map(|call| (call, loss.seconds)).collect(),
        seconds: loss.seconds,
        by_rank: [(loss.rank, loss.seconds)].into(),
        count: loss.count,
        ..Lost::default()
    }
}

/// A call with its line.
fn call(run: &Run, rank: u32, context: u32) -> Option<String> {
    let context = run.rank(rank)?.context(context)?;
    Some(super::call(&context.function, run.site(context.site).as_deref()))
}
