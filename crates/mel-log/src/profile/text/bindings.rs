//! Where ranks may run: the processors of each, by host.

use std::collections::BTreeMap;

use super::layout::{percent, ranks, table};
use crate::Members;
use crate::profile::processors::Processors;
use crate::profile::schema::{Profile, RankProfile};
use crate::profile::sums::{run_s, share};

/// The most lines of the table.
const MOST: usize = 12;

/// Ranks that may use the same processors.
type Group<'a> = Vec<(&'a RankProfile, &'a Processors)>;

/// A line for ranks of a host that may use the same processors; nothing where that is not known.
pub fn bindings(profile: &Profile) -> String {
    let mut groups: BTreeMap<(&str, Vec<i32>), Group<'_>> = BTreeMap::new();
    for rank in &profile.ranks {
        let Some(processors) = rank.processors.as_ref().filter(|of| !of.allowed.is_empty()) else { continue };
        groups
            .entry((&rank.host, processors.allowed.ranks().collect()))
            .or_default()
            .push((rank, processors));
    }
    if groups.is_empty() || profile.ranks.len() < 2 {
        return String::new();
    }
    let head = ["host", "ranks", "processors", "of", "quota", "had none"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    for ((host, _), of) in groups.iter().take(MOST) {
        let (_, first) = of[0];
        let numbers: Vec<u32> = of.iter().map(|(rank, _)| rank.rank).collect();
        let waited: f64 = of.iter().filter_map(|(_, processors)| processors.waited_s).sum();
        let all: f64 = of.iter().map(|(rank, _)| run_s(profile, rank)).sum();
        rows.push(vec![
            (*host).to_owned(),
            ranks(&numbers).unwrap_or_default(),
            in_runs(&first.allowed),
            first.online.map_or_else(|| "-".into(), |online| online.to_string()),
            first.quota.map_or_else(|| "-".into(), |quota| format!("{quota:.1}")),
            percent(share(waited, all)),
        ]);
    }
    let mut text = format!("\n where ranks may run, observed at MPI_Init\n{}", table(&rows, &[0, 1, 2]));
    if groups.len() > MOST {
        text += &format!("   and {} more: mel report --json has all of them\n", groups.len() - MOST);
    }
    text
}

/// Numbers of processors in a few letters: `0-3, 8`.
fn in_runs(allowed: &Members) -> String {
    let mut runs: Vec<(i32, i32)> = Vec::new();
    for number in allowed.ranks() {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |(first, last): &(i32, i32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let mut words: Vec<String> = runs.iter().take(8).map(text).collect();
    if runs.len() > words.len() {
        words.push(format!("and {} more", runs.len() - words.len()));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_with_the_same_processors_are_a_line() {
        let rank = |rank, allowed: &[i32]| RankProfile {
            rank,
            host: "node".into(),
            run_s: 1.0,
            processors: Some(Processors {
                allowed: Members::from_ranks(allowed.iter().copied()),
                online: Some(8),
                waited_s: Some(0.5),
                ..Processors::default()
            }),
            ..RankProfile::default()
        };
        let ranks = vec![rank(0, &[0, 1, 2, 5]), rank(1, &[0, 1, 2, 5]), rank(2, &[7])];
        let text = bindings(&Profile { ranks, ..Profile::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(
            lines[3].contains("ranks 0, 1") && lines[3].contains("0-2, 5") && lines[3].contains("50.0 %"),
            "{text}"
        );
        assert!(
            lines[4].contains("rank 2 ") && lines[4].contains(" 7 ") && lines[4].contains(" 8 "),
            "{text}"
        );
        assert_eq!(bindings(&Profile::default()), "");
    }
}
