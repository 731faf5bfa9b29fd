//! A profile as the text that a user reads at the end of a run, and from `mel report --lines`.

use super::findings::findings;
use super::schema::{Profile, RankProfile};
use super::statistics;
use super::summary::{QUANTITIES, spread, table};
use super::windows;
use crate::number::duration;

/// Above so many ranks the text has no lines per rank, except for the extremes.
pub const MOST_RANKS: usize = 32;

/// The whole text: the statistics of each rank, the table across ranks, and what stands out. Above
/// [`MOST_RANKS`] ranks the statistics are those of the ranks with the longest lifetimes and searches.
pub fn report(profile: &Profile) -> String {
    let mut text = String::new();
    let shown: Vec<&RankProfile> = match profile.ranks.len() {
        0..=MOST_RANKS => profile.ranks.iter().collect(),
        _ => extremes(&profile.ranks),
    };
    for rank in &shown {
        if profile.has_queues() {
            text += &statistics::lines(rank);
        }
        text += &windows::lines(rank);
    }
    if profile.ranks.len() > shown.len() {
        text += "[MEL] the lines above are those of the extremes; all ranks are in the profile\n";
    }
    text += &format!("[MEL] {}\n", headline(profile));
    text += &table(&profile.ranks);
    for sentence in findings(profile) {
        text += &format!("[MEL] {sentence}\n");
    }
    text
}

/// The ranks that have the longest lifetime in either queue or the longest search of either.
fn extremes(ranks: &[RankProfile]) -> Vec<&RankProfile> {
    let longest = QUANTITIES.iter().filter(|q| q.name.starts_with("longest"));
    let named: Vec<u32> = longest.filter_map(|q| Some(spread(ranks, q.of)?.max.1)).collect();
    ranks.iter().filter(|rank| named.contains(&rank.rank)).collect()
}

/// How many ranks, how long, on which MPI, with whose events.
pub fn headline(profile: &Profile) -> String {
    let ranks = match profile.ranks.len() {
        1 => "1 rank".to_owned(),
        many => format!("{many} ranks"),
    };
    let mut parts = vec![ranks, duration(profile.duration_s)];
    // Libraries say a lot about themselves; name and version come first.
    if let Some(mpi) = profile.mpi.split([',', '\n']).map(str::trim).find(|part| !part.is_empty()) {
        parts.push(mpi.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if !profile.backend.is_empty() {
        parts.push(format!("events: {}", profile.backend));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::QueueStats;

    fn run(ranks: u32) -> Profile {
        let ranks = (0..ranks).map(|rank| RankProfile {
            rank,
            posted: QueueStats { messages: 5, max_s: f64::from(rank) * 1e-6, ..QueueStats::default() },
            ..RankProfile::default()
        });
        Profile {
            mpi: "Open MPI 4.1.4, package: Debian\nmore".into(),
            backend: "model".into(),
            duration_s: 2.0,
            ranks: ranks.collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn up_to_32_ranks_each_has_its_lines() {
        let text = report(&run(32));
        assert_eq!(text.matches("[MEL] Posted queue statistics rank:").count(), 32);
        assert!(text.contains("\n[MEL] 32 ranks, 2.00 s, Open MPI 4.1.4, events: model\n"), "{text}");
        assert!(text.contains("longest lifetime"));
        assert!(text.ends_with("or has long queues\n"), "{text}");
    }

    #[test]
    fn beyond_only_the_extremes_have() {
        let text = report(&run(33));
        assert_eq!(text.matches("[MEL] Posted queue statistics rank: 32 ").count(), 1);
        assert_eq!(text.matches("statistics rank:").count(), 4);
        assert!(text.contains("those of the extremes"), "{text}");
    }

    #[test]
    fn an_empty_profile_is_a_short_text() {
        assert!(report(&Profile::default()).starts_with("[MEL] 0 ranks, 0 ns\n"));
    }
}
