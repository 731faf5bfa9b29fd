//! Who sends what to whom, as the profile has counted it: sparse, by kind, communicator and phase, for a page on which one chooses.

use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

use super::matrix::block_of;
use super::table::columns;
use mel_log::Members;
use mel_log::profile::{Profile, TrafficKind};
use mel_traffic::parts::{Part as Counted, Together};
use mel_traffic::{Amount, Cell, Hosts, Parts, Rows};

/// More ranks than that are joined to blocks.
pub const MOST_ROWS: u32 = 1024;
/// More pairs, over all parts, are joined to blocks, too.
const MOST_PAIRS: usize = 1_200_000;
/// More sizes of messages are left out.
const MOST_SIZES: usize = 250_000;
/// More communicators are shown as one.
const MOST_NAMES: usize = 200;
/// Its name.
const OTHERS: &str = "(others)";

/// All of it.
#[derive(Debug, Default, Serialize)]
pub struct Traffic {
    /// Ranks in a row or column.
    pub block: u32,
    /// Rows and columns.
    pub size: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Names of hosts, in the order of their first ranks.
    pub hosts: Vec<String>,
    /// Which rows are on which host, in order. Empty where a row has ranks of several hosts.
    #[serde(serialize_with = "columns")]
    pub host_runs: Vec<HostRun>,
    /// Names of communicators.
    pub communicators: Vec<String>,
    /// Names of phases.
    pub phases: Vec<String>,
    /// Ranks that receive what is sent to all alike, each list as [runs](Run).
    #[serde(serialize_with = "lists")]
    pub lists: Vec<Members>,
    /// Messages and bytes. Parts refer to these.
    #[serde(serialize_with = "columns")]
    pub amounts: Vec<Cell>,
    /// The sizes of the messages of an amount.
    #[serde(serialize_with = "columns")]
    pub sizes: Vec<Size>,
    /// Whether sizes were left out, because there are too many.
    pub sizes_left_out: bool,
    /// What was counted.
    pub parts: Vec<Part>,
}

/// Rows on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HostRun {
    /// How many.
    pub rows: u32,
    /// A place in [`Traffic::hosts`].
    pub host: u32,
}

/// Ranks with the same distance from one to the next.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// The first one.
    pub first: i32,
    /// How many.
    pub count: u32,
    /// From one to the next.
    pub step: i32,
}

/// How many messages of an amount have a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// A place in [`Traffic::amounts`].
    pub of: u32,
    /// The bin of sizes: 0 for empty messages, else one more than the logarithm of the size to base 2.
    pub bin: u32,
    /// How many.
    pub messages: u64,
}

/// What a row sends to itself, or to files.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Own {
    /// The row.
    pub row: u32,
    /// A place in [`Traffic::amounts`].
    pub amount: u32,
}

/// What was counted of one kind, on one communicator, in one phase.
#[derive(Debug, Default, Serialize)]
pub struct Part {
    /// The kind.
    pub kind: TrafficKind,
    /// A place in [`Traffic::communicators`].
    pub communicator: usize,
    /// A place in [`Traffic::phases`].
    pub phase: usize,
    /// Sender × [`Traffic::size`] + receiver of each pair, as the difference to the pair before.
    pub steps: Vec<u64>,
    /// The amount of each pair: a place in [`Traffic::amounts`].
    pub amounts: Vec<u32>,
    /// What ranks have sent to themselves, or to files.
    #[serde(serialize_with = "columns")]
    pub own: Vec<Own>,
    /// What goes to all others of a list alike.
    pub together: Vec<ToAll>,
    /// Calls of which it is not known who receives.
    pub unplaced: u64,
}

/// What goes to all others of a list alike.
#[derive(Debug, Default, Serialize)]
pub struct ToAll {
    /// Who sends, as [runs](Run).
    #[serde(serialize_with = "runs")]
    pub senders: Members,
    /// A place in [`Traffic::lists`].
    pub list: usize,
    /// Whether only those receive that come after the sender in the list.
    pub upwards: bool,
    /// From each sender to each receiver: a place in [`Traffic::amounts`].
    pub amount: u32,
}

/// Distinct amounts, each with its place.
#[derive(Default)]
struct Amounts {
    places: FxHashMap<Amount, u32>,
    all: Vec<Cell>,
    sizes: Vec<Size>,
    left_out: bool,
}

impl Amounts {
    fn place(&mut self, mut amount: Amount) -> u32 {
        if self.sizes.len() + amount.sizes.len() > MOST_SIZES {
            self.left_out = true;
            amount.sizes.clear();
        }
        if let Some(place) = self.places.get(&amount) {
            return *place;
        }
        let of = self.all.len() as u32;
        self.all.push(amount.cell);
        self.sizes.extend(amount.sizes.iter().map(|&(bin, messages)| Size { of, bin: bin.into(), messages }));
        self.places.insert(amount, of);
        of
    }
}

/// What there is to show; none if nothing was counted.
pub fn traffic(profile: &Profile) -> Option<Traffic> {
    if !profile.has_traffic() {
        return None;
    }
    let rows = Rows::of(profile);
    let mut parts = Parts::of(&rows);
    limit_names(&mut parts);
    let mut block = block_of(parts.size, MOST_ROWS);
    while pairs(&parts, block) > MOST_PAIRS {
        block *= 2;
    }
    let size = parts.size.div_ceil(block);
    let mut amounts = Amounts::default();
    let shown = (parts.parts.iter())
        .map(|((kind, communicator, phase), counted)| Part {
            kind: *kind,
            communicator: *communicator,
            phase: *phase,
            ..part(counted, (block, size), &mut amounts)
        })
        .collect();
    let hosts = Hosts::of(profile, parts.size);
    Some(Traffic {
        block,
        size,
        ranks: parts.size,
        host_runs: host_runs(&hosts, block),
        hosts: hosts.names,
        lists: parts.lists.iter().map(|list| members(list)).collect(),
        communicators: parts.communicators,
        phases: parts.phases,
        amounts: amounts.all,
        sizes: amounts.sizes,
        sizes_left_out: amounts.left_out,
        parts: shown,
    })
}

fn runs<S: Serializer>(members: &Members, serializer: S) -> Result<S::Ok, S::Error> {
    Runs(members).serialize(serializer)
}

fn lists<S: Serializer>(lists: &[Members], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lists.iter().map(Runs))
}

/// Members as a table of runs.
struct Runs<'a>(&'a Members);

impl Serialize for Runs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let runs: Vec<(i32, u32, i32)> = self.0.clone().into();
        let runs: Vec<Run> =
            runs.into_iter().map(|(first, count, step)| Run { first, count, step }).collect();
        columns(&runs, serializer)
    }
}

fn members(ranks: &[u32]) -> Members {
    Members::from_ranks(ranks.iter().map(|rank| *rank as i32))
}

/// How many pairs of rows have anything, over all parts.
fn pairs(parts: &Parts, block: u32) -> usize {
    let of_part = |part: &Counted| {
        let rows = part.pairs.keys().map(|(from, to)| (from / block, to / block));
        match block {
            1 => part.pairs.len(),
            _ => rows.collect::<rustc_hash::FxHashSet<_>>().len(),
        }
    };
    parts.parts.values().map(of_part).sum()
}

/// One part as it is shown.
fn part(counted: &Counted, (block, size): (u32, u32), amounts: &mut Amounts) -> Part {
    let mut part = Part { unplaced: counted.unplaced.calls, ..Part::default() };
    let mut own = std::collections::BTreeMap::<u32, Amount>::new();
    let mut cells = std::collections::BTreeMap::<u64, Amount>::new();
    for ((from, to), amount) in &counted.pairs {
        let sum = match from == to {
            true => own.entry(from / block).or_default(),
            false => {
                let place = u64::from(from / block) * u64::from(size) + u64::from(to / block);
                cells.entry(place).or_default()
            }
        };
        sum.add(amount.cell, &amount.sizes);
    }
    let mut last = 0;
    for (place, amount) in cells {
        part.steps.push(place - last);
        part.amounts.push(amounts.place(amount));
        last = place;
    }
    part.own = own.into_iter().map(|(row, amount)| Own { row, amount: amounts.place(amount) }).collect();
    part.together = (counted.together.iter())
        .map(|together| ToAll {
            senders: members(&together.senders),
            list: together.list,
            upwards: together.upwards,
            amount: amounts.place(together.amount.clone()),
        })
        .collect();
    part
}

/// Joins all but the first communicators of very many.
fn limit_names(parts: &mut Parts) {
    if parts.communicators.len() <= MOST_NAMES {
        return;
    }
    parts.communicators.truncate(MOST_NAMES);
    parts.communicators.push(OTHERS.to_owned());
    for ((kind, communicator, phase), part) in std::mem::take(&mut parts.parts) {
        let joined: &mut Counted =
            parts.parts.entry((kind, communicator.min(MOST_NAMES), phase)).or_default();
        for (pair, amount) in part.pairs {
            joined.pairs.entry(pair).or_default().add(amount.cell, &amount.sizes);
        }
        joined.together.extend::<Vec<Together>>(part.together);
        joined.unplaced.rows += part.unplaced.rows;
        joined.unplaced.calls = joined.unplaced.calls.saturating_add(part.unplaced.calls);
    }
}

/// Which rows are on which host; nothing where a row has ranks of several.
fn host_runs(hosts: &Hosts, block: u32) -> Vec<HostRun> {
    let mut runs: Vec<HostRun> = Vec::new();
    for ranks in hosts.of_rank.chunks(block.max(1) as usize) {
        if ranks.iter().any(|host| *host != ranks[0]) {
            return Vec::new();
        }
        match runs.last_mut() {
            Some(run) if run.host == ranks[0] => run.rows += 1,
            _ => runs.push(HostRun { rows: 1, host: ranks[0] }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{RankProfile, Traffic as Row, sample};
    use mel_traffic::{Choice, Matrix};

    /// Messages and bytes of a kind, as the page adds them up.
    fn total(traffic: &Traffic, kind: TrafficKind) -> (u64, u64) {
        let mut sum = (0, 0);
        let mut add = |place: u32, times: u64| {
            let Cell { messages, bytes } = traffic.amounts[place as usize];
            sum = (sum.0 + messages * times, sum.1 + bytes * times);
        };
        for part in traffic.parts.iter().filter(|part| part.kind == kind) {
            assert_eq!(part.steps.len(), part.amounts.len());
            part.amounts.iter().for_each(|amount| add(*amount, 1));
            for all in &part.together {
                let list: Vec<i32> = traffic.lists[all.list].ranks().collect();
                for sender in all.senders.ranks() {
                    add(all.amount, list.iter().filter(|rank| **rank != sender).count() as u64);
                }
            }
        }
        sum
    }

    #[test]
    fn the_page_adds_up_what_the_matrix_does() {
        for ranks in [2, 64, 1024, 1500] {
            let profile = sample::traffic(ranks);
            let traffic = traffic(&profile).unwrap();
            let rows = Rows::of(&profile);
            for kind in TrafficKind::ALL.into_iter().filter(|kind| mel_traffic::rows::has_pairs(*kind)) {
                let of_matrix = Matrix::of(&rows, &Choice::of_kinds(&[kind])).total();
                assert_eq!(total(&traffic, kind), (of_matrix.messages, of_matrix.bytes), "{ranks} {kind:?}");
            }
            let rows: u32 = traffic.host_runs.iter().map(|run| run.rows).sum();
            assert_eq!((traffic.block, rows), (ranks.div_ceil(1024), traffic.size));
        }
        assert!(traffic(&sample::healthy(4)).is_none());
    }

    #[test]
    fn a_thousand_ranks_take_less_than_a_megabyte() {
        let traffic = traffic(&sample::traffic(1024)).unwrap();
        assert_eq!((traffic.block, traffic.size), (1, 1024));
        assert!(traffic.amounts.len() < 20, "{:?}", traffic.amounts);
        let text = serde_json::to_string(&traffic).unwrap();
        assert!(text.len() < 1 << 20, "{}", text.len());
    }

    /// Each rank has sent so many bytes to each other one, in messages of many sizes.
    fn each_to_each(ranks: u32) -> Profile {
        let row = |rank: u32, peer: u32| Row {
            peer: Some(peer),
            messages: 3,
            bytes: u64::from(rank * peer),
            sizes: (0..20).map(|bin| (bin, u64::from(rank + peer * 7))).collect(),
            ..Row::default()
        };
        let rank = |rank: u32| RankProfile {
            rank,
            host: format!("node{}", rank / 3),
            traffic: (0..ranks).filter(|peer| *peer != rank).map(|peer| row(rank, peer)).collect(),
            ..RankProfile::default()
        };
        Profile { world_size: ranks, ranks: (0..ranks).map(rank).collect(), ..Profile::default() }
    }

    #[test]
    fn what_is_too_much_is_joined_or_left_out() {
        let all = traffic(&each_to_each(1200)).unwrap();
        assert_eq!((all.block, all.size, all.ranks), (2, 600, 1200));
        assert!(all.sizes_left_out);
        assert!(all.sizes.len() <= MOST_SIZES && all.sizes.len() > MOST_SIZES / 2);
        assert_eq!(total(&all, TrafficKind::P2p).0, 3 * 1200 * 1199);
        assert!(all.host_runs.is_empty(), "three ranks of a host are no pairs of ranks");
        assert_eq!(all.hosts.len(), 400);
    }

    #[test]
    fn very_many_communicators_have_one_name() {
        let mut profile = each_to_each(2);
        let named = |place: u32| mel_log::profile::NamedCommunicator {
            name: format!("c{place}"),
            ..Default::default()
        };
        profile.communicators = (0..300).map(named).collect();
        let row = |place| Row { peer: Some(1), communicator: Some(place), messages: 1, ..Row::default() };
        profile.ranks[0].traffic = (0..300).map(row).collect();
        profile.ranks[1].traffic.clear();
        let traffic = traffic(&profile).unwrap();
        assert_eq!(
            (traffic.communicators.len(), traffic.communicators.last().unwrap().as_str()),
            (201, OTHERS)
        );
        assert_eq!(total(&traffic, TrafficKind::P2p).0, 300);
    }
}
