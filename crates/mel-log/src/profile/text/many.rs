//! The text of very many ranks: each number over the ranks, and the ranks that stand out, instead of a line for each.

use super::layout::{percent, table, wrapped};
use super::mpi_time::MOST_FUNCTIONS;
use super::waits::MOST_CAUSES;
use crate::number::duration;
use crate::profile::columns::{CAUSED, FUNCTIONS, TIME};
use crate::profile::over_ranks::OverRanks;
use crate::profile::reduced::Reduced;
use crate::profile::schema::Profile;
use crate::profile::sums::{OfFunction, all_runs_s, by_function, share, whole};

/// What is special about such a profile.
pub const REDUCED: &str = "a run of this size is shown in sums over all ranks; waits are charged to the ranks that were waited for, \
                           and collective operations are judged by their times on each rank (estimated)";

/// How the times of ranks and of MPI functions are distributed.
pub fn mpi_time(profile: &Profile, reduced: &Reduced) -> String {
    let of_ranks: Vec<&OverRanks> = reduced.over_ranks.iter().filter(|over| over.group == TIME).collect();
    let mut text = String::new();
    if !of_ranks.is_empty() {
        let header = ["", "min", "rank", "5 %", "median", "95 %", "max", "rank"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        rows.extend(of_ranks.iter().map(|over| spread(&over.name, over)));
        text += &format!("\n time of a rank\n{}", table(&rows, &[0]));
    }
    text + &by_functions(profile, reduced)
}

fn spread(name: &str, over: &OverRanks) -> Vec<String> {
    let (min, max) = (over.min().unwrap_or_default(), over.max().unwrap_or_default());
    let [low, _, median, _, high] = over.quantiles.map(duration);
    vec![
        name.to_owned(),
        duration(min.1),
        min.0.to_string(),
        low,
        median,
        high,
        duration(max.1),
        max.0.to_string(),
    ]
}

fn by_functions(profile: &Profile, reduced: &Reduced) -> String {
    let functions = by_function(profile);
    let all = OfFunction { function: "all of MPI".into(), sum: whole(profile), by_rank_s: Vec::new() };
    let (whole_s, in_mpi_s) = (all_runs_s(profile), all.sum.total_s);
    let header = ["", "calls", "time", "of run", "of MPI", "min", "median", "max", "rank", "max/mean"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for function in std::iter::once(&all).chain(functions.iter().take(MOST_FUNCTIONS)) {
        let mut row = vec![
            function.function.clone(),
            function.sum.calls.to_string(),
            duration(function.sum.total_s),
            percent(share(function.sum.total_s, whole_s)),
            percent(share(function.sum.total_s, in_mpi_s)),
        ];
        let name = if function.function == all.function {
            (TIME, "in MPI")
        } else {
            (FUNCTIONS, &*function.function)
        };
        match reduced.over(name.0, name.1) {
            Some(over) => {
                let (min, max) = (over.min().unwrap_or_default(), over.max().unwrap_or_default());
                row.extend([duration(min.1), duration(over.median()), duration(max.1), max.0.to_string()]);
                let mean = over.mean();
                row.push(if mean > 0.0 { format!("{:.2}", max.1 / mean) } else { String::new() });
            }
            None => row.resize(header.len(), String::new()),
        }
        rows.push(row);
    }
    let mut text = format!("\n time by MPI function, all ranks together and by rank\n{}", table(&rows, &[0]));
    if let Some(more) = functions.len().checked_sub(MOST_FUNCTIONS).filter(|more| *more > 0) {
        text += &format!("   and {more} functions that take less\n");
    }
    text
}

/// The ranks that others waited for longest.
pub fn causes(reduced: &Reduced) -> String {
    let (ranks, all) = (reduced.causes(), reduced.over(TIME, CAUSED).map_or(0.0, |over| over.sum));
    let named = ranks.iter().take(MOST_CAUSES).map(|(rank, lost_s)| {
        format!("rank {rank} ({}, {})", duration(*lost_s), percent(share(*lost_s, all)))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return String::new();
    }
    wrapped(" ", &format!("the ranks that others waited for longest, directly: {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::profile::sample;
    use crate::profile::text::{COLUMNS, Options, report};

    #[test]
    fn very_many_ranks_are_a_page_of_text() {
        let profile = sample::reduced(20_000, 7_777);
        let text = report(&profile, Options { directory: None, lines: true });
        assert!(text.lines().count() < 90, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.contains("20000 ranks on 5000 hosts (node0, node1"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("shown in sums over all ranks"), "{text}");
        assert!(words.contains("because rank 7777 is late"), "{text}");
        assert!(words.contains("others wait for it 0 ns 0 0 ns 0 ns 0 ns 11999 s 7777"), "{text}");
        assert!(words.contains("late sender: ranks 0, 1, 2 and 19996 more wait for rank 7777"), "{text}");
        assert!(words.contains("waited for longest, directly: rank 7777 (11999 s, 100.0 %)"), "{text}");
        assert!(words.contains("posted queue receives 180 0 180 180 180 180 0"), "{text}");
        assert!(text.contains("ranks.table has the numbers of each"), "{text}");
    }
}
