//! How long ranks were in the regions of the program, with those that lie in them, and outside of MPI there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mel_log::Definition;
use mel_log::profile::RegionProfile;
use mel_log::table::layout::STOPPED;
use mel_log::table::{ContextRow, CountedRow};

use crate::places;
use crate::run::Rank;

/// The paths of the regions that a rank has defined, by number.
pub(crate) fn paths(definitions: &[Definition]) -> HashMap<u16, &str> {
    let defined = |definition| match definition {
        &Definition::Region { number, ref path } => Some((number, path.as_str())),
        _ => None,
    };
    definitions.iter().filter_map(defined).collect()
}

/// One region with all that lies in it.
#[derive(Debug, Default)]
struct Sum {
    ticks: u64,
    times: u64,
    in_calls: f64,
    threads: BTreeSet<u16>,
    /// Threads that have called MPI there.
    calling: BTreeSet<u16>,
    counted: CountedRow,
}

/// The regions of a rank by their paths, each with those in it; what is in none comes first. None where the program has named none, and
/// where the table does not say what they are called. Without regions in which threads have called MPI whose time is not known.
pub(crate) fn of(rank: &Rank) -> Vec<RegionProfile> {
    let mut paths = paths(&rank.rows.definitions);
    paths.insert(0, "");
    if rank.rows.regions.iter().any(|row| !paths.contains_key(&row.key.region)) {
        return Vec::new();
    }
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for row in &rank.rows.regions {
        let path = paths[&row.key.region];
        for path in with_outer(path) {
            let sum = sums.entry(path).or_default();
            sum.ticks = sum.ticks.saturating_add(row.ticks);
            sum.threads.insert(row.key.thread);
        }
        let sum = sums.entry(path).or_default();
        sum.times = sum.times.saturating_add(row.times);
    }
    let called = |row: &&ContextRow| row.calls > 0 && row.key.phase != STOPPED;
    for (row, seconds) in rank.rows.contexts.iter().zip(places::of_contexts(rank)) {
        let Some(path) = paths.get(&row.key.region).filter(|_| called(&row)) else { continue };
        for path in with_outer(path) {
            if let Some(sum) = sums.get_mut(path) {
                sum.in_calls += seconds;
                sum.calling.insert(row.key.thread);
            }
        }
    }
    for row in rank.rows.counted.iter().filter(|row| row.key.phase != STOPPED) {
        for path in paths.get(&row.key.region).into_iter().flat_map(|path| with_outer(path)) {
            sums.entry(path).or_default().counted.join(row);
        }
    }
    sums.retain(|_, sum| sum.calling.len() <= sum.threads.len());
    sums.into_iter().map(|(path, sum)| sum.profile(path, rank)).collect()
}

/// A path, and those of the regions that it lies in.
pub(crate) fn with_outer(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |inner| inner.rfind('/').map(|end| &inner[..end]))
}

impl Sum {
    fn profile(&self, path: &str, rank: &Rank) -> RegionProfile {
        let threads = self.threads.len().max(1);
        let run_s = rank.seconds(self.ticks) / threads as f64;
        let computing_s = (run_s - self.in_calls / threads as f64).max(0.0);
        let counters = self.counted.profile(rank.rows.ticks_per_second);
        let (times, threads) = (self.times, threads as u32);
        RegionProfile { region: path.to_owned(), times, run_s, computing_s, threads, counters }
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
