//! Sums as losses with their lines, which become findings.

use std::collections::BTreeMap;

use mel_convert::time::Timeline;
use mel_log::RankLog;
use mel_log::number::duration;
use mel_log::profile::Efficiency;
use mel_log::profile::remarks::Remark;
use mel_log::profile::verdict::{Basis, Finding, Instance};
use mel_verdict::findings::{self, Causes, Gain, Key, LEAST_SHARE, Lost, MOST_SUPPOSED, Rule};
use mel_verdict::replay::{CriticalPath, Supposition};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::by_hand::ByHand;
use crate::found::{Found, Group, Sum, Transfers};
use crate::model::{NO_SITE, Site};
use crate::names::Names;
use crate::on_path::OnPath;
use crate::overlap::Overlap;
use crate::reader::Reader;
use crate::rendezvous::Rendezvous;

/// How many places on the critical path are kept at most.
const MOST_ON_PATH: usize = 20;
/// The sentence of the path tells so many places at most.
const MOST_PLACES: usize = 4;
/// What has less of the critical path than this is not told.
const LEAST_ON_PATH: f64 = 0.05;

/// What the overlap of nonblocking messages is.
pub const HIDDEN: &str = "Work between the start of nonblocking messages and the wait for them, as a share of that and of what was \
                          waited all the same (observed, all ranks together)";

/// What an analysis has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analysis {
    /// The findings, the one that has lost most time first.
    pub verdict: Vec<Finding>,
    /// The time of all ranks between `MPI_Init` and `MPI_Finalize`, in seconds.
    pub all_ranks_s: f64,
    /// How many ranks there are.
    pub ranks: usize,
    /// The time from the first `MPI_Init` to the last `MPI_Finalize`, in seconds.
    pub run_s: f64,
    /// The time of all ranks in MPI between the two, in seconds; of several threads of a rank together.
    pub mpi_s: f64,
    /// How well the ranks are used; none where several threads of a rank call MPI, and where a rank did not come to its end.
    pub efficiency: Option<Efficiency>,
    /// The same of each phase, by its name, which is empty for what belongs to none; nothing where no phase is named, and where the trace is too
    /// long to be kept.
    pub phases: Vec<(String, Efficiency)>,
    /// The same of each region of the program, by its path.
    pub regions: Vec<(String, Efficiency)>,
    /// Mistakes that did no harm in this run.
    pub remarks: Vec<Remark>,
    /// How much of nonblocking messages was hidden behind work.
    pub overlap: Vec<Overlap>,
    /// Which protocol would suit long messages.
    pub rendezvous: Vec<Rendezvous>,
    /// Collective operations that are made by hand.
    pub by_hand: Vec<ByHand>,
    /// The critical path; none where the efficiencies are none, and where it is not known what calls need.
    pub critical_path: Option<PathInWords>,
}

/// The critical path: where its time is, by rank and by the call that follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathInWords {
    /// The time outside of MPI on it, in seconds: what the run would take on an ideal network.
    pub computing_s: f64,
    /// How often it goes from one rank to another.
    pub turns: usize,
    /// By rank, the most first.
    pub ranks: Vec<RankOnPath>,
    /// By rank and call, the most first.
    pub places: Vec<PlaceOnPath>,
}

impl PathInWords {
    /// How long it is, and where most of it is.
    pub fn sentence(&self) -> String {
        let turns = match self.turns {
            0 => "all of it on one rank".to_owned(),
            1 => "going once from one rank to another".to_owned(),
            turns => format!("going {turns} times from one rank to another"),
        };
        let mut text = format!("The critical path computes for {}, {turns}", duration(self.computing_s));
        let place = |of: &PlaceOnPath| {
            format!(
                "{} ({:.0} %) on rank {} before {}",
                duration(of.seconds),
                100.0 * of.share,
                of.rank,
                of.before
            )
        };
        let worth = self.places.iter().take(MOST_PLACES).filter(|of| of.share >= LEAST_ON_PATH);
        let places: Vec<String> = worth.map(place).collect();
        if !places.is_empty() {
            text += &format!(": {}", places.join("; "));
        }
        text + "."
    }
}

impl Analysis {
    /// The collective operations made by hand that cost enough to be told, each in a sentence without its stop.
    pub fn worth_an_operation(&self) -> impl Iterator<Item = String> {
        let worth = self.by_hand.iter().filter(|of| of.seconds >= LEAST_SHARE * self.all_ranks_s);
        worth.map(|of| of.sentence(&duration(of.seconds)))
    }
}

/// The part of a rank in the critical path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankOnPath {
    /// The rank.
    pub rank: u32,
    /// Its time outside of MPI on the path, in seconds.
    pub seconds: f64,
    /// The same as a share of the path.
    pub share: f64,
}

/// The part of the program before a call, on a rank, in the critical path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlaceOnPath {
    /// The rank.
    pub rank: u32,
    /// The call that follows, as `MPI_Send at app.c:7 (main)`.
    pub before: String,
    /// The time on the path, in seconds.
    pub seconds: f64,
    /// The same as a share of the path.
    pub share: f64,
}

/// How long a rank ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) rank: u32,
    begin: u64,
    end: u64,
    in_mpi: u64,
    pub(crate) finalized: bool,
}

impl Span {
    /// From when to when.
    pub(crate) fn between(&self) -> (u64, u64) {
        (self.begin, self.end)
    }

    /// From the end of `MPI_Init` to the begin of `MPI_Finalize`, as far as they are known.
    pub(crate) fn of(log: &RankLog, timeline: &Timeline, position: usize, reader: &Reader<'_, '_>) -> Span {
        let (begin, end) = reader.between();
        let begin = begin.unwrap_or_else(|| timeline.nanos(position, log.info.origin_ticks));
        let finalized = end.is_some();
        let end = end.unwrap_or(reader.last()).max(begin);
        Span { rank: log.info.rank, begin, end, in_mpi: reader.in_mpi(), finalized }
    }
}

/// A rule, a line (the first of the places that are it), and the cause.
type AtLine = (Rule, Option<usize>, Option<u32>);

/// Losses with their names, before it is known what would be won without them.
pub(crate) struct Losses {
    lines: Vec<(String, Option<String>)>,
    all: Vec<(Rule, Lost)>,
    /// By finding: the time lost, and the times of ranks without which it would not be.
    removed: BTreeMap<Key, (f64, Option<Vec<OfRank>>)>,
    all_ranks_s: f64,
    run_s: f64,
    remarks: Vec<Remark>,
    overlap: Vec<Overlap>,
    rendezvous: Vec<Rendezvous>,
    by_hand: Vec<ByHand>,
}

/// A time of a rank.
type OfRank = (u32, (u64, u64));

impl Losses {
    /// Of sums.
    pub(crate) fn of(names: &Names, logs: &[RankLog], found: Found, spans: &[Span]) -> Losses {
        let first = spans.iter().map(|span| span.begin).min().unwrap_or(0);
        let last = last(spans);
        let all_ranks_s: f64 = spans.iter().map(|span| seconds((end(span, last) - span.begin) as f64)).sum();
        let lines = names.lines(logs);
        let Found {
            groups,
            transfers,
            last: mut who_was_last,
            waited,
            checks,
            overlaps,
            protocols,
            loops,
            ..
        } = found;
        let (overlap, rendezvous) = (overlaps.by_line(&lines), protocols.by_line(&lines));
        let by_hand = loops.by_line(names, &lines);
        let checks = checks.filter(|_| spans.iter().all(|span| span.finalized));
        let remarks = checks.map_or_else(Vec::new, |checks| checks.remarks(names, &lines));
        // Several addresses are one line.
        let mut merged: BTreeMap<AtLine, Vec<(Group, Sum)>> = BTreeMap::new();
        let mut first_of: FxHashMap<&(String, Option<String>), usize> = FxHashMap::default();
        for (place, line) in lines.iter().enumerate() {
            first_of.entry(line).or_insert(place);
        }
        who_was_last.values_mut().for_each(Causes::end_operation);
        for (mut group, sum) in groups {
            let causes = who_was_last.get(&(group.rule, group.site, group.communicator));
            if let Some((causes, cause)) = causes.zip(group.cause) {
                let ranks = names.communicator(group.communicator).map_or(0, |of| of.members.len());
                let victims = waited.get(&(group.rule, group.communicator));
                if !causes.names(cause, ranks, victims.is_none_or(|victims| victims.are_most(ranks))) {
                    (group.cause, group.cause_site) = (None, NO_SITE);
                }
            }
            let line = lines.get(group.site as usize).and_then(|line| first_of.get(line).copied());
            merged.entry((group.rule, line, group.cause)).or_default().push((group, sum));
        }
        merged.retain(|(rule, ..), sums| !is_accident(*rule, sums.iter().map(|of| &of.1)));
        let (mut all, mut removed) = (Vec::new(), BTreeMap::<Key, (f64, Option<Vec<OfRank>>)>::new());
        for (group, mut sum) in merged.into_values().flatten() {
            let times = sum.removed.take();
            let lost = lost(names, &lines, group, sum, &transfers);
            let known = removed.entry(lost.key(group.rule)).or_insert_with(|| (0.0, Some(Vec::new())));
            known.0 += lost.seconds;
            known.1 = known.1.take().zip(times).map(|(mut known, mut times)| {
                known.append(&mut times);
                known
            });
            all.push((group.rule, lost));
        }
        Losses {
            lines,
            all,
            removed,
            all_ranks_s,
            run_s: seconds((last - first) as f64),
            remarks,
            overlap,
            rendezvous,
            by_hand,
        }
    }

    /// What is to be supposed to know what would be won without the findings that cost most.
    pub(crate) fn suppositions(&mut self) -> Vec<(Key, Supposition)> {
        let least = findings::LEAST_SHARE * self.all_ranks_s;
        let removed = std::mem::take(&mut self.removed).into_iter();
        let worth = removed.filter_map(|(key, (seconds, times))| {
            let times = times.filter(|times| seconds >= least && !times.is_empty())?;
            Some((seconds, key, times))
        });
        let mut worth: Vec<(f64, Key, Vec<OfRank>)> = worth.collect();
        worth.sort_by(|a, b| b.0.total_cmp(&a.0));
        worth.truncate(MOST_SUPPOSED);
        worth.into_iter().map(|(_, key, times)| (key, Supposition::of(times))).collect()
    }

    /// How many nanoseconds shorter the run would be without these times; whether it is known of all calls what they need.
    pub(crate) fn won(&mut self, won: impl IntoIterator<Item = (Key, u64)>, is_sure: bool) {
        let won: BTreeMap<Key, u64> = won.into_iter().collect();
        for (rule, lost) in &mut self.all {
            let nanos = won.get(&lost.key(*rule));
            lost.would_win =
                nanos.map(|nanos| Gain { seconds: seconds(*nanos as f64), run_s: self.run_s, is_sure });
        }
    }

    /// In a trace that lacks calls it is known neither what lies between two calls, nor that messages go in one direction only.
    pub(crate) fn forget_what_needs_all(&mut self) {
        self.overlap.clear();
        self.rendezvous.clear();
        self.by_hand.clear();
    }

    /// All that was found.
    pub(crate) fn analysis(
        self,
        names: &Names,
        ranks: usize,
        spans: &[Span],
        path: Option<(Computed, OnPath)>,
    ) -> Analysis {
        let Losses { lines, all, all_ranks_s, run_s, remarks, overlap, rendezvous, by_hand, .. } = self;
        let verdict = findings::of(all, all_ranks_s, Basis::Exact);
        let last = last(spans);
        let mpi_s = spans.iter().map(|span| seconds((span.in_mpi + end(span, last) - span.end) as f64)).sum();
        let mut analysis = Analysis {
            verdict,
            all_ranks_s,
            ranks,
            run_s,
            mpi_s,
            remarks,
            overlap,
            rendezvous,
            by_hand,
            ..Analysis::default()
        };
        if let Some((computed, on_path)) = path {
            let longest =
                spans.iter().map(|span| seconds((span.end - span.begin) as f64)).fold(0.0, f64::max);
            analysis.efficiency = computed.efficiency(longest, &analysis.verdict);
            analysis.critical_path = computed.path.map(|path| in_words(names, &path, &on_path, &lines));
        }
        analysis
    }
}

/// How long ranks computed, and the longest path over them.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    pub(crate) ranks: Vec<(u32, u64)>,
    pub(crate) path: Option<CriticalPath>,
}

impl Computed {
    fn efficiency(&self, run_s: f64, verdict: &[Finding]) -> Option<Efficiency> {
        let ranks = self.ranks.iter().map(|(rank, nanos)| (*rank, seconds(*nanos as f64)));
        let mut of = Efficiency::of(ranks, run_s)?;
        let finding = verdict.iter().find(|finding| finding.cause_rank == Some(of.busiest_rank));
        of.busiest_site = finding.and_then(|finding| finding.cause_site.clone());
        Some(match &self.path {
            Some(path) => of.with_ideal(seconds(path.useful as f64), Basis::Exact),
            None => of,
        })
    }
}

/// A path with the names of its places.
fn in_words(
    names: &Names,
    path: &CriticalPath,
    on_path: &OnPath,
    lines: &[(String, Option<String>)],
) -> PathInWords {
    let computing_s = seconds(path.useful as f64);
    let share = |seconds: f64| if computing_s > 0.0 { seconds / computing_s } else { 0.0 };
    let (mut ranks, mut places) = (BTreeMap::<u32, f64>::new(), BTreeMap::<(u32, String), f64>::new());
    for ((rank, site, function), nanos) in on_path.shares() {
        *ranks.entry(rank).or_default() += seconds(nanos as f64);
        let line = lines.get(site as usize);
        // A call whose line is not known has a name.
        let function = names.function(function).map_or("MPI", |function| function.name.as_str());
        let before = findings::call(function, line.map(|line| line.0.as_str()));
        *places.entry((rank, before)).or_default() += seconds(nanos as f64);
    }
    let ranks = ranks.into_iter().map(|(rank, seconds)| RankOnPath { rank, seconds, share: share(seconds) });
    let mut ranks: Vec<RankOnPath> = ranks.collect();
    ranks.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let place = |((rank, before), seconds): ((u32, String), f64)| PlaceOnPath {
        rank,
        before,
        seconds,
        share: share(seconds),
    };
    let mut places: Vec<PlaceOnPath> = places.into_iter().map(place).collect();
    places.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    places.truncate(MOST_ON_PATH);
    PathInWords { computing_s, turns: path.segments.len().saturating_sub(1), ranks, places }
}

/// When the last rank ended.
fn last(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.end).max().unwrap_or(0)
}

/// When a rank ended: who is early in `MPI_Finalize` waits there for the last.
fn end(span: &Span, last: u64) -> u64 {
    if span.finalized { last } else { span.end }
}

/// Whether one call has lost most of the time of a rule without a cause: then a process was interrupted.
fn is_accident<'a>(rule: Rule, sums: impl Iterator<Item = &'a Sum>) -> bool {
    let (total, worst) = sums.fold((0.0, 0.0f64), |(total, worst), sum| {
        (total + sum.total(), worst.max(sum.worst.first().map_or(0.0, |of| of.2)))
    });
    matches!(rule, Rule::BarrierCompletion | Rule::NxnCompletion) && worst > 0.25 * total
}

fn seconds(nanos: f64) -> f64 {
    nanos * 1e-9
}

/// A sum with the names of its places.
fn lost(
    names: &Names,
    lines: &[(String, Option<String>)],
    group: Group,
    sum: Sum,
    transfers: &Transfers,
) -> Lost {
    let instance = |(rank, begin, nanos): &(u32, u64, f64)| Instance {
        rank: *rank,
        begin_s: seconds(*begin as f64),
        lost_s: seconds(*nanos),
    };
    let line = |site: Site| lines.get(site as usize);
    let (without, bytes) = sum.distance;
    let call = |site: Site| {
        let (line, function) = line(site)?;
        Some(findings::call(function.as_ref()?, Some(line)))
    };
    let phase_of = |phase: u32, nanos| Some((names.phases.get(phase as usize)?.clone(), seconds(nanos)));
    let inside = sum.inside.iter().filter_map(|(site, nanos)| Some((call(*site)?, seconds(*nanos))));
    Lost {
        function: line(group.site).and_then(|line| line.1.clone()),
        site: line(group.site).map(|line| line.0.clone()),
        communicator: names.communicator(group.communicator).map(|of| of.name.clone()),
        cause: group.cause,
        cause_site: line(group.cause_site).map(|line| line.0.clone()),
        seconds: seconds(sum.total()),
        by_rank: sum.by_rank.iter().map(|(rank, nanos)| (*rank, seconds(*nanos))).collect(),
        phases: sum.phases.iter().filter_map(|(phase, nanos)| phase_of(*phase, *nanos)).collect(),
        count: sum.count as f64,
        passed_on: seconds(sum.passed_on),
        inside: inside.collect(),
        distance: (without > 0).then(|| seconds((without + transfers.of(bytes)) as f64)),
        worst: sum.worst.iter().map(instance).collect(),
        ..Lost::default()
    }
}
