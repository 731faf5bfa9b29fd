//! Sums as findings: with lines, shares, and in words.

use mel_convert::time::Timeline;
use mel_log::RankLog;
use mel_log::profile::verdict::{Basis, Finding, Instance};
use rustc_hash::FxHashMap;

use crate::found::{Found, Group, Sum, Transfers};
use crate::loss::Rule;
use crate::model::{NO_SITE, Site};
use crate::names::Names;
use crate::reader::Reader;
use crate::words;

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
}

/// How long a rank ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) rank: u32,
    begin: u64,
    end: u64,
    in_mpi: u64,
}

impl Span {
    /// From the end of `MPI_Init` to the begin of `MPI_Finalize`, as far as they are known.
    pub(crate) fn of(log: &RankLog, timeline: &Timeline, position: usize, reader: &Reader<'_, '_>) -> Span {
        let (begin, end) = reader.between();
        let begin = begin.unwrap_or_else(|| timeline.nanos(position, log.info.origin_ticks));
        let end = end.unwrap_or(reader.last()).max(begin);
        Span { rank: log.info.rank, begin, end, in_mpi: reader.in_mpi() }
    }
}

/// Findings of sums.
pub(crate) fn make(names: &Names, logs: &[RankLog], found: Found, spans: &[Span]) -> Analysis {
    let lines = names.lines(logs);
    let all: f64 = spans.iter().map(|span| seconds((span.end - span.begin) as f64)).sum();
    let first = spans.iter().map(|span| span.begin).min().unwrap_or(0);
    let last = spans.iter().map(|span| span.end).max().unwrap_or(0);
    // Several addresses are one line.
    let mut merged: FxHashMap<(Group, Option<&str>, Option<&str>), Sum> = FxHashMap::default();
    let Found { groups, transfers } = found;
    for (group, sum) in groups {
        let (site, cause_site) = (line(&lines, group.site), line(&lines, group.cause_site));
        let group = Group { site: NO_SITE, cause_site: NO_SITE, ..group };
        merged.entry((group, site, cause_site)).or_default().merge(sum);
    }
    let mut verdict: Vec<Finding> = merged
        .into_iter()
        .filter(|((group, ..), sum)| sum.total() > 0.0 && !is_accident(group.rule, sum))
        .map(|((group, site, cause_site), sum)| {
            finding(names, group, (site, cause_site), (sum, &transfers), all)
        })
        .collect();
    verdict.sort_by(|a, b| {
        let order = b.lost_s.total_cmp(&a.lost_s);
        order.then_with(|| (&a.rule, &a.site, a.cause_rank).cmp(&(&b.rule, &b.site, b.cause_rank)))
    });
    let mpi_s = spans.iter().map(|span| seconds(span.in_mpi as f64)).sum();
    let run_s = seconds((last - first) as f64);
    Analysis { verdict, all_ranks_s: all, ranks: logs.len(), run_s, mpi_s }
}

/// Whether one call has lost most of the time of a rule without a cause: then a process was interrupted.
fn is_accident(rule: Rule, sum: &Sum) -> bool {
    let worst = sum.worst.first().map_or(0.0, |worst| worst.2);
    matches!(rule, Rule::BarrierCompletion | Rule::NxnCompletion) && worst > 0.25 * sum.total()
}

fn line(lines: &[String], site: Site) -> Option<&str> {
    lines.get(site as usize).map(String::as_str)
}

fn seconds(nanos: f64) -> f64 {
    nanos * 1e-9
}

fn finding(
    names: &Names,
    group: Group,
    (site, cause_site): (Option<&str>, Option<&str>),
    (sum, transfers): (Sum, &Transfers),
    all_s: f64,
) -> Finding {
    let lost_s = seconds(sum.total());
    let mut by_rank: Vec<(u32, f64)> = sum.by_rank.iter().map(|(rank, nanos)| (*rank, *nanos)).collect();
    by_rank.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let instance = |(rank, begin, nanos): &(u32, u64, f64)| Instance {
        rank: *rank,
        begin_s: seconds(*begin as f64),
        lost_s: seconds(*nanos),
    };
    let mut found = Finding {
        rule: group.rule.name().to_owned(),
        lost_s,
        share: if all_s > 0.0 { lost_s / all_s } else { 0.0 },
        cause_rank: group.cause,
        victims: by_rank.iter().map(|(rank, _)| *rank).collect(),
        communicator: names.communicator(group.communicator).map(|of| of.name.clone()),
        site: site.map(str::to_owned),
        cause_site: cause_site.map(str::to_owned),
        count: sum.count.max(1),
        basis: Basis::Exact,
        lost_by_rank_s: by_rank.iter().map(|(_, nanos)| seconds(*nanos)).collect(),
        worst: sum.worst.iter().map(instance).collect(),
        ..Finding::default()
    };
    (found.text, found.advice) = words::of(group.rule, &found, &sum, transfers);
    found
}
