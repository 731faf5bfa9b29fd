//! Sums as losses with their lines, which become findings.

use std::collections::BTreeMap;

use mel_convert::time::Timeline;
use mel_log::RankLog;
use mel_log::profile::verdict::{Basis, Finding, Instance};
use mel_verdict::findings::{self, Lost, Rule};
use rustc_hash::FxHashMap;

use crate::found::{Found, Group, Sum, Transfers};
use crate::model::Site;
use crate::names::Names;
use crate::reader::Reader;

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

/// A rule, a line (the first of the places that are it), and the cause.
type AtLine = (Rule, Option<usize>, Option<u32>);

/// Findings of sums.
pub(crate) fn make(names: &Names, logs: &[RankLog], found: Found, spans: &[Span]) -> Analysis {
    let all_ranks_s: f64 = spans.iter().map(|span| seconds((span.end - span.begin) as f64)).sum();
    let first = spans.iter().map(|span| span.begin).min().unwrap_or(0);
    let last = spans.iter().map(|span| span.end).max().unwrap_or(0);
    let lines = names.lines(logs);
    let Found { groups, transfers } = found;
    // Several addresses are one line.
    let mut merged: BTreeMap<AtLine, Vec<(Group, Sum)>> = BTreeMap::new();
    let mut first_of: FxHashMap<&(String, Option<String>), usize> = FxHashMap::default();
    for (place, line) in lines.iter().enumerate() {
        first_of.entry(line).or_insert(place);
    }
    for (group, sum) in groups {
        let line = lines.get(group.site as usize).and_then(|line| first_of.get(line).copied());
        merged.entry((group.rule, line, group.cause)).or_default().push((group, sum));
    }
    merged.retain(|(rule, ..), sums| !is_accident(*rule, sums.iter().map(|of| &of.1)));
    let losses = merged
        .into_values()
        .flatten()
        .map(|(group, sum)| (group.rule, lost(names, &lines, group, sum, &transfers)));
    let verdict = findings::of(losses, all_ranks_s, Basis::Exact);
    let mpi_s = spans.iter().map(|span| seconds(span.in_mpi as f64)).sum();
    let run_s = seconds((last - first) as f64);
    Analysis { verdict, all_ranks_s, ranks: logs.len(), run_s, mpi_s }
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
    Lost {
        function: line(group.site).and_then(|line| line.1.clone()),
        site: line(group.site).map(|line| line.0.clone()),
        communicator: names.communicator(group.communicator).map(|of| of.name.clone()),
        cause: group.cause,
        cause_site: line(group.cause_site).map(|line| line.0.clone()),
        seconds: seconds(sum.total()),
        by_rank: sum.by_rank.iter().map(|(rank, nanos)| (*rank, seconds(*nanos))).collect(),
        count: sum.count as f64,
        passed_on: seconds(sum.passed_on),
        distance: (without > 0).then(|| seconds((without + transfers.of(bytes)) as f64)),
        worst: sum.worst.iter().map(instance).collect(),
        ..Lost::default()
    }
}
