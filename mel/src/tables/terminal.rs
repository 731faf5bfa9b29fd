//! A profile as `mel report` prints it: what the run printed at its end, and distributions as rows of blocks.

use std::path::Path;

use mel_log::number::duration;
use mel_log::profile::columns::TIME;
use mel_log::profile::histogram::Histogram;
use mel_log::profile::over_ranks::{self, OverRanks};
use mel_log::profile::reduced::Reduced;
use mel_log::profile::schema::{Profile, RankProfile};
use mel_log::profile::summary::longest_of_queues;
use mel_log::profile::text::bindings::bindings;
use mel_log::profile::text::code::code;
use mel_log::profile::text::communicators::communicators;
use mel_log::profile::text::connections::connections;
use mel_log::profile::text::report::{facts, overview, queues};
use mel_log::profile::text::told::told;
use mel_log::profile::text::traffic::traffic;
use mel_log::profile::text::{attribution, variables};

/// The most blocks in a row.
const BLOCKS: usize = 32;

/// The whole text, of a run in that directory. No line is longer than [`mel_log::profile::text::COLUMNS`], but where the directory's name is.
pub fn terminal(profile: &Profile, directory: &Path) -> String {
    let mut text = overview(profile, Some(directory), "");
    text += &code(profile);
    text += &queues(profile);
    text += &bindings(profile);
    text += &communicators(profile);
    text += &traffic(profile);
    text += &connections(profile);
    text += &variables::variables(profile);
    text += &variables::by_rank(profile);
    text += &attribution::attribution(profile);
    text += &told(profile);
    match &profile.reduced {
        Some(reduced) => {
            text += &distributions(reduced.times.each_ref().map(|times| times.0.clone()));
            text += &among_ranks(reduced);
        }
        None => {
            let of =
                |histogram: Of| profile.ranks.iter().flat_map(|rank| histogram(rank).0.clone()).collect();
            text += &distributions(KINDS.map(|(_, histogram)| of(histogram)));
            text += &by_rank(&profile.ranks);
        }
    }
    text + &facts(profile, "- ")
}

/// Heights from 0 to the greatest as blocks. Nothing is a blank, and the least of something is seen.
fn blocks(values: &[f64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let block = |value: &f64| {
        if *value > 0.0 { HEIGHTS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1] } else { ' ' }
    };
    values.iter().map(block).collect()
}

type Of = fn(&RankProfile) -> &Histogram;

const KINDS: [(&str, Of); 4] = [
    ("posted queue", |rank| &rank.posted.lifetimes),
    ("unexpected queue", |rank| &rank.unexpected.lifetimes),
    ("posted searches", |rank| &rank.posted_search.times),
    ("unexpected searches", |rank| &rank.unexpected_search.times),
];

/// How many ranks have how much, of times and of what is longest: from the least to the greatest.
fn among_ranks(reduced: &Reduced) -> String {
    let mut text = String::new();
    let shown = |over: &&OverRanks| over.group == TIME || over.name.starts_with("longest");
    for over in reduced.over_ranks.iter().filter(shown) {
        let (Some((_, low)), Some((_, high))) = (over.min(), over.max()) else { continue };
        if high <= low {
            continue;
        }
        let mut heights = vec![0.0; over_ranks::BINS];
        for (from, _, ranks) in &over.histogram {
            let bin = ((from - low) / (high - low) * over_ranks::BINS as f64).round() as usize;
            heights[bin.min(over_ranks::BINS - 1)] += f64::from(*ranks);
        }
        let name = match &*over.group {
            TIME => over.name.clone(),
            group => group.replace("queue searches", "searches"),
        };
        let ends = [low, high].map(|value| over.unit.text(value));
        text += &format!("   {name:<22} {:>8} |{}| {}\n", ends[0], blocks(&heights), ends[1]);
    }
    if text.is_empty() {
        text
    } else {
        format!(" how many ranks have how much; of queues the longest of each\n{text}")
    }
}

/// Every lifetime and every search of all ranks, by powers of ten.
fn distributions(kinds: [Vec<(u64, u64, u64)>; 4]) -> String {
    let mut text = String::new();
    for ((name, _), bins) in KINDS.into_iter().zip(kinds) {
        // By the middle of each bin, as far as one can tell.
        let bins: Vec<(f64, f64)> = bins
            .into_iter()
            .map(|(lower, upper, count)| {
                ((lower / 2 + upper / 2 + (lower & upper & 1)).max(1) as f64, count as f64)
            })
            .collect();
        let (low, high) =
            bins.iter().fold((f64::MAX, 0.0f64), |(low, high), bin| (low.min(bin.0), high.max(bin.0)));
        if bins.is_empty() {
            continue;
        }
        let (low, high) = (low.log10().floor(), (high.log10() + 1e-9).ceil().max(low.log10().floor() + 1.0));
        // As many blocks for each power of ten as fit.
        let each = (BLOCKS as f64 / (high - low)).floor().clamp(1.0, 10.0);
        let mut heights = vec![0.0; ((high - low) * each) as usize];
        let last = heights.len() - 1;
        for (value, count) in bins {
            heights[(((value.log10() - low) * each) as usize).min(last)] += count;
        }
        let ends = [low, high].map(|power| duration(10f64.powf(power) * 1e-9));
        text += &format!("   {name:<22} {:>8} |{}| {}\n", ends[0], blocks(&heights), ends[1]);
    }
    if text.is_empty() { text } else { format!(" how long each took, on all ranks\n{text}") }
}

/// The longest of each rank, from the first rank to the last.
fn by_rank(ranks: &[RankProfile]) -> String {
    if ranks.len() < 2 {
        return String::new();
    }
    let mut text = String::new();
    for quantity in longest_of_queues() {
        let values: Vec<f64> = ranks.iter().map(|rank| (quantity.of)(rank).unwrap_or(0.0)).collect();
        if values.iter().all(|value| *value == 0.0) {
            continue;
        }
        let each = values.len().div_ceil(BLOCKS);
        let most: Vec<f64> =
            values.chunks(each).map(|chunk| chunk.iter().copied().fold(0.0, f64::max)).collect();
        let name = quantity.group.replace("queue searches", "searches");
        let (first, last) = (ranks[0].rank, ranks[ranks.len() - 1].rank);
        let first = format!("rank {first}");
        text += &format!("   {name:<22} {first:>8} |{}| {last}\n", blocks(&most));
    }
    if text.is_empty() { text } else { format!(" the longest of each rank\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::text::COLUMNS;
    use mel_log::profile::{QueueStats, sample};

    fn text_of(profile: &Profile) -> String {
        terminal(profile, Path::new("mel-app-1"))
    }

    fn run(ranks: u32) -> Profile {
        let ranks = (0..ranks).map(|rank| RankProfile {
            rank,
            posted: QueueStats {
                messages: 50,
                max_s: f64::from(rank + 1) * 1e-3,
                lifetimes: Histogram(vec![(100, 101, 2), (1_000_000, 1_000_500, 48)]),
                ..QueueStats::default()
            },
            unexpected: QueueStats { messages: 60, ..QueueStats::default() },
            ..RankProfile::default()
        });
        let mpi = "An MPI Library with a very long name that goes on and on, and more".into();
        let ranks = ranks.collect();
        Profile { mpi, backend: "model".into(), duration_s: 2.0, ranks, ..Profile::default() }
    }

    #[test]
    fn no_line_is_longer_than_a_terminal_is_wide() {
        for ranks in [0, 1, 4, 64, 5000] {
            let text = text_of(&run(ranks)) + &text_of(&sample::late_rank(ranks.max(1), 0));
            for line in text.lines() {
                assert!(line.chars().count() <= COLUMNS, "{ranks}: {line}");
            }
        }
    }

    #[test]
    fn the_run_comes_first_and_who_is_missing_before_the_verdict() {
        let mut profile = sample::late_rank(4, 1);
        profile.world_size = 5;
        let text = text_of(&profile);
        assert!(text.starts_with("./halo -n 200, "), "{text}");
        assert!(text.contains("\ndirectory mel-app-1\n") && text.contains("What costs time"), "{text}");
        assert!(text.contains("\nrank 4 left no profile: it was killed before MPI_Init had returned, or its file is elsewhere\n"), "{text}");
    }

    #[test]
    fn blocks_tell_where_the_most_are() {
        let text = text_of(&run(4));
        // 100 ns to 10 ms: four powers of ten with eight blocks each.
        let line = text.lines().find(|line| line.contains("100 ns |")).unwrap();
        assert!(line.trim_start().starts_with("posted queue"), "{line}");
        assert_eq!(line.matches('█').count(), 1, "{line}");
        assert!(text.contains("rank 0 |▂▄▆█| 3\n"), "{text}");
    }
}
