//! Who sends what to whom, in a few lines: the sums of each kind, and the pairs that have sent most.

use std::collections::BTreeMap;

use super::layout::table;
use crate::number::size;
use crate::profile::schema::Profile;
use crate::profile::traffic::TrafficKind;

/// The most pairs that have a line.
const MOST: usize = 5;

/// Words for a kind.
fn word(kind: TrafficKind) -> &'static str {
    match kind {
        TrafficKind::P2p => "messages between two ranks",
        TrafficKind::Put => "one-sided, put and accumulate",
        TrafficKind::Get => "one-sided, get",
        TrafficKind::Collective => "collective operations",
        TrafficKind::FileRead => "read from files",
        TrafficKind::FileWrite => "written to files",
        TrafficKind::Internal => "messages of the library's own",
        TrafficKind::Carried => "carried to others by the library",
        TrafficKind::CarriedIn => "fetched from others by the library",
    }
}

/// The sums, and the greatest pairs of messages and one-sided operations; nothing where nothing was counted. Pairs of collective operations
/// are in the matrix.
pub fn traffic(profile: &Profile) -> String {
    let mut kinds: BTreeMap<TrafficKind, (u64, u64)> = BTreeMap::new();
    let mut pairs: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for rank in &profile.ranks {
        for row in &rank.traffic {
            let sum = kinds.entry(row.kind).or_default();
            (sum.0, sum.1) = (sum.0.saturating_add(row.messages), sum.1.saturating_add(row.bytes));
            let own = matches!(row.kind, TrafficKind::P2p | TrafficKind::Put | TrafficKind::Get);
            if let (Some(peer), true) = (row.peer.filter(|peer| *peer != rank.rank), own) {
                let pair = if row.kind.is_inward() { (peer, rank.rank) } else { (rank.rank, peer) };
                let sum = pairs.entry(pair).or_default();
                (sum.0, sum.1) = (sum.0.saturating_add(row.messages), sum.1.saturating_add(row.bytes));
            }
        }
    }
    if kinds.is_empty() {
        return String::new();
    }
    let mut rows = vec![["who sends what (observed)", "times", "data"].map(str::to_owned).to_vec()];
    for (kind, (messages, bytes)) in &kinds {
        // Of collective operations the bytes are those for each destination: their sum means nothing by itself.
        let data = if *kind == TrafficKind::Collective { "".into() } else { size(*bytes as f64) };
        rows.push(vec![word(*kind).into(), messages.to_string(), data]);
    }
    let all = pairs.len();
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(pair, (messages, bytes))| (std::cmp::Reverse((*bytes, *messages)), *pair));
    for ((from, to), (messages, bytes)) in pairs.into_iter().take(MOST) {
        rows.push(vec![format!("  rank {from} to rank {to}"), messages.to_string(), size(bytes as f64)]);
    }
    let mut text = format!("\n{}", table(&rows, &[0]));
    if all > MOST {
        text += &format!("   and {} more pairs: mel report --matrix shows them\n", all - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{RankProfile, Traffic};

    #[test]
    fn sums_and_the_greatest_pairs_are_shown() {
        let row = |kind, peer, bytes| Traffic { kind, peer, messages: 2, bytes, ..Traffic::default() };
        let traffic = vec![
            row(TrafficKind::P2p, Some(0), 99),
            row(TrafficKind::P2p, Some(1), 2048),
            row(TrafficKind::Get, Some(1), 10),
            row(TrafficKind::Collective, None, 8),
        ];
        let ranks = vec![RankProfile { traffic, ..RankProfile::default() }];
        let text = super::traffic(&Profile { ranks, ..Profile::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7, "{text}");
        assert!(lines[1].contains("(observed)") && lines[2].contains("2.10 KiB"), "{text}");
        assert!(lines[5].contains("rank 0 to rank 1") && lines[6].contains("rank 1 to rank 0"), "{text}");
        assert_eq!(super::traffic(&Profile::default()), "");
    }
}
