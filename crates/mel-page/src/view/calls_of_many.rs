//! The calls of very many ranks, from the sums of the profile.

use super::calls::{Calls, Function, MOST, MOST_VICTIMS, Row, TimeOfRank, Wait, nanos, total};
use super::class::Class;
use mel_log::profile::columns::FUNCTIONS;
use mel_log::profile::reduced::{Reduced, SumOfCalls, SumOfWaits};
use mel_log::profile::{OverRanks, Profile};

/// The calls of a profile; none if they were not counted.
pub(super) fn calls(profile: &Profile, reduced: &Reduced) -> Option<Calls> {
    if reduced.calls.is_empty() {
        return None;
    }
    let most = |name: &str| {
        let over = reduced.over(FUNCTIONS, name).and_then(OverRanks::max);
        over.map_or_else(TimeOfRank::default, |(rank, seconds)| TimeOfRank { rank, ns: nanos(seconds) })
    };
    let functions: Vec<Function> = reduced
        .by_function()
        .into_iter()
        .map(|of| Function {
            class: Class::of_function(&of.function),
            calls: of.sum.calls,
            total_ns: nanos(of.sum.total_s),
            lost_ns: nanos(of.sum.lost_s),
            most: most(&of.function),
            name: of.function,
        })
        .collect();
    let place = |name: &str| functions.iter().position(|function| function.name == name).unwrap_or(0) as u32;
    let row = |of: &SumOfCalls| {
        let waits =
            reduced.waits.iter().filter(|wait| (&wait.function, wait.site) == (&of.function, of.site));
        let cause = waits.max_by(|a, b| a.lost_s.total_cmp(&b.lost_s)).and_then(|wait| wait.peer);
        let bytes = of.bytes_sent.saturating_add(of.bytes_received);
        Row {
            function: place(&of.function),
            site: of.site,
            communicators: Vec::new(),
            calls: of.calls,
            total_ns: nanos(of.total_s),
            max_ns: nanos(of.max_s),
            most: TimeOfRank::default(),
            ranks: of.ranks,
            mean_bytes: (bytes > 0).then(|| bytes.checked_div(of.calls)).flatten(),
            lost_ns: nanos(of.lost_s),
            cause_rank: cause,
            unexpected: of.messages.unexpected,
            expected: of.messages.expected,
            search_ns: nanos(of.messages.search_s),
        }
    };
    let wait = |of: &SumOfWaits| Wait {
        kind: of.kind,
        function: place(&of.function),
        site: of.site,
        communicator: None,
        cause_rank: of.peer,
        cause_site: of.peer_site,
        count: of.count,
        lost_ns: nanos(of.lost_s),
        max_ns: nanos(of.max_s),
        victims: of
            .victims
            .iter()
            .take(MOST_VICTIMS)
            .map(|&(rank, lost_s)| TimeOfRank { rank, ns: nanos(lost_s) })
            .collect(),
        victims_all: of.ranks as usize,
    };
    Some(Calls {
        ranks: Vec::new(),
        sites: profile.sites.iter().map(ToString::to_string).collect(),
        communicators: Vec::new(),
        rows: reduced.calls.iter().take(MOST).map(row).collect(),
        waits: reduced.waits.iter().take(MOST).map(wait).collect(),
        hidden_rows: reduced.calls.len().saturating_sub(MOST),
        hidden_waits: reduced.waits.len().saturating_sub(MOST),
        run_ns: nanos(reduced.run_s),
        mpi_ns: total(functions.iter().map(|function| function.total_ns)),
        lost_ns: total(functions.iter().map(|function| function.lost_ns)),
        functions,
    })
}
