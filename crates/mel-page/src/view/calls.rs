//! MPI calls from the profile: the time of each rank, call sites, and wait states. Times are in nanoseconds.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::calls_of_many;
use super::class::Class;
use super::over::few;
use super::table::columns;
use mel_log::profile::{CallProfile, Profile, RankProfile, WaitKind, sums};

/// More call sites, or wait states, than that are not shown: those that take longest are.
pub(super) const MOST: usize = 2000;
/// Ranks that a wait state names, those that lose most first.
pub(super) const MOST_VICTIMS: usize = 4;

/// The calls of a profile.
#[derive(Debug, Serialize)]
pub struct Calls {
    /// The MPI functions, by their time, without `MPI_Init` and `MPI_Finalize`.
    pub functions: Vec<Function>,
    /// The time of each rank; the page has none beyond [`MOST_RANKS`](super::over::MOST_RANKS).
    #[serde(serialize_with = "few")]
    pub ranks: Vec<RankTime>,
    /// Call sites as text.
    pub sites: Vec<String>,
    /// Names of communicators.
    pub communicators: Vec<String>,
    /// Calls by function, call site and communicator, those that take longest first.
    pub rows: Vec<Row>,
    /// Time lost by function, call site, communicator, and who had caused it, the most first.
    pub waits: Vec<Wait>,
    /// Rows that are not shown.
    pub hidden_rows: usize,
    /// Wait states that are not shown.
    pub hidden_waits: usize,
    /// The time of all ranks between `MPI_Init` and `MPI_Finalize`, of all their threads that call MPI.
    pub run_ns: u64,
    /// The part of it in MPI.
    pub mpi_ns: u64,
    /// The part of that which is lost waiting.
    pub lost_ns: u64,
}

/// An MPI function, over all ranks.
#[derive(Debug, Serialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it does.
    pub class: Class,
    /// Number of calls.
    pub calls: u64,
    /// Time in it.
    pub total_ns: u64,
    /// The part of it that is lost waiting.
    pub lost_ns: u64,
    /// The most time of any rank.
    pub most: TimeOfRank,
}

/// The time of a rank.
#[derive(Debug, Serialize)]
pub struct RankTime {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// From the exit of `MPI_Init` to the entry of `MPI_Finalize`, times [`RankTime::threads`].
    pub run_ns: u64,
    /// Threads that have called MPI; at least 1.
    pub threads: u32,
    /// What others lost waiting for this rank.
    pub caused_ns: u64,
    /// What it spends in each function, by time.
    #[serde(serialize_with = "columns")]
    pub functions: Vec<InFunction>,
}

/// What a rank spends in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InFunction {
    /// Place of the function.
    pub function: u32,
    /// Time in it.
    pub total_ns: u64,
    /// The part of it that is lost waiting.
    pub lost_ns: u64,
}

/// A time of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeOfRank {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The time.
    pub ns: u64,
}

/// The calls of a function from one call site on one communicator.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Place of the function.
    pub function: u32,
    /// Place of the call site.
    pub site: Option<u32>,
    /// Places of its communicators: several for calls that complete requests of several.
    pub communicators: Vec<u32>,
    /// Number of calls.
    pub calls: u64,
    /// Time in them.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The most time of any rank.
    pub most: TimeOfRank,
    /// How many ranks have such calls.
    pub ranks: u32,
    /// Mean bytes of a call; none where there are no bytes.
    pub mean_bytes: Option<u64>,
    /// Time lost waiting.
    pub lost_ns: u64,
    /// The rank that most of it was lost for.
    pub cause_rank: Option<u32>,
    /// Messages that came before their receives were posted.
    pub unexpected: u64,
    /// Messages that came after.
    pub expected: u64,
    /// Time in searches of the unexpected queue.
    pub search_ns: u64,
}

/// Time that calls have lost for one reason.
#[derive(Debug, Serialize)]
pub struct Wait {
    /// Why.
    pub kind: WaitKind,
    /// Place of the function.
    pub function: u32,
    /// Place of the call site.
    pub site: Option<u32>,
    /// Place of the communicator.
    pub communicator: Option<u32>,
    /// The rank that they waited for.
    pub cause_rank: Option<u32>,
    /// The call there that ended the waiting: its place among the call sites.
    pub cause_site: Option<u32>,
    /// How often.
    pub count: u64,
    /// The time lost.
    pub lost_ns: u64,
    /// The most in one call.
    pub max_ns: u64,
    /// What ranks lost, the most first; at most four.
    pub victims: Vec<TimeOfRank>,
    /// How many ranks lost time.
    pub victims_all: usize,
}

type RowKey = (u32, Option<u32>, Option<u32>);
type WaitKey = (RowKey, WaitKind, Option<u32>, Option<u32>);

/// What is summed up for a [`Row`].
#[derive(Default)]
struct RowSum {
    calls: u64,
    communicators: BTreeSet<u32>,
    bytes: u64,
    max_ns: u64,
    by_rank: BTreeMap<u32, u64>,
    causes: BTreeMap<u32, u64>,
    lost_ns: u64,
    expected: u64,
    unexpected: u64,
    search_ns: u64,
}

/// What is summed up for a [`Wait`].
#[derive(Default)]
struct WaitSum {
    count: u64,
    lost_ns: u64,
    max_ns: u64,
    victims: BTreeMap<u32, u64>,
}

/// The calls of a profile; none if they were not counted.
pub fn calls(profile: &Profile) -> Option<Calls> {
    if let Some(reduced) = &profile.reduced {
        return calls_of_many::calls(profile, reduced);
    }
    if profile.ranks.iter().all(|rank| rank.calls.is_empty()) {
        return None;
    }
    let functions = functions(profile);
    let place = |name: &str| functions.iter().position(|function| function.name == name).map(|i| i as u32);
    let (mut rows, mut waits) = (BTreeMap::<RowKey, RowSum>::new(), BTreeMap::<WaitKey, WaitSum>::new());
    let mut ranks = Vec::new();
    for rank in &profile.ranks {
        let mut sums = BTreeMap::<u32, (u64, u64)>::new();
        for call in sums::calls(rank) {
            let Some(function) = place(&call.function) else { continue };
            let sum = sums.entry(function).or_default();
            add(&mut sum.0, nanos(call.total_s));
            add(&mut sum.1, lost(call));
            let key = (function, call.site, call.communicator);
            // What has no calls of its own belongs to calls that completed requests of this communicator.
            let row = if call.calls == 0 { (function, call.site, None) } else { key };
            add_row(rows.entry(row).or_default(), rank.rank, call);
            for wait in &call.waits {
                let sum = waits.entry((key, wait.kind, wait.peer, wait.peer_site)).or_default();
                add(&mut sum.count, wait.count);
                add(&mut sum.lost_ns, nanos(wait.lost_s));
                sum.max_ns = sum.max_ns.max(nanos(wait.max_s));
                add(sum.victims.entry(rank.rank).or_default(), nanos(wait.lost_s));
            }
        }
        ranks.push(rank_time(rank, sums));
    }
    let mut rows: Vec<Row> = rows.into_iter().map(|(key, sum)| row(key, &sum)).collect();
    let mut waits: Vec<Wait> = waits.into_iter().map(|(key, sum)| wait(key, sum)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.total_ns, row.lost_ns)));
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.lost_ns));
    let [hidden_rows, hidden_waits] = [rows.len(), waits.len()].map(|number| number.saturating_sub(MOST));
    rows.truncate(MOST);
    waits.truncate(MOST);
    Some(Calls {
        ranks,
        sites: profile.sites.iter().map(ToString::to_string).collect(),
        communicators: profile.communicators.iter().map(|known| known.name.clone()).collect(),
        rows,
        waits,
        hidden_rows,
        hidden_waits,
        run_ns: total(
            profile.ranks.iter().map(|rank| nanos(rank.run_s).saturating_mul(threads(rank).into())),
        ),
        mpi_ns: total(functions.iter().map(|function| function.total_ns)),
        lost_ns: total(functions.iter().map(|function| function.lost_ns)),
        functions,
    })
}

pub(super) fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round().max(0.0) as u64
}

fn lost(call: &CallProfile) -> u64 {
    total(call.waits.iter().map(|wait| nanos(wait.lost_s)))
}

fn threads(rank: &RankProfile) -> u32 {
    let mut threads: Vec<u32> = sums::calls(rank).map(|call| call.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    threads.len().max(1) as u32
}

/// The sum, at most the greatest number: what is read may be damaged.
pub(super) fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Adds likewise.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// The largest of the values, and whose it is.
fn most(by_rank: &BTreeMap<u32, u64>) -> TimeOfRank {
    let largest = by_rank.iter().max_by_key(|(rank, value)| (**value, std::cmp::Reverse(**rank)));
    largest.map_or_else(TimeOfRank::default, |(&rank, &ns)| TimeOfRank { rank, ns })
}

fn functions(profile: &Profile) -> Vec<Function> {
    let mut sums = BTreeMap::<&str, (u64, u64, BTreeMap<u32, u64>)>::new();
    for rank in &profile.ranks {
        for call in sums::calls(rank) {
            let (calls, lost_ns, by_rank) = sums.entry(&call.function).or_default();
            add(calls, call.calls);
            add(lost_ns, lost(call));
            add(by_rank.entry(rank.rank).or_default(), nanos(call.total_s));
        }
    }
    let function = |(name, (calls, lost_ns, by_rank)): (&str, (u64, u64, BTreeMap<u32, u64>))| Function {
        name: name.to_owned(),
        class: Class::of_function(name),
        calls,
        total_ns: total(by_rank.values().copied()),
        lost_ns,
        most: most(&by_rank),
    };
    let mut functions: Vec<Function> = sums.into_iter().map(function).collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.total_ns));
    functions
}

fn rank_time(rank: &RankProfile, sums: BTreeMap<u32, (u64, u64)>) -> RankTime {
    let mut functions: Vec<InFunction> = sums
        .into_iter()
        .map(|(function, (total_ns, lost_ns))| InFunction { function, total_ns, lost_ns })
        .collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.total_ns));
    RankTime {
        rank: rank.rank,
        host: rank.host.clone(),
        run_ns: nanos(rank.run_s).saturating_mul(threads(rank).into()),
        threads: threads(rank),
        caused_ns: nanos(rank.caused_s),
        functions,
    }
}

fn add_row(sum: &mut RowSum, rank: u32, call: &CallProfile) {
    add(&mut sum.calls, call.calls);
    sum.communicators.extend(call.communicator);
    sum.bytes = sum.bytes.saturating_add(call.bytes_sent).saturating_add(call.bytes_received);
    sum.max_ns = sum.max_ns.max(nanos(call.max_s));
    add(sum.by_rank.entry(rank).or_default(), nanos(call.total_s));
    for wait in &call.waits {
        if let Some(peer) = wait.peer {
            add(sum.causes.entry(peer).or_default(), nanos(wait.lost_s));
        }
    }
    add(&mut sum.lost_ns, lost(call));
    add(&mut sum.expected, call.messages.expected);
    add(&mut sum.unexpected, call.messages.unexpected);
    add(&mut sum.search_ns, nanos(call.messages.search_s));
}

fn row((function, site, _): RowKey, sum: &RowSum) -> Row {
    Row {
        function,
        site,
        communicators: sum.communicators.iter().copied().collect(),
        calls: sum.calls,
        total_ns: total(sum.by_rank.values().copied()),
        max_ns: sum.max_ns,
        most: most(&sum.by_rank),
        ranks: sum.by_rank.len() as u32,
        mean_bytes: (sum.bytes > 0).then(|| sum.bytes.checked_div(sum.calls)).flatten(),
        lost_ns: sum.lost_ns,
        cause_rank: (!sum.causes.is_empty()).then(|| most(&sum.causes).rank),
        unexpected: sum.unexpected,
        expected: sum.expected,
        search_ns: sum.search_ns,
    }
}

fn wait(((function, site, communicator), kind, cause_rank, cause_site): WaitKey, sum: WaitSum) -> Wait {
    let mut victims: Vec<TimeOfRank> =
        sum.victims.into_iter().map(|(rank, ns)| TimeOfRank { rank, ns }).collect();
    victims.sort_by_key(|victim| std::cmp::Reverse(victim.ns));
    let victims_all = victims.len();
    victims.truncate(MOST_VICTIMS);
    Wait {
        kind,
        function,
        site,
        communicator,
        cause_rank,
        cause_site,
        count: sum.count,
        lost_ns: sum.lost_ns,
        max_ns: sum.max_ns,
        victims,
        victims_all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{CallSite, WaitProfile};

    fn call(function: &str, site: u32, total_s: f64, waits: &[(u32, f64)]) -> CallProfile {
        let wait = |&(peer, lost_s): &(u32, f64)| WaitProfile {
            peer: Some(peer),
            count: 1,
            lost_s,
            max_s: lost_s,
            ..WaitProfile::default()
        };
        CallProfile {
            function: function.into(),
            site: Some(site),
            calls: 2,
            bytes_received: 16,
            total_s,
            waits: waits.iter().map(wait).collect(),
            ..CallProfile::default()
        }
    }

    #[test]
    fn calls_of_all_ranks_are_joined_by_call_site() {
        let rank = |rank, calls| RankProfile { rank, run_s: 10.0, calls, ..RankProfile::default() };
        let profile = Profile {
            sites: vec![CallSite { file: "a.c".into(), line: 3, ..CallSite::default() }; 2],
            ranks: vec![
                rank(0, vec![call("MPI_Recv", 0, 4.0, &[(2, 3.0)]), call("MPI_Init", 1, 99.0, &[])]),
                rank(1, vec![call("MPI_Recv", 0, 2.0, &[(2, 0.5), (0, 1.0)]), call("MPI_Send", 1, 1.0, &[])]),
            ],
            ..Profile::default()
        };
        let calls = calls(&profile).unwrap();
        assert_eq!(calls.functions.iter().map(|f| &*f.name).collect::<Vec<_>>(), ["MPI_Recv", "MPI_Send"]);
        assert_eq!(
            (calls.run_ns, calls.mpi_ns, calls.lost_ns),
            (20_000_000_000, 7_000_000_000, 4_500_000_000)
        );
        let recv = &calls.rows[0];
        assert_eq!((recv.calls, recv.mean_bytes, recv.cause_rank), (4, Some(8), Some(2)));
        assert_eq!((recv.most, recv.ranks), (TimeOfRank { rank: 0, ns: 4_000_000_000 }, 2));
        let wait = &calls.waits[0];
        assert_eq!((wait.cause_rank, wait.count), (Some(2), 2));
        assert_eq!(
            wait.victims,
            [(0, 3_000_000_000), (1, 500_000_000)].map(|(rank, ns)| TimeOfRank { rank, ns })
        );
        let in_function = |(function, total_ns, lost_ns)| InFunction { function, total_ns, lost_ns };
        let expected = [(0, 2_000_000_000, 1_500_000_000), (1, 1_000_000_000, 0)].map(in_function);
        assert_eq!(calls.ranks[1].functions, expected);
    }

    #[test]
    fn messages_that_a_call_has_completed_are_in_its_row() {
        let mut calls_of = vec![call("MPI_Waitall", 0, 4.0, &[])];
        for communicator in [1, 2] {
            let mut completed = call("MPI_Waitall", 0, 0.0, &[(3, 1.5)]);
            (completed.calls, completed.communicator) = (0, Some(communicator));
            calls_of.push(completed);
        }
        let rank = RankProfile { run_s: 9.0, calls: calls_of, ..RankProfile::default() };
        let calls = calls(&Profile { ranks: vec![rank], ..Profile::default() }).unwrap();
        assert_eq!(calls.rows.len(), 1);
        let row = &calls.rows[0];
        assert_eq!((row.calls, &row.communicators[..], row.lost_ns), (2, &[1, 2][..], 3_000_000_000));
        assert_eq!((row.cause_rank, row.mean_bytes), (Some(3), Some(24)));
        assert_eq!(calls.waits.len(), 2);
    }

    #[test]
    fn threads_share_the_time_of_a_rank() {
        let mut second = call("MPI_Send", 0, 1.0, &[]);
        second.thread = 3;
        let calls_of = vec![call("MPI_Send", 0, 1.0, &[]), second];
        let rank = RankProfile { run_s: 2.0, calls: calls_of, ..RankProfile::default() };
        let calls = calls(&Profile { ranks: vec![rank], ..Profile::default() }).unwrap();
        assert_eq!((calls.run_ns, calls.ranks[0].threads), (4_000_000_000, 2));
        assert!(super::calls(&Profile::default()).is_none());
    }
}
