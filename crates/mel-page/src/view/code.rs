//! Where a rank computes, beside the median of the others: a tree of functions, made of sampled stacks.

use std::collections::BTreeMap;

use mel_log::profile::stacks::PER_SECOND;
use mel_log::profile::why::median;
use mel_log::profile::{CallSite, Profile, RankProfile};
use serde::Serialize;

/// What has less than this share of the time is left out.
const LEAST: f64 = 0.005;

/// Where a rank computes.
#[derive(Debug, Serialize)]
pub struct Code {
    /// The rank: the first one that the verdict names, or the one that computes longest.
    pub rank: u32,
    /// How many others there are.
    pub others: usize,
    /// All of it; the children are the outermost functions.
    pub whole: Node,
}

/// A function, called from those above it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Node {
    /// The function, or the library of one without a name.
    pub name: String,
    /// The time of the rank in it and in what it calls, in seconds.
    pub seconds: f64,
    /// The median of the others.
    pub usual_s: f64,
    /// What it calls, the one with most time first.
    pub children: Vec<Node>,
}

/// The tree; none where nothing was sampled.
pub fn code(profile: &Profile) -> Option<Code> {
    let of = |rank: u32| profile.ranks.iter().find(|of| of.rank == rank && !of.stacks.is_empty());
    let named = profile.verdict.iter().flatten().find_map(|finding| finding.cause_rank);
    let samples = |rank: &&RankProfile| rank.stacks.iter().map(|stack| stack.samples).sum::<u64>();
    let longest = || profile.ranks.iter().filter(|rank| !rank.stacks.is_empty()).max_by_key(samples);
    let rank = named.and_then(of).or_else(longest)?;
    let others: Vec<&RankProfile> = profile.ranks.iter().filter(|other| other.rank != rank.rank).collect();
    let paths = |rank| paths(rank, &profile.sites);
    let (own, usual) = (paths(rank), others.iter().copied().map(paths).collect::<Vec<_>>());
    let least = samples(&rank) as f64 * LEAST;
    let whole = node(&own, &usual, &mut Vec::new(), least);
    Some(Code { rank: rank.rank, others: others.len(), whole })
}

/// The samples that pass a path, from the outermost function on.
type Paths = BTreeMap<Vec<String>, u64>;

fn paths(rank: &RankProfile, sites: &[CallSite]) -> Paths {
    let mut paths = Paths::new();
    for stack in &rank.stacks {
        let frames = stack.frames.iter().rev().filter_map(|site| sites.get(*site as usize));
        let path: Vec<String> = frames.map(name).collect();
        for length in 0..=path.len() {
            *paths.entry(path[..length].to_vec()).or_default() += stack.samples;
        }
    }
    paths
}

/// What a frame is called: the function, or the library.
fn name(site: &CallSite) -> String {
    match site.function.as_str() {
        "" => site.module.rsplit('/').next().unwrap_or_default().to_owned(),
        function => function.to_owned(),
    }
}

fn node(own: &Paths, usual: &[Paths], path: &mut Vec<String>, least: f64) -> Node {
    let seconds = |samples: u64| samples as f64 / f64::from(PER_SECOND);
    let of = |paths: &Paths| seconds(paths.get(path).copied().unwrap_or(0));
    let (own_s, usual_s) = (of(own), median(usual.iter().map(of)).unwrap_or(0.0));
    let inner = own.range(path.clone()..).take_while(|(of, _)| of.starts_with(path));
    let next = inner.filter(|(of, samples)| of.len() == path.len() + 1 && **samples as f64 >= least);
    let next: Vec<String> = next.filter_map(|(of, _)| of.last().cloned()).collect();
    let mut children = Vec::new();
    for name in next {
        path.push(name);
        children.push(node(own, usual, path, least));
        path.pop();
    }
    children.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    Node { name: path.last().cloned().unwrap_or_default(), seconds: own_s, usual_s, children }
}

#[cfg(test)]
mod tests {
    use mel_log::profile::StackProfile;

    use super::*;

    #[test]
    fn functions_are_below_those_that_call_them_with_the_median_of_the_others() {
        let site = |function: &str| CallSite { function: function.into(), ..CallSite::default() };
        let stack = |samples, frames: &[u32]| StackProfile { phase: 0, samples, frames: frames.to_vec() };
        let rank = |rank, stacks| RankProfile { rank, stacks, ..RankProfile::default() };
        let ranks = vec![
            rank(0, vec![stack(100, &[1, 0])]),
            rank(1, vec![stack(300, &[1, 0]), stack(50, &[2, 0]), stack(1, &[2, 1, 0])]),
            rank(2, vec![stack(200, &[1, 0])]),
        ];
        let profile =
            Profile { sites: ["main", "fill", "copy"].map(site).into(), ranks, ..Profile::default() };
        let code = code(&profile).unwrap();
        assert_eq!((code.rank, code.others, code.whole.seconds), (1, 2, 3.51));
        let main = &code.whole.children[0];
        let of: Vec<_> = main.children.iter().map(|of| (of.name.as_str(), of.seconds, of.usual_s)).collect();
        assert_eq!(of, [("fill", 3.01, 1.0), ("copy", 0.5, 0.0)]);
        assert_eq!(main.children[0].children, [], "a sample of 351 is left out");
        assert!(super::code(&Profile::default()).is_none());
    }
}
