//! How long ranks were in the regions of the program, with those that lie in them, and outside of MPI there.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::Definition;
use mel_log::profile::RegionProfile;
use mel_log::table::layout::STOPPED;

use crate::places;
use crate::run::Rank;

/// One region with all that lies in it.
#[derive(Debug, Default)]
struct Sum<'a> {
    ticks: u64,
    times: u64,
    in_calls: f64,
    threads: BTreeSet<u16>,
    /// The path of the region; empty for what is in none.
    path: &'a str,
}

/// The regions of a rank by their paths, each with those in it, and what is in none, which comes first. None where the program has named none, and
/// where some have found no space.
pub(crate) fn of(rank: &Rank) -> Vec<RegionProfile> {
    if rank.rows.lost_times_in_regions > 0 || rank.rows.lost_regions > 0 {
        return Vec::new();
    }
    let defined = |definition| match definition {
        &Definition::Region { number, ref path } => Some((number, path.as_str())),
        _ => None,
    };
    let paths: BTreeMap<u16, &str> = rank.rows.definitions.iter().filter_map(defined).collect();
    let mut sums: BTreeMap<&str, Sum<'_>> = BTreeMap::new();
    for row in &rank.rows.regions {
        for path in with_outer(paths.get(&row.key.region).copied().unwrap_or("")) {
            let sum = sums.entry(path).or_default();
            sum.path = path;
            sum.ticks = sum.ticks.saturating_add(row.ticks);
            sum.threads.insert(row.key.thread);
        }
        if let Some(sum) = paths.get(&row.key.region).and_then(|path| sums.get_mut(path)) {
            sum.times = sum.times.saturating_add(row.times);
        }
    }
    for (seconds, row) in places::of_contexts(rank).zip(&rank.rows.contexts) {
        if row.calls == 0 || row.key.phase == STOPPED {
            continue;
        }
        for path in with_outer(paths.get(&row.key.region).copied().unwrap_or("")) {
            if let Some(sum) = sums.get_mut(path) {
                sum.in_calls += seconds;
            }
        }
    }
    sums.into_values().map(|sum| sum.profile(rank)).collect()
}

/// A path, and those of the regions that it lies in.
fn with_outer(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |inner| inner.rfind('/').map(|end| &inner[..end]))
}

impl Sum<'_> {
    fn profile(&self, rank: &Rank) -> RegionProfile {
        let threads = self.threads.len().max(1) as f64;
        let run_s = rank.seconds(self.ticks) / threads;
        let computing_s = (run_s - self.in_calls / threads).max(0.0);
        RegionProfile { region: self.path.to_owned(), times: self.times, run_s, computing_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_counts_in_those_that_it_lies_in() {
        assert_eq!(
            with_outer("main/solve/inner").collect::<Vec<_>>(),
            ["main/solve/inner", "main/solve", "main"]
        );
        assert_eq!(with_outer("").collect::<Vec<_>>(), [""]);
    }
}
