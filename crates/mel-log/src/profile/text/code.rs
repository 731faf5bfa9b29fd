//! Where ranks compute, by samples of their stacks.

use std::collections::BTreeMap;

use super::layout::table;
use crate::number::duration;
use crate::profile::schema::Profile;
use crate::profile::stacks::{InFunction, functions};

/// The most lines of the table.
const MOST: usize = 10;

/// The functions of the program in which ranks are longest: the mean over ranks, and the rank that is longest in each; nothing without samples.
pub fn code(profile: &Profile) -> String {
    let sampled: Vec<(u32, BTreeMap<String, InFunction>)> = profile
        .ranks
        .iter()
        .filter(|rank| !rank.stacks.is_empty())
        .map(|rank| (rank.rank, functions(rank, &profile.sites)))
        .collect();
    if sampled.is_empty() {
        return String::new();
    }
    let mut sums: BTreeMap<&str, (f64, (u32, &InFunction))> = BTreeMap::new();
    for (rank, of) in sampled.iter().flat_map(|(rank, all)| all.values().map(move |of| (*rank, of))) {
        let known = sums.entry(&of.function).or_insert((0.0, (rank, of)));
        known.0 += of.seconds;
        if of.seconds > known.1.1.seconds {
            known.1 = (rank, of);
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let head = ["function", "most at", "mean of ranks", "longest", "rank"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    for (function, (seconds, (rank, of))) in sums.iter().take(MOST) {
        rows.push(vec![
            (*function).to_owned(),
            of.line.clone(),
            duration(seconds / profile.ranks.len().max(1) as f64),
            duration(of.seconds),
            rank.to_string(),
        ]);
    }
    let mut text = format!(
        "\n where ranks compute, observed by samples: time in a function and in what it calls\n{}",
        table(&rows, &[0, 1])
    );
    if sums.len() > MOST {
        text += &format!("   and {} more: mel convert --speedscope has all stacks\n", sums.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CallSite, RankProfile, StackProfile};

    #[test]
    fn the_rank_that_is_longest_is_named() {
        let site = |line, function: &str| CallSite {
            file: "a.c".into(),
            line,
            function: function.into(),
            ..CallSite::default()
        };
        let stack = |samples| StackProfile { phase: 0, samples, frames: vec![0, 1] };
        let rank =
            |rank, samples| RankProfile { rank, stacks: vec![stack(samples)], ..RankProfile::default() };
        let profile = Profile {
            sites: vec![site(3, "fill"), site(9, "main")],
            ranks: vec![rank(0, 100), rank(1, 300)],
            ..Profile::default()
        };
        let text = code(&profile);
        let line = text.lines().find(|line| line.contains("fill")).unwrap();
        assert!(line.contains("a.c:3") && line.contains("2.00 s") && line.contains("3.00 s"), "{text}");
        assert!(line.trim_end().ends_with('1'), "{text}");
        assert_eq!(code(&Profile::default()), "");
    }
}
