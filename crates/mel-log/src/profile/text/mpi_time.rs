//! Time in MPI, by rank and by function.

use super::layout::{percent, table};
use super::many;
use crate::number::duration;
use crate::profile::schema::{Profile, RankProfile};
use crate::profile::summary::spread;
use crate::profile::sums::{self, OfFunction, all_runs_s, by_function, calls, of_rank, run_s, share};

/// Up to so many ranks have a line each.
const MOST_RANKS: usize = 16;
/// The most functions that have a line.
pub(super) const MOST_FUNCTIONS: usize = 8;

/// Both tables; nothing where calls were not counted.
pub fn mpi_time(profile: &Profile) -> String {
    if !profile.has_calls() {
        return String::new();
    }
    match &profile.reduced {
        Some(reduced) => many::mpi_time(profile, reduced),
        None => by_rank(profile) + &by_functions(profile),
    }
}

/// A line for each rank; above [`MOST_RANKS`], for those that others waited for longest.
fn by_rank(profile: &Profile) -> String {
    let mut shown: Vec<&RankProfile> = profile.ranks.iter().collect();
    let mut title = "time by rank";
    if shown.len() > MOST_RANKS {
        title = "time by rank, of those that others waited for";
        shown.retain(|rank| rank.caused_s > 0.0);
        shown.sort_by(|a, b| b.caused_s.total_cmp(&a.caused_s).then(a.rank.cmp(&b.rank)));
        shown.truncate(MOST_FUNCTIONS);
        if shown.is_empty() {
            return String::new();
        }
    }
    let header = ["rank", "run", "in MPI", "of run", "waiting", "others wait for it", "most of it in"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for rank in shown {
        let (sum, run_s) = (of_rank(rank), run_s(profile, rank));
        rows.push(vec![
            rank.rank.to_string(),
            duration(run_s),
            duration(sum.total_s),
            percent(share(sum.total_s, run_s)),
            duration(sum.lost_s),
            duration(rank.caused_s),
            longest_function(rank),
        ]);
    }
    format!("\n {title}\n{}", table(&rows, &[6]))
}

/// The function that a rank spent most time in.
fn longest_function(rank: &RankProfile) -> String {
    let mut functions: Vec<(&str, f64)> = Vec::new();
    for call in calls(rank) {
        match functions.iter_mut().find(|(name, _)| *name == call.function) {
            Some((_, total_s)) => *total_s += call.total_s,
            None => functions.push((&call.function, call.total_s)),
        }
    }
    let most = functions.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(a.0)));
    most.map(|(name, _)| name.to_owned()).unwrap_or_default()
}

/// A line for MPI as a whole, and for each of the functions that take most time.
fn by_functions(profile: &Profile) -> String {
    let functions = by_function(profile);
    let all = OfFunction {
        function: "all of MPI".into(),
        sum: sums::whole(profile),
        by_rank_s: profile.ranks.iter().map(|rank| of_rank(rank).total_s).collect(),
    };
    let (whole_s, in_mpi_s) = (all_runs_s(profile), all.sum.total_s);
    let header =
        ["", "calls", "time", "of run", "of MPI", "min", "rank", "median", "max", "rank", "max/mean"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for function in std::iter::once(&all).chain(functions.iter().take(MOST_FUNCTIONS)) {
        let place =
            |rank: &RankProfile| profile.ranks.binary_search_by_key(&rank.rank, |other| other.rank).ok();
        let of = |rank: &RankProfile| function.by_rank_s.get(place(rank)?).copied();
        let Some(spread) = spread(&profile.ranks, of) else { continue };
        let mean = function.sum.total_s / profile.ranks.len() as f64;
        rows.push(vec![
            function.function.clone(),
            function.sum.calls.to_string(),
            duration(function.sum.total_s),
            percent(share(function.sum.total_s, whole_s)),
            percent(share(function.sum.total_s, in_mpi_s)),
            duration(spread.min.0),
            spread.min.1.to_string(),
            duration(spread.median),
            duration(spread.max.0),
            spread.max.1.to_string(),
            if mean > 0.0 { format!("{:.2}", spread.max.0 / mean) } else { String::new() },
        ]);
    }
    let mut text = format!("\n time by MPI function, all ranks together and by rank\n{}", table(&rows, &[0]));
    if let Some(more) = functions.len().checked_sub(MOST_FUNCTIONS).filter(|more| *more > 0) {
        text += &format!("   and {more} functions that take less\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;
    use crate::profile::text::COLUMNS;

    fn words(text: &str, first: &str) -> Vec<String> {
        let line = text.lines().find(|line| line.trim_start().starts_with(first)).unwrap_or_default();
        line.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn ranks_and_functions_have_their_time() {
        let text = mpi_time(&sample::late_rank(4, 1));
        let rank = words(&text, "1  1.00 s");
        assert_eq!(rank, ["1", "1.00 s", "10.0 ms", "1.0 %", "0 ns", "1.80 s", "MPI_Waitall"], "{text}");
        let waitall = words(&text, "MPI_Waitall");
        let expected = [
            "MPI_Waitall",
            "400",
            "1.22 s",
            "30.4 %",
            "66.1 %",
            "4.00 ms",
            "1",
            "404 ms",
            "404 ms",
            "0",
            "1.33",
        ];
        assert_eq!(waitall, expected, "{text}");
    }

    #[test]
    fn many_ranks_are_few_lines() {
        let text = mpi_time(&sample::late_rank(1000, 17));
        assert!(text.lines().count() < 20, "{text}");
        assert_eq!(words(&text, "17 ")[0], "17", "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(!mpi_time(&sample::healthy(1000)).contains("others wait"));
    }

    #[test]
    fn without_calls_there_is_no_table() {
        assert_eq!(mpi_time(&Profile::default()), "");
    }
}
