//! All logs of a run, read by several threads in step.

use std::sync::mpsc;
use std::thread;

use mel_convert::Run;
use mel_convert::time::Timeline;
use mel_convert::types::Types;
use mel_log::RankLog;
use mel_verdict::replay::{CriticalPath, Paths, WhatIf};

use crate::in_parts;
use crate::judge::{Follows, Judge};
use crate::model::{Change, Step};
use crate::names::{Local, Names};
use crate::on_path::OnPath;
use crate::reader::{Reader, Shared, is_single};
use crate::rendezvous::LONGER_THAN;
use crate::report::{Analysis, Computed, Losses, Span};
use crate::rules::Thresholds;

/// The least time that counts, in nanoseconds, if clocks are better than that.
const EPSILON: u64 = 10_000;
/// A send and a receive with less between them than this share of the transfer are close, in percent.
const DELTA_PERCENT: u64 = 5;
/// Steps of all ranks that are read at once, about.
const STEPS: usize = 100_000;

/// What the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// From when on a loss counts, in nanoseconds; without it the larger of 10 µs and the clocks' error.
    pub epsilon: Option<u64>,
    /// From when on a send and a receive are not close any more, in nanoseconds; without it 5 % of the transfer, and at least the same.
    pub delta_sr: Option<u64>,
    /// For messages of more bytes than this it is told which protocol would suit them; without it, more than
    /// [`LONGER_THAN`].
    pub longer_than: Option<u64>,
}

/// Looks at all calls of a run. `tick` is called with how many more records have been read, by several threads.
pub fn analyze(run: &Run, options: Options, tick: &(dyn Fn(u64) + Sync)) -> Analysis {
    let logs = &run.ranks[..];
    let timeline = Timeline::new(logs);
    let clocks = clocks_error(logs);
    let epsilon = options.epsilon.unwrap_or(EPSILON.max(clocks));
    let delta_percent = if options.delta_sr.is_some() { 0 } else { DELTA_PERCENT };
    let delta_sr = options.delta_sr.unwrap_or(epsilon);
    let thresholds = Thresholds { epsilon, delta_sr, delta_percent, clocks };
    let (names, locals) = Names::of(logs);
    let gaps = logs.iter().any(|log| log.definitions.phases);
    let shared = Shared { timeline: &timeline, names: &names, epsilon: epsilon.max(1), gaps };
    // Of several threads of a rank it is not known which one needs what; nor where calls are missing, or counting was stopped.
    let has_all = run.has_all();
    let is_whole = logs.iter().all(is_single) && !gaps && has_all;
    let pass = |follows, tick: &(dyn Fn(u64) + Sync)| {
        let is_first = !matches!(follows, Follows::WhatIf(..));
        let mut judge = Judge::new(&names, thresholds).following(follows);
        judge = judge.with_protocols_of(options.longer_than.unwrap_or(LONGER_THAN));
        if is_whole && is_first {
            judge = judge.checking();
        }
        for log in logs.iter().filter(|log| !is_single(log)) {
            judge.has_threads(log.info.rank);
        }
        let spans = read(logs, &locals, &shared, tick, |steps, known| {
            steps.into_iter().for_each(|step| judge.step(step));
            judge.judge(known);
        });
        (judge.finish(), spans)
    };
    let follows =
        if is_whole { Follows::Paths(Paths::default(), Some(Box::default())) } else { Follows::Nothing };
    let ((found, follows), spans) = pass(follows, tick);
    let (phases, regions) = (found.phases.clone(), found.regions.clone());
    let stops = |changes: &Vec<Change>| changes.iter().any(|of| of.place == Some(Change::STOPPED));
    let counts_all = !phases.values().any(stops);
    let mut losses = Losses::of(&names, logs, found, &spans);
    if !has_all {
        losses.forget_what_needs_all();
    }
    if !is_whole || !counts_all || spans.iter().any(|span| !span.finalized) {
        return losses.analysis(&names, logs.len(), &spans, None);
    }
    // What would be won is known when the whole run has been seen: it is followed once more.
    let (computed, recorded) = match follows {
        Follows::Paths(paths, recorded) => {
            (Computed { ranks: paths.computed().collect(), path: paths.longest() }, recorded)
        }
        _ => (Computed::default(), None),
    };
    let (keys, supposed): (Vec<_>, Vec<_>) = losses.suppositions().into_iter().unzip();
    let mut on_path = OnPath::new(computed.path.as_ref().unwrap_or(&CriticalPath::default()));
    let is_sure = computed.path.is_some();
    let (mut of_phases, mut of_regions) = (Vec::new(), Vec::new());
    if let Some(recorded) = recorded {
        if is_sure {
            of_phases = in_parts::of_phases(&names, &phases, &recorded, &spans);
            of_regions = in_parts::of_regions(&names, &regions, &recorded, &spans);
        }
        losses.won(keys.into_iter().zip(recorded.replay.won(supposed)), is_sure);
        recorded.outside.iter().for_each(|(since, call)| on_path.outside(call, *since));
    } else if !keys.is_empty() || is_sure {
        let ((_, follows), _) = pass(Follows::WhatIf(WhatIf::new(supposed), on_path), &|_| {});
        on_path = match follows {
            Follows::WhatIf(what_if, on_path) => {
                losses.won(keys.into_iter().zip(what_if.won()), is_sure);
                on_path
            }
            _ => OnPath::default(),
        };
    }
    let analysis = losses.analysis(&names, logs.len(), &spans, Some((computed, on_path)));
    Analysis { phases: of_phases, regions: of_regions, ..analysis }
}

/// How far the clocks of two ranks may be apart: those of one host are one.
fn clocks_error(logs: &[RankLog]) -> u64 {
    let several = logs.iter().any(|log| log.info.host != logs[0].info.host);
    let errors = logs.iter().map(|log| log.definitions.clock_error_nanos);
    if several { 2 * errors.max().unwrap_or(0) } else { 0 }
}

/// What a thread has read in a round.
struct Round {
    steps: Vec<Step>,
    known: u64,
    goes_on: bool,
    behind: bool,
}

impl Round {
    fn new() -> Round {
        Round { steps: Vec::new(), known: u64::MAX, goes_on: false, behind: false }
    }
}

/// Reads all logs, in rounds: in each until the same time. Gives the steps of a round, and until when everything is known.
/// While these are looked at, the next ones are read. Gives in the end how long each rank ran.
pub(crate) fn read(
    logs: &[RankLog],
    locals: &[Local],
    shared: &Shared<'_>,
    tick: &(dyn Fn(u64) + Sync),
    mut look: impl FnMut(Vec<Step>, u64),
) -> Vec<Span> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(logs.len()).max(1);
    // So few of each rank that a burst after a quiet time is read in pieces.
    let most = (2 * STEPS / logs.len().max(1)).max(1000);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let (until, orders) = mpsc::channel::<u64>();
                let (give, rounds) = mpsc::channel::<Round>();
                let work = scope.spawn(move || {
                    let own: Vec<usize> = (first..logs.len()).step_by(threads).collect();
                    let types: Vec<Types<'_>> = own.iter().map(|place| Types::of(&logs[*place])).collect();
                    let counted = |count| tick(count);
                    let mut readers: Vec<Reader<'_, '_>> = own
                        .iter()
                        .zip(&types)
                        .map(|(place, types)| {
                            let log = (*place, &logs[*place]);
                            Reader::new(shared, log, &locals[*place], types, &counted)
                        })
                        .collect();
                    for until in orders {
                        let mut round = Round::new();
                        for reader in &mut readers {
                            let progress = reader.advance(until, most, &mut round.steps);
                            round.known = round.known.min(progress.known);
                            round.goes_on |= progress.goes_on;
                            round.behind |= progress.behind;
                        }
                        if give.send(round).is_err() {
                            break;
                        }
                    }
                    let span = |(place, reader): (&usize, &Reader<'_, '_>)| {
                        Span::of(&logs[*place], shared.timeline, *place, reader)
                    };
                    own.iter().zip(&readers).map(span).collect::<Vec<Span>>()
                });
                (until, rounds, work)
            })
            .collect();
        let order = |until| workers.iter().for_each(|(orders, ..)| _ = orders.send(until));
        // How far the first round goes is a guess: the next ones are as long as it takes for so many steps.
        let mut length: u64 = 10_000_000;
        let mut until = length;
        order(until);
        loop {
            let mut all = Round::new();
            for (_, rounds, _) in &workers {
                let Ok(mut round) = rounds.recv() else { continue };
                all.steps.append(&mut round.steps);
                all.known = all.known.min(round.known);
                all.goes_on |= round.goes_on;
                all.behind |= round.behind;
            }
            length = match all.steps.len() {
                few if few < STEPS / 2 => length.saturating_mul(2),
                many if many > STEPS * 2 => (length / 2).max(1),
                _ => length,
            };
            if all.goes_on {
                // Who is behind comes as far as the others first.
                until = if all.behind { until } else { until.saturating_add(length) };
                order(until);
            }
            let goes_on = all.goes_on;
            look(all.steps, all.known);
            if !goes_on {
                break;
            }
        }
        let mut spans = Vec::new();
        for (orders, _, work) in workers {
            drop(orders);
            spans.extend(work.join().unwrap_or_default());
        }
        spans.sort_by_key(|span: &Span| span.rank);
        spans
    })
}
